"""Finds what makes a needle measure something other than retrieval, by the patterns in `library/doubts.toml`."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

from niah_gen.tasks.needle_library import Needle
from niah_gen.tasks.values import leading_unit, names_of, unit_in
from niah_score.text import Group, finds, fold, group_of, states
from niah_score.text.language import rules_code
from niah_score.text.values import AMOUNT, PAIR, TEXT, kind_of, values_in

_TABLES = tomllib.loads((Path(__file__).parents[1] / "library" / "doubts.toml").read_text("utf-8"))
_FILLING, _COMMON = _TABLES["filling"].split(), _TABLES["common"].split()
_ASKED = {name: re.compile(pattern) for name, pattern in _TABLES["questions"].items()}
_SAID = {name: re.compile(pattern) for name, pattern in _TABLES["texts"].items()}
_TIMES = {"time", "date", "lunar_date"}


def doubts(needle: Needle) -> list[str]:
    """What makes a needle measure something other than retrieval, a sentence each."""
    # Keywords that are regular expressions are not checked as texts or values.
    sentences = [] if needle.metric == "keyword_regex" else [*_unfound(needle), *_untyped(needle)]
    for name, text in (("question", needle.question), ("paraphrase", needle.paraphrase)):
        doubted = _misasked(needle, text) if text and needle.keywords else ()
        sentences += [f"the {name} {doubt}" for doubt in doubted]
    return sentences


def _groups(needle: Needle) -> list[Group]:
    facts = zip(needle.keywords, needle.keyword_kinds, needle.rejects, strict=True)
    return [group_of(*fact, rules_code(needle.language)) for fact in facts]


def _unfound(needle: Needle) -> Iterator[str]:
    """Reports facts that no hidden text states, an accepted answer omits or voids, or a question gives away."""
    if not needle.keywords:
        yield "no keywords: only the wording of answers can be compared"
    for number, (group, spellings) in enumerate(zip(_groups(needle), needle.keywords, strict=True)):
        named = f"keyword of {[*spellings[:3], *(['...'] if len(spellings) > 3 else [])]}"
        if not any(needle.holds(text)[number] for text in needle.needles):
            yield f"no needle holds a {named}: the answer cannot be found"
        for place, answer in enumerate(needle.answers):
            which = f"the accepted answer {answer!r}" if place else "the reference answer"
            if not needle.holds(answer)[number]:
                yield f"{which} holds no {named}: a perfect answer would count as wrong"
            elif not states(fold(answer), group):
                yield f"{which} voids its {named} with a reject or a negation: it would count as wrong"
        for name, text in (("question", needle.question), ("paraphrase", needle.paraphrase)):
            if needle.holds(text)[number]:
                yield f"the {name} holds a {named}: repeating it would count as an answer"


def _untyped(needle: Needle) -> Iterator[str]:
    """Reports numbers, times and dates that are matched only as they are spelt."""
    asked = _SAID["word"].findall(fold(f"{needle.question} {needle.paraphrase}"))
    for group, kind in zip(needle.keywords, needle.keyword_kinds, strict=True):
        word = next((word for word in group if kind == TEXT and _is_value(fold(word), asked)), None)
        if word is not None:
            yield f"keyword {word!r} is a value matched as text: state it as one, such as {{number = 417}}"


def _is_value(folded: str, asked: list[str]) -> bool:
    """Whether a keyword is a value, accompanied by nothing but its unit and words of the question."""
    if kind_of(folded) != TEXT:
        return True
    found = [(kind, value) for kind in ("number", *sorted(_TIMES)) for value in values_in(folded, kind)]
    for kind, (value, start, end) in found if not _SAID["code"].search(folded) else ():
        if any(map(str.isdigit, folded[start:end])) or (kind == "number" and value >= _TABLES["least_in_words"]):
            rest = f"{folded[:start]} {folded[end:].replace(leading_unit(folded[end:]), ' ', 1)}"
            if all(word in _FILLING or word in asked for word in _SAID["word"].findall(rest)):
                return True
    return False


def _misasked(needle: Needle, asked: str) -> Iterator[str]:
    """Reports questions for pairs that count in any pairing, and those with right answers that count as wrong.

    Those are another part of the needle, or the fact in other terms.
    """
    folded, kinds, is_chain = fold(asked), set(needle.keyword_kinds), needle.kind == "chain"
    asks = {name: pattern.search(folded) is not None for name, pattern in _ASKED.items()}
    where, who = asks["where"] and not asks["name"], asks["who"] and not asks["name"]
    numbers = (group.values for group in _groups(needle) if group.kind == "number")
    unit = next(filter(None, (unit_in(needle.needles, values) for values in numbers)), None)
    money = any(_names_unit(folded, kind.removeprefix(AMOUNT)) for kind in kinds if kind.startswith(AMOUNT))
    numeric, place = kinds & {"number", *_TIMES}, next(_other_places(needle, folded), None)
    described = None if asks["name"] else next(_descriptions(needle, folded, who), None)
    # The paraphrase may use other words for it.
    beside = next(_beside_keywords(needle, folded), None) if asked == needle.question else None
    paired = len(needle.keywords) < 2 or any(kind.startswith(PAIR) for kind in kinds)
    pairs = None if paired else _ASKED["pairs"].search(folded) or _ASKED["each"].search(asked)
    timed, named = kinds & _TIMES, asks["how_old"] or (unit and _names_unit(folded, unit))
    for is_doubtful, sentence in (
        (pairs, f"asks for pairs ({pairs and pairs[0]!r}): ask for the set, or name each keyword's owner (of = ...)"),
        (unit and not named, f"does not name the unit, {unit!r}: another one counts as wrong"),
        (is_chain and asks["how_much"] and not money, "asks how much without naming a currency: ask how many pounds"),
        (where and numeric, "asks where, but the keyword is a number: ask which drawer or page"),
        (where and is_chain and not numeric, "asks where, which an earlier link may answer: ask for the kind of place"),
        (where and place and not (is_chain or numeric), f"asks where, which {place!r} answers too: ask for its name"),
        (asks["when"] and timed and (is_chain or not asks["time"]), "asks when, which an event answers: ask what time"),
        (described, f"can be answered with {described!r}, which counts as wrong: ask for the name"),
        (is_chain and who and not described, "asks who, which an earlier link may answer: ask for the name"),
        (beside, f"does not name {beside!r}, which the reference answer says beside its keywords: ask more precisely"),
    ):  # fmt: skip
        if is_doubtful:
            yield sentence


def _names_unit(folded: str, unit: str) -> bool:
    """Whether a question names a unit or currency. Names in letters must be whole words of at least two letters."""
    words, names = re.findall("[a-z]{2,}", folded), names_of(unit)
    return any(name in words or (name in folded and not re.fullmatch("[a-z]+", name)) for name in names)


def _other_places(needle: Needle, asked: str) -> Iterator[str]:
    """Other places that the needles name, such as "on the mainland"."""
    for match in (match for text in needle.needles for match in _SAID["place"].finditer(text)):
        if not any(word in asked for word in match["words"].split()) and not any(needle.holds(match[0])):
            yield match[0]


def _descriptions(needle: Needle, asked: str, who: bool) -> Iterator[str]:
    """What the needles call the bearers of names, such as "a ferryman", unless the question says it too."""
    names = [word for group in needle.keywords for word in group if re.match(r"[A-Z][a-z]|[\u4e00-\u9fff]", word)]
    for before, _, after in (text.partition(name) for text in needle.needles for name in names if name in text):
        match = _SAID["described"].search(before)
        if match and fold(match["noun"]) not in asked:
            yield f"{match['words']}{match['noun']}"
        for called in (_SAID["apposition"].match(after), _SAID["described_zh"].search(before)) if who else ():
            if called:
                yield called["words"].strip()


def _beside_keywords(needle: Needle, asked: str) -> Iterator[str]:
    """What the reference answer to a single needle says beyond its keywords, names and the question's words."""
    answer = needle.answers[0]
    if len(needle.needles) > 1 or answer.strip() == needle.needles[0].strip() or not all(needle.holds(answer)):
        return
    names = {fold(word) for word in re.findall(r"\b[A-Z][\w'-]+", answer) if word in needle.needles[0]}
    rest = fold(answer)
    places = {(find.start, find.end) for group in _groups(needle) for find in finds(rest, group)}
    for start, end in sorted(places, reverse=True):
        rest = rest[:start] + "|" * (end - start) + rest[end:]
    for word in _SAID["content"].findall(_SAID["little"].sub("|", rest)):
        if word not in _COMMON and word not in names and word[: 5 if word.isascii() else 2] not in asked:
            yield word
