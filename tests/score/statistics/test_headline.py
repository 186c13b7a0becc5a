"""The headline: the weighted mean of its parts, with the weights of the dataset or by rows."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_scores import Record, frame, mean, records, steady

from niah_score.statistics.figures import groups, overall
from niah_score.statistics.headline import headline_of
from niah_score.statistics.scored import Scored
from niah_score.statistics.summary import summary_of

NAMES = st.lists(st.sampled_from(["retrieval", "chains", "anchor"]), min_size=40, max_size=40)


def parted(rows: list[Record], parts: list[Any]) -> pl.DataFrame:
    return frame(rows).with_columns(pl.Series("part", parts[: len(rows)], pl.String))


@steady
@given(rows=records, parts=st.lists(st.sampled_from(["retrieval", "chains", None]), min_size=40, max_size=40))
def test_without_weights_the_headline_is_the_mean_of_all_rows(rows: list[Record], parts: list[str | None]) -> None:
    asked = [{**row, "control": None} for row in rows]
    scores = parted(asked, parts)
    headline = headline_of(Scored(scores))
    whole = overall(scores).of_rows
    assert (headline["mean"], headline["low"], headline["high"], headline["n"]) == (
        whole.mean,
        whole.low,
        whole.high,
        whole.n,
    )
    assert headline["weighed_by"] == "rows"
    there = sorted(set(parts[: len(rows)]), key=lambda name: (not name, name))
    assert [part["name"] for part in headline["parts"]] == there
    _parts_agree(headline, rows, parts)
    assert [part["name"] for part in headline_of(Scored(frame(asked)))["parts"]] == [None]


@steady
@given(
    rows=records,
    parts=NAMES,
    weights=st.fixed_dictionaries({name: st.sampled_from([0.0, 0.4, 1, 1e300]) for name in ("retrieval", "chains")}),
)
def test_the_headline_is_the_mean_of_parts_weighted_as_in_the_dataset(
    rows: list[Record], parts: list[str], weights: dict[str, float]
) -> None:
    weights = {"retrieval": weights["retrieval"], "chains": weights["chains"], "anchor": 0.0}
    scores = parted([{**row, "control": None} for row in rows], parts)
    headline = headline_of(Scored(scores, weights))
    assert headline["weighed_by"] == "manifest"
    assert [part["name"] for part in headline["parts"]] == [name for name in weights if name in parts[: len(rows)]]
    _parts_agree(headline, rows, parts)
    inside = {part["name"]: weights[part["name"]] for part in headline["parts"] if part["n"]}
    total = sum(weight / 1e300 for weight in inside.values())
    for part in headline["parts"]:
        weight = inside.get(part["name"], 0.0) / 1e300 / total if total else 0.0
        assert part["weight"] == pytest.approx(weight)
    if not total:
        assert (headline["mean"], headline["low"], headline["n"]) == (None, None, 0)


def _parts_agree(headline: dict[str, Any], rows: list[Record], parts: list[Any]) -> None:
    for part in headline["parts"]:
        own = [row for row, name in zip(rows, parts, strict=False) if name == part["name"]]
        scored = [row["score"] for row in own if row["score"] is not None]
        assert (part["rows"], part["n"]) == (len(own), len(scored))
        assert part["mean"] == (pytest.approx(mean(scored)) if scored else None)
    if headline["mean"] is not None:
        assert sum(part["weight"] for part in headline["parts"]) == pytest.approx(1)
        weighted = sum(part["weight"] * part["mean"] for part in headline["parts"] if part["weight"])
        assert weighted == pytest.approx(headline["mean"])


@steady
@given(rows=records, parts=NAMES)
def test_means_over_several_parts_weigh_rows_as_the_headline_does(rows: list[Record], parts: list[str]) -> None:
    weights = {"retrieval": 3.0, "chains": 1.0, "anchor": 0.0}
    scores = parted(rows, parts)
    summary = summary_of(Scored(scores, weights))
    figures = summary["metrics"]["score"]
    assert figures["overall"]["mean"] == pytest.approx(summary["headline"]["mean"])
    own = [
        (weights[name], row)
        for row, name in zip(rows, parts, strict=False)
        if row["control"] is None and row["score"] is not None
    ]
    n = {name: sum(name == other for other, (_, row) in zip(_names(rows, parts), own, strict=True)) for name in weights}
    counted = [
        (weights[name] / n[name], row) for name, (_, row) in zip(_names(rows, parts), own, strict=True) if weights[name]
    ]
    for group in ("length", "language", "needle_id", "depth_percent"):
        for line in figures["groups"].get(group, []):
            inside = [
                (each, row["score"]) for each, row in counted
                if (row[group] if row[group] is None or isinstance(row[group], str) else f"{row[group]:g}")
                == line["value"]
            ]  # fmt: skip
            total = sum(each for each, _ in inside)
            assert line["n"] == len(inside)
            assert line["mean"] == (
                pytest.approx(sum(each * score for each, score in inside) / total) if inside else None
            )
    for line in figures["groups"].get("part", []):
        assert line["n"] == n[line["value"]]
    # The numbers of controls weigh all rows equally.
    alone = summary_of(scores)
    assert summary["controls"] == alone["controls"]
    absent = [[one for one in figures["groups"].get("control", []) if one["value"]] for figures in
              (summary["metrics"]["score"], alone["metrics"]["score"])]  # fmt: skip
    assert absent[0] == absent[1]


def _names(rows: list[Record], parts: list[str]) -> list[str]:
    return [name for row, name in zip(rows, parts, strict=False) if row["control"] is None and row["score"] is not None]


def test_rows_of_a_part_without_weight_are_only_in_the_group_called_part() -> None:
    rows = [{"length": 1000, "needle_id": needle, "score": 100.0} for needle in "abc"]
    scores = parted([*rows, {"length": 2000, "needle_id": "z", "score": 0.0}], ["single"] * 3 + ["anchor"])
    figures = summary_of(Scored(scores, {"single": 1.0, "anchor": 0.0}))["metrics"]["score"]
    assert {name: [line["value"] for line in lines] for name, lines in figures["groups"].items()} == {
        "length": ["1000"], "needle_id": ["a", "b", "c"], "part": ["anchor", "single"],
    }  # fmt: skip
    assert figures["overall"] == summary_of(scores[:3])["metrics"]["score"]["overall"]
    assert [line["mean"] for line in figures["groups"]["part"]] == [0.0, 100.0]
    assert set(groups(scores[:3])["group"]) == set(figures["groups"])


def test_all_right_is_the_share_of_rows_with_nothing_missing_or_false() -> None:
    rows: list[Record] = [{"metric": "keyword_f1", "score": score} for score in (100.0, 80.0, 0.0, 100.0, None)]
    rows += [{"metric": "keyword", "score": 100.0}, {"metric": "keyword_f1", "score": 100.0}]
    parts = headline_of(Scored(parted(rows, ["lists"] * 5 + ["mixed"] * 2)))["parts"]
    assert [part["name"] for part in parts] == ["lists", "mixed"]
    assert (parts[0]["all_right"]["mean"], parts[0]["all_right"]["n"]) == (50.0, 4)
    assert parts[0]["all_right"]["low"] < 50 < parts[0]["all_right"]["high"]
    assert parts[1]["all_right"] is None
