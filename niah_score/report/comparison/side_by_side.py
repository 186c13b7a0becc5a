"""Sets reports of several runs side by side: figures by length over the rows that all have, and the best at each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from niah_score.errors import IntegrityError
from niah_score.report.charts.grid import Grid
from niah_score.report.comparison.grids import grids_of_differences, grids_of_runs
from niah_score.report.report import Report
from niah_score.statistics.common_rows import common_rows
from niah_score.statistics.effective_length import NOLIMA_SHARE, EffectiveLength, effective_length
from niah_score.statistics.figures import Figure, overall
from niah_score.statistics.headline import headline_of
from niah_score.statistics.paired import LEVEL, Comparison, Difference, Pair, compared
from niah_score.statistics.scored import Scored
from niah_score.statistics.significance import holm


@dataclass(frozen=True)
class RunLine:
    """A run over the common rows. `lengths`: its figure at each length; `of_lengths`: the mean of the lengths' means.

    `signature`: what its metric was measured with, without n; several, with commas, if rows have different metrics.
    `headline`: `of_rows` with the parts that it is made of, as `headline_of` gives them.
    """

    name: str
    dataset: str
    signature: str
    headline: Mapping[str, Any]
    of_rows: Figure
    of_lengths: Figure
    lengths: tuple[Figure, ...]
    ruler: EffectiveLength
    nolima: EffectiveLength


@dataclass(frozen=True)
class SideBySide:
    """Runs side by side. `lengths`: tokens, rising. `grids`: of each run; `differences`: of each minus the first.

    `best`: the line that is significantly the best in a column, by the index of the column's length, or "rows" (the
    mean of rows) or "lengths" (the mean of the lengths' means). Its difference to every other line has an interval
    without 0 and p below 0.05; p is the largest of them, adjusted by Holm's method over the lengths. No adjustment is
    needed for the number of runs (K. Hung and W. Fithian, Ann. Stat. 47, 2019).
    """

    comparison: Comparison
    metrics: tuple[str, ...]
    lengths: tuple[int, ...]
    lines: tuple[RunLine, ...]
    best: Mapping[int | str, int]
    grids: tuple[Grid, ...]
    differences: tuple[Grid, ...]
    notes: tuple[str, ...]


def side_by_side(runs: Sequence[tuple[str, Report]], metric: str = "score") -> SideBySide:
    """Set (name, report) pairs side by side. Raises what `compare` does; IntegrityError names both datasets."""
    runs = [(_encodable(name), report) for name, report in runs]
    _same_dataset(runs)
    weights = runs[0][1].weights if runs else None
    alike = all(report.weights == weights for _, report in runs)
    shared = common_rows([(name, report.scored.frame) for name, report in runs], metric, weights if alike else None)
    comparison = compared(shared)
    rows = shared.kept[0].frame
    own = [str(name) for name in rows["metric"].unique().drop_nulls().sort()] if "metric" in rows.columns else []
    metrics = tuple(own) if metric == "score" else (metric,)
    lines = tuple(
        _line(name, report, kept, metric, metrics) for (name, report), kept in zip(runs, shared.kept, strict=True)
    )
    lengths = tuple(length for length, _ in lines[0].ruler.lengths)
    notes = [*_not_alike(lines), *comparison.notes]
    if not alike:
        notes.append("The runs' datasets give their parts different weights; here every row counts the same")
    without = lines[0].ruler.without_length
    if without:
        notes.append(f"{without} of {comparison.rows} rows have no length and count only in the mean of rows")
    grids = grids_of_runs(shared, [line.dataset for line in lines])
    return SideBySide(
        comparison,
        metrics,
        lengths,
        lines,
        _best(lines, len(lengths), comparison.pairs),
        grids,
        grids_of_differences(shared, comparison, grids),
        tuple(notes),
    )


def _same_dataset(runs: Sequence[tuple[str, Report]]) -> None:
    """Raise IntegrityError if a run's dataset differs from the first run's and they have no row in common."""
    for name, report in runs[1:]:
        first, base = runs[0]
        if report.digest8 == base.digest8 or not (report.height and base.height):
            continue
        ids = base.scores["id"]
        if not report.scores["id"].is_in(ids.implode()).any():
            raise IntegrityError(
                f"{name} answers {_dataset(report)} and {first} answers {_dataset(base)}, and no row is in both; only "
                "runs of the same dataset can be compared"
            )


def _dataset(report: Report) -> str:
    return _encodable(f"{report.dataset}-{report.digest8}")


def _encodable(text: str) -> str:
    """A text that UTF-8 can encode: lone surrogates, which JSON allows, are written out."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _line(name: str, report: Report, kept: Scored, metric: str, metrics: Sequence[str]) -> RunLine:
    whole = overall(kept, metric)
    ruler = effective_length(kept, metric)
    signatures = (report.signatures[own] for own in metrics if own in report.signatures)
    return RunLine(
        name,
        _dataset(report),
        _encodable(", ".join(_without_n(text) for text in signatures)),
        headline_of(kept, metric),
        whole.of_rows,
        whole.of_lengths,
        tuple(figure for _, figure in ruler.lengths),
        ruler,
        effective_length(kept, metric, share_of_base=NOLIMA_SHARE),
    )


def _without_n(signature: str) -> str:
    return "|".join(part for part in signature.split("|") if not part.startswith("n:"))


def _not_alike(lines: Sequence[RunLine]) -> list[str]:
    """How the runs differ besides their answers, as sentences."""
    notes = []
    datasets = sorted({line.dataset for line in lines})
    if len(datasets) > 1:
        notes.append(f"The runs are of different datasets ({', '.join(datasets)}); rows with the same id are compared")
    elif len({line.signature for line in lines}) > 1:
        notes.append("The runs were measured differently: their signatures differ, which may explain differences")
    return notes


def oriented(pairs: Sequence[Pair], names: Sequence[str]) -> dict[tuple[int, int], tuple[Pair, int]]:
    """Each pair in both directions: by (minuend, subtrahend), the pair and the sign of its differences."""
    place = {name: index for index, name in enumerate(names)}
    both = {}
    for pair in pairs:
        both[place[pair.second], place[pair.first]] = pair, 1
        both[place[pair.first], place[pair.second]] = pair, -1
    return both


def _best(lines: Sequence[RunLine], lengths: int, pairs: Sequence[Pair]) -> dict[int | str, int]:
    """The line that is significantly the best in each column, if any is."""
    turned = oriented(pairs, [line.name for line in lines])

    def leads(means: Sequence[float | None], part: int | str) -> tuple[int, float] | None:
        """The line with the greatest mean and the largest p of its differences, if every interval confirms its lead."""
        scored = {index: mean for index, mean in enumerate(means) if mean is not None}
        if len(scored) < 2:
            return None
        first = max(scored, key=scored.__getitem__)
        largest = 0.0
        for other in scored.keys() - {first}:
            pair, sign = turned[first, other]
            difference = _part(pair, part)
            if difference.low is None or difference.high is None or difference.p is None:
                return None
            if not (difference.low > 0 if sign > 0 else difference.high < 0):
                return None
            largest = max(largest, difference.p)
        return first, largest

    best: dict[int | str, int] = {}
    leaders = [leads([line.lengths[index].mean for line in lines], index) for index in range(lengths)]
    # A length without a leader is a test as well, with p = 1.
    adjusted = holm([1.0 if leader is None else leader[1] for leader in leaders])
    for index, (leader, p) in enumerate(zip(leaders, adjusted, strict=True)):
        if leader is not None and p < LEVEL:
            best[index] = leader[0]
    for part in ("rows", "lengths"):
        leader = leads([(line.of_rows if part == "rows" else line.of_lengths).mean for line in lines], part)
        if leader is not None and leader[1] < LEVEL:
            best[part] = leader[0]
    return best


def _part(pair: Pair, part: int | str) -> Difference:
    if isinstance(part, int):
        return pair.lengths[part]
    return pair.overall if part == "rows" else pair.of_lengths
