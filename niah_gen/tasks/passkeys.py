"""Hides a number in noise: a pass key of five digits, or a sequence of ten.

The published forms are those of InfiniteBench (X. Zhang et al., ACL 2024), after A. Mohtashami and M. Jaggi (2023).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from niah_gen.haystacks.slots import Digits, scattered, size_of, texts
from niah_gen.tasks.base import CONTROLS, Task
from niah_gen.tasks.hiding import among_lines, noise_filler
from niah_gen.tasks.records import Cell, Item, Settings
from niah_gen.tasks.words import wording


def _numbers(name: str, slot: Digits, settings: Settings, cell: Cell) -> list[str]:
    """The number of a cell, different for each repeat of a length, and another number."""
    seed = f"{settings.seed}/{name}/{cell.language}/{cell.length}"
    places = np.array([cell.repeat % size_of(slot), (cell.repeat + size_of(slot) // 2) % size_of(slot)])
    return texts(slot, scattered(places, size_of(slot), seed))


def _task(name: str, digits: int) -> Task:
    def ids(settings: Settings, language: str) -> Sequence[str]:
        return [name] if language in wording(name) else []

    def item(settings: Settings, cell: Cell) -> Item:
        said = wording(name)[cell.language]
        number, other = _numbers(name, Digits(digits), settings, cell)
        return Item(
            cell.draw, cell.language, said["question"], (number,), ((number,),), "keyword",
            (said["needle"].format(key=number),), answer_prefix=said["prefix"], keyword_kinds=("number",),
            conflict=(said["needle"].format(key=other), (other,)), opening=said["opening"],
        )  # fmt: skip

    return Task(
        name, 2, ids, item, context=among_lines("noise", noise_filler, repeats=True),
        controls={name: make for name, make in CONTROLS.items() if name != "literal"},
    )  # fmt: skip


PASSKEY = _task("passkey", 5)
NUMBER_STRING = _task("number-string", 10)
