"""Defines what an answer is judged against."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, eq=False)
class Target:
    """What an answer is judged against; the rows of one needle share one.

    `answers`: the accepted answers, at least one; the first is the reference. `keywords`: groups of spellings, of which
    an answer should hold one each. `needles`: the hidden texts. `prefix`: the text that the prompt ends with, or None.
    `language`: a code such as `en` or `zh`; it decides how words are told apart.
    """

    answers: tuple[str, ...]
    keywords: tuple[tuple[str, ...], ...] = ()
    needles: tuple[str, ...] = ()
    prefix: str | None = None
    language: str = "en"


def target_of(row: Mapping[str, Any]) -> Target:
    """The target of one row of a dataset, given its columns by name; only `answers` must be there."""
    return Target(
        tuple(row["answers"]),
        tuple(map(tuple, row.get("keywords") or ())),
        tuple(row.get("needles") or ()),
        row.get("answer_prefix"),
        row.get("language") or "en",
    )
