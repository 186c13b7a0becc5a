"""Frequent words: lists and coded texts are proved, keep their budget, and each has its own order."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from properties import examples
from proved import proved_rows


def recipe_of(task: str, **changes: Any) -> dict[str, Any]:
    return {"name": "words", "task": task, "template": task, "lengths": [1000, 4000], "options": {"rows": 2}, **changes}


TASKS = ["common-words", "coded-words"]


def assert_full(rows: list[Any], most: int) -> None:
    assert all(0 <= row["length"] - 200 - row["prompt_tokens"] <= most for row in rows)


@given(
    st.sampled_from(TASKS), st.sampled_from(["en", "zh"]), st.sampled_from(["text", "chat"]),
    st.sampled_from(["cl100k_base", "o200k_base"]), st.integers(1500, 20_000), st.integers(1, 3), st.integers(0, 1000),
)  # fmt: skip
@examples(40)
def test_texts_of_any_size_are_counted_exactly_and_keep_their_budget(
    task: str, language: str, form: str, tokenizer: str, length: int, asked: int, seed: int
) -> None:
    changes = {"languages": [language], "form": form, "tokenizer": tokenizer, "lengths": [length], "seed": seed}
    assert_full(proved_rows(recipe_of(task, **changes, options={"rows": 1, "asked": asked})), 40)


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("vocabulary_file", ["tokenizer_json", "piece_model"])
def test_texts_are_counted_exactly_by_tokenizers_that_must_encode_them_whole(
    task: str, vocabulary_file: str, request: pytest.FixtureRequest
) -> None:
    path = str(request.getfixturevalue(vocabulary_file))
    assert_full(proved_rows(recipe_of(task, tokenizer=path, lengths=[3000], options={"rows": 1})), 30)
