"""Scores the share of a row's facts that the answer states, by keyword groups or by regular expressions."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from niah_score.errors import ScoreError
from niah_score.formats.record import brief
from niah_score.metrics.base import Score, Target, folded, verdicts
from niah_score.text import finds
from niah_score.text.fold import without_accents

# Tells the indices of the keyword groups that a folded text holds.
Holds = Callable[[str, Target], list[int]]


def judge_keyword(answer: str, target: Target) -> Score:
    """Share of the keyword groups whose fact the answer states, in one of its spellings or as its value.

    `niah_score.text.voiding` defines what voids a find, such as a negation or a wrong unit.

    Parts: `found` and `groups` are the numbers of groups; `needles`, in rows with several needles, tells for each
    whether its facts were found (None for a needle without keywords). None without keywords.
    """
    stated = [place for place, one in enumerate(verdicts(answer, target)) if one == "stated"]
    return _share(stated, target, _held_groups)


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


def _held_groups(text: str, target: Target) -> list[int]:
    """The indices of the keyword groups whose fact a folded text names."""
    return [place for place, group in enumerate(target.groups) if next(finds(text, group), None)]


@lru_cache(maxsize=16_384)
def _owned_groups(target: Target, holds: Holds) -> list[list[int]]:
    """For each needle, the keyword groups that its text holds; in a chain, only the last link holds any."""
    return [holds(folded(needle), target) for needle in target.needles]


def _share(found: list[int], target: Target, holds: Holds) -> Score:
    """The score of an answer. `found`: the indices of its groups; `holds`: finds those in a needle's text."""
    several = len(target.needles) > 1
    needles = [{*own} <= {*found} if own else None for own in _owned_groups(target, holds)] if several else None
    groups = len(target.keywords)
    if not groups:
        return Score(None, {"needles": needles})
    return Score(100 * len(found) / groups, {"found": len(found), "groups": groups, "needles": needles})


def _matched_groups(text: str, target: Target) -> list[int]:
    """The indices of the keyword groups with a pattern that matches a folded text."""
    # All patterns are tried, so that a wrong one is noticed in any text.
    matched = [[_matches(text, pattern) for pattern in patterns] for patterns in target.keywords]
    return [place for place, each in enumerate(matched) if any(each)]


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
