"""Spreads: the needles of a set go where their spread says, and prompts stay within the budget."""

from __future__ import annotations

import numpy as np
import pytest
from built_rows import rows_of
from each import each

from niah_gen.haystacks.placement import depth_lines, set_lines
from niah_gen.tokenizers.find import BytePairTokenizer

PIZZA = {
    "id": "pizza",
    "language": "en",
    "needles": ["Figs are one of the secret toppings.", "Prosciutto is another one.", "The last is goat cheese."],
    "question": "What are the secret toppings?",
    "keywords": ["figs", "prosciutto", "goat cheese"],
}


@each(
    ("spread", "expected"),
    [("even", [20, 20 + 80 / 3, 20 + 160 / 3]), ("diff", [20, 45, 70]), ([90, 10, 40], [90, 10, 40])],
)
def test_the_needles_of_a_set_go_where_their_spread_says(spread: object, expected: list[float]) -> None:
    rows = rows_of(
        needles=[PIZZA], corpora=["en_essays"], lengths=[16000], spread=spread,
        depths=[expected[0]],
    )  # fmt: skip
    assert len(rows) == 1
    assert rows[0]["task"] == "multi"
    assert np.allclose(rows[0]["needle_depths"], expected, atol=0.4)
    assert 0 <= 15800 - rows[0]["prompt_tokens"] <= 64


def test_random_spreads_are_seeded_and_in_order_after_the_first_needle() -> None:
    rows = rows_of(needles=[PIZZA], corpora=["en_essays"], lengths=[8000], spread="random", repeats=3)
    for row in rows:
        assert row["needle_depths"] == sorted(row["needle_depths"])
        assert abs(row["needle_depths"][0] - (row["depth_percent"] or 0)) < 1
    second = [row["needle_depths"][1] for row in rows if row["depth_percent"] == 0 and row["length"] == 8000]
    assert len(second) == 3
    assert max(second) - min(second) > 3
    assert rows == rows_of(needles=[PIZZA], corpora=["en_essays"], lengths=[8000], spread="random", repeats=3)


@pytest.mark.slow
@each("spread", ["even", "diff", "random", "apart"])
@each("corpus", ["en_essays", "zh_articles"])
@each("count", [2, 3, 10])
def test_sets_keep_the_budget_at_every_depth(
    tokenizer: BytePairTokenizer, spread: str, corpus: str, count: int
) -> None:
    text = "Fact {0}: the gate is green" if corpus == "en_essays" else "事实{0}：大门是绿色的"
    needles = [text.format(n) + ("。" if n % 2 else ".") for n in range(count)]
    rows = rows_of(
        needles=[{"needles": needles, "question": "Which?", "language": corpus[:2]}], corpora=[corpus],
        lengths=[1200], depths={"steps": 101}, spread=spread, diff=100 / count, tokenizer=tokenizer.name,
    )  # fmt: skip
    assert len(rows) == 101
    assert all(0 <= (row["length"] or 0) - 200 - row["prompt_tokens"] < 128 for row in rows)
    for row in rows[::10]:
        prompt = str(row["prompt"])
        assert row["prompt_tokens"] == tokenizer.count(prompt)
        assert [prompt[span["start"] : span["end"]] for span in row["needle_spans"]] == needles


def test_only_the_first_of_several_sets_follows_the_depth() -> None:
    for spread in ("even", "diff", "random", "apart"):
        lines = set_lines((3, 2, 2), spread, 5.0, 11)
        assert lines[:3] == depth_lines(3, spread, 5.0, 11)
        assert [line.slope for line in lines[3:]] == [0.0] * 4
        for first in (3, 5):
            one, other = (line.at(0) for line in lines[first : first + 2])
            assert 0 <= one <= 100
            assert other >= one or spread == "apart"
    starts = {set_lines((1, 1), "even", 0.0, seed)[1].at(0) for seed in range(50)}
    assert min(starts) < 20
    assert max(starts) > 80
    assert set_lines((2, 1), [10.0, 60.0, 30.0], 0.0, 0) == depth_lines(3, [10.0, 60.0, 30.0], 0.0, 0)
    assert set_lines((), "even", 0.0, 0) == ()
