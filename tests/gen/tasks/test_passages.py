"""Numbered passages: numbers are random, depths share everything but the place, and texts too short are refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from proved import proved_rows
from rendering import context_of

import niah_gen
from niah_gen.errors import FitError
from niah_score.contract import Row


def recipe_of(kind: str, **changes: object) -> dict[str, Any]:
    return {
        "name": "passages", "template": "passages", "lengths": [2000, 4000], "depths": [0, 37, 100], "reserve": 300,
        "options": {"rows": 2}, "task": f"passage-{kind}", **changes,
    }  # fmt: skip


@pytest.mark.parametrize("kind", ["match", "copy", "nth", "count"])
def test_numbers_are_random_and_depths_share_haystack_question_and_answer(kind: str) -> None:
    by_row: dict[tuple[object, ...], list[Row]] = {}
    for row in proved_rows(recipe_of(kind)):
        by_row.setdefault((row["language"], row["length"], row["needle_id"]), []).append(row)
    assert len(by_row) == 2 * 2 * 2
    for group in by_row.values():
        assert len({(row["haystack_id"], row["question"], row["answers"][0]) for row in group}) == 1
    assert len({context_of(group[0])[:20] for group in by_row.values()}) == len(by_row)


def test_a_corpus_of_too_few_sentences_is_refused(tmp_path: Path) -> None:
    (tmp_path / "short.txt").write_text("One sentence. Another one. A third.\n", "utf-8")
    with pytest.raises(FitError, match="expected at least 8"):
        list(niah_gen.iter_rows(recipe_of("copy", corpora=[str(tmp_path)])))
