"""Comparisons of runs: paired tests against their definitions, and a note about everything left out."""

from __future__ import annotations

import random
from itertools import product
from typing import Any

import polars as pl
import pytest
from each import each
from hypothesis import given
from hypothesis import strategies as st
from made_clusters import difference_of
from made_scored_runs import run
from properties import examples

from niah_score.errors import IntegrityError, ScoreError
from niah_score.statistics.paired import benjamini_hochberg, compare, drops, holm

steady = examples(30)


def compared(**runs: pl.DataFrame) -> dict[str, Any]:
    return compare(list(runs.items()))[0]


@each("seed", range(3))
def test_a_clear_difference_is_not_noise_and_equals_the_difference_of_means(seed: int) -> None:
    draw = random.Random(seed)
    one = [draw.uniform(40, 60) for _ in range(240)]
    other = [score - 10 + draw.uniform(-4, 4) for score in one]
    comparison = compared(a=run(one), b=run(other))
    whole = comparison["pairs"][0]["overall"]
    assert whole["test"] == "t: 4 needles, rough"
    assert whole["mean"] == pytest.approx((sum(other) - sum(one)) / 240)
    assert -12 < whole["low"] < -10 < whole["high"] < -8
    assert not whole["noise"]
    a, b = (run["overall"]["mean"] for run in comparison["runs"])
    assert whole["mean"] == pytest.approx(b - a)


def test_lengths_and_cells_cover_all_rows() -> None:
    draw = random.Random(9)
    one, other = ([100.0 * (draw.random() < share) for _ in range(180)] for share in (0.8, 0.6))
    (pair,) = compared(a=run(one), b=run(other))["pairs"]
    assert [part["length"] for part in pair["lengths"]] == [1000, 2000]
    places = [(part["length"], part["depth_percent"]) for part in pair["cells"]]
    assert places == list(product((1000, 2000), (0.0, 50.0, 100.0)))
    for parts in (pair["lengths"], pair["cells"]):
        assert sum(part["rows"] for part in parts) == sum(part["n"] for part in parts) == 180
    for part in pair["lengths"]:
        rows = [k for k in range(180) if 1000 * (1 + k % 2) == part["length"]]
        assert part["mean"] == pytest.approx(sum(other[k] - one[k] for k in rows) / len(rows))
        expected = difference_of([(other[k] - one[k], f"n{k // 6 % 4}", f"h{k % 5}") for k in rows])
        assert part["p"] == pytest.approx(expected.p)


def test_rows_that_are_not_in_every_run_are_counted_and_reported() -> None:
    whole = run([50.0] * 60)
    found, kept = compare([("a", whole), ("b", whole.head(50)), ("c", whole.tail(55))])
    assert [(one["name"], one["rows"], one["left_out"], one["overall"]["rows"]) for one in found["runs"]] == [
        ("a", 60, 15, 45), ("b", 50, 5, 45), ("c", 55, 10, 45),
    ]  # fmt: skip
    assert found["rows"] == 45
    assert [one.frame["id"].to_list() for one in kept] == [whole["id"][5:50].to_list()] * 3
    assert [(pair["first"], pair["second"]) for pair in found["pairs"]] == [("a", "b"), ("a", "c"), ("b", "c")]
    assert found["notes"][0] == "a: 15 of its 60 rows are not in every run and are left out, such as 'row-00000'"
    assert len(found["notes"]) == 3


def test_rows_without_a_score_in_one_run_do_not_count_and_are_reported() -> None:
    found = compared(a=run([80.0] * 30), b=run([None] * 6 + [70.0] * 24))
    whole = found["pairs"][0]["overall"]
    assert (whole["rows"], whole["n"]) == (30, 24)
    assert [one["overall"]["n"] for one in found["runs"]] == [30, 24]
    assert found["notes"] == ["a and b: 6 of 30 rows have no score in one of them and do not count"]


def test_only_drops_beyond_the_limit_that_needles_agree_on_are_failures() -> None:
    """`less` loses 5 points everywhere; `odd` 12 on average, all of them with one needle of four."""
    base = [90.0] * 24
    odd = [90.0 - 48 * (k // 6 == 0) for k in range(24)]
    comparison = compared(base=run(base), same=run(base), less=run([85.0] * 24), odd=run(odd))
    assert drops(comparison, 12) == ([], [])
    failed, noise = drops(comparison, 5)
    assert failed == []
    assert noise == [
        "odd: score is 78.00, 12.00 points below the 90.00 of base; at most 5 are allowed, but this is within noise: "
        "the 95 % interval over needles, -50.19 to 26.19 (t: 4 needles, rough), does not lie below 0",
    ]
    failed, noise = drops(comparison, 4.9)
    assert [sentence.split(":")[0] for sentence in failed] == ["less"]
    assert [sentence.split(":")[0] for sentence in noise] == ["odd"]
    assert failed[0].startswith("less: score is 85.00, 5.00 points below the 90.00 of base; at most 4.9 are allowed; ")
    assert failed[0].endswith(" (t: 4 needles, rough), excludes 0")


def test_a_drop_over_fewer_rows_says_so_and_a_drop_with_one_needle_is_no_failure() -> None:
    part = run([None] + [80.0 + k % 2 for k in range(23)])
    (sentence,), noise = drops(compared(base=run([90.0] * 24), part=part), 5)
    assert sentence.startswith("part: score is 80.48, over 23 rows, not 24, 9.52 points below the 90.00 of base; ")
    assert noise == []
    runs = {name: run([level] * 24, needle_id="n") for name, level in (("base", 100.0), ("gone", 0.0))}
    failed, (sentence,) = drops(compared(**runs), 5)
    assert failed == []
    assert sentence.endswith("but this is no failure: with one needle, a drop cannot be told from noise")


def test_runs_without_a_row_scored_in_both_are_refused() -> None:
    with pytest.raises(ScoreError, match="a and b: no row has a score in both"):
        compare([("a", run([50.0] * 6)), ("b", run([None] * 6))])


@steady
@given(data=st.data())
def test_swapping_two_runs_only_changes_the_sign_of_their_differences(data: st.DataObject) -> None:
    score = st.sampled_from([0.0, 100.0]) if data.draw(st.booleans()) else st.none() | st.floats(0, 100)
    one, other = (data.draw(st.lists(score, min_size=24, max_size=24)) for _ in range(2))
    if not any(a is not None and b is not None for a, b in zip(one, other, strict=True)):
        return
    there, back = (
        [pair["overall"], pair["overall_of_lengths"], *pair["lengths"], *pair["of_depths"], *pair["cells"]]
        for pair in (compared(a=run(one), b=run(other))["pairs"][0], compared(b=run(other), a=run(one))["pairs"][0])
    )
    for this, that in zip(there, back, strict=True):
        for name in ("rows", "n", "p", "adjusted", "test", "noise"):
            assert this[name] == that[name]
        for here, opposite in (("mean", "mean"), ("low", "high"), ("low_these", "high_these")):
            negative = None if that[opposite] is None else pytest.approx(-that[opposite], abs=1e-9)
            assert this[here] == negative


def test_cells_are_adjusted_by_benjamini_hochberg_and_lengths_by_holm() -> None:
    draw = random.Random(4)
    one = [100.0 * (draw.random() < 0.9) for _ in range(240)]
    other = [score if k // 2 % 3 else 0.0 for k, score in enumerate(one)]
    (pair,) = compared(a=run(one), b=run(other))["pairs"]
    for name, adjust in (("cells", benjamini_hochberg), ("lengths", holm)):
        assert [part["adjusted"] for part in pair[name]] == adjust([part["p"] for part in pair[name]])
    assert [cell["noise"] for cell in pair["cells"]] == [False, True, True] * 2


def test_overall_differences_are_adjusted_over_all_pairs_of_runs() -> None:
    draw = random.Random(5)
    shares = {"a": 0.9, "b": 0.7, "c": 0.5}
    runs = {name: run([100.0 * (draw.random() < share) for _ in range(90)]) for name, share in shares.items()}
    pairs = compared(**runs)["pairs"]
    whole = [pair["overall"] for pair in pairs]
    assert [one["adjusted"] for one in whole] == holm([one["p"] for one in whole])
    assert whole[1]["adjusted"] != whole[1]["p"]
    assert [len(pair["cells"]) for pair in pairs] == [6, 6, 0]


def test_the_mean_of_lengths_counts_each_length_and_depth_equally() -> None:
    """By hand. 1k: depth 0 differs by 0 (two rows), depth 50 by 10: 5. 2k: by 20 (one row). Mean: 12.5."""
    frame = run([0.0] * 4).with_columns(
        length=pl.Series([1000, 1000, 1000, 2000]), depth_percent=pl.Series([0.0, 0.0, 50.0, 0.0])
    )
    other = frame.with_columns(score=pl.Series([0.0, 0.0, 10.0, 20.0]))
    (pair,) = compared(a=frame, b=other)["pairs"]
    assert pair["overall"]["mean"] == 7.5
    assert pair["overall_of_lengths"]["mean"] == pytest.approx(12.5)
    assert [part["mean"] for part in pair["lengths"]] == pytest.approx([10 / 3, 20])
    assert [part["mean"] for part in pair["of_depths"]] == pytest.approx([5, 20])
    a, b = (one.with_columns(length=pl.lit(None, pl.Int64)) for one in (frame, other))
    (pair,) = compared(a=a, b=b)["pairs"]
    whole = pair["overall_of_lengths"]
    assert (whole["n"], whole["mean"], whole["noise"], pair["lengths"]) == (0, None, True, [])


def test_an_id_that_names_two_different_rows_is_refused() -> None:
    one = run([50.0] * 6)
    for column, value in (("length", 9000), ("needle_id", "other"), ("depth_percent", None)):
        other = one.with_columns(pl.lit(value).cast(one.schema[column]).alias(column))
        with pytest.raises(
            IntegrityError, match=rf"'row-00000' has {column} .* in a and .* in b; only runs of the same"
        ):
            compare([("a", one), ("b", other)])


def test_runs_that_do_not_belong_together_are_refused() -> None:
    one = run([50.0] * 6)
    with pytest.raises(ScoreError, match="needs two runs or more, found 1"):
        compare([("a", one)])
    with pytest.raises(ScoreError, match="two runs are called 'a'"):
        compare([("a", one), ("a", one)])
    with pytest.raises(IntegrityError, match=r"b: has no row in common with a: .* runs of the same dataset"):
        compare([("a", one), ("b", one.with_columns(id="other-" + pl.col("id")))])
    with pytest.raises(ScoreError, match="b: its scores have no column 'score'"):
        compare([("a", one), ("b", one.drop("score"))])
    with pytest.raises(ScoreError, match="is judged by keyword in a and by edit in b"):
        compare([("a", one), ("b", run([50.0] * 6, metric="edit"))])


@steady
@given(values=st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_holm_rejects_what_stepping_down_rejects(values: list[float]) -> None:
    adjusted = holm(values)
    for level in (0.01, 0.05, 0.3):
        ordered = sorted(values)
        kept = next((k for k, p in enumerate(ordered) if p * (len(values) - k) > level), len(values))
        rejected = set(ordered[:kept])
        assert {p for p, a in zip(values, adjusted, strict=True) if a <= level} == rejected


@steady
@given(values=st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_benjamini_and_hochberg_reject_what_stepping_up_rejects(values: list[float]) -> None:
    """The largest rank k with p(k) <= k / m * level, and all below it."""
    adjusted = benjamini_hochberg(values)
    for level in (0.01, 0.05, 0.3):
        ordered = sorted(values)
        reached = max((k for k, p in enumerate(ordered, 1) if p * (len(values) / k) <= level), default=0)
        assert sum(a <= level for a in adjusted) == sum(p <= (ordered[reached - 1] if reached else -1) for p in values)
