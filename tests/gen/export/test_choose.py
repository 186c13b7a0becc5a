"""Choosing rows by coordinates, checked against a slow search, and ordering them for or against a prefix cache."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from each import each
from hypothesis import given
from hypothesis import strategies as st
from properties import examples

from niah_gen.dataset.read import rows_in
from niah_gen.errors import NiahError
from niah_gen.export.base import IndexedRow, indexed
from niah_gen.export.choose import ORDERS, read_conditions, shared_percent, subset
from niah_score.contract import open_dataset


@pytest.fixture(scope="module")
def index(twins: Path) -> list[IndexedRow]:
    return indexed(open_dataset(twins))


@pytest.fixture(scope="module")
def prompts(twins: Path) -> Mapping[str, str]:
    return {row["id"]: row["prompt"] for file in open_dataset(twins).files() for row in rows_in(file.path)}


def chosen(index: list[IndexedRow], *words: str) -> list[IndexedRow]:
    return subset(index, read_conditions(words))[0]


CHOICES: dict[str, list[Any]] = {
    "length": [700, 900],
    "depth": [0.0, 40.0, 70.0, 100.0],
    "language": ["en", "zh"],
    "control": [None, "absent"],
}


@given(
    asked=st.fixed_dictionaries(
        {}, optional={name: st.sets(st.sampled_from(values), min_size=1) for name, values in CHOICES.items()}
    ),
    every=st.integers(1, 5),
)
@examples(40)
def test_a_subset_equals_a_slow_search_through_all_rows(
    index: list[IndexedRow], asked: dict[str, set[Any]], every: int
) -> None:
    words = [
        f"{name}=" + ",".join("none" if value is None else str(value) for value in values)
        for name, values in asked.items()
    ]
    slow = [row for row in index if all(getattr(row, name) in values for name, values in asked.items())]
    if slow:
        assert chosen(index, *words, f"every={every}") == [row for at, row in enumerate(slow) if at % every == 0]
    else:
        with pytest.raises(NiahError, match=r"no row has .* at once"):
            chosen(index, *words)


@each(
    ("word", "message"),
    [
        ("depths=50", "'depths' is unknown; did you mean 'depth'?"),
        ("length", "expected NAME=VALUE"),
        ("length=8k,", "expected NAME=VALUE"),
        ("length=long", "expected a number of tokens such as 8000"),
        ("depth=deep", "expected depths in percent"),
        ("every=0", "expected one number of at least 1"),
        ("every=2,3", "expected one number of at least 1"),
        ("length=800", "--subset length=800: no row has it; there are 700, 900"),
        ("control=absnt", "no row has it; there are absent, none"),
        ("length=700 length=900", "length is given twice"),
    ],
)
def test_a_condition_that_selects_nothing_is_refused_with_what_was_expected(
    index: list[IndexedRow], word: str, message: str
) -> None:
    with pytest.raises(NiahError) as caught:
        chosen(index, *word.split())
    assert message in str(caught.value)


def test_taking_every_nth_row_warns_when_whole_depths_are_lost(index: list[IndexedRow]) -> None:
    conditions = read_conditions(["control=none", "every=4"])
    rows, sentences = subset(index, conditions)
    assert {row.depth for row in rows} == {0.0}
    assert sentences == ["every=4 keeps 1 of 4 values of depth (0); another number may keep more"]
    assert subset(index, read_conditions(["control=none", "every=3"]))[1] == []


def shared(one: str, other: str) -> int:
    """The length in characters of the beginning that two prompts share."""
    return next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def test_prefix_order_groups_haystacks_and_leads_with_the_row_that_shares_most(
    index: list[IndexedRow], prompts: Mapping[str, str]
) -> None:
    ordered = ORDERS["prefix"](ORDERS["shuffled"](index))
    assert {row.id for row in ordered} == {row.id for row in index}
    haystacks = [row.haystack_id for row in ordered]
    changes = sum(one != other for one, other in pairwise(haystacks))
    assert changes + 1 == len(set(haystacks))
    for name in set(haystacks):
        group = [prompts[row.id] for row in ordered if row.haystack_id == name]
        for row in group[1:]:
            assert shared(group[0], row) >= max(shared(row, other) for other in group if other is not row)


@each("language", ["en", "zh"])
def test_the_estimated_cache_saving_matches_what_neighbouring_prompts_share(
    index: list[IndexedRow], prompts: Mapping[str, str], language: str
) -> None:
    rows = [row for row in index if row.language == language]
    ordered = ORDERS["prefix"](rows)
    # All prompts in a language begin with the same instruction, which does not count.
    texts = [prompts[row.id] for row in rows]
    before = min(shared(texts[0], text) for text in texts)
    repeated = sum(
        shared(prompts[one.id], prompts[other.id]) - before
        for one, other in pairwise(ordered)
        if one.haystack_id == other.haystack_id
    )
    assert abs(100 * repeated / sum(map(len, texts)) - shared_percent(ordered)) < 4
    assert 45 < shared_percent(ordered) < 60
    assert shared_percent(ORDERS["shuffled"](rows)) < shared_percent(ordered) / 2
