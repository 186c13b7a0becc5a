"""Makes rows of families that trace facts, and runs the family's own check on them, for tests."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import fmean
from typing import Any, cast

from of_families import wrong_row
from proved import prove

import niah_gen
from niah_gen.dataset.read import rows_in
from niah_gen.recipe.read import load_recipe
from niah_gen.tasks.base import Task, item_of, shown_of
from niah_gen.tasks.records import Cell, Item, Settings
from niah_score import Judge
from niah_score.contract import Row, needle_kind, open_dataset

RowDict = dict[str, Any]


def small(preset: str, **fields: Any) -> dict[str, Any]:
    """A preset at a short length and few depths."""
    return {"preset": preset, "lengths": [2000], "depths": [0, 40, 100], "control_depths": [40], **fields}


def rows_of_preset(preset: str, **fields: Any) -> list[RowDict]:
    recipe = small(preset, **fields)
    return [cast(RowDict, row) for row in niah_gen.iter_rows(load_recipe(recipe.pop("preset"), recipe))]


def assert_proved(folder: Path, preset: str, **fields: Any) -> Path:
    """Build and prove a dataset: every row is near its budget, and only its own answer is right."""
    recipe = small(preset, **fields)
    dataset = niah_gen.build(load_recipe(recipe.pop("preset"), recipe), folder)
    proof = prove(dataset)
    assert (proof.problems, proof.not_rebuilt) == ((), None)
    rows = [row for file in open_dataset(dataset).files() for row in rows_in(file.path)]
    assert len({row["prompt_sha256"] for row in rows}) == len(rows)
    for row in rows:
        if row["control"] is None:
            assert 0 <= row["length"] - 200 - row["prompt_tokens"] <= 100
    judge = Judge(dataset)
    own = [row for row in rows if row["control"] is None]
    assert all(judge(row["id"], row["answers"][0]).score == 100 for row in own)
    others = [(row, other) for row in own for other in own if other["question"] != row["question"]]
    random.Random(0).shuffle(others)
    assert fmean(judge(row["id"], other["answers"][0]).score or 0.0 for row, other in others[:60]) < 5
    for row in rows:
        if row["control"] == "absent" and row["keywords"]:
            assert judge(row["id"], row["answers"][0]).finding == "said_absent"
    return dataset


def problems_of(row: Mapping[str, Any], **changes: Any) -> list[str]:
    """The problems that the family's check finds in a row with some columns changed."""
    changed = cast(Row, {**row, **changes})
    item = Item(needle_kind(str(row["needle_id"])), row["language"], changed["question"], ("?",), (), changed["metric"])
    return list(wrong_row(row["task"], None, changed, item))


def replacing(old: str, new: str) -> Callable[[str], str]:
    """A function that replaces the first occurrence of a text."""
    return lambda text: text.replace(old, new, 1)


def in_prompt(row: Mapping[str, Any], change: Callable[[str], str]) -> list[dict[str, str]] | str:
    """The prompt with its context changed."""
    prompt = row["prompt"]
    if isinstance(prompt, str):
        return change(prompt)
    messages = [dict(message) for message in prompt]
    messages[row["context_message"]]["content"] = change(messages[row["context_message"]]["content"])
    return messages


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
    return list(wrong_row(task.name, options, row, shown))
