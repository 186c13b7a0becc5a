"""Scores the share of a row's facts that the answer states, by keyword groups or by regular expressions."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from niah_score.errors import ScoreError
from niah_score.formats.record import brief
from niah_score.metrics.base import Score, Target, folded, verdicts
from niah_score.text import finds
from niah_score.text.fold import without_accents

Holds = Callable[[str, Target], tuple[bool, ...]]


def judge_keyword(answer: str, target: Target) -> Score:
    """Share of the keyword groups whose fact the answer states, in one of its spellings or as its value.

    `niah_score.text.voiding` defines what voids a find, such as a negation or a wrong unit.

    Parts: `found` and `groups` are the numbers of groups; `needles`, in rows with several needles, tells for each
    whether its facts were found (None for a needle without keywords). None without keywords.
    """
    return _share(tuple(one == "stated" for one in verdicts(answer, target)), target, _held_facts)


def judge_keyword_all(answer: str, target: Target) -> Score:
    """100 if the answer states the facts of all keyword groups, else 0. None without keywords."""
    value = judge_keyword(answer, target).value
    return Score(None if value is None else 100.0 * (value == 100))


def judge_keyword_regex(answer: str, target: Target) -> Score:
    """As `keyword`, with each keyword a regular expression to search for in the folded text, ignoring case.

    Takes linear time for any pattern, as Rust's engine has no look-around and no backreferences. Raises ScoreError for
    an invalid pattern, or one that matches an empty text.
    """
    return _share(_matched_groups(folded(answer), target), target, _matched_groups)


def _held_facts(text: str, target: Target) -> tuple[bool, ...]:
    return tuple([next(finds(text, group), None) is not None for group in target.groups])


@lru_cache(maxsize=16_384)
def _owned_groups(target: Target, holds: Holds) -> list[list[int]]:
    """For each needle, the keyword groups that its text holds; in a chain, only the last link holds any."""
    held = [holds(folded(needle), target) for needle in target.needles]
    return [[place for place, is_held in enumerate(groups) if is_held] for groups in held]


def _share(found: tuple[bool, ...], target: Target, holds: Holds) -> Score:
    """The score of an answer by the groups found in it. `holds`: which groups a needle's text holds."""
    owned = _owned_groups(target, holds)
    needles = [all(found[place] for place in own) if own else None for own in owned] if len(owned) > 1 else None
    if not found:
        return Score(None, {"needles": needles})
    count = sum(found)
    return Score(100 * count / len(found), {"found": count, "groups": len(found), "needles": needles})


def _matched_groups(text: str, target: Target) -> tuple[bool, ...]:
    """Which keyword groups have a pattern that matches a folded text."""
    # All patterns are tried, so that a wrong one is noticed in any text.
    return tuple(sum(_matches(text, pattern) for pattern in patterns) > 0 for patterns in target.keywords)


def _matches(text: str, pattern: str) -> bool:
    import polars as pl

    own = f"(?i){without_accents(pattern)}"
    if fault := pattern_fault(own):
        raise ScoreError(f"keyword_regex: {brief(pattern)} {fault}")
    return bool(pl.Series([text]).str.contains(own)[0])


def pattern_fault(pattern: str) -> str | None:
    """Why a regular expression cannot be searched for in answers, in words that follow it; None if it can."""
    import polars as pl

    try:
        of_nothing = pl.Series([""]).str.contains(pattern)[0]
    except pl.exceptions.PolarsError as error:
        # After an empty line, polars adds where the pattern was used.
        reason = str(error).split("\n\n")[0].splitlines()[-1].removeprefix("regex ").removeprefix("error: ")
        return f"is not a regex that Rust's linear-time engine accepts: {reason}"
    return "matches an empty text; expected a pattern that needs some" if of_nothing else None


_PARTS = {"found": int, "groups": int, "needles": list[bool]}
PARTS = {"keyword": _PARTS, "keyword_regex": _PARTS}
