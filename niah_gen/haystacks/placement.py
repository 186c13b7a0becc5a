"""Defines what a placement is: the rule that decides where needles go and where the haystack is cut."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from niah_gen.corpora.read import Corpus
from niah_gen.haystacks.haystack import CorpusFiller, Haystack
from niah_gen.haystacks.splice import DepthTargets, Laid
from niah_gen.tokenizers.find import Tokenizer

Place = Callable[[Haystack, Sequence[str], DepthTargets, Tokenizer], Laid]


def no_notes(row: Mapping[str, Any], reserve: int) -> Iterator[str]:
    """Nothing to say about a row."""
    yield from ()


def all_depths(depths: Sequence[float]) -> tuple[float, ...]:
    """Every depth asked for has rows."""
    return tuple(depths)


def same_boundary(boundary: str, depth: float | None) -> str:
    """At every depth needles stand at the recipe's boundary."""
    return boundary


def as_written(text: str) -> str:
    """A needle is inserted exactly as its file has it."""
    return text


@dataclass(frozen=True, slots=True)
class Placement:
    """One placement. `version` is raised whenever the rows that it makes change.

    template, boundary, spread, leaks: the defaults for recipes that leave these fields out.
    fill: makes the filler of a corpus, given the recipe's `boundary` and `leaks`.
    place: puts needles into a haystack. depths: which of the recipe's depths have rows.
    notes: what a user should know about a finished row, a sentence each; takes its columns except the prompt, and the
    recipe's reserve in tokens.
    boundary_at: where needles stand in rows of a depth. hidden: a needle's text as it is inserted.
    choices: the recipe's fields that users may set; all of them are in family8 of the row ids.
    any_spread: the recipe decides how a set's needles are spread, and whether each row has its own filler.
    keeps_languages: needles only go into corpora of their own language.
    exact: every needle stands once, and prompts end within a few tokens below their budget.
    most_needles: how many texts it can hide in a row; None for any number.
    repeats_differ: each repeat has its own filler.
    corpus_may_end: a corpus may hold fewer repeats than the recipe asks for.
    """

    name: str
    version: int
    template: str
    fill: Callable[[Corpus, Tokenizer, str, str], CorpusFiller]
    place: Place
    boundary: str = "sentence"
    spread: str = "even"
    leaks: str = "report"
    depths: Callable[[Sequence[float]], tuple[float, ...]] = all_depths
    notes: Callable[[Mapping[str, Any], int], Iterator[str]] = no_notes
    boundary_at: Callable[[str, float | None], str] = same_boundary
    hidden: Callable[[str], str] = as_written
    choices: tuple[str, ...] = ()
    any_spread: bool = False
    keeps_languages: bool = False
    exact: bool = False
    most_needles: int | None = None
    repeats_differ: bool = True
    corpus_may_end: bool = False
