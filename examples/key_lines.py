"""Defines a custom task family: a key and its value among lines of other keys and values.

PYTHONPATH=examples niah-gen build --set task=key_lines:KEY_LINES --length 1000 --set 'controls=["absent"]'
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from niah_gen.tasks.base import Task
from niah_gen.tasks.hiding import generated_units
from niah_gen.tasks.records import Cell, Item, Settings

WORDS = ("amber", "basil", "cedar", "delta", "ember", "fjord", "grove", "heron", "inlet", "jetty", "knoll", "larch")


@dataclass(frozen=True, slots=True)
class Options:
    """The recipe's [options]: how many keys are asked for, one per row."""

    keys: int = 2


def line(draw: random.Random) -> str:
    """One line of the haystack."""
    return f"The value of {draw.choice(WORDS)}-{draw.randrange(1000)} is {draw.randrange(10**6, 10**7)}."


def ids(settings: Settings, language: str) -> Sequence[str]:
    """The needle axis: the keys, in English only."""
    return [f"key-{number}" for number in range(settings.options.keys)] if language == "en" else []


def item(settings: Settings, cell: Cell) -> Item:
    """The truth of a cell, drawn from its coordinates except the depth."""
    draw = random.Random(f"{settings.seed}/{cell.length}/{cell.needle}/{cell.repeat}")
    key, value = f"{draw.choice(WORDS)}-{1000 + draw.randrange(1000)}", str(draw.randrange(10**6, 10**7))
    question = f"What is the value of {key}?"
    return Item(cell.needle, "en", question, (value,), ((value,),), "keyword", (f"The value of {key} is {value}.",))


def absent(item: Item) -> Item:
    """The control: nothing is hidden, so a model that names a value has guessed."""
    return item._replace(hide=())


KEY_LINES = Task(
    "key-lines", 1, ids, item, options=Options,
    context=generated_units("key_lines", line), controls={"absent": absent},
)  # fmt: skip
