"""Compares runs from Python, as `niah-score compare` does."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from niah_score.report.comparison.files import as_dict, as_frame
from niah_score.report.comparison.side_by_side import SideBySide, side_by_side
from niah_score.report.comparison.tables import lines_of
from niah_score.report.overview import short_name
from niah_score.report.read import read
from niah_score.report.report import Report
from niah_score.statistics.common_rows import COMPARED
from niah_score.text.visible import visible

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, repr=False)
class RunComparison:
    """Runs over the rows that all of them have. `print` shows what the command prints, a notebook shows both tables.

    `side`: the tables' figures and the grids of all heatmaps.
    """

    side: SideBySide

    @property
    def record(self) -> dict[str, Any]:
        """Everything that comparison.json holds."""
        return as_dict(self.side)

    @property
    def frame(self) -> pl.DataFrame:
        """A line for each figure and each difference, as in comparison.csv."""
        return as_frame(self.side)

    def __str__(self) -> str:
        return visible("\n".join(lines_of(self.side, "text")))

    def __repr__(self) -> str:
        names = ", ".join(short_name(line.name) for line in self.side.lines)
        return f"<RunComparison of {names}: {self.side.comparison.metric}, {self.side.comparison.rows:,} rows>"

    def _repr_markdown_(self) -> str:
        return visible("\n".join(lines_of(self.side, "markdown")))


def _light(report: Report, metric: str, first: Report | None) -> Report:
    """A report with only what is compared; columns equal to those of the first run are held in memory once."""
    columns = list(dict.fromkeys((*COMPARED, "score", metric)))
    table = report.table.select(name for name in columns if name in report.table.columns)
    if first is not None and table.height == first.table.height:
        theirs = first.table
        same = [name for name in table.columns if name in theirs.columns and theirs[name].equals(table[name])]
        table = table.with_columns(theirs[name] for name in same)
    return replace(report, table=table, sample_table=None, problems=[], rows=None)


def compare(*runs: Report | str | Path, metric: str = "score") -> RunComparison:
    """Compare two or more runs, each a report or a folder that `niah-score score` wrote, with the first.

    Runs are named after their models. If two models have the same name, folders are named by their paths, and reports
    get their numbers after the name.
    Raises ScoreError for fewer than two runs and for a metric that some run lacks, IntegrityError for runs of datasets
    that share no row.
    """
    reports: list[Report] = []
    for run in runs:
        report = run if isinstance(run, Report) else read(run)
        reports.append(_light(report, metric, reports[0] if reports else None))
    names = [report.model for report in reports]
    repeated = {name for name, count in Counter(names).items() if count > 1}
    if repeated:
        names = [
            str(run) if not isinstance(run, Report) else f"{name} ({number})" if name in repeated else name
            for number, (run, name) in enumerate(zip(runs, names, strict=True), 1)
        ]
    return RunComparison(side_by_side(list(zip(names, reports, strict=True)), metric))
