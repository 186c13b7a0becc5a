"""Tells whether an answer states a fact where it was found, or denies it, guesses at it, or means another.

An answer names a fact if any find of it stands. A find is void if

- it touches or overlaps one of the group's rejects: "1318 metres" where feet are asked for;
- its clause plainly negates it: "It is not drawer 417", "不是靛蓝色", "everything except bauxite";
- it is one of several alternative values: "drawer 471, 417 or 714";
- it is said of another owner than its own, if facts are asked for in pairs.

An owner and its fact are usually in one list item, in either order: "the upper team: lilac; the lower team: green",
"lilac (the upper team), green (the lower team)". Several owners in a row have facts in the same order.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import islice
from typing import Literal

from niah_score.text.fold import Reading, fold, late
from niah_score.text.groups import Group, finds, spaced
from niah_score.text.language import Language, MatchingRules, find_language
from niah_score.text.numerals import HAN, NUMBER_WORDS
from niah_score.text.phrases import phrases_of
from niah_score.text.times import MONTH_NAME
from niah_score.text.values import folded_pattern, in_letters_of, is_same, values_in

_SAID = phrases_of("voiding")

# Where an owner is named, and whether it is the fact's own.
_Row = list[Reading]


def belongs(text: str, start: int, end: int, own: Sequence[str], others: Sequence[str]) -> bool:
    """Whether a folded, spaced text assigns the fact from `start` to `end` to its own owner.

    `own`: the names of that owner; `others`: those of the other owners.
    """
    mentions = _mentions(text, own, others)
    before = [mention for mention in mentions if mention.end <= start]
    after = [mention for mention in mentions if mention.start >= end]
    # Several owners in a row, before or after their facts.
    row = _row(text, before[::-1])[::-1]
    if len(row) > 1 and not _SAID.shared.search(text, row[-1].end, start):
        place = len(_SAID.joint.findall(text, row[-1].end, start))
        return place < len(row) and bool(row[place].value)
    row = _row(text, after)
    if not before and len(row) > 1:
        place = len(row) - 1 - len(_SAID.joint.findall(text, end, row[0].start))
        return place >= 0 and bool(row[place].value)
    for ends in (_SAID.item_end, _SAID.sentence_end):
        first = max((match.end() for match in ends.finditer(text, 0, start)), default=0)
        stop = ends.search(text, end)
        last = stop.start() if stop else len(text)
        inside = {mention.value for mention in mentions if first <= mention.start and mention.end <= last}
        if len(inside) == 1:
            return bool(inside.pop())
    return bool(before[-1].value) if before else bool(after and after[0].value)


def _mentions(text: str, own: Sequence[str], others: Sequence[str]) -> _Row:
    """The places where owners are named; of overlapping names, the first and longest counts."""
    matches = [
        Reading(names is own, *match.span())
        for names in (own, others)
        for name in names
        for match in re.finditer(f"{'(?<![a-z0-9])' * name[:1].isascii()}{re.escape(name)}", text)
    ]
    mentions: _Row = []
    for mention in sorted(matches, key=lambda mention: (mention.start, -mention.end)):
        if not mentions or mention.start >= mentions[-1].end:
            mentions.append(mention)
    return mentions


def _row(text: str, mentions: _Row) -> _Row:
    """The first of some mentions, and those that follow it in a row."""
    row = mentions[:1]
    for mention in mentions[1:]:
        one, other = sorted((row[-1], mention), key=lambda mention: mention.start)
        if not _SAID.in_a_row.fullmatch(text, one.end, other.start):
            break
        row.append(mention)
    return row


# Up to three words between a denial and the fact.
_FEW_WORDS = r"(?:[\s'’]\S+(?:\s\S+){0,2})?[\s'’]?"


@lru_cache(maxsize=64)
def _denials(language: Language) -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    """Patterns for the text before a denied fact, after one, and between alternative values."""
    rules = language.matching or MatchingRules()
    before, after, words = (
        "|".join(folded_pattern(pattern, rules) for pattern in patterns) or "(?!)"
        for patterns in (rules.denied_before, rules.denied_after, [re.escape(fold(word)) for word in rules.choice])
    )
    spaces = language.words == "spaces"
    gap = _FEW_WORDS if spaces else r"[^\s]{0,4}"
    unit, beside = (r"(?:[\s-]?[^\W\d_]{1,12})?", r"(?:[^\W\d_]+\s+){0,3}") if spaces else (r"\D{0,3}", r"\D{0,4}")
    # The "o" of Spanish "sino" is not its "or".
    edge = r"\b" if spaces else ""
    choice = rf"{unit}[\s,،、]*{edge}(?:{words}){edge}\s*{beside}"
    return re.compile(rf"(?:{before}){gap}$"), re.compile(after), re.compile(choice)


def _clause_before(text: str, find: Reading) -> str:
    """What precedes a find in its clause."""
    before = text[max(0, find.start - _NEAR) : find.start]
    end = _SAID.clause_end.match(before)
    return before[end.end() :] if end else before


def is_denied(text: str, find: Reading, code: str) -> bool:
    """Whether the clause of a find denies it. `text`: folded, with the language's letters replaced."""
    before, after, _ = _denials(find_language(code))
    return bool(before.search(_clause_before(text, find)) or after.match(text[find.end : find.end + _NEAR]))


def is_one_of_several(text: str, find: Reading, group: Group) -> bool:
    """Whether the language's "or" joins a value to another one of its kind."""
    choice = _denials(find_language(group.language))[2]
    first = max(0, find.start - _NEAR)
    near = text[first : find.end + _NEAR]
    start, end = find.start - first, find.end - first
    return any(
        (value.start >= end and choice.fullmatch(near, end, value.start))
        or (value.end <= start and choice.fullmatch(near, value.end, start))
        for value in values_in(near, group.kind, group.language)
        if not any(is_same(value.value, wanted) for wanted in group.values)
    )


# Code points on either side of a find in which negations and their scopes are looked for.
_NEAR = 80
_FAR = 1_000  # code points on either side of a find in which its owner is looked for
_APART = 8  # further code points: blanks and hyphens before a reject, and letters that make it part of a word
# An answer that states a fact more often is repeating itself, so the first finds suffice.
_MOST = 100


# What a value may begin with.
_VALUE_BEGINS = (
    rf"[\d{HAN}£$€¥₹₩₽正冬腊差午农阴旧夏公阳新西人]|[a-z]{{1,3}}\$?[ -]?\d"
    rf"|(?:an? )?(?:{'|'.join(sorted(NUMBER_WORDS))}|half|quarter|noon|mid)|{MONTH_NAME.pattern}"
)
_ANY_OR = late(f"{_SAID.or_value.pattern}(?:{_VALUE_BEGINS})")


def stands(folded: str, find: Reading, group: Group) -> bool:
    """Whether a find of a group in a folded answer stands, that is, is not void.

    What is further than `_FAR` code points from it changes nothing.
    """
    first = max(0, find.start - _FAR)
    folded, find = folded[first : find.end + _FAR], find._replace(start=find.start - first, end=find.end - first)
    if group.language:
        folded = in_letters_of(folded, group.language)
        if is_denied(folded, find, group.language) or (group.values and is_one_of_several(folded, find, group)):
            return False
    if group.owner:
        if not belongs(spaced(folded), find.start, find.end, group.owner, group.rejects):
            return False
    elif group.rejects and _touches(folded, find, group.rejects):
        return False
    if _is_negated(folded, find):
        return False
    compared = _SAID.compared.search(folded, max(0, find.start - _NEAR), find.start)
    return not group.values or not (compared or _is_choice(folded, find, group))


def verdict(folded: str, group: Group) -> Literal["stated", "taken back", "not named"]:
    """What a folded answer says about a fact; it is taken back if it is negated or guessed at wherever it is named.

    Where a reject voids a find, another fact is named.
    """
    said: Literal["taken back", "not named"] = "not named"
    for find in islice(finds(folded, group), _MOST):
        if stands(folded, find, group):
            return "stated"
        if not (group.rejects and _touches(folded, find, group.rejects)):
            said = "taken back"
    return said


def states(folded: str, group: Group) -> bool:
    """Whether a folded answer states a fact."""
    return verdict(folded, group) == "stated"


def _touches(folded: str, find: Reading, rejects: tuple[str, ...]) -> bool:
    pattern, longest = _any_of(rejects)
    first = max(0, find.start - longest)
    near = spaced(folded[first : find.end + longest])
    start, end = find.start - first, find.end - first
    for match in pattern.finditer(near):
        if start <= match.start() and match.end() <= end:
            continue  # the spelling itself contains the reject: "Hallorane's pupil" and the reject "Hallorane"
        # "Three years (1043 days)" is right if days are asked for, "1318 (metres)" wrong if feet are.
        between = near[match.end() : start] if match.end() <= start else near[end : match.start()].lstrip(" -(")
        if not between.strip(" -"):
            return True
    return False


@lru_cache(maxsize=4_096)
def _any_of(rejects: tuple[str, ...]) -> tuple[re.Pattern[str], int]:
    """A pattern of rejects, and the distance within which a reject may touch a find.

    A reject that ends with a letter must not be followed by another one, but may be followed by a digit.
    """
    words = (
        "(?<![a-z])" * ("a" <= word[:1] <= "z") + re.escape(word) + "(?![a-z])" * ("a" <= word[-1:] <= "z")
        for word in sorted(rejects, key=len, reverse=True)
    )
    return re.compile("|".join(words)), max(map(len, rejects)) + _APART


def _is_negated(folded: str, find: Reading) -> bool:
    clause, after = _clause_before(folded, find), folded[find.end : find.end + _NEAR]
    negation = _SAID.all_but.match(clause) or _SAID.negation.search(clause)
    if negation:
        between = negation["between"]
        if _SAID.not_mentioned.match(between) or not _SAID.of_something_else.search(between):
            return True
    if clause.isascii() and after.isascii():
        return _SAID.negated_after.match(after) is not None
    negation = _SAID.negation_zh.search(clause)
    if negation and not _SAID.of_something_else_zh.search(negation["between"]):
        if negation[0][0] == "除":
            return not _SAID.besides_zh.match(after)
        return not (negation[0].startswith("没有") and negation["between"])
    return bool(_SAID.negated_after.match(after) or _SAID.negated_after_zh.match(after))


def _is_choice(folded: str, find: Reading, group: Group) -> bool:
    """Whether a value is in a row of different ones with an "or" among them."""
    first = max(0, find.start - _NEAR)
    near = folded[first : find.end + _NEAR]
    if not _ANY_OR.search(near):
        return False
    rows: list[_Row] = []
    with_or: list[bool] = []
    for value in values_in(near, group.kind):
        between = _SAID.choice.fullmatch(near, rows[-1][-1].end, value.start) if rows else None
        # Values with a unit each are alternatives only if the units are the same: feet or metres are not.
        unit = ((between and between["unit"]) or "").strip(" -")
        begins = value.end + (near[value.end : value.end + 1] in (" ", "-"))
        if between and between[0].strip() and near.startswith(unit, begins):
            rows[-1].append(value)
            with_or[-1] = with_or[-1] or between["or"] is not None
        else:
            rows.append([value])
            with_or.append(False)
    start, end = find.start - first, find.end - first
    return any(
        has_or
        and any(value.start < end and start < value.end for value in row)
        and any(not any(is_same(value.value, wanted) for wanted in group.values) for value in row)
        for row, has_or in zip(rows, with_or, strict=True)
    )
