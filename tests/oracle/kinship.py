"""Proves rows that ask for relatives: reads the facts back from the prompt and follows them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from contexts import context_of

from niah_gen.tasks.base import not_stated
from niah_gen.tasks.records import Item
from niah_score.contract import Row, needle_kind

_NAME = {"en": r"[A-Z][a-z]+ [A-Z][a-z]+", "zh": "[\u4e00-\u9fff]{3}"}
_ONE = {"en": "father|mother|dad|mom", "zh": "父亲|母亲|爸爸|妈妈"}
_TWO = {
    "en": "(?:maternal |paternal )?grand(?:father|mother)",
    "zh": "爷爷|奶奶|姥姥|姥爷|外公|外婆",
}  # fmt: skip
# E is the elder, Y the younger, T the term, N any name; a repeated name must be the same. Each form includes what ends
# or continues the sentence, so that no form matches inside another.
_FORMS = {
    "en": (
        r"(?P<E>N), as (?P<Y>N)'s (?P<T>T), has",
        r"(?P<E>N) is not only (?P<Y>N)'s (?P<T>T) but also (?P=Y)'s",
        r"(?P<E>N) is (?P<Y>N)'s (?P<T>T)\.",
        r"(?P<Y>N)'s (?P<T>T) is (?P<E>N)\.",
        r"During (?P<Y>N)'s upbringing, (?P<E>N) was not only (?P=Y)'s (?P<T>T),",
        r"For (?P<Y>N), (?P<E>N) is (?:not|more than) just a (?P<T>T)[,;]",
    ),
    "zh": (
        r"(?P<E>N)是(?P<Y>N)的(?P<T>T)。",
        r"(?P<Y>N)的(?P<T>T)是(?P<E>N)。",
        r"(?P<E>N)作为(?P<Y>N)的(?P<T>T)，对(?P=Y)的",
        r"(?P<E>N)不仅是(?P<Y>N)的(?P<T>T)，还是(?P=Y)的",
        r"(?P<E>N)在(?P<Y>N)的成长过程中，不仅仅是(?P=Y)的(?P<T>T)，还是(?P=Y)的",
        r"(?P<E>N)对(?P<Y>N)来说，不只是一个(?P<T>T)，",
    ),
}
_QUESTIONS = {
    "en": {
        "eldest": r"eldest relative that (?P<person>N) can",
        "ancestor": r"the (?P<nth>\d+(?:st|nd|rd|th)) generation ancestor of (?P<person>N)\?",
        "descendant": r"the (?P<nth>\d+(?:st|nd|rd|th)) generation descendant of (?P<person>N)\?",
        "distance": r"between (?P<person>N) and (?P<other>N)\?",
    },
    "zh": {
        "eldest": r"追溯，(?P<person>N)最年长的长辈是谁",
        "ancestor": r"^(?P<person>N)的第(?P<nth>\d+)代祖先",
        "descendant": r"^(?P<person>N)的第(?P<nth>\d+)代子孙",
        "distance": r"^(?P<person>N)和(?P<other>N)之间相差几代",
    },
}


class _Step(NamedTuple):
    """A step to a relative and how many generations away that is."""

    to: str
    generations: int


def check_kinship(row: Row, item: Item) -> Iterator[str]:
    """Checks that the facts stated in a row's prompt lead to its answer."""
    language = row["language"]
    elders: dict[str, set[_Step]] = {}
    youngers: dict[str, set[_Step]] = {}
    for elder, younger, generations in _facts_in(context_of(row), language):
        elders.setdefault(younger, set()).add(_Step(elder, generations))
        youngers.setdefault(elder, set()).add(_Step(younger, generations))
    kind = needle_kind(item.id).rpartition("-")[0]
    asked = re.search(_QUESTIONS[language][kind].replace("N", _NAME[language]), item.question or "")
    if asked is None:
        yield f"question is {item.question!r}, which is not a question of the kind {kind!r}"
        return
    named = asked.groupdict("")
    reached = _followed(named["person"], youngers if kind == "descendant" else elders)
    if reached is None:
        yield f"the facts of the prompt lead from {named['person']} to more than one person, or in a circle"
        return
    nth = named.get("nth", "")
    if language == "en" and nth and not _is_ordinal(nth):
        yield f"question says {nth!r}, which is not an ordinal"
    answer: str | None
    if kind == "distance":
        answer = str(reached[named["other"]]) if named["other"] in reached else None
    elif kind == "eldest":
        answer = next(reversed(reached), None)
    else:
        generations = int(re.sub(r"\D", "", nth))
        answer = next((person for person, far in reached.items() if far == generations), None)
    said = row["answers"][0]
    expected = answer or not_stated(language)
    if said != expected:
        yield f"answers begin with {said!r}; the facts of the prompt lead to {expected!r}"


def _facts_in(text: str, language: str) -> Iterator[tuple[str, str, int]]:
    """Yields elder, younger and the generations between them for every fact that a text states."""
    for form in _FORMS[language]:
        # "N)" occurs in the forms only as the placeholder of a name.
        pattern = form.replace("N)", f"{_NAME[language]})").replace(">T)", f">{_TWO[language]}|{_ONE[language]})")
        before = r"(?<![A-Za-z])" if language == "en" else ""
        # Matched in a lookahead: a chance match must not hide a fact that begins inside it.
        for match in re.finditer(f"(?={before}{pattern})", text):
            yield match["E"], match["Y"], 1 if re.fullmatch(_ONE[language], match["T"]) else 2


def _followed(start: str, steps: Mapping[str, set[_Step]]) -> dict[str, int] | None:
    """The people reached from a person, in order, with their distance in generations; None for a fork or a circle."""
    reached: dict[str, int] = {}
    person, far = start, 0
    while person in steps:
        if len(steps[person]) > 1:
            return None
        (step,) = steps[person]
        person, far = step.to, far + step.generations
        if person in reached or person == start:
            return None
        reached[person] = far
    return reached


def _is_ordinal(text: str) -> bool:
    digits, ending = text[:-2], text[-2:]
    if len(digits) > 1 and digits[-2] == "1":
        return ending == "th"
    return ending == {"1": "st", "2": "nd", "3": "rd"}.get(digits[-1], "th")
