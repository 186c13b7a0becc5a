"""Figures of scored rows: against plain loops, the equations that they keep, and what other tools read of them."""

from __future__ import annotations

import csv
import json
import math
import random
from collections.abc import Sequence
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from properties import examples

from niah_score.errors import ScoreError
from niah_score.scoring.score import FINDINGS, STATUSES
from niah_score.statistics.aggregate import (
    GROUPS,
    RULER_THRESHOLD,
    UNANSWERED,
    Scored,
    cells,
    cells_of,
    effective_length,
    groups,
    needle_recall,
    opencompass_summary,
    overall,
    summary,
)
from niah_score.statistics.intervals import wilson

steady = examples(20)

SCHEMA: dict[str, Any] = {
    "id": pl.String, "task": pl.String, "language": pl.String, "corpus": pl.String, "control": pl.String,
    "length": pl.Int64, "depth_percent": pl.Float64, "needle_id": pl.String, "haystack_id": pl.String,
    "metric": pl.String, "status": pl.String, "finding": pl.String, "score": pl.Float64, "keyword": pl.Float64,
    "keyword.needles": pl.List(pl.Boolean),
}  # fmt: skip
Record = dict[str, Any]


def frame(records: Sequence[Record]) -> pl.DataFrame:
    """A scored frame of some rows; what they do not say is null, and the ids count up."""
    usual = {"status": "ok", "metric": "keyword"}
    return pl.DataFrame(
        [dict.fromkeys(SCHEMA) | usual | {"id": f"row-{number:04}"} | record for number, record in enumerate(records)],
        schema=SCHEMA,
        orient="row",
    )


records = st.lists(
    st.fixed_dictionaries(
        {
            "task": st.sampled_from(["single", "multi"]),
            "language": st.sampled_from(["en", "zh"]),
            "control": st.sampled_from([None, "absent"]),
            "length": st.sampled_from([None, 1000, 2000, 4000]),
            "depth_percent": st.sampled_from([None, 0.0, 33.3, 100.0]),
            "needle_id": st.sampled_from([None, "a", "b", "c"]),
            "haystack_id": st.sampled_from(["p", "q", "r"]),
            "status": st.sampled_from(STATUSES),
            "finding": st.sampled_from([None, *FINDINGS]),
            "score": st.sampled_from([None, 0.0, 100.0, 100 / 3, 87.5]),
        }
    ),
    min_size=1,
    max_size=40,
)


def grid(scores: Sequence[Sequence[float]], repeats: int = 1) -> list[Record]:
    """A row for each length (1,000, 2,000, ...) x depth (0, 50, ...) x repeat."""
    return [
        {"length": 1000 * (k + 1), "depth_percent": 50.0 * d, "language": "zh", "task": "single", "score": score}
        for k, line in enumerate(scores)
        for d, score in enumerate(line)
        for _ in range(repeats)
    ]


def mean(values: Sequence[float]) -> float | None:
    """The mean, None of nothing."""
    return math.fsum(values) / len(values) if values else None


def agrees(line: Record, rows: Sequence[Record]) -> None:
    """A figure is what loops over its rows give."""
    values = [row["score"] for row in rows if row["score"] is not None]
    assert (line["rows"], line["n"]) == (len(rows), len(values))
    assert line["unanswered"] == sum(row["status"] in UNANSWERED for row in rows)
    assert line["mean"] == pytest.approx(mean(values))
    if values:
        assert 0 <= line["low"] <= line["mean"] <= line["high"] <= 100
    else:
        assert line["low"] is line["high"] is None


@steady
@given(rows=records)
def test_cells_are_what_loops_over_their_rows_give(rows: list[Record]) -> None:
    found = cells(frame(rows)).to_dicts()
    languages = {row["language"] for row in rows}
    assert {line["language"] for line in found} == (languages | {None} if len(languages) > 1 else {None})
    for line in found:
        where = {name: line[name] for name in ("language", "length", "depth_percent")}
        if where["language"] is None:
            del where["language"]
        agrees(line, [row for row in rows if where.items() <= row.items()])
    for language in {line["language"] for line in found}:
        of = [row for row in rows if language in (None, row["language"])]
        assert sum(line["rows"] for line in found if line["language"] == language) == len(of)


@steady
@given(rows=records)
def test_groups_are_what_loops_over_their_rows_give_and_each_adds_up_to_all_rows(rows: list[Record]) -> None:
    found = groups(frame(rows)).to_dicts()
    for line in found:

        def value(row: Record, name: str = line["group"]) -> str | None:
            held = row.get(name)
            return f"{held:g}" if isinstance(held, int | float) else held

        agrees(line, [row for row in rows if value(row) == line["value"]])
    named = [name for name in GROUPS if any(row.get(name) is not None for row in rows)]
    assert list(dict.fromkeys(line["group"] for line in found)) == named
    for name in named:
        assert sum(line["rows"] for line in found if line["group"] == name) == len(rows)


@steady
@given(rows=records)
def test_the_overall_mean_of_lengths_is_the_mean_of_a_pivot_tables_column_means(rows: list[Record]) -> None:
    found = overall(frame(rows))
    agrees(found.of_rows._asdict(), rows)
    table: dict[int, dict[float | None, list[float]]] = {}
    for row in rows:
        if row["length"] is not None and row["score"] is not None:
            table.setdefault(row["length"], {}).setdefault(row["depth_percent"], []).append(row["score"])
    columns = [math.fsum(math.fsum(cell) / len(cell) for cell in by.values()) / len(by) for by in table.values()]
    assert found.of_lengths.mean == pytest.approx(mean(columns))
    assert found.of_lengths.rows == sum(row["length"] is not None for row in rows)
    assert found.of_lengths.n == sum(len(cell) for by in table.values() for cell in by.values())


def test_on_a_full_grid_both_overall_means_and_their_intervals_agree() -> None:
    rows = grid([[100, 0, 40], [60, 70, 10], [0, 20, 100]], repeats=4)
    for number, row in enumerate(rows):
        row |= {"needle_id": f"n{number % 2}", "haystack_id": f"h{number % 4 + row['length']}"}
    found = overall(frame(rows))
    assert found.of_lengths[:3] == found.of_rows[:3]
    assert found.of_lengths[3:6] == pytest.approx(found.of_rows[3:6])


@steady
@given(rows=records, seed=st.integers(0, 99))
def test_the_summary_is_the_same_bytes_in_any_order_of_rows_and_keeps_its_equations(
    rows: list[Record], seed: int
) -> None:
    scores = frame(rows)
    found = summary(scores, ["score", "keyword"])
    text = json.dumps(found, allow_nan=False)
    assert json.dumps(found, allow_nan=False, sort_keys=True) == text
    mixed = scores.sample(fraction=1, shuffle=True, seed=seed)
    assert json.dumps(summary(mixed, ["keyword", "score"]), allow_nan=False) == text
    assert cells(mixed).equals(cells(scores))
    assert sum(found["statuses"].values()) == sum(found["findings"].values()) == found["rows"] == len(rows)
    assert found["metrics"]["score"]["overall"]["unanswered"] == sum(found["statuses"][name] for name in UNANSWERED)
    assert found["metrics"]["keyword"]["overall"]["mean"] is None


def test_missing_rows_that_are_excluded_are_still_counted() -> None:
    rows: list[Record] = [
        {"score": 100.0},
        {"score": 0.0},
        {"score": None, "status": "missing"},
        {"score": 0.0, "status": "empty"},
    ]
    found = overall(frame(rows)).of_rows
    assert (found.rows, found.n, found.unanswered) == (4, 3, 2)
    assert found.mean == pytest.approx(100 / 3)
    assert (found.low, found.high) == pytest.approx(wilson(1, 3))


def test_coordinates_stand_as_text_in_their_natural_order() -> None:
    rows = [{"length": length, "depth_percent": depth, "score": 50.0} for length, depth in
            [(16000, 100.0), (2000, 5.0), (500, 33.333), (500, None)]]  # fmt: skip
    found = groups(frame(rows))
    assert found.filter(group="length")["value"].to_list() == ["500", "2000", "16000"]
    assert found.filter(group="depth_percent")["value"].to_list() == ["5", "33.333", "100", None]


def test_an_id_in_two_lines_and_a_metric_that_is_none_are_refused() -> None:
    with pytest.raises(ScoreError, match="'row' stands in several lines"):
        Scored(frame([{"id": "row"}, {"id": "other"}, {"id": "row"}]))
    with pytest.raises(ScoreError, match="'bleu' is no metric of these scores; they have score, keyword"):
        cells(frame([{}]), "bleu")


def test_a_frame_of_no_rows_has_figures_of_nothing() -> None:
    empty = frame([])
    assert cells(empty).height == groups(empty).height == needle_recall(empty).height == 0
    assert overall(empty).of_lengths.mean is None
    assert effective_length(empty).length is None
    assert summary(empty)["rows"] == 0


def test_the_effective_length_is_the_longest_that_reaches_the_threshold() -> None:
    scores = frame(grid([[95.0], [80.0], [90.0], [85.6], [85.5]], repeats=40))
    found = effective_length(scores)
    assert found.threshold == RULER_THRESHOLD
    assert (found.length, found.longest_unbroken, found.next_length) == (4000, 1000, 5000)
    assert found.told_apart is False
    assert [figure.n for _, figure in found.lengths] == [40] * 5
    assert effective_length(scores, threshold=50).length == 5000
    assert effective_length(scores, threshold=50).told_apart is None
    none = effective_length(scores, threshold=99)
    assert (none.length, none.longest_unbroken, none.next_length) == (None, None, 1000)


def test_a_length_far_below_the_threshold_is_told_apart() -> None:
    found = effective_length(frame(grid([[100.0], [0.0]], repeats=40)))
    assert (found.length, found.told_apart) == (1000, True)


def test_nolimas_base_is_the_best_of_the_short_lengths_or_the_shortest() -> None:
    rows = [
        {"length": length, "score": score} for length, score in [(250, 90.0), (500, 96.0), (1000, 80.0), (8000, 82.0)]
    ]
    found = effective_length(frame(rows), share_of_base=0.85)
    assert (found.base, found.base_lengths, found.base_is_short) == (96.0, (250, 500, 1000), True)
    assert found.threshold == pytest.approx(81.6)
    assert (found.length, found.longest_unbroken) == (8000, 500)
    longer = effective_length(frame(grid([[0], [80], [60]])[1:]), share_of_base=0.85)
    assert (longer.base, longer.base_lengths, longer.base_is_short) == (80.0, (2000,), False)
    asked = effective_length(frame(rows), share_of_base=0.5, base_lengths=[1000])
    assert (asked.base, asked.threshold) == (80.0, 40.0)


def test_effective_lengths_that_contradict_themselves_are_refused() -> None:
    scores = frame(grid([[1.0]]))
    with pytest.raises(ScoreError, match="not by both"):
        effective_length(scores, threshold=80, share_of_base=0.85)
    with pytest.raises(ScoreError, match="no row of length 500 has a score"):
        effective_length(scores, share_of_base=0.85, base_lengths=[500, 1000])


def test_rows_without_a_length_are_counted_beside_the_effective_length() -> None:
    found = effective_length(frame([*grid([[100.0]]), {"score": 0.0}, {"score": None, "length": 2000}]))
    assert found.without_length == 1
    assert (found.length, found.longest_unbroken, found.next_length) == (1000, 1000, 2000)
    assert found.told_apart is None


def test_needle_recall_counts_each_position_and_missing_answers_as_the_scores_do() -> None:
    rows: list[Record] = [
        {"needle_id": "three", "keyword": 100.0, "keyword.needles": [True, False, None]},
        {"needle_id": "three", "keyword": 50.0, "keyword.needles": [True, True, None]},
        {"needle_id": "two", "keyword": 50.0, "keyword.needles": [False, True]},
        {"needle_id": "one", "keyword": 100.0},
        {"needle_id": "three", "keyword": 0.0, "status": "missing"},
        {"needle_id": "two", "keyword": None, "status": "missing"},
        {"needle_id": "one", "keyword": 0.0, "status": "missing"},
    ]
    found = needle_recall(frame(rows))
    assert found.select("position", "rows", "n", "unanswered").rows() == [(1, 5, 4, 2), (2, 5, 4, 2), (3, 3, 0, 1)]
    assert found["mean"].to_list() == [50.0, 50.0, None]
    assert needle_recall(frame(rows[3:4])).height == 0


def plotted(text: str) -> dict[str, tuple[dict[tuple[float, int], float], float]]:
    """What OpenCompass's plot tool makes of a CSV: for each model its cells and the overall score."""
    header, *lines = csv.reader(text.splitlines())
    assert header[:4] == ["dataset", "version", "metric", "mode"]
    found = {}
    for column, model in list(enumerate(header))[4:]:
        held: dict[tuple[float, int], list[float]] = {}
        for line in lines:
            length = int(line[0].split("Length")[1].split("Depth")[0])
            depth = float(line[0].split("Depth")[1].split("_")[0])
            if line[column]:
                held.setdefault((depth, length), []).append(float(line[column]))
        table = {place: sum(values) / len(values) for place, values in held.items()}
        columns = [
            [score for (_, of), score in table.items() if of == length] for length in sorted({of for _, of in table})
        ]
        found[model] = (table, sum(sum(scores) / len(scores) for scores in columns) / len(columns))
    return found


def test_opencompass_plots_our_cells_and_our_overall_score() -> None:
    rows = grid([[100, 0, 41.234], [60, 70, 10]], repeats=3)
    rows[-1]["depth_percent"] = 33.5
    scores = frame(rows)
    text = opencompass_summary(scores, "score", "a model")
    header, first, *_ = text.splitlines()
    assert header == "dataset,version,metric,mode,a model"
    assert first == "Length1000Depth0_origin_zh_2k,-,score,gen,100.00"
    assert "Length2000Depth33.5_origin_zh_2k,-,score,gen,10.00" in text.splitlines()
    table, score = plotted(text)["a model"]
    ours = {(line["depth_percent"], line["length"]): line["mean"] for line in cells(scores).to_dicts()}
    # Two decimals, as OpenCompass writes.
    assert table == pytest.approx(ours, abs=0.005)
    assert score == pytest.approx(overall(scores).of_lengths.mean, abs=0.005)


def test_cells_without_scores_are_empty_fields_and_rows_without_a_place_are_left_out() -> None:
    rows: list[Record] = [
        {"length": 1500, "depth_percent": 0.0, "language": "en", "task": "multi", "score": None},
        {"length": 1500, "depth_percent": 50.0, "language": None, "score": 7.0},
        {"length": None, "depth_percent": 50.0, "score": 8.0},
    ]
    lines = opencompass_summary(frame(rows), "score", "m").splitlines()
    assert lines[1:] == [
        "Length1500Depth0_multi_en_1500,-,score,gen,",
        "Length1500Depth50_origin_1500,-,score,gen,7.00",
    ]


@pytest.mark.parametrize("model", ["plain", 'with, comma and "quotes"', "Length and Depth_", "中文", "two\nlines"])
def test_any_model_name_is_read_back(model: str) -> None:
    text = opencompass_summary(frame(grid([[1.0]])), "score", model)
    assert next(csv.reader(text.splitlines(keepends=True)))[4] == model


def test_a_model_name_is_no_formula() -> None:
    text = opencompass_summary(frame(grid([[1.0]])), "score", "=HYPERLINK(1)")
    assert text.splitlines()[0].endswith(",'=HYPERLINK(1)")


def test_a_frame_made_ready_once_gives_the_same_figures() -> None:
    draw = random.Random(5)
    rows = grid([[draw.random() * 100 for _ in range(3)] for _ in range(4)], repeats=5)
    for row in rows:
        row |= {
            "needle_id": draw.choice("abc"),
            "haystack_id": draw.choice("pqrs"),
            "language": draw.choice(["en", "zh"]),
        }
    scores = frame(rows)
    ready = Scored(scores)
    assert cells(ready).equals(cells(scores))
    assert groups(ready).equals(groups(scores))
    assert overall(ready) == overall(scores)


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
def test_several_metrics_at_once_have_the_figures_that_each_has_alone(rows: list[Record], lengths: bool) -> None:
    scores = frame([{**row, "score": row["keyword"]} for row in rows])
    scores = scores.with_columns(
        pl.Series("edit", [row["edit"] for row in rows], pl.Float64),
        pl.Series("exact", [row["exact"] for row in rows], pl.Float64),
    )
    if not lengths:
        scores = scores.with_columns(length=pl.lit(None, dtype=pl.Int64))
    metrics = ["score", "keyword", "edit", "exact"]
    together, apart = summary(scores, metrics)["metrics"], cells_of(scores, metrics)
    for metric in metrics:
        alone = overall(scores, metric)
        assert together[metric]["overall"] == alone.of_rows._asdict()
        assert together[metric]["overall_of_lengths"] == alone.of_lengths._asdict()
        found = groups(scores, metric)
        assert {name: len(lines) for name, lines in together[metric]["groups"].items()} == dict(
            found["group"].value_counts().iter_rows()
        )
        for line in found.to_dicts():
            assert {name: line[name] for name in line if name != "group"} in together[metric]["groups"][line["group"]]
        for name, how in (("ruler", {}), ("nolima", {"share_of_base": 0.85})):
            length = effective_length(scores, metric, **how)  # type: ignore[arg-type]
            told = together[metric]["effective_length"][name]
            assert told == {key: getattr(length, key) for key in told} | {"base_lengths": list(length.base_lengths)}
        assert apart.filter(pl.col("metric") == metric).drop("metric").equals(cells(scores, metric))


def test_equal_scores_have_equal_intervals_whatever_their_metric_is_called() -> None:
    draw = random.Random(8)
    rows = grid([[100 * draw.random() for _ in range(3)] for _ in range(4)], repeats=5)
    for row in rows:
        row |= {"needle_id": draw.choice("abc"), "haystack_id": draw.choice("pqrs"), "keyword": row["score"]}
    scores = frame(rows)
    found = summary(scores, ["score", "keyword"])["metrics"]
    assert found["score"] == found["keyword"]
    assert "bootstrap" in found["score"]["overall"]["method"]
    # Also where each was asked for alone.
    assert overall(scores, "score") == overall(scores, "keyword")


def test_scores_that_differ_late_are_not_taken_for_the_same() -> None:
    rows: list[Record] = [{"score": 50.0, "keyword": 50.0 if number < 1999 else 0.0} for number in range(2000)]
    scored = Scored(frame(rows))
    assert overall(scored, "score").of_rows.mean == 50.0
    assert overall(scored, "keyword").of_rows.mean == pytest.approx(49.975)
    rows[1500]["keyword"] = None
    scored = Scored(frame(rows))
    assert (overall(scored, "score").of_rows.n, overall(scored, "keyword").of_rows.n) == (2000, 1999)
