"""Computes the numbers of a report's page: what summary.json says, and sums small enough to filter in a browser.

Figures are lists: rows, n, unanswered, mean, low, high (points, null if there is none).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from niah_score.diagnosis.diagnose import fault_lines
from niah_score.html import Axis, axis_of
from niah_score.report.charts.grid import PALETTES
from niah_score.report.report import Report
from niah_score.statistics.scored import Factor, Scored, coordinate_text

if TYPE_CHECKING:
    import polars as pl

# The coordinates that the page has a filter for.
FILTERS = ("part", "language", "corpus", "needle_id", "control")
PROBLEMS = 20
_MOST_NAMES = 60
# Combinations of coordinates to embed; each is a line of numbers.
_MOST_COMBINATIONS = 60_000
_MOST_CONTROLS = 50
_MOST_PARTS = 50
# Values of a coordinate whose intervals are embedded.
_MOST_GROUPS = 300
_LONGEST_NAME = 300
_OVERALL = ("overall", "overall_of_lengths", "effective_length")
_COLUMNS = ("rows", "n", "unanswered", "mean", "low", "high")


def data_of(report: Report) -> dict[str, Any]:
    """Everything that the page shows, except its examples; long names are cut."""
    scored, summary = rows_of(report), report.summary
    metrics = ["score", *(name for name in report.metrics if name in summary["metrics"])]
    axes, places = _axes(scored)
    codes, left_out = _filtered(scored, places, weighted=report.weights is not None)
    filters = codes.columns[2:]
    parts = scored.factor("part").values

    def of_values(name: str) -> list[Any]:
        """For each metric, the figures of a coordinate's values."""
        return [
            _of_values(scored.factor(name), summary["metrics"][metric]["groups"].get(name), these=name == "needle_id")
            for metric in metrics
        ]

    groups = [of_values(name) for name in filters]
    data: dict[str, Any] = shortened({
        **{name: summary[name] for name in ("dataset", "model", "version", "lines", "statuses", "findings")},
        "faults": [*fault_lines(report.diagnosis)],
        "signatures": [report.signatures.get(name) for name in metrics],
        "own_metrics": [str(name) for name in scored.factor("metric").values[:_MOST_NAMES] if name is not None],
        "needle_recall": summary["needle_recall"],
        "metrics": metrics,
        "palettes": {name: palette.stops for name, palette in PALETTES.items()},
        "overall": [{name: summary["metrics"][metric][name] for name in _OVERALL} for metric in metrics],
        "parts": report.headline["parts"][:_MOST_PARTS],
        "weighed_by": report.headline["weighed_by"],
        "part_weights": [*map(scored.weight_of, parts)] if report.weights and "part" in filters else None,
        "controls": dict(list(summary["controls"].items())[:_MOST_CONTROLS]),
        "lengths": axes[0].labels,
        "depths": axes[1].labels,
        "grouped": {"lengths": axes[0].grouped, "depths": axes[1].grouped},
        "length_means": None if axes[0].grouped else of_values("length"),
        "depth_means": None if axes[1].grouped else of_values("depth_percent"),
        "filters": [{"name": name, "values": scored.factor(name).values} for name in filters],
        "left_out": left_out,
        "groups": [[of_filter[place] for of_filter in groups] for place in range(len(metrics))],
        "cells": None if axes[0].grouped or axes[1].grouped or not report.cells.height else _cells(report, metrics),
    })  # fmt: skip
    return {**data, "problems": _problems(report), "sums": _sums(scored, metrics, codes)}


def shortened(value: Any) -> Any:
    """A value for JSON, with every text in it cut to a length that a page can show."""
    if isinstance(value, str):
        return short(value)
    if isinstance(value, dict):
        return {short(name): shortened(one) for name, one in value.items()}
    return [*map(shortened, value)] if isinstance(value, list | tuple) else value


def rows_of(report: Report) -> Scored:
    """The rows that the page knows: controls too, unless there are too many different ones to choose from."""
    kept = len(report.every_row.factor("control").values) <= _MOST_CONTROLS or not report.scored.frame.height
    return report.every_row if kept else report.scored


def _axes(scored: Scored) -> tuple[list[Axis], pl.DataFrame]:
    """The heatmap's axes, and each row's place on them."""
    import numpy as np
    import polars as pl

    factors = {name: scored.factor(name) for name in ("length", "depth_percent")}
    axes = {name: axis_of(factor.values) for name, factor in factors.items()}
    places = {name: np.array(axis.places, np.int64)[factors[name].codes] for name, axis in axes.items()}
    return list(axes.values()), pl.DataFrame(places)


def cells_of_rows(scored: Scored) -> Any:
    """For each row the number of its cell: the place of its length * number of depths + the place of its depth."""
    (_, depths), places = _axes(scored)
    return (places["length"] * len(depths.labels) + places["depth_percent"]).to_numpy()


def short(text: str, most: int = _LONGEST_NAME) -> str:
    """A name cut to a length that a page can show."""
    return text if len(text) <= most else f"{text[:most]}…"


def _listed(figure: dict[str, Any], *, these: bool = False) -> list[Any]:
    """A figure as a list. `these`: whether with the interval of these needles alone."""
    ends = (figure[f"{name}_these" if these else name] for name in ("low", "high"))
    return [*(figure[name] for name in _COLUMNS[:4]), *(None if end is None else round(end, 4) for end in ends)]


def _problems(report: Report) -> dict[str, Any]:
    return {
        "count": len(report.problems),
        "kinds": sorted(Counter(problem.kind for problem in report.problems).items()),
        "shown": [
            [problem.kind, short(problem.file), problem.line, short(problem.message, 1000)]
            for problem in report.problems[:PROBLEMS]
        ],
    }


def _of_values(factor: Factor, lines: list[dict[str, Any]] | None, *, these: bool) -> list[list[Any]] | None:
    """The figures of a coordinate's values, in order; a value that only controls have gets a figure without rows.

    Null if there are none, or too many to embed.
    """
    if lines is None or len(factor.values) > _MOST_GROUPS:
        return None
    known = {line["value"]: _listed(line, these=these) for line in lines}
    return [known.get(coordinate_text(value), [0, 0, 0, None, None, None]) for value in factor.values]


def _filtered(scored: Scored, places: pl.DataFrame, *, weighted: bool) -> tuple[pl.DataFrame, list[str]]:
    """The coordinates to filter by, which have several values, as columns of codes after `places`.

    Then those left out as they make too many combinations. `weighted`: whether parts have weights.
    """
    import polars as pl

    names = [name for name in FILTERS if len(scored.factor(name).values) > 1]
    codes = places.with_columns(pl.Series(name, scored.factor(name).codes) for name in names)
    left_out: list[str] = []
    while names and codes.n_unique() > _MOST_COMBINATIONS:
        # Without a filter for controls, their rows would count with the others; without one for parts, rows would not
        # have the weights of their parts.
        kept = {"control": None in scored.factor("control").values, "part": weighted}
        removable = [name for name in names if not kept.get(name)] or names
        largest = max(removable, key=lambda name: len(scored.factor(name).values))
        names.remove(largest)
        left_out.append(largest)
        codes = codes.drop(largest)
    return codes, left_out


def _sums(scored: Scored, metrics: Sequence[str], codes: pl.DataFrame) -> dict[str, Any]:
    """For each combination that occurs: its codes, rows, unanswered, and for each metric n and the sum of scores."""
    import numpy as np
    import polars as pl

    own = codes.columns
    columns = {"_silent": scored.unanswered}
    for place, metric in enumerate(metrics):
        values, has = scored.values(metric)
        columns |= {f"_n{place}": has, f"_sum{place}": np.where(has, values, 0.0)}
    counted = codes.with_columns(pl.Series(name, column) for name, column in columns.items())
    sums = counted.group_by(own, maintain_order=True).agg(pl.len().alias("_rows"), pl.all().sum()).sort(own)
    each = [(sums[f"_n{place}"], sums[f"_sum{place}"].round(4)) for place in range(len(metrics))]
    return {
        "codes": [sums[name].to_list() for name in own],
        "rows": sums["_rows"].to_list(),
        "unanswered": sums["_silent"].to_list(),
        # null: every row has a score.
        "n": [None if (n == sums["_rows"]).all() else n.to_list() for n, _ in each],
        "sum": [[int(total) if total.is_integer() else total for total in totals] for _, totals in each],
    }


def _cells(report: Report, metrics: Sequence[str]) -> list[dict[str, list[Any]]]:
    """For each metric the cells that have rows, as columns: over all languages (null) and of each."""
    import polars as pl

    cells = report.cells.with_columns(pl.col("low", "high").round(4))
    own = cells.select("metric", "language", "length", "depth_percent", *_COLUMNS)
    return [own.filter(metric=metric).drop("metric").to_dict(as_series=False) for metric in metrics]
