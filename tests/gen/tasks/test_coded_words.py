"""Coded words: texts of the requested length whose word counts follow Zipf's law, each in its own order."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from proofs import of_rows, read, write
from properties import examples
from proved import problems_of
from whole_contexts import change_context, context_of, tokens_of

import niah_gen
from niah_gen.errors import FitError
from niah_gen.tasks.coded_words import code_characters, zeta, zipf_counts
from niah_gen.tokenizers.find import BytePairTokenizer, find_tokenizer

RECIPE: dict[str, Any] = {
    "name": "codes", "task": "coded-words", "template": "coded-words", "lengths": [1000, 4000],
    "options": {"rows": 2},
}  # fmt: skip


def tally_of(row: Any) -> list[tuple[str, int]]:
    """How often each word occurs, most frequent first, without the dots."""
    counts = Counter(context_of(row).split(" "))
    del counts["..."]
    return counts.most_common()


@given(
    st.sampled_from(["en", "zh"]), st.sampled_from(["text", "chat"]), st.sampled_from(["cl100k_base", "o200k_base"]),
    st.integers(900, 20_000), st.floats(1.5, 3), st.booleans(), st.integers(0, 1000),
)  # fmt: skip
@examples(25)
def test_texts_of_any_size_are_counted_exactly_and_fill_their_budget(
    language: str, form: str, tokenizer: str, length: int, alpha: float, dots: bool, seed: int
) -> None:
    recipe = RECIPE | {
        "languages": [language], "form": form, "tokenizer": tokenizer, "lengths": [length], "seed": seed,
        "options": {"rows": 1, "alpha": alpha, "asked": 2, "dots": dots},
    }  # fmt: skip
    for row in niah_gen.iter_rows(recipe):
        assert tokens_of(row, find_tokenizer(tokenizer)) == (row["prompt_tokens"], row["haystack_tokens"])
        assert 0 <= length - 200 - row["prompt_tokens"] <= 30


def test_the_words_asked_for_are_the_most_frequent_and_each_text_has_its_own_order() -> None:
    rows = list(niah_gen.iter_rows(RECIPE))
    for row in rows:
        tally = tally_of(row)
        assert [word for word, _ in tally[:3]] == [group[0] for group in row["keywords"]]
        assert tally[2][1] >= 1.2 * tally[3][1]
    assert len({tuple(word == "..." for word in context_of(row).split(" ")[:60]) for row in rows}) == len(rows)


def test_without_dots_the_top_counts_follow_zipfs_law_from_rank_one() -> None:
    recipe = RECIPE | {"lengths": [4000], "options": {"rows": 1, "dots": False, "alpha": 1.5, "asked": 2}}
    for row in niah_gen.iter_rows(recipe):
        assert "..." not in str(row["prompt"])
        tally = tally_of(row)
        total = sum(count for _, count in tally)
        assert [count for _, count in tally[:3]] == [int(total / zeta(1.5) * k**-1.5) for k in (1, 2, 3)]


def test_a_text_with_changed_word_counts_is_refused(tmp_path: Path, cl100k: BytePairTokenizer) -> None:
    folder = niah_gen.build(RECIPE | {"lengths": [1000], "languages": ["en"]}, tmp_path, formats=["jsonl"])
    path = "jsonl/en-1k/test-00000-of-00001.jsonl"
    rows = read(folder, path)
    first, second, third = (group[0] for group in rows[0]["keywords"])
    fourth = tally_of(rows[0])[3][0]
    changes: tuple[tuple[Callable[[str], str], str], ...] = (
        (lambda text: text.replace(f" {third} ", f" {fourth} "), f"'{third}' occurs"),
        (
            lambda text: text.replace(first, "x").replace(second, first).replace("x", second),
            "expected the most frequent first",
        ),
        (lambda text: text.replace("...", "..", 1), "more than words"),
        (lambda text: text.replace("...", "yyyyyy"), f"'{first}' occurs"),
    )
    for change, message in changes:
        changed = copy.deepcopy(rows)
        change_context(changed[0], change, cl100k)
        write(folder, changed, path)
        assert any(message in problem for problem in of_rows(problems_of(folder))), message


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
        list(niah_gen.iter_rows(RECIPE | {"lengths": [1000], "options": {"asked": 10}}))


def test_chinese_codes_use_many_characters_but_none_that_joins_a_list() -> None:
    assert len(code_characters("zh")) > 1000
    assert not set("和与及跟、年月日") & set(code_characters("zh"))
