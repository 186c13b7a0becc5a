"""Tells whether an answer states a fact where it was found, or denies it, guesses at it, or means another.

An answer names a fact if any find of it stands. A find is void if

- it touches or overlaps one of the group's rejects: "1318 metres" where feet are asked for;
- its clause plainly negates it: "It is not drawer 417", "不是靛蓝色", "everything except bauxite";
- it is one of several alternative values: "drawer 471, 417 or 714";
- it is said of another owner than its own, if facts are asked for in pairs.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

from niah_score.text.chinese_numerals import HAN
from niah_score.text.dates import MONTH_NAME
from niah_score.text.groups import Find, Group, Word, finds, spaced
from niah_score.text.late_pattern import late
from niah_score.text.numerals import NUMBER_WORDS
from niah_score.text.own_denials import is_denied, is_one_of_several
from niah_score.text.own_values import in_letters_of
from niah_score.text.owners import belongs
from niah_score.text.values import Value, is_same, values_in

# Code points on either side of a find in which negations and their scopes are looked for.
_NEAR = 80
_FAR = 1_000  # code points on either side of a find in which its owner is looked for
_APART = 8  # further code points: blanks and hyphens before a reject, and letters that make it part of a word
# An answer that states a fact more often is repeating itself, so the first finds suffice.
_MOST = 100
_LAST_CLAUSE_END = late(r"(?s:.*)(?:[;:!?()\n，。；：！？、]|[.,](?=\s|$)|(?<=\s)[-\u2013\u2014](?=\s))")

# What negates a fact after it, with a few words in between.
_NEGATING = (
    r"\bthere(?:'s| is| are| was| were) no|\bnot|n't|\bnever|\bneither|\bnor|\bno longer|\bexcept(?: for)?|\bexcepting"
    r"|\bexcluding|\brather than|\binstead of|\bunlike|\bas opposed to"
)
_ANY_BUT = r"(?:any|every|all)(?:thing|where|one)?(?: \w+)? but"
_BETWEEN = "(?: [^ ]+){0,5} ?"
_NEGATION = late(rf"(?:^\W*{_ANY_BUT}|{_NEGATING})(?P<between>{_BETWEEN})$")
# "More than" or "less than" a value means another one, but "no later than 19:52" names it.
_COMPARING = (
    r"(?:\b(?:more|less|fewer|greater|longer|shorter|higher|lower|cheaper|dearer) than"
    r"|不到|不足|未满|超过|少于|多于) ?"
)
_COMPARED = late(f"(?<!no ){_COMPARING}$")
# Words between a negation and a fact that show that something else is negated.
_OF_SOMETHING_ELSE = late(
    r"\b(?:but|only|just|merely|simply|why|what|who|whom|whose|where|when|how|whether|that|which|because|since|until|till"
    r"|before|after|than|if|later|earlier|more|less|far|yet|and|or|until|unlike|to|sure|certain|clear|so|as|is|are|was|were"
    r"|mention\w*|sa(?:y|ys|id)|stat(?:e|es|ed|ing)|specif\w+|tell\w*|told|explain\w*|describ\w+|locked|open|leave\w*)\b"
)
# "Does not mention" a fact means that it is not stated; not mentioning something about it ("why") does not.
_NOT_MENTIONED = late(r"^ (?:mention|name|include|contain|refer to)(?:s|ed|ing)?(?: (?:any|a|an|the))?(?: \w+)? ?$")
_DENYING = (
    r"[^.;:!?,\n]{0,16}? (?:is|was|are|were)(?:n't| not) "
    r"(?:it\b|correct|right|true|the (?:right |correct )?(?:answer|one))"
    r"|[^.;:!?,\n]{0,16}? (?:is|was|are|were) (?:wrong|incorrect|false|a (?:mistake|decoy|distractor|red herring))\b"
    r"|,? but (?:that|this|it)(?:'s| is| was) (?:a |an |the )?(?:another|different|other|wrong|for another|of another)"
    r"|,? but (?:that|this|it) (?:belongs|refers|applies|relates) to"
)
_NEGATED_AFTER = late(_DENYING)
_NEGATING_ZH = "不是|并非|绝非|决非|而非|不在|不叫|不用|不为|不含|不包括|没有"
_BETWEEN_ZH = r"[^，。；：！？、,.;:!?\n]{0,4}"
_NEGATION_ZH = late(
    rf"(?:{_NEGATING_ZH}|(?<!是)非(?![常但得凡洲法])|(?<![解开清消扣免排删去拆])除了?)(?P<between>{_BETWEEN_ZH})$"
)
_OF_SOMETHING_ELSE_ZH = late("[是而就但只因说提到比]")
_BESIDES_ZH = late(r"[^。；！？\n]{0,40}(?:[还也]|别无|再无|没有别|没有其他)")
_DENYING_ZH = r"[^，。；！？\n]{0,6}(?:不对|不正确|是错的|是错误的|并?不是(?:正确)?答案)"
_NEGATED_AFTER_ZH = late(_DENYING_ZH)

_MAYBE = "(?: maybe| perhaps| possibly)?"
_OR_ZH = "或者?|或是|还是|抑或"
_OF_PLACES = r"(?:(?:in|at|on|the|drawer|number|no\.?|room|#|第)\s?){0,3}"
# What a value may begin with.
_VALUE_BEGINS = (
    rf"[\d{HAN}£$€¥₹₩₽正冬腊差午农阴旧夏公阳新西人]|[a-z]{{1,3}}\$?[ -]?\d"
    rf"|(?:an? )?(?:{'|'.join(sorted(NUMBER_WORDS))}|half|quarter|noon|mid)|{MONTH_NAME.pattern}"
)
_OR_VALUE = rf"(?:\bor{_MAYBE}\b|{_OR_ZH})[\s,第]*{_OF_PLACES}"
_ANY_OR = late(f"{_OR_VALUE}(?:{_VALUE_BEGINS})")
_CHOICE = late(
    rf"(?P<unit>[\s-]?[a-z]{{1,12}}|[\u4e00-\u9fff]{{1,4}}?)??"
    rf"[\s,、/第]*(?:(?P<or>or{_MAYBE}|{_OR_ZH})[\s,第]*)?{_OF_PLACES}"
)


class Verdict(NamedTuple):
    """What an answer says about a fact. `find`: the first one that stands, if any.

    `taken_back`: the fact is named, but negated or guessed at each time. Finds voided by a reject name another fact.
    """

    find: Find | None
    taken_back: bool


# The same for many finds at once, in Rust's regex engine: on the text before a find, a mark, and the text after it. It
# has no look-around, so these patterns match more often. ASCII word boundaries match wherever Python's do, and
# are ten times as fast.
_HERE = "\x01"
_MAY_NEGATE, _MAY_VARY = (
    pattern.replace(r"\b", r"(?-u:\b)")
    for pattern in (
        rf"(?:\b{_ANY_BUT}|{_NEGATING}){_BETWEEN}{_HERE}|(?:{_NEGATING_ZH}|非|除了?){_BETWEEN_ZH}{_HERE}"
        rf"|{_HERE}(?:{_DENYING}|{_DENYING_ZH})",
        rf"{_COMPARING}{_HERE}|{_OR_VALUE}(?:{_VALUE_BEGINS}|{_HERE})",
    )
)


def stands(folded: str, find: Find, group: Group) -> bool:
    """Whether a find of a group in a folded answer stands, that is, is not void.

    What is further than `_FAR` code points from it changes nothing.
    """
    first = max(0, find.start - _FAR)
    folded, find = folded[first : find.end + _FAR], Find(find.start - first, find.end - first)
    if group.language:
        folded = in_letters_of(folded, group.language)
        if is_denied(folded, find, group.language) or (group.values and is_one_of_several(folded, find, group)):
            return False
    if group.owner:
        own, others = ([word.text for word in words] for words in (group.owner, group.rejects))
        if not belongs(spaced(folded), find.start, find.end, own, others):
            return False
    elif group.rejects and _touches(folded, find, group.rejects):
        return False
    if _is_negated(folded, find):
        return False
    return not group.values or not (_is_compared(folded, find) or _is_choice(folded, find, group))


def doubtful(cases: Sequence[tuple[str, Find, Group]]) -> list[bool]:
    """For each find of a group in a folded answer, whether it needs a call of `stands`; the others stand."""
    import polars as pl

    near = pl.Series(
        "",
        [
            f"{folded[max(0, find.start - _NEAR) : find.start]}{_HERE}{folded[find.end : find.end + _NEAR]}"
            for folded, find, _ in cases
        ],
        pl.String,
    )
    rejecting = pl.Series("", [bool(group.rejects or group.owner) for *_, group in cases], pl.Boolean)
    varying = pl.Series("", [bool(group.values) for *_, group in cases], pl.Boolean) & near.str.contains(_MAY_VARY)
    flags: list[bool] = (rejecting | near.str.contains(_MAY_NEGATE) | varying).to_list()
    return flags


def verdict(folded: str, group: Group) -> Verdict:
    """What a folded answer says about a fact, considering all places where it is found."""
    standing: list[Find] = []
    denied = False
    for find in islice(finds(folded, group), _MOST):
        if stands(folded, find, group):
            standing.append(find)
        elif not (group.rejects and _touches(folded, find, group.rejects)):
            denied = True
    return Verdict(min(standing, default=None), denied and not standing)


def first_standing(folded: str, group: Group) -> Find | None:
    """The first place where a folded answer states a fact; None if it does not."""
    return verdict(folded, group).find


def _touches(folded: str, find: Find, rejects: tuple[Word, ...]) -> bool:
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
def _any_of(rejects: tuple[Word, ...]) -> tuple[re.Pattern[str], int]:
    """A pattern of rejects, and the distance within which a reject may touch a find.

    A reject that ends with a letter must not be followed by another one, but may be followed by a digit.
    """
    pattern = re.compile(
        "|".join(
            ("(?<![a-z])" if word.text[:1].isalpha() and word.left else "")
            + re.escape(word.text)
            + ("(?![a-z])" if word.text[-1:].isalpha() and word.right else "")
            for word in sorted(rejects, key=lambda word: -len(word.text))
        )
    )
    return pattern, max(len(word.text) for word in rejects) + _APART


def _is_negated(folded: str, find: Find) -> bool:
    before = folded[max(0, find.start - _NEAR) : find.start]
    end = _LAST_CLAUSE_END.match(before)
    clause = before[end.end() :] if end else before
    after = folded[find.end : find.end + _NEAR]
    negation = _NEGATION.search(clause)
    if negation:
        between = negation["between"]
        if _NOT_MENTIONED.match(between) or not _OF_SOMETHING_ELSE.search(between):
            return True
    negation = _NEGATION_ZH.search(clause)
    if negation and not _OF_SOMETHING_ELSE_ZH.search(negation["between"]):
        if negation[0][0] == "除":
            return not _BESIDES_ZH.match(after)
        return not (negation[0].startswith("没有") and negation["between"])
    return bool(_NEGATED_AFTER.match(after) or _NEGATED_AFTER_ZH.match(after))


def _is_compared(folded: str, find: Find) -> bool:
    return _COMPARED.search(folded, max(0, find.start - _NEAR), find.start) is not None


def _is_choice(folded: str, find: Find, group: Group) -> bool:
    """Whether a value is in a row of different ones with an "or" among them."""
    row: list[Value] = []
    has_or = False
    first = max(0, find.start - _NEAR)
    near = folded[first : find.end + _NEAR]
    if not _ANY_OR.search(near):
        return False
    find = Find(find.start - first, find.end - first)
    for value in values_in(near, group.kind):
        if row and value.start >= row[-1].end:
            between = _CHOICE.fullmatch(near, row[-1].end, value.start)
            # Values with a unit each are alternatives only if the units are the same: feet or metres are not.
            unit = ((between and between["unit"]) or "").strip(" -")
            if between and between[0].strip() and near.startswith(unit, _after(near, value.end)):
                has_or = has_or or between["or"] is not None
                row.append(value)
                continue
            if has_or and _is_among(find, row, group):
                return True
            row, has_or = [], False
        if not row:
            row = [value]
    return has_or and _is_among(find, row, group)


def _after(text: str, end: int) -> int:
    """The place after a value where its unit begins."""
    return end + (text[end : end + 1] in (" ", "-"))


def _is_among(find: Find, row: list[Value], group: Group) -> bool:
    """Whether a find is one of a row's values, and another one differs from it."""
    is_in_row = any(value.start < find.end and find.start < value.end for value in row)
    return is_in_row and any(not any(is_same(value.value, wanted) for wanted in group.values) for value in row)
