"""Asks for facts of the needle library: one at a time (`single`), or sets of them together (`multi`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from niah_gen.tasks.base import CONTROLS, Task, needle_ids
from niah_gen.tasks.needle_library import Needle
from niah_gen.tasks.records import Cell, Item, Settings
from niah_score.text.language import find_language


@dataclass(frozen=True, slots=True)
class NeedleOptions:
    """The recipe's [options]. `say_hops`: whether questions of chains say that the answer needs several passages."""

    say_hops: bool | None = None


def _item(settings: Settings, cell: Cell) -> Item:
    needle = next(needle for needle in settings.needles if needle.id == cell.needle)
    asked_in = settings.question_language or needle.language
    question = needle.question_in(asked_in)
    if settings.options.say_hops and needle.kind == "chain":
        question += find_language(asked_in).prompt.hops
    return Item(
        needle.id, needle.language, question, needle.answers, needle.keywords, needle.metric,
        needle.needles,
        keyword_kinds=needle.keyword_kinds, rejects=needle.rejects, literal=needle.literal or None,
        conflict=None if needle.conflict is None else (needle.conflict.text, needle.conflict.value),
        question_language="" if asked_in == needle.language else asked_in,
    )  # fmt: skip


SINGLE = Task("single", 1, needle_ids, _item, NeedleOptions, controls=CONTROLS)
MULTI = Task("multi", 1, needle_ids, _item, NeedleOptions, controls=CONTROLS)


def task_for(needles: Sequence[Needle]) -> Task:
    """The family of a recipe that names none: `multi` if any of its needles is a set."""
    return MULTI if any(len(needle.needles) > 1 for needle in needles) else SINGLE
