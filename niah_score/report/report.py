"""Defines the report, the record of a scored run: the figures that follow from it, and its overview."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING, Any

from niah_score.contract import VERSION, PartEntry
from niah_score.diagnosis.diagnose import Fault, diagnose, fault_lines, truth_of
from niah_score.join.join import ACCEPTED_PROBLEMS, Lines, Problem
from niah_score.report.charts.grid import Grid, grid_of, has_grid, too_fine
from niah_score.report.overview import (
    accounts,
    first_problems,
    make_up,
    overview_of,
    score_line,
    score_text,
    title_of,
    weight_text,
)
from niah_score.statistics.figures import cells, headline_of, summary_of
from niah_score.statistics.intervals import Figure
from niah_score.statistics.scored import Scored
from niah_score.text.visible import visible

if TYPE_CHECKING:
    import polars as pl

    from niah_score.join.rows import Rows


# In signatures, and after the model's name, of runs whose model had tools: no score of theirs passes for another.
TOOLS_GIVEN = "|tools:given"
WITH_TOOLS = " with tools"


@dataclass(frozen=True, repr=False)
class Report:
    """A scored run; a notebook shows its score and its other figures, and `niah_score.plot` its heatmap.

    `scores`: a line for each row, ordered by id. `samples`: a line for each sample, if rows have several, or None.
    `metrics`: the columns of `scores` that were computed. `statuses`: how many rows have each status; they sum up to
    all rows. `lines`: what became of the lines read. `problems`: lines that could not be used as they were.
    `signatures`: what each metric's numbers were measured with. `parts`: of the dataset, with the weights that its
    manifest gives them; empty if every row counts the same. `rows`: the dataset's rows, for the texts on the page; no
    figure depends on them. `diagnosed`: the diagnosis of a run that was read back, if it has one.
    """

    dataset: str
    digest8: str
    model: str
    metrics: tuple[str, ...]
    scores: pl.DataFrame
    samples: pl.DataFrame | None
    statuses: dict[str, int]
    lines: Lines
    problems: list[Problem]
    signatures: dict[str, str]
    parts: tuple[PartEntry, ...] = ()
    rows: Rows | None = None
    diagnosed: list[Fault] | None = None

    @property
    def tools(self) -> bool:
        """Whether the model had tools, such as reading files."""
        return any(TOOLS_GIVEN in signature for signature in self.signatures.values())

    @property
    def exit_code(self) -> int:
        """0, or 3 if inputs had problems other than missing or duplicate answers, which count only if asked for."""
        return 3 if {problem.kind for problem in self.problems} - set(ACCEPTED_PROBLEMS) else 0

    @cached_property
    def every_row(self) -> Scored:
        """The scores of all rows, ready for counting. Raises ScoreError if several lines have the same id."""
        return Scored(self.scores, self.weights)

    @property
    def weights(self) -> dict[str, float] | None:
        """The relative weights of the parts by name; None if every row counts the same."""
        return {part.name: part.weight for part in self.parts} or None

    @property
    def scored(self) -> Scored:
        """The scores that figures are computed from: of all rows except controls and parts of weight 0.

        Raises what `every_row` does.
        """
        return self.every_row.counted

    @cached_property
    def overall(self) -> Figure:
        """The score in the summary's headline: the mean of the `scored` rows, each by its own metric."""
        return self.scored.figures("score")[()]

    @cached_property
    def headline(self) -> dict[str, Any]:
        """The score with its parts, as in the summary; it takes a fraction of the summary's time."""
        return headline_of(self.every_row)

    @cached_property
    def summary(self) -> dict[str, Any]:
        """Everything that summary.json holds."""
        return {
            "dataset": {
                "name": self.dataset,
                "digest8": self.digest8,
                "rows": self.scores.height,
                **({"parts": [asdict(part) for part in self.parts]} if self.parts else {}),
            },
            "model": self.model,
            **({"tools": True} if self.tools else {}),
            "version": VERSION,
            "signatures": self.signatures,
            "lines": self.lines._asdict(),
            **({} if self.rows is None and self.diagnosed is None else {"diagnosis": [*map(asdict, self.diagnosis)]}),
            **summary_of(self.every_row, ["score", *self.metrics], self.headline),
        }

    @cached_property
    def diagnosis(self) -> list[Fault]:
        """The likeliest faults behind wrong answers, the likeliest first; empty for none of these."""
        if self.rows is None:
            return self.diagnosed or []
        return diagnose(self.scored.frame, truth_of(self.rows))

    @cached_property
    def cells(self) -> pl.DataFrame:
        """The figures of every metric by length (tokens) and depth (percent)."""
        return cells(self.scored, ("score", *self.metrics))

    def overview(self, *, verbose: bool = False) -> Iterator[str]:
        """What the commands print, in lines: the score first. `verbose`: with the signature of each metric."""
        yield score_line(self.headline, self.overall._asdict())
        own = [str(name) for name in self.scored.factor("metric").values if name is not None]
        yield from overview_of(self.summary, own, self.signatures if verbose else None)
        yield ""
        yield from accounts(self.lines, self.statuses)
        yield from (f"likely fault: {line}" for line in fault_lines(self.diagnosis))
        yield from first_problems(self.problems)

    @cached_property
    def drawable(self) -> tuple[list[Grid], str | None]:
        """The grids of the heatmap: none if no row has a length and a depth, or too many differ; then also why."""
        grids = report_grids(self) if has_grid(self.scored) else []
        why = next(filter(None, map(too_fine, grids)), None)
        return ([], why) if why else (grids, None)

    def __repr__(self) -> str:
        score = self.overall
        return f"<Report {title_of(self.model, self.dataset, self.digest8)}: {score_text(score)}, n {score.n:,}>"

    def _repr_html_(self) -> str:
        """The overview: a fragment that loads and runs nothing, whatever the names."""
        return f"<pre>{escape(visible(chr(10).join(self.overview())))}</pre>"


def report_grid(report: Report, metric: str = "score", language: str | None = None) -> Grid:
    """The grid of a report's scores, named by its model and dataset. Raises what `grid_of` does."""
    return grid_of(report.scored, metric, language, model=report.model, dataset=f"{report.dataset} {report.digest8}")


def report_grids(report: Report, metric: str = "score", language: str | None = None) -> list[Grid]:
    """The grids that a report's heatmap shows: one, or one for each part if the dataset gives its parts weights.

    A cell of several parts would show which parts have rows there rather than how hard the place is. A part without
    lengths and depths has no grid. Raises what `report_grid` does.
    """

    asked = report.every_row.asked
    grids = []
    for part in report.headline["parts"] if report.parts else ():
        rows = asked.only(asked.column("part").eq_missing(part["name"]))
        if not has_grid(rows if language is None else rows.only(rows.column("language").eq_missing(language))):
            continue
        named = f"{part['name']}, {weight_text(part)}"
        grids.append(grid_of(rows, metric, language, model=named, dataset=f"{report.dataset} {report.digest8}"))
    return grids if len(grids) > 1 else [report_grid(report, metric, language)]


def title_of_grids(report: Report, grids: Sequence[Grid]) -> str | None:
    """The title above the heatmaps of several parts: the model, and its score as a sum of the parts."""
    if len(grids) < 2:
        return None
    weighted_sum = make_up(report.headline)
    return f"{report.model}: {score_text(report.overall)}{f' = {weighted_sum}' if weighted_sum else ''}"
