"""Tells whether an answer denies a fact, or guesses at it, by the words of a language file.

Used by `voiding`, which has the words for English and Chinese.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from niah_score.text.fold import fold
from niah_score.text.groups import Find, Group
from niah_score.text.language import Language, MatchingRules, find_language
from niah_score.text.late_pattern import late
from niah_score.text.own_values import folded_pattern
from niah_score.text.values import is_same, values_in

_NEAR = 80
_CLAUSE_END = late(r"(?s:.*)(?:[;:!?()\n，。；：！？、،؛؟]|[.,](?=\s|$)|(?<=\s)[-\u2013\u2014](?=\s))")
# Up to three words between a denial and the fact.
_BETWEEN = r"(?:[\s'’]\S+(?:\s\S+){0,2})?[\s'’]?"
_NEVER = late("(?!)")


class _Denials(NamedTuple):
    """Patterns for the text before a denied fact, after one, and between alternative values."""

    before: re.Pattern[str]
    after: re.Pattern[str]
    choice: re.Pattern[str]


@lru_cache(maxsize=64)
def _compiled(language: Language) -> _Denials:
    rules = language.matching or MatchingRules()
    before, after = (
        "|".join(folded_pattern(pattern, rules) for pattern in patterns)
        for patterns in (rules.denied_before, rules.denied_after)
    )
    words = "|".join(folded_pattern(re.escape(fold(word)), rules) for word in rules.choice)
    spaces = language.words == "spaces"
    gap = _BETWEEN if spaces else r"[^\s]{0,4}"
    unit, beside = (r"(?:[\s-]?[^\W\d_]{1,12})?", r"(?:[^\W\d_]+\s+){0,3}") if spaces else (r"\D{0,3}", r"\D{0,4}")
    # The "o" of Spanish "sino" is not its "or".
    edge = r"\b" if spaces else ""
    choice = rf"{unit}[\s,،、]*{edge}(?:{words}){edge}\s*{beside}"
    return _Denials(
        re.compile(rf"(?:{before}){gap}$") if before else _NEVER,
        re.compile(after) if after else _NEVER,
        re.compile(choice) if words else _NEVER,
    )


def is_denied(text: str, find: Find, code: str) -> bool:
    """Whether the clause of a find denies it. `text`: folded, with the language's letters replaced."""
    denials = _compiled(find_language(code))
    before = text[max(0, find.start - _NEAR) : find.start]
    end = _CLAUSE_END.match(before)
    clause = before[end.end() :] if end else before
    return bool(denials.before.search(clause) or denials.after.match(text[find.end : find.end + _NEAR]))


def is_one_of_several(text: str, find: Find, group: Group) -> bool:
    """Whether the language's "or" joins a value to another one of its kind."""
    choice = _compiled(find_language(group.language)).choice
    first = max(0, find.start - _NEAR)
    near = text[first : find.end + _NEAR]
    start, end = find.start - first, find.end - first
    for value in values_in(near, group.kind, group.language):
        if any(is_same(value.value, wanted) for wanted in group.values):
            continue
        if (value.start >= end and choice.fullmatch(near, end, value.start)) or (
            value.end <= start and choice.fullmatch(near, value.end, start)
        ):
            return True
    return False
