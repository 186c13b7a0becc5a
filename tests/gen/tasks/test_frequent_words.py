"""Frequent words: lists and coded texts are proved, keep their budget, and each has its own order."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from properties import examples
from proved import proved_rows
from rendering import context_of

import niah_gen


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


def test_the_words_asked_for_are_the_most_frequent_and_each_text_has_its_own_order() -> None:
    for task, asked, apart, separator in (("common-words", 10, 5, "\n"), ("coded-words", 3, 1.2, " ")):
        orders = set()
        rows = list(niah_gen.iter_rows(recipe_of(task)))
        for row in rows:
            words = [word.partition(". ")[2] or word for word in context_of(row).split(separator)]
            tally = Counter(word for word in words if word != "...").most_common()
            keywords = [group[0] for group in row["keywords"]]
            assert {word for word, _ in tally[:asked]} == set(keywords)
            assert tally[asked - 1][1] >= apart * tally[asked][1]
            orders.add(tuple(word in keywords for word in words[:100]))
        assert len(orders) == len(rows)
