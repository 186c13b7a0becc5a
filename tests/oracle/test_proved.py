"""The oracle notices any column or prompt that contradicts the recipe, the tokenizer or the truth."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from proved import proved_rows, wrong_rows
from truths import _ROWS, check_truth

from niah_gen.recipe.read import load_recipe

RECIPE: dict[str, Any] = {"lengths": [700], "depths": [40], "needles": ["velden-archive"], "corpora": ["en_essays"]}
WRONG: dict[str, Callable[[Any], Any]] = {
    "prompt_tokens": lambda old: old + 1, "needle_depths": lambda old: [old[0] + 0.01],
    "haystack_id": lambda old: "0" * 12, "haystack_tokens": lambda old: old - 1,
    "needle_spans": lambda old: [{"start": old[0]["start"] - 1, "end": old[0]["end"]}],
    "answers": lambda old: ["Drawer 418."], "leak": lambda old: "417", "keywords": lambda old: [["417"]],
    "question": lambda old: old + " ", "needles": lambda old: [old[0] + "\n"],
}  # fmt: skip


def test_a_wrong_column_is_noticed() -> None:
    (row,) = proved_rows(RECIPE)
    changed = [{**row, column: wrong(dict(row)[column])} for column, wrong in WRONG.items()]
    assert len(wrong_rows(load_recipe(RECIPE), changed)) == len(WRONG)


@pytest.mark.parametrize("name", _ROWS)
def test_a_row_with_the_truth_of_another_is_noticed_in_every_family(name: str) -> None:
    first, *others = proved_rows(name, lengths=[2000], depths=[40], repeats=2, controls=[], languages=["en"])
    other = next(row for row in others if row["answers"] != first["answers"])
    with pytest.raises(AssertionError):
        check_truth({**first, "answers": other["answers"], "keywords": other["keywords"]})
