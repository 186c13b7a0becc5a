"""Gates: nothing alarms by chance more often than stated, drops are found, looks may be repeated, nothing is hidden."""

from __future__ import annotations

from dataclasses import replace
from statistics import NormalDist

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_clusters import clusters_of
from made_gates import beyond, scored_as, with_status, world_run
from made_reports import report
from properties import examples

from niah_score.report.report import Report
from niah_score.statistics.gate import FAILED, PASSED, UNDECIDED, Look, bounds, fallen, held, look, of_drop, shift
from niah_score.statistics.intervals import Clusters

steady = examples(15)


def looked(one: Report, other: Report, drop: float = 5, alarm: float = 0.01, power: float = 0.9) -> Look:
    return look(one.scored, other.scored, "score", drop=drop, alarm=alarm, power=power)


def test_a_path_leaves_its_bounds_as_often_as_stated() -> None:
    normal = NormalDist()
    for error in (0.001, 0.01, 0.1, 0.3):
        early, at_end = bounds(error)
        assert normal.cdf(-at_end) + normal.cdf(at_end - 2 * early) == pytest.approx(error)
        assert normal.inv_cdf(1 - error) < at_end < early
    paths = np.random.default_rng(5).standard_normal((10_000, 225)).cumsum(axis=1) / 15
    early, at_end = bounds(0.1)
    left = float(((paths[:, :-1] >= early).any(axis=1) | (paths[:, -1] >= at_end)).mean())
    assert 0.08 < left < 0.108  # steps, which are not infinitely small, jump over a bound later


def test_the_difference_is_that_of_the_parts_and_its_variance_that_of_their_worlds() -> None:
    """By hand: part 0 has world means -10, 0, -20; part 1 has 4 and 8; weights 3 to 1."""
    means = [-10.0, 0.0, -20.0, 4.0, 8.0]
    rows = [(mean + side, f"n{k}", f"h{k}") for k, mean in enumerate(means) for side in (-1.0, 1.0)]
    parts = clusters_of(rows, groups=[0] * 6 + [1] * 4, count=2)
    of = shift(parts, np.array([row[0] for row in rows]), np.zeros(2, np.int64), np.array([0.75, 0.25]), 5)
    assert of.mean == pytest.approx([0.75 * -10 + 0.25 * 6])
    each = 0.75**2 * (100 / 3 + 100 / 6), 0.25**2 * (8 / 2 + 36 / 2)
    assert of.variance == pytest.approx([sum(each)])
    assert of.df == pytest.approx([sum(each) ** 2 / (each[0] ** 2 / 2 + each[1] ** 2 / 1)])
    assert of.least == pytest.approx([475 / 6 * 1.1735 * 0.75**2 + 475 / 4 * 1.1735 * 0.25**2])


@steady
@given(accuracy=st.floats(0, 1), seed=st.integers(0, 99), drop=st.floats(0.5, 30), worlds=st.integers(2, 6))
def test_identical_and_better_runs_never_alarm(accuracy: float, seed: int, drop: float, worlds: int) -> None:
    run = world_run(worlds, accuracy, seed)
    higher = scored_as(
        run, np.maximum(run.scores["score"].to_numpy(), world_run(worlds, 0.3, seed + 1).scores["score"])
    )
    for other in (run, higher):
        found = looked(run, other, drop=drop)
        assert found.verdict in (PASSED, UNDECIDED)
        assert not found.fell
        assert not found.silent


def test_a_constant_drop_alarms_and_early_and_a_fall_of_few_worlds_is_no_proof() -> None:
    run = world_run()
    graded = scored_as(run, np.full(run.scores.height, 90.0))
    lower = scored_as(run, np.full(run.scores.height, 70.0))
    assert looked(graded, lower).verdict == FAILED
    found = looked(graded, with_status(lower, "missing", beyond(4)))
    assert (found.verdict, found.seen, found.rows, found.to_come) == (FAILED, 0.5, 192, 192)
    assert looked(run, world_run(accuracy=0.6, seed=1)).verdict == FAILED
    for needles, verdict in ((1, UNDECIDED), (3, UNDECIDED), (8, FAILED)):
        few = report([100.0] * 48)
        few = replace(few, scores=few.scores.with_columns(needle_id=pl.format("n{}", pl.int_range(48) % needles)))
        assert looked(few, scored_as(few, np.zeros(48))).verdict == verdict, needles


def test_a_run_that_holds_passes_early_and_the_order_of_rows_does_not_matter() -> None:
    run, again = world_run(16), world_run(16, seed=1)
    part = with_status(again, "missing", beyond(9))
    found = looked(run, part, drop=10)
    assert (found.verdict, found.needles, found.to_come) == (PASSED, 36, 2 * 2 * 7 * 12)
    mixed = [
        replace(one, scores=one.scores.sample(fraction=1, shuffle=True, seed=seed))
        for seed, one in enumerate((run, part))
    ]
    assert looked(mixed[0], mixed[1], drop=10) == found


def test_nothing_is_decided_before_every_part_language_and_length_has_begun() -> None:
    run = world_run(16)
    for column, value in (("length", 4000), ("language", "zh"), ("part", "moves")):
        wrong = scored_as(run, np.zeros(run.scores.height))
        found = looked(run, with_status(wrong, "missing", pl.col(column) == value))
        assert (found.verdict, found.seen, found.more, found.enough) == (UNDECIDED, 0.0, None, True), column
    none = looked(run, with_status(run, "missing", pl.lit(True)))
    assert (none.verdict, none.rows, none.before, none.seen) == (UNDECIDED, 0, None, 0.0)


def test_more_worlds_only_narrow_what_is_undecided() -> None:
    """The same differences in twice as many worlds: half of the variance, and fewer contexts are needed."""
    values = np.array([-30.0, 10.0, 0.0, -20.0, 0.0, 10.0, 0.0, -10.0])
    ends = []
    for times in (1, 2, 4, 8):
        codes = np.arange(8 * times)
        clusters = Clusters(np.zeros(8 * times, np.int64), 1, codes, codes)
        of = shift(clusters, np.tile(values, times), np.zeros(1, np.int64), np.ones(1), 5)
        ends.append((float(of.variance[0]), float(of.least[0])))
        seen = np.ones(1)
        assert not (fallen(of, seen, 0.01)[0] and held(of, seen, 5, 0.9)[0])
    assert ends == sorted(ends, reverse=True)
    assert fallen(of, seen, 0.01)[0]
    run, other = world_run(4, 0.5), world_run(4, 0.45, seed=2)
    short = looked(run, other, drop=5)
    assert (short.verdict, short.enough) == (UNDECIDED, False)
    assert short.more is not None
    assert (looked(run, other, drop=8).more or 0) < short.more


@pytest.mark.slow
def test_equal_runs_alarm_as_rarely_as_stated_and_drops_pass_as_rarely() -> None:
    """2,500 pairs over 20 needles of 12 rows, a look after each needle; any alarm counts, whatever was before it."""
    draw, pairs, needles, rows = np.random.default_rng(3), 2_500, 20, 12
    for accuracy in (0.5, 0.9, 0.98):
        for lost in (0.0, 0.2):
            chance = np.clip(accuracy + 0.1 * draw.standard_normal((2, pairs, needles)), 0, 1)
            chance[1] -= np.minimum(lost, chance[1])
            right = draw.binomial(rows, chance) / rows * 100
            true = 100 * float((chance[1] - chance[0]).mean())
            failed, passed = np.zeros((2, pairs), np.bool_)
            for count in range(2, needles + 1):
                code = np.tile(np.arange(count), pairs)
                clusters = Clusters(np.repeat(np.arange(pairs), count), pairs, code, code)
                apart = (right[1] - right[0])[:, :count].reshape(-1)
                of = shift(clusters, apart, np.arange(pairs), np.ones(pairs), -true)
                seen, all_rows = np.full(pairs, count / needles), np.array([float(count * rows)])
                of = of._replace(least=np.repeat(of_drop(max(-true, 0), all_rows, all_rows / rows), pairs))
                failed |= fallen(of, seen, 0.02)
                passed |= held(of, seen, -true, 0.9)
            if lost:
                assert passed.mean() < 0.12, accuracy
            else:
                assert failed.mean() < 0.0285, accuracy


def test_rows_without_an_answer_count_in_no_score_and_fail_by_their_own_line() -> None:
    run = world_run(spread=0)
    wordless = pl.col("id").str.ends_with("-0")
    for status, score in (("error", None), ("empty", 0.0), ("truncated", 0.0), ("missing", 0.0), ("refused", 0.0)):
        found = looked(run, with_status(run, status, wordless, score), drop=10)
        assert (found.verdict, found.silent, found.rows, found.asked) == (PASSED, True, 320, 384), status
        assert (found.before, found.lost, found.to_come) == (found.after, ({}, {status: 64}), 0)
        assert found.shares == pytest.approx((0, 100 / 6))
        back = looked(with_status(run, status, wordless, score), run)
        assert not back.silent, status
        assert back.shares == pytest.approx((100 / 6, 0))
    burst = looked(run, with_status(run, "error", (pl.col("needle_id") == "moves-3") & (pl.col("language") == "en")))
    assert (burst.silent, burst.lost[1]) == (False, {"error": 12})
    # Base models have no end: what both cut off is compared.
    ended = with_status(run, "truncated", pl.lit(True), 50.0)
    cut = looked(ended, ended)
    assert (cut.rows, cut.silent, cut.lost) == (384, False, ({}, {}))


def test_rows_that_the_first_run_left_out_count_nowhere() -> None:
    run = world_run()
    found = looked(with_status(run, "missing", beyond(6)), with_status(run, "error", beyond(6)))
    assert (found.asked, found.rows, found.seen, found.to_come, found.lost) == (288, 288, 1.0, 0, ({}, {}))


def test_parts_that_share_worlds_or_have_one_count_as_one_part() -> None:
    run, other = world_run(), world_run(seed=4, accuracy=0.8)
    for rows in (
        pl.format("shared-{}", pl.int_range(pl.len()) % 8),
        pl.when(part="moves").then(pl.lit("one")).otherwise("needle_id"),
    ):
        one, two = (
            replace(of, scores=of.scores.with_columns(needle_id=rows, language=pl.lit("en"))) for of in (run, other)
        )
        plain = [
            replace(of, scores=of.scores.with_columns(part=pl.lit("records")), parts=run.parts[:1]) for of in (one, two)
        ]
        whole, pooled = looked(plain[0], plain[1]), looked(one, two)
        assert (pooled.verdict, pooled.more) == (whole.verdict, whole.more)
