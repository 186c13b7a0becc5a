"""The summary: the same bytes for any order of rows, totals that add up, and the figures of each metric alone."""

from __future__ import annotations

import json
import math
import random

import polars as pl
from hypothesis import given
from hypothesis import strategies as st
from made_scores import Record, frame, grid, records, steady

from niah_score.statistics.effective_length import as_record, effective_length
from niah_score.statistics.figures import cells, cells_by_metric, groups, overall
from niah_score.statistics.needle_recall import needle_recall
from niah_score.statistics.scored import UNANSWERED
from niah_score.statistics.summary import summary_of


@steady
@given(rows=records, seed=st.integers(0, 99))
def test_the_summary_ignores_the_order_of_rows_and_its_totals_add_up(rows: list[Record], seed: int) -> None:
    scores = frame(rows)
    summary = summary_of(scores, ["score", "keyword"])
    text = json.dumps(summary, allow_nan=False)
    assert json.dumps(summary, allow_nan=False, sort_keys=True) == text
    mixed = scores.sample(fraction=1, shuffle=True, seed=seed)
    assert json.dumps(summary_of(mixed, ["keyword", "score"]), allow_nan=False) == text
    assert cells(mixed).equals(cells(scores))
    assert sum(summary["statuses"].values()) == sum(summary["findings"].values()) == summary["rows"] == len(rows)
    silent = sum(
        figure["unanswered"] for figure in (summary["metrics"]["score"]["overall"], *summary["controls"].values())
    )
    assert silent == sum(summary["statuses"][name] for name in UNANSWERED)
    assert summary["metrics"]["keyword"]["overall"]["mean"] is None


@steady
@given(rows=records)
def test_control_rows_count_only_in_their_own_group(rows: list[Record]) -> None:
    scores = frame(rows)
    asked = scores.filter(pl.col("control").is_null())
    summary, without = summary_of(scores), summary_of(asked)
    for name in ("headline", "needle_recall"):
        assert summary[name] == without[name]
    figures = summary["metrics"]["score"]
    by_control = figures["groups"].pop("control", None)
    assert figures == without["metrics"]["score"]
    if asked.height == scores.height:
        assert by_control is None
    else:
        ours = groups(scores).filter(group="control").drop("group").to_dicts()
        assert [dict(sorted(line.items())) for line in ours] == by_control
    assert list(summary["controls"]) == sorted(scores["control"].drop_nulls().unique().to_list())
    assert without["controls"] == {}
    assert (summary["rows"], without["rows"]) == (scores.height, asked.height)


def test_a_frame_without_rows_has_empty_figures() -> None:
    empty = frame([])
    assert cells(empty).height == groups(empty).height == needle_recall(empty).height == 0
    assert overall(empty).of_lengths.mean is None
    assert effective_length(empty).length is None
    assert summary_of(empty)["rows"] == 0


many_metrics = st.lists(
    st.fixed_dictionaries(
        {
            "language": st.sampled_from(["en", "zh", None]),
            "length": st.sampled_from([None, 1000, 2000]),
            "depth_percent": st.sampled_from([0.0, 50.0]),
            "needle_id": st.sampled_from("abc"),
            "haystack_id": st.sampled_from("pqrs"),
            "status": st.sampled_from(["ok", "missing"]),
            "keyword": st.sampled_from([0.0, 100.0]),
            "edit": st.sampled_from([None, 0.0, 25.0, 100 / 3, 100.0]),
            "exact": st.sampled_from([None, 0.0, 100.0, math.nan]),
        }
    ),
    min_size=1,
    max_size=40,
)


@steady
@given(rows=many_metrics, lengths=st.booleans())
def test_several_metrics_at_once_have_the_same_figures_as_each_alone(rows: list[Record], lengths: bool) -> None:
    scores = frame([{**row, "score": row["keyword"]} for row in rows])
    scores = scores.with_columns(
        pl.Series("edit", [row["edit"] for row in rows], pl.Float64),
        pl.Series("exact", [row["exact"] for row in rows], pl.Float64),
    )
    if not lengths:
        scores = scores.with_columns(length=pl.lit(None, dtype=pl.Int64))
    metrics = ["score", "keyword", "edit", "exact"]
    together, apart = summary_of(scores, metrics)["metrics"], cells_by_metric(scores, metrics)
    for metric in metrics:
        alone = overall(scores, metric)
        assert together[metric]["overall"] == alone.of_rows._asdict()
        assert together[metric]["overall_of_lengths"] == alone.of_lengths._asdict()
        table = groups(scores, metric)
        assert {name: len(lines) for name, lines in together[metric]["groups"].items()} == dict(
            table["group"].value_counts().iter_rows()
        )
        for line in table.to_dicts():
            assert {name: line[name] for name in line if name != "group"} in together[metric]["groups"][line["group"]]
        for name, options in (("ruler", {}), ("nolima", {"share_of_base": 0.85})):
            length = effective_length(scores, metric, **options)  # type: ignore[arg-type]
            assert together[metric]["effective_length"][name] == as_record(length)
        assert apart.filter(pl.col("metric") == metric).drop("metric").equals(cells(scores, metric))


def test_equal_scores_have_equal_intervals_whatever_the_metric_is_called() -> None:
    draw = random.Random(8)
    rows = grid([[100 * draw.random() for _ in range(3)] for _ in range(4)], repeats=5)
    for row in rows:
        row |= {"needle_id": draw.choice("abc"), "haystack_id": draw.choice("pqrs"), "keyword": row["score"]}
    scores = frame(rows)
    figures = summary_of(scores, ["score", "keyword"])["metrics"]
    assert figures["score"] == figures["keyword"]
    assert figures["score"]["overall"]["method"] == "clopper-pearson: 3 needles, rough"
    # The same if each is computed alone.
    assert overall(scores, "score") == overall(scores, "keyword")
