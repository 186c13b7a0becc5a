"""Hides a number in noise: a pass key of five digits, or a sequence of ten.

The published forms are those of InfiniteBench (X. Zhang et al., ACL 2024), after A. Mohtashami and M. Jaggi (2023).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from niah_gen.haystacks.slots import Digits, Values, scattered, size_of, texts
from niah_gen.tasks.base import CONTROLS, Task
from niah_gen.tasks.hiding import among_lines, noise_filler
from niah_gen.tasks.records import Cell, Item, Settings


class KeyWording(NamedTuple):
    """The wording about a number `{key}` in a language: before the context, in it, and in the question."""

    opening: str
    needle: str
    question: str
    prefix: str


_PASSKEY = {
    "en": KeyWording(
        "A pass key is hidden inside a lot of irrelevant text. Find it and memorize it. I will quiz you about it "
        "afterwards.",
        "The pass key is {key}. Remember it. {key} is the pass key.",
        "What is the pass key?", "The pass key is",
    ),
    "zh": KeyWording(
        "下面大量无关的文字中藏着一个密码。请找到并记住它，稍后我会问你。",
        "密码是{key}。请记住它。{key}就是密码。",
        "密码是什么？", "密码是",
    ),
}  # fmt: skip
_NUMBER_STRING = {
    "en": KeyWording(
        "A sequence of digits is hidden inside a lot of irrelevant text. Find it and memorize it. I will quiz you "
        "about it afterwards.",
        "The sequence of digits is {key}. Remember it. {key} is the sequence of digits.",
        "What is the sequence of digits?", "The sequence of digits is",
    ),
    "zh": KeyWording(
        "下面大量无关的文字中藏着一串数字。请找到并记住它，稍后我会问你。",
        "这串数字是{key}。请记住它。{key}就是这串数字。",
        "这串数字是什么？", "这串数字是",
    ),
}  # fmt: skip


def _number(name: str, slot: Digits, settings: Settings, cell: Cell) -> tuple[str, str]:
    """The number of a cell, different for each repeat of a length, and another number."""
    seed = f"{settings.seed}/{name}/{cell.language}/{cell.length}"
    places = np.array([cell.repeat % size_of(slot), (cell.repeat + size_of(slot) // 2) % size_of(slot)])
    own, other = texts(slot, Values(scattered(places, size_of(slot), seed)))
    return own, other


def _task(name: str, digits: int, wording: dict[str, KeyWording]) -> Task:
    slot = Digits(digits)

    def ids(settings: Settings, language: str) -> Sequence[str]:
        return [name] if language in wording else []

    def item(settings: Settings, cell: Cell) -> Item:
        said = wording[cell.language]
        number, other = _number(name, slot, settings, cell)
        return Item(
            cell.draw, cell.language, said.question, (number,), ((number,),), "keyword",
            (said.needle.format(key=number),), answer_prefix=said.prefix, keyword_kinds=("number",),
            conflict=(said.needle.format(key=other), (other,)), opening=said.opening,
        )  # fmt: skip

    return Task(
        name, 1, ids, item, context=among_lines("noise", noise_filler, repeats=True),
        controls={name: make for name, make in CONTROLS.items() if name != "literal"}
    )  # fmt: skip


PASSKEY = _task("passkey", 5, _PASSKEY)
NUMBER_STRING = _task("number-string", 10, _NUMBER_STRING)
