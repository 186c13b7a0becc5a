"""Makes rows of families that trace facts, and runs the family's own check on them, for tests."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any, cast

from of_families import wrong_row

import niah_gen
from niah_gen.recipe.read import load_recipe
from niah_gen.tasks.base import Task, item_of, shown_of
from niah_gen.tasks.records import Cell, Item, Settings
from niah_score.contract import Row, needle_kind

RowDict = dict[str, Any]


def small(preset: str, **fields: Any) -> dict[str, Any]:
    """A preset at a short length and few depths."""
    return {"preset": preset, "lengths": [2000], "depths": [0, 40, 100], "control_depths": [40], **fields}


def rows_of_preset(preset: str, **fields: Any) -> list[RowDict]:
    recipe = small(preset, **fields)
    return [cast(RowDict, row) for row in niah_gen.iter_rows(load_recipe(recipe.pop("preset"), recipe))]


def problems_of(row: Mapping[str, Any], **changes: Any) -> list[str]:
    """The problems that the family's check finds in a row with some columns changed."""
    changed = cast(Row, {**row, **changes})
    item = Item(needle_kind(str(row["needle_id"])), row["language"], changed["question"], ("?",), (), changed["metric"])
    return list(wrong_row(row["task"], changed, item))


def problems_of_item(task: Task, options: Any, needle: str, language: str, seed: int, control: str | None) -> list[str]:
    """The problems that a family's check finds in the texts of an item, or of its twin, one a line in any order."""
    cell = Cell(language, "c", 4000, needle, 0, 0.0, control)
    item = item_of(task, Settings(options, seed=seed), cell)
    shown = shown_of(task, cell, item)
    texts = list(shown.hide)
    random.Random(seed).shuffle(texts)
    row: Any = {
        "task": task.name, "needle_id": needle, "language": language, "prompt": "\n".join(["Filler.", *texts, "End."]),
        "question": shown.question, "answers": list(shown.answers), "context_message": -1,
        "keywords": [list(group) for group in shown.keywords], "decoys": [list(group) for group in shown.decoys],
    }  # fmt: skip
    return list(wrong_row(task.name, row, shown))
