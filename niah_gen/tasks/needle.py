"""Asks for facts of the needle library: one at a time (`single`), or sets of them together (`multi`)."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from niah_gen.tasks.base import CONTROLS, Task, needle_ids
from niah_gen.tasks.needle_library import Distractor, Needle
from niah_gen.tasks.records import Cell, Item, Settings, cell_seed
from niah_score.text.language import find_language


@dataclass(frozen=True, slots=True)
class NeedleOptions:
    """The recipe's [options].

    `distractors`: how many near misses to hide beside each needle or set, at most. `say_hops`: whether the questions of
    chains say that the answer needs several passages.
    """

    distractors: int | None = None
    say_hops: bool | None = None

    def __post_init__(self) -> None:
        if self.distractors is not None and self.distractors < 1:
            raise ValueError(f"distractors is {self.distractors}; expected at least 1, or leave it out for none")


def _item(settings: Settings, cell: Cell) -> Item:
    needle = next(needle for needle in settings.needles if needle.id == cell.needle)
    chosen = _drawn(needle.distractors, settings.options.distractors or 0, cell_seed(settings.seed, cell))
    # If the text holds wrong answers, the answer must commit to the right one.
    metric = "correct" if chosen and needle.metric in ("keyword", "keyword_f1") else needle.metric
    asked_in = settings.question_language or needle.language
    question = needle.question_in(asked_in)
    if settings.options.say_hops and needle.kind == "chain":
        question += find_language(asked_in).prompt.hops
    return Item(
        needle.id, needle.language, question, needle.answers, needle.keywords, metric,
        (*needle.needles, *(distractor.text for distractor in chosen)),
        keyword_kinds=needle.keyword_kinds, rejects=needle.rejects,
        # Quoting a distractor that states no value also counts as finding the wrong text.
        decoys=tuple(distractor.value or (distractor.text,) for distractor in chosen), distractors=len(chosen),
        literal=needle.literal or None,
        conflict=None if needle.conflict is None else (needle.conflict.text, needle.conflict.value),
        question_language="" if asked_in == needle.language else asked_in,
    )  # fmt: skip


def _drawn(distractors: Sequence[Distractor], count: int, seed: int) -> list[Distractor]:
    """Draws `count` distractors, or all if there are fewer, and keeps their order."""
    places = random.Random(f"{seed}/distractors").sample(range(len(distractors)), min(count, len(distractors)))
    return [distractors[place] for place in sorted(places)]


SINGLE = Task("single", 1, needle_ids, _item, NeedleOptions, controls=CONTROLS)
MULTI = Task("multi", 1, needle_ids, _item, NeedleOptions, controls=CONTROLS)


def task_for(needles: Sequence[Needle]) -> Task:
    """The family of a recipe that names none: `multi` if any of its needles is a set."""
    return MULTI if any(len(needle.needles) > 1 for needle in needles) else SINGLE
