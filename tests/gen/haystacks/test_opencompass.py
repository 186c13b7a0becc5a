"""OpenCompass's processed records: a corpus that is too short ends them, and the plan says so."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from rendering import TEXTS, Write

import niah_gen
from niah_gen.errors import FitError
from niah_gen.recipe.read import load_recipe
from niah_gen.rows.plan import make_plan


def test_a_plan_leaves_out_and_reports_the_records_that_the_corpus_lacks(write_jsonl: Write, tmp_path: Path) -> None:
    corpus = write_jsonl(tmp_path / "short.jsonl", TEXTS)
    asked: dict[str, Any] = {
        "placement": "opencompass-processed", "corpora": [str(corpus)], "lengths": [30, 300], "depths": [0, 50],
        "repeats": 5, "reserve": 0, "guide": False,
        "needles": [{"needle": "A fact.", "question": "What?", "answer": "That."}],
    }  # fmt: skip
    recipe = load_recipe(asked)
    plan = make_plan(recipe)
    records = {length: {cell.repeat for cell in plan.cells if cell.length == length} for length in (30, 300)}
    assert records[30] == {0, 1, 2, 3, 4}
    assert records[300] < {0, 1, 2, 3, 4}
    assert plan.shortfalls == (f"short, length 300: the corpus ends after {len(records[300])} of 5 records",)
    assert len(list(niah_gen.iter_rows(recipe))) == len(plan.cells) == 10 + 2 * len(records[300])
    with pytest.raises(FitError, match="makes no rows: short, length 5000: the corpus ends after 0 of 5 records"):
        make_plan(load_recipe({**asked, "lengths": [5000]}))
