"""Frequent words: the most frequent words of lists and coded texts are the truth, each in its own order."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from each import each
from hypothesis import given
from hypothesis import strategies as st
from proofs import of_rows, read, write
from properties import examples
from proved import problems_of
from whole_contexts import change_context, context_of, tokens_of

import niah_gen
from niah_gen.errors import FitError
from niah_gen.tasks.frequent_words import CommonWordsOptions, code_characters, counts_for, zeta, zipf_counts
from niah_gen.tasks.words import word_list
from niah_gen.tokenizers.find import BytePairTokenizer, find_tokenizer

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


def repeated(text: str) -> str:
    """A list whose seventh line has the number of the eighth."""
    return text.replace("\n7. ", "\n8. ")


@each(
    ("recipe", "change", "message"),
    [
        (LISTS, lambda row: repeated, "line 7 of the list is '8. "),
        (LISTS, lambda row: lambda text: text.replace(f". {row['keywords'][0][0]}\n", ". other\n"), "occurs"),
        (CODED, lambda row: lambda text: text.replace(row["keywords"][2][0], tally_of(row)[3][0]), "occurs"),
        (CODED, lambda row: lambda text: text.replace(row["keywords"][0][0], "x"), "occurs 0 times"),
        (CODED, lambda row: lambda text: text.replace("...", "..", 1), "more than words"),
    ],
)  # fmt: skip
def test_a_text_with_changed_word_counts_is_refused(
    recipe: dict[str, Any], change: Callable[[Any], Callable[[str], str]], message: str, tmp_path: Path,
    cl100k: BytePairTokenizer,
) -> None:  # fmt: skip
    folder = niah_gen.build(recipe | {"lengths": [1000], "languages": ["en"]}, tmp_path, formats=["jsonl"])
    path = "jsonl/en-1k/test-00000-of-00001.jsonl"
    rows = read(folder, path)
    change_context(rows[0], change(rows[0]), cl100k)
    write(folder, rows, path)
    problems = of_rows(problems_of(folder))
    assert any(message in problem for problem in problems), problems


def test_word_counts_follow_the_options_and_keep_their_ratio_at_other_sizes() -> None:
    sizes = {800: (30, 3), 400: (20, 2), 170: (8, 1), 200_000: (810, 81)}
    assert {size: counts_for(size, CommonWordsOptions(), 2400) for size in sizes} == sizes


@given(st.integers(60, 400_000), st.integers(1, 20), st.integers(3, 60), st.integers(1, 30))
@examples(50)
def test_a_list_never_needs_more_words_than_exist(entries: int, asked: int, common: int, uncommon: int) -> None:
    if common < 2 * uncommon:
        return
    try:
        common, uncommon = counts_for(entries, CommonWordsOptions(asked, common, uncommon), 2300)
    except FitError:
        assert entries < 6 * asked
        return
    assert 0 <= entries - asked * common <= uncommon * (2300 - asked)
    assert common >= 2 * uncommon


def test_a_length_without_room_for_a_list_is_refused() -> None:
    with pytest.raises(FitError, match=r"too few|too short"):
        list(niah_gen.iter_rows(LISTS | {"lengths": [350]}))


@each(("language", "form"), [("en", "[a-z]{4,10}"), ("zh", "[\u4e00-\u9fa5]{2}")])
def test_the_vocabulary_is_large_and_its_words_are_distinct_and_plain(language: str, form: str) -> None:
    words = word_list(language)
    assert len(words) == len(set(words)) > 2300
    assert all(re.fullmatch(form, word) for word in words)


def test_the_words_asked_for_are_the_most_frequent_and_each_text_has_its_own_order() -> None:
    rows = list(niah_gen.iter_rows(CODED))
    for row in rows:
        tally = tally_of(row)
        assert [word for word, _ in tally[:3]] == [group[0] for group in row["keywords"]]
        assert tally[2][1] >= 1.2 * tally[3][1]
    assert len({tuple(word == "..." for word in context_of(row).split(" ")[:60]) for row in rows}) == len(rows)


def test_zeta_matches_known_values() -> None:
    known = {2.0: 1.6449340668482264, 4.0: 1.0823232337111382, 1.1: 10.584448464950803}
    assert {alpha: zeta(alpha) for alpha in known} == pytest.approx(known, abs=1e-9, rel=1e-7)


@given(st.integers(1, 200_000), st.floats(1.05, 10))
@examples(50)
def test_zipf_counts_add_up_and_never_grow_with_the_rank(total: int, alpha: float) -> None:
    counts = zipf_counts(total, alpha)
    assert sum(counts) == total
    assert counts == sorted(counts, reverse=True)
    assert counts[-1] >= 1


def test_counts_too_close_to_tell_apart_are_refused() -> None:
    with pytest.raises(FitError, match="too close to tell them apart"):
        list(niah_gen.iter_rows(CODED | {"lengths": [1000], "options": {"asked": 10}}))


def test_chinese_codes_use_many_characters_but_none_that_joins_a_list() -> None:
    assert len(code_characters("zh")) > 1000
    assert not set("和与及跟、年月日") & set(code_characters("zh"))
