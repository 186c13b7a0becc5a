"""Sets runs side by side, over the rows that all have: figures by length, differences to the first; and writes them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from niah_score.errors import IntegrityError, ScoreError
from niah_score.machine.files import hold
from niah_score.report.charts.grid import Grid, Palette, find_palette, grid_of, has_grid
from niah_score.report.charts.heatmap import draw
from niah_score.report.comparison_tables import differences_table, scores_table
from niah_score.report.overview import short_name
from niah_score.report.read import read
from niah_score.report.report import Report
from niah_score.report.tables import as_json, table_lines, write_csv
from niah_score.statistics.figures import effective_length, headline_of, of_lengths
from niah_score.statistics.intervals import Figure
from niah_score.statistics.paired import adjusted, holm, pair_of
from niah_score.statistics.scored import Scored
from niah_score.text.visible import visible

if TYPE_CHECKING:
    import polars as pl


# The coordinates of a row; they are the same in all runs of one dataset.
_PLACE = ("task", "part", "language", "length", "depth_percent", "needle_id", "haystack_id", "repeat")
_OURS = re.compile(r"comparison\.(md|json|csv)|(heatmaps|difference-[1-9][0-9]*)\.(png|svg)")


@dataclass(frozen=True, repr=False)
class RunComparison:
    """Runs over the rows that all of them have. `print` shows what the command prints, a notebook shows both tables.

    `record`: everything that comparison.json holds. `grids`: of each run; `differences`: of each run minus the first.
    """

    record: dict[str, Any]
    grids: tuple[Grid, ...]
    differences: tuple[Grid, ...]

    @property
    def frame(self) -> pl.DataFrame:
        """A line for each figure of each run, then for each difference, as in comparison.csv.

        `group`: all, lengths, length or cell.
        """
        import polars as pl

        whole, points = pl.Int64(), pl.Float64()
        schema = {
            "kind": pl.String(), "run": pl.String(), "minus": pl.String(), "group": pl.String(), "length": whole,
            "depth_percent": points, "rows": whole, "n": whole, "unanswered": whole, "mean": points, "low": points,
            "high": points, "method": pl.String(), "low_these": points, "high_these": points,
            "p": points, "adjusted": points, "noise": pl.Boolean(),
        }  # fmt: skip
        lines = []
        for run in self.record["runs"]:
            names = {"kind": "score", "run": run["name"]}
            lines += [{**one, **names, "group": group} for group, one in _parts(run)]
        for pair in self.record["pairs"]:
            names = {"kind": "difference", "run": pair["second"], "minus": pair["first"]}
            lines += [{**one, **names, "group": group, "method": one["test"]} for group, one in _parts(pair)]
        return pl.DataFrame(lines, schema=schema)

    def lines(self, form: str = "text") -> list[str]:
        """Both tables as lines of text or Markdown. Raises ScoreError for another format."""
        return [*table_lines(scores_table(self.record), form), "", *table_lines(differences_table(self.record), form)]

    def __str__(self) -> str:
        return visible("\n".join(self.lines()))

    def __repr__(self) -> str:
        names = ", ".join(short_name(run["name"]) for run in self.record["runs"])
        return f"<RunComparison of {names}: {self.record['metric']}, {self.record['rows']:,} rows>"

    def _repr_markdown_(self) -> str:
        return visible("\n".join(self.lines("markdown")))


def compare(*runs: Report | str | Path, metric: str = "score") -> RunComparison:
    """Compare two or more runs, each a report or a folder that `niah-score score` wrote, with the first.

    Runs are named after their models; if two have the same name, folders by their paths, and reports by numbers.
    Raises ScoreError for fewer than two runs and for a metric that some run lacks, IntegrityError for runs of datasets
    that share no row.
    """
    return compare_named(named_runs(runs, metric), metric)


def named_runs(runs: Sequence[Report | str | Path], metric: str) -> list[tuple[str, Report]]:
    """Runs with their names, as `compare` names them, and only the columns that are compared."""
    reports = [_light(run if isinstance(run, Report) else read(run), metric) for run in runs]
    names = [report.model for report in reports]
    if len(set(names)) < len(names):
        names = [
            f"{name} ({number})" if isinstance(run, Report) else str(run)
            for number, (run, name) in enumerate(zip(runs, names, strict=True), 1)
        ]
    return list(zip(names, reports, strict=True))


def _light(report: Report, metric: str) -> Report:
    """A report with only what is compared, so that answers of many runs are not in memory together."""
    columns = dict.fromkeys(("id", *_PLACE, "control", "metric", "status", "score", metric))
    scores = report.scores.select(name for name in columns if name in report.scores.columns)
    return replace(report, scores=scores, samples=None, problems=[], rows=None)


def compare_named(runs: Sequence[tuple[str, Report]], metric: str = "score") -> RunComparison:
    """As `compare`, for (name, report) pairs.

    Raises ScoreError also if two runs share a name, score a row by different metrics, or no row has a score in both.
    """
    heads, kept, notes, metrics = in_common(runs, metric)
    names, reports = [head["name"] for head in heads], [report for _, report in runs]
    grids: tuple[Grid, ...] = ()
    if has_grid(kept[0]):
        each = zip(names, reports, kept, strict=True)
        grids = tuple(grid_of(rows, metric, model=name, dataset=_dataset(report)) for name, report, rows in each)
    records = [
        {
            **head, "left_out": head["rows"] - run.frame.height, "headline": headline_of(run, metric),
            "overall": run.figures(metric)[()]._asdict(),
            "overall_of_lengths": of_lengths(run, metric)._asdict(),
            "effective_length": {"ruler": effective_length(run, metric)},
            "lengths": _figures(run, metric, "length"), "cells": _figures(run, metric, "length", "depth_percent"),
        }
        for head, run in zip(heads, kept, strict=True)
    ]  # fmt: skip
    pairs, lost = _paired(names, kept, metric)
    notes += lost
    if without := kept[0].frame["length"].null_count():
        notes.append(f"{without} of {kept[0].frame.height} rows have no length and count only in the mean of rows")
    of_first = zip(pairs, kept[1:], strict=True) if grids else ()
    differences = tuple(_difference_grid(pair, run, grids[0], kept[0]) for pair, run in of_first)
    record = {
        "metric": metric,
        "metrics": metrics,
        "rows": kept[0].frame.height,
        "notes": notes,
        "runs": records,
        "pairs": pairs,
    }
    return RunComparison(record, grids, differences)


def in_common(
    runs: Sequence[tuple[str, Report]], metric: str
) -> tuple[list[dict[str, Any]], list[Scored], list[str], list[str]]:
    """The rows that all of some (name, report) pairs have: what each run is, those rows of each, notes, and metrics.

    What a run is: name, dataset, signature, and how many rows it has. Raises what `compare_named` does.
    """
    names, reports = [_encodable(name) for name, _ in runs], [report for _, report in runs]
    if len(names) < 2:
        raise ScoreError(f"a comparison needs two runs or more, found {len(names)}")
    if again := [name for name in names if names.count(name) > 1]:
        raise ScoreError(f"two runs are called {again[0]!r}; give each its own name")
    frames = [report.scored.frame for report in reports]
    if lacking := [name for name, frame in zip(names, frames, strict=True) if metric not in frame.columns]:
        raise ScoreError(f"{lacking[0]}: its scores have no column {metric!r}; score every run with the same metrics")
    ids = _common_ids(names, reports)
    alike = all(report.weights == reports[0].weights for report in reports)
    kept = [Scored(frame.join(ids, on="id", how="semi"), reports[0].weights if alike else None) for frame in frames]
    _refuse_other_rows(names, [run.frame for run in kept], metric)
    rows = kept[0].frame
    own = [str(name) for name in rows["metric"].unique().drop_nulls().sort()] if "metric" in rows.columns else []
    metrics = own if metric == "score" else [metric]
    heads = [
        {
            "name": name, "dataset": _dataset(report), "signature": _signature(report, metrics), "rows": frame.height,
        }
        for name, report, frame in zip(names, reports, frames, strict=True)
    ]  # fmt: skip
    notes = [*_not_alike(heads), *_left_out(names, frames, ids)]
    if not alike:
        notes.append("The runs' datasets give their parts different weights; here every row counts the same")
    return heads, kept, notes, metrics


def _paired(names: Sequence[str], kept: Sequence[Scored], metric: str) -> tuple[list[dict[str, Any]], list[str]]:
    """The differences of every other run to the first, and sentences on rows that do not count in them."""
    pairs, notes, height, first = [], [], kept[0].frame.height, names[0]
    for second, other in zip(names[1:], kept[1:], strict=True):
        pair = {"first": first, "second": second, **pair_of(kept[0], other, metric)}
        lost = height - pair["overall"]["n"]
        if lost == height:
            raise ScoreError(f"{first} and {second}: no row has a {metric} in both")
        if lost:
            notes.append(f"{first} and {second}: {lost} of {height} rows have no score in one of them and do not count")
        pairs.append(pair)
    for group in ("overall", "overall_of_lengths"):
        adjusted([pair[group] for pair in pairs], holm)
    return pairs, notes


def _common_ids(names: Sequence[str], reports: Sequence[Report]) -> pl.DataFrame:
    """The ids that all runs have. Raises IntegrityError if there are none, as the runs are of different datasets."""
    base = reports[0]
    ids = base.scored.frame.select("id")
    for name, report in zip(names[1:], reports[1:], strict=True):
        ids = ids.join(report.scored.frame, on="id", how="semi")
        if ids.height:
            continue
        if not (report.scored.frame.height and base.scored.frame.height):
            raise ScoreError(f"{name} and {names[0]}: no rows to compare")
        raise IntegrityError(
            f"{name} answers {_dataset(report)} and {names[0]} answers {_dataset(base)}, and no row is in both; only "
            "runs of the same dataset can be compared"
        )
    return ids


def _refuse_other_rows(names: Sequence[str], frames: Sequence[pl.DataFrame], metric: str) -> None:
    """Raise IntegrityError if the rows of an id differ between two runs, ScoreError if their metrics do."""
    first = frames[0]
    for name, frame in zip(names[1:], frames[1:], strict=True):
        for column in (*_PLACE, "metric") if metric == "score" else _PLACE:
            if column not in first.columns or column not in frame.columns:
                continue
            differs = first[column].ne_missing(frame[column]).arg_true()
            if not len(differs):
                continue
            id, one, other = first["id"][differs[0]], first[column][differs[0]], frame[column][differs[0]]
            if column == "metric":
                raise ScoreError(
                    f"{id!r} is judged by {one} in {names[0]} and by {other} in {name}; name a metric that both have"
                )
            raise IntegrityError(
                f"{id!r} has {column} {one!r} in {names[0]} and {other!r} in {name}; only runs of the same dataset can "
                "be compared"
            )


def _left_out(names: Sequence[str], frames: Sequence[pl.DataFrame], ids: pl.DataFrame) -> Iterator[str]:
    """For each run with rows that another lacks, a sentence."""
    for name, frame in zip(names, frames, strict=True):
        strange = frame.join(ids, on="id", how="anti")["id"]
        if len(strange):
            yield (
                f"{name}: {len(strange)} of its {frame.height} rows are not in every run and are left out, such as "
                f"{strange.min()!r}"
            )


def _dataset(report: Report) -> str:
    return _encodable(f"{report.dataset}-{report.digest8}")


def _encodable(text: str) -> str:
    """A text that UTF-8 can encode: lone surrogates, which JSON allows, are written out."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _signature(report: Report, metrics: Sequence[str]) -> str:
    """What a run was measured with, without n; several, with commas, if its rows have different metrics."""
    signatures = (report.signatures[own] for own in metrics if own in report.signatures)
    return _encodable(", ".join("|".join(p for p in s.split("|") if not p.startswith("n:")) for s in signatures))


def _figures(run: Scored, metric: str, *by: str) -> list[dict[str, Any]]:
    """The figures of the places that rows have."""
    figures = run.figures(metric, *by).items()
    return [{**dict(zip(by, place, strict=True)), **one._asdict()} for place, one in figures if None not in place]


def _parts(record: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every figure of a run or a pair, with its group."""
    yield "all", record["overall"]
    yield "lengths", record["overall_of_lengths"]
    yield from (("length", one) for one in record["lengths"])
    yield from (("cell", one) for one in record["cells"])


def _not_alike(runs: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """How the runs differ besides their answers, as a sentence."""
    datasets = sorted({run["dataset"] for run in runs})
    if len(datasets) > 1:
        yield f"The runs are of different datasets ({', '.join(datasets)}); rows with the same id are compared"
    elif len({run["signature"] for run in runs}) > 1:
        yield "The runs were measured differently: their signatures differ, which may explain differences"


def _difference_grid(pair: Mapping[str, Any], other: Scored, base: Grid, one: Scored) -> Grid:
    """The grid of a run minus the first, whose grid is `base`. `one`, `other`: the rows of both."""
    import numpy as np

    places, cell = one.groups("length", "depth_percent")
    unanswered = np.bincount(cell[one.unanswered | other.unanswered], minlength=len(places))
    silent = dict(zip(places, unanswered.tolist(), strict=True))

    def figure(d: Mapping[str, Any], unanswered: int = 0) -> Figure:
        same = {name: d[name] for name in ("rows", "n", "mean", "low", "high", "low_these", "high_these")}
        return Figure(**same, method=d["test"], unanswered=unanswered)

    cells = {
        (base.lengths.index(d["length"]), base.depths.index(d["depth_percent"])): d
        for d in pair["cells"]
        if d["length"] is not None and d["depth_percent"] is not None
    }
    means = {d["length"]: figure(d) for d in pair["lengths"] if d["n"]}
    return replace(
        base,
        model=f"{pair['second']} - {pair['first']}",
        cells={place: figure(d, silent[d["length"], d["depth_percent"]]) for place, d in cells.items()},
        means=tuple(means.get(int(length)) for length in base.lengths),
        overall=figure(pair["overall_of_lengths"]),
        kind="difference",
        noise=frozenset(place for place, d in cells.items() if d["noise"]),
    )


def _ours(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if _OURS.fullmatch(path.name) and not path.is_dir())


def write_comparison(
    found: RunComparison, folder: Path, *, palette: str = "conventional", overwrite: bool = False
) -> Path:
    """Write comparison.md, .json and .csv, and heatmaps: the runs side by side, and each run minus the first.

    `palette`: the name of that of the runs' heatmaps; differences have their own, which colour-blind people can read.
    Raises ScoreError for an unknown palette and if the folder already holds a comparison, LockedError if another
    process is writing there, OSError if it cannot be written to; earlier files are then left as they were.
    """
    fill = partial(_write_all, found, palette=find_palette(palette))
    with hold(folder, "a comparison", _ours, head="comparison.json", overwrite=overwrite) as replace:
        return replace(fill)


def _write_all(found: RunComparison, folder: Path, palette: Palette) -> None:
    drawn = {"heatmaps": found.grids} if found.grids else {}
    drawn |= {f"difference-{number}": (grid,) for number, grid in enumerate(found.differences, 1)}
    for name, grids in drawn.items():
        draw(grids, folder / f"{name}.png", folder / f"{name}.svg", palette=palette)
    markdown = found.lines("markdown") + [part for name in drawn for part in ("", f"![{name}.png]({name}.png)")]
    (folder / "comparison.md").write_text("\n".join(markdown) + "\n", "utf-8")
    (folder / "comparison.json").write_bytes(as_json(found.record))
    write_csv(found.frame, folder / "comparison.csv")
