"""The families of needles: what their options add."""

from __future__ import annotations

import pytest

import niah_gen
from niah_gen.tasks.needle_library import needle_library


@pytest.mark.slow
def test_say_hops_adds_a_hint_to_the_questions_of_chains_only() -> None:
    recipe = {
        "lengths": [2000], "depths": [50], "needles": ["chain-en", "list-en"], "corpora": ["en_essays"],
        "options": {"distractors": 2}, "paraphrase": True,
    }  # fmt: skip
    hinting = {**recipe, "options": {"distractors": 2, "say_hops": True}}
    for row, hinted in zip(niah_gen.iter_rows(recipe), niah_gen.iter_rows(hinting), strict=True):
        chain = needle_library()[row["needle_id"] or ""].kind == "chain"
        hint = " Several passages of the document have to be put together to find out." if chain else ""
        assert hinted["question"] == f"{row['question']}{hint}"
