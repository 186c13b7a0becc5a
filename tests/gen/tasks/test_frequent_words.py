"""Frequent words: the most frequent words of lists and coded texts are the truth, each in its own order."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from properties import examples
from rendering import context_of, tokens_of

import niah_gen
from niah_gen.errors import FitError
from niah_gen.tokenizers.find import find_tokenizer

LISTS: dict[str, Any] = {
    "name": "words", "task": "common-words", "template": "common-words", "lengths": [1000, 4000],
    "options": {"rows": 2},
}  # fmt: skip
CODED: dict[str, Any] = {
    "name": "codes", "task": "coded-words", "template": "coded-words", "lengths": [1000, 4000],
    "options": {"rows": 2},
}  # fmt: skip


def tally_of(row: Any) -> list[tuple[str, int]]:
    """How often each word occurs, most frequent first, without the dots."""
    counts = Counter(context_of(row).split(" "))
    del counts["..."]
    return counts.most_common()


def words_of(row: Any) -> list[str]:
    return [line.partition(". ")[2] for line in context_of(row).split("\n")]


@given(
    st.sampled_from([LISTS, CODED]), st.sampled_from(["en", "zh"]), st.sampled_from(["text", "chat"]),
    st.sampled_from(["cl100k_base", "o200k_base"]), st.integers(1500, 20_000), st.integers(1, 3), st.integers(0, 1000),
)  # fmt: skip
@examples(40)
def test_texts_of_any_size_are_counted_exactly_and_keep_their_budget(
    recipe: dict[str, Any], language: str, form: str, tokenizer: str, length: int, asked: int, seed: int
) -> None:
    changes = {"languages": [language], "form": form, "tokenizer": tokenizer, "lengths": [length], "seed": seed}
    for row in niah_gen.iter_rows(recipe | changes | {"options": {"rows": 1, "asked": asked}}):
        assert tokens_of(row, find_tokenizer(tokenizer)) == (row["prompt_tokens"], row["haystack_tokens"])
        assert 0 <= length - 200 - row["prompt_tokens"] <= 40


@pytest.mark.parametrize("task", ["common-words", "coded-words"])
@pytest.mark.parametrize("vocabulary_file", ["tokenizer_json", "piece_model"])
def test_texts_are_counted_exactly_by_tokenizers_that_must_encode_them_whole(
    task: str, vocabulary_file: str, request: pytest.FixtureRequest
) -> None:
    path = str(request.getfixturevalue(vocabulary_file))
    recipe = {"name": "x", "task": task, "template": task, "tokenizer": path, "lengths": [3000], "options": {"rows": 1}}
    for row in niah_gen.iter_rows(recipe):
        assert tokens_of(row, find_tokenizer(path)) == (row["prompt_tokens"], row["haystack_tokens"])
        assert 0 <= (row["length"] or 0) - 200 - row["prompt_tokens"] <= 30


def test_the_words_asked_for_are_the_most_frequent_by_far_and_each_list_has_its_own_order() -> None:
    rows = list(niah_gen.iter_rows(LISTS))
    for row in rows:
        tally = Counter(words_of(row)).most_common()
        assert {word for word, _ in tally[:10]} == {group[0] for group in row["keywords"]}
        assert tally[9][1] == tally[0][1] >= 5 * tally[10][1]
    asked = [{group[0] for group in row["keywords"]} for row in rows]
    assert len({tuple(word in asked[n] for word in words_of(row)[:100]) for n, row in enumerate(rows)}) == len(rows)


def test_a_length_without_room_for_a_list_is_refused() -> None:
    with pytest.raises(FitError, match=r"too few|too short"):
        list(niah_gen.iter_rows(LISTS | {"lengths": [350]}))


def test_the_words_asked_for_are_the_most_frequent_and_each_text_has_its_own_order() -> None:
    rows = list(niah_gen.iter_rows(CODED))
    for row in rows:
        tally = tally_of(row)
        assert [word for word, _ in tally[:3]] == [group[0] for group in row["keywords"]]
        assert tally[2][1] >= 1.2 * tally[3][1]
    assert len({tuple(word == "..." for word in context_of(row).split(" ")[:60]) for row in rows}) == len(rows)


def test_counts_too_close_to_tell_apart_are_refused() -> None:
    with pytest.raises(FitError, match="too close to tell them apart"):
        list(niah_gen.iter_rows(CODED | {"lengths": [1000], "options": {"asked": 10}}))
