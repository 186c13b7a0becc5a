"""Represents scored log-probabilities, computes quotients of sums with clustered 95 % intervals, and writes files.

A quotient of sums, such as nats over tokens, is the mean of the rows' quotients weighted by their denominators. Its
variance is that of `statistics.clusters` with these weights, which is the linearised variance of a ratio (W. G.
Cochran, Sampling Techniques, 1977, ch. 6); its interval is Student's t with the degrees of freedom of the clusters.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from niah_score.contract import VERSION, sealed
from niah_score.errors import ScoreError, listed
from niah_score.join.join import ACCEPTED_PROBLEMS, Lines, Problem
from niah_score.logprobs.targets import Asked
from niah_score.report import PROBLEMS, SCORES, SUMMARY
from niah_score.report.overview import accounts, first_problems
from niah_score.report.tables import aligned, as_json, listed_files, write_csv, write_problems
from niah_score.report.write import hold_scores, write_table
from niah_score.statistics.intervals import Clusters, t_quantile

if TYPE_CHECKING:
    from niah_score.statistics.intervals import Codes

_DECIMALS = 9
# Intervals over fewer clusters are called rough.
_ENOUGH = 10
_SHOWN = 3
# The figures in printed tables.
_COLUMNS = {
    "perplexity": ("length", "rows", "tokens", "nll", "perplexity", "bits_per_byte"),
    "gain": ("rows", "gain", "oracle", "recovery", "no_oracle_gain"),
}


@dataclass(frozen=True)
class Report:
    """Scored log-probabilities of a model.

    `kind`: perplexity or gain. `rows`: a line for each row of the dataset, as scores.parquet has them; `figures`: as
    summary.json and the CSV file have them. `statuses`: how many rows have each; `counted`: how many are in the
    figures. `tokenizer`: of a perplexity set; `conditions`: how many rows have each condition of a gain.
    """

    kind: str
    dataset: str
    digest8: str
    model: str
    asked: Asked
    rows: list[dict[str, Any]]
    figures: list[dict[str, Any]]
    statuses: dict[str, int]
    counted: int
    lines: Lines
    problems: list[Problem]
    tokenizer: str | None = None
    conditions: dict[str, int] | None = None

    @property
    def exit_code(self) -> int:
        """0, or 3 if no row counts or inputs had problems other than missing ones, which count only if asked for."""
        had_problems = {problem.kind for problem in self.problems} - {*ACCEPTED_PROBLEMS}
        return 3 if had_problems or not self.counted else 0

    @property
    def signature(self) -> str:
        """What the numbers were measured with, in one line."""
        measure = "gain" if self.tokenizer is None else "nll"
        tokenizer = "" if self.tokenizer is None else f"|tokenizer:{self.tokenizer}"
        return (
            f"niah|ds:{self.digest8}|metric:{measure}/{self.asked.per}{tokenizer}"
            f"|missing:{self.asked.missing}|n:{self.counted}|v:{VERSION}"
        )


def missing_problems(lacking: Mapping[str, str], rows: int, asked: Asked, problems: Sequence[Problem]) -> list[Problem]:
    """A problem for each row without all log-probabilities. `lacking`: what, by id; `rows`: how many ask for them.

    Raises ScoreError if rows must have all; it names the first ones, and the first of the other `problems`.
    """
    missing = [Problem("missing", "", None, name, f"{name!r} {what}") for name, what in lacking.items()]
    if missing and asked.missing == "error":
        head = (
            f"{len(missing):,} of {rows:,} rows lack log-probabilities: ask for them again, or pass --missing exclude "
            "(without these rows) or, for windows, --missing partial (with the tokens that are known)"
        )
        raise ScoreError(listed(head, [*missing[:_SHOWN], *problems[:_SHOWN]]))
    return missing


# Figures --------------------------------------------------------------------------------------------------------------


class Ratio(NamedTuple):
    """A quotient of sums over rows of `clusters` clusters, null without rows.

    `low`, `high`: null for one cluster, which does not show how much clusters differ. `method`: the basis of the
    interval.
    """

    value: float | None = None
    low: float | None = None
    high: float | None = None
    clusters: int = 0
    method: str = "none"


def ends_of(name: str, of: Ratio) -> dict[str, float | None]:
    """A quotient and the ends of its interval, as a figure has them."""
    return {name: of.value, f"{name}_low": of.low, f"{name}_high": of.high}


def ratio(
    above: Sequence[float],
    below: Sequence[float],
    clusters: Sequence[Hashable],
    haystacks: Sequence[Hashable] | None = None,
    *,
    what: str = "documents",
) -> Ratio:
    """The sum of `above` over the sum of `below` (positive numbers); item i of each sequence belongs to row i.

    `clusters`: what rows were drawn by. `haystacks`: a second kind of clusters. `what`: the word for the clusters in
    the method.
    """
    import numpy as np

    if not above:
        return Ratio()
    weights, sums = np.asarray(below, np.float64), np.asarray(above, np.float64)
    drawn, within = map(_codes, (clusters, haystacks or clusters))
    rows = Clusters(np.zeros(len(sums), np.int64), 1, drawn, within, weight=weights)
    spread = rows.spread(sums / weights)
    value, count = float(sums.sum() / weights.sum()), int(rows.needles[0])
    if count < 2:
        return Ratio(value, None, None, count, f"one of {what}: no interval")
    # The variance is at least that of independent rows.
    reach = float(t_quantile(spread.df)[0] * np.sqrt(spread.variance[0]))
    low, high = round(value - reach, _DECIMALS), round(value + reach, _DECIMALS)
    rough = ", rough" if count < _ENOUGH else ""
    return Ratio(value, min(low, value), max(high, value), count, f"t: {count} {what}{rough}")


def _codes(names: Sequence[Hashable]) -> Codes:
    import numpy as np

    codes = {name: code for code, name in enumerate(dict.fromkeys(names))}
    return np.array([codes[name] for name in names], np.int64)


# Files ----------------------------------------------------------------------------------------------------------------


def write(report: Report, folder: Path, *, overwrite: bool = False) -> Path:
    """Write summary.json, scores.parquet, the figures as CSV and problems.jsonl to a folder, and return it.

    Raises ScoreError if the folder already holds scores and `overwrite` is false, LockedError if another process is
    writing there, OSError if it cannot be written to.
    """
    with hold_scores(folder, overwrite=overwrite) as replace:
        return replace(partial(_fill, report))


def _fill(report: Report, folder: Path) -> None:
    import polars as pl

    about = {"dataset": report.dataset, "digest8": report.digest8, "model": report.model}
    write_table(pl.DataFrame(report.rows, infer_schema_length=None), folder / SCORES, about)
    table = f"{report.kind}.csv"
    write_csv(pl.DataFrame(report.figures, infer_schema_length=None), folder / table)
    write_problems(report.problems, folder / PROBLEMS)
    summary = {
        "kind": report.kind, **about, "version": VERSION, "per": report.asked.per,
        "missing": report.asked.missing, "signature": report.signature,
        "rows": {"all": len(report.rows), **report.statuses}, "tokenizer": report.tokenizer,
        "conditions": report.conditions, "lines": report.lines._asdict(), "figures": report.figures,
        "files": listed_files(folder, (SCORES, table, PROBLEMS)),
    }  # fmt: skip
    (folder / SUMMARY).write_bytes(as_json(sealed(summary)))


def printed(report: Report) -> Iterator[str]:
    """The lines to print: a table, what became of lines and rows, what is missing, problems, the signature."""
    columns, of = _COLUMNS[report.kind], f"{report.dataset} ({report.digest8})"
    if report.kind == "perplexity":
        yield f"{report.model}: log-probabilities of {of}, 95 % intervals by document"
    else:
        yield f"{report.model}: gain of the context in nats per {report.asked.per}, {of}, 95 % intervals by needle"
    lines = ([_name(one), *(_cell(one, name) for name in columns)] for one in report.figures)
    yield from aligned([["", *columns], *lines])
    if report.kind == "gain":
        if missing := report.figures[0]["no_needle"]:
            yield f"{missing:,} rows have no log-probability given the needles alone; recovery leaves them out"
        yield "no_oracle_gain: rows whose needles alone make the answer no likelier; recovery leaves them out"
    yield ""
    yield from accounts(report.lines, report.statuses)
    if report.conditions is not None:
        yield "rows with each condition: " + ", ".join(f"{name} {count:,}" for name, count in report.conditions.items())
    elif tokens := sum(one["missing_tokens"] for one in report.figures if one["corpus"] is None):
        yield f"tokens without a log-probability: {tokens:,}"
    yield from first_problems(report.problems)
    yield report.signature


def _name(figure: Mapping[str, Any]) -> str:
    names = ("group", "value") if "group" in figure else ("language", "corpus")
    return " ".join(figure[name] or "" for name in names).strip()


def _cell(figure: Mapping[str, Any], name: str) -> str:
    """A figure as printed, with its interval; of rows, how many count."""
    value, low, high = figure[name], figure.get(f"{name}_low"), figure.get(f"{name}_high")
    if isinstance(value, int):
        return f"{value:,} of {figure['of']:,}" if name == "rows" and value != figure["of"] else f"{value:,}"
    return _number(value) if low is None or high is None else f"{_number(value)} [{_number(low)}, {_number(high)}]"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}" if abs(value) < 1000 else f"{value:.5g}"
