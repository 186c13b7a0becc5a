"""Defines what an answer is judged against."""

from __future__ import annotations

from dataclasses import dataclass


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
