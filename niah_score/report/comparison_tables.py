"""Makes the tables of a comparison: the runs by length, and the difference of each to the first.

`record` is what comparison.json holds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from niah_score.report.charts.grid import length_labels
from niah_score.report.overview import make_up
from niah_score.report.tables import Table, TableCell
from niah_score.statistics.intervals import needles_note


def scores_table(record: Mapping[str, Any]) -> Table:
    """The table of scores: a line for each run; the columns are lengths, two means and the effective length."""
    names = _names(record)
    lines = []
    for run in record["runs"]:
        means = map(_cell, (*run["lengths"], run["overall"], run["overall_of_lengths"]))
        lines.append((TableCell(run["name"]), *means, _effective(run["effective_length"]["ruler"], names)))
    title = f"{_titled(record)}: means by length, over the {record['rows']:,} rows that all runs have"
    columns = ("run", *names.values(), "all rows", "all lengths", "effective length")
    return Table(title, columns, tuple(lines), tuple(_notes(record)))


def differences_table(record: Mapping[str, Any]) -> Table:
    """The table of differences: a line for each run minus the first; the columns are lengths and two means."""
    lines = [
        (
            TableCell(pair["second"]),
            *map(difference_cell, (*pair["lengths"], pair["overall"], pair["overall_of_lengths"])),
        )
        for pair in record["pairs"]
    ]
    notes = (
        "Differences in points with their 95 % intervals, paired row by row: Student's t over needles, of which these "
        "are treated as a sample.",
        "Bold: more than noise. ≈ noise: the interval contains 0, or p is not below 0.05, adjusted by Holm's method "
        "over the lengths (for the means over all runs).",
    )
    title = f"{_titled(record)}: differences to {record['runs'][0]['name']}"
    return Table(title, ("run", *_names(record).values(), "all rows", "all lengths"), tuple(lines), notes)


def _names(record: Mapping[str, Any]) -> dict[int, str]:
    """The lengths as headings."""
    lengths = [one["length"] for one in record["runs"][0]["lengths"]]
    return dict(zip(lengths, length_labels(lengths), strict=True))


def _titled(record: Mapping[str, Any]) -> str:
    datasets = ", ".join(dict.fromkeys(run["dataset"] for run in record["runs"]))
    own = f" ({', '.join(record['metrics'])})" if record["metric"] == "score" and record["metrics"] else ""
    return f"{record['metric']}{own} on {datasets}"


def _cell(figure: Mapping[str, Any], sign: str = "") -> TableCell:
    """A mean and its interval over needles; with a single needle there is none, so that of this needle's rows."""
    if figure["mean"] is None:
        return TableCell("–")
    ends = ("low", "high") if figure["low"] is not None else ("low_these", "high_these")
    mean, low, high = (
        figure[name] if figure[name] is None else round(figure[name], 1) + 0.0 for name in ("mean", *ends)
    )
    small = "" if low is None or high is None else f"[{low:.1f}, {high:.1f}]"
    return TableCell(f"{mean:{sign}.1f}" if mean else "0.0", small)


def difference_cell(difference: Mapping[str, Any]) -> TableCell:
    """A difference with its interval, marked if it is noise."""
    cell, noise = _cell(difference, "+"), difference["noise"]
    if difference["mean"] is None:
        return cell
    return cell._replace(mark="≈" if noise else "", bold=not noise)


def _effective(effective: Mapping[str, Any], names: Mapping[int, str]) -> TableCell:
    if effective["interval"] is None:
        return TableCell("–")
    length, low, high = (
        f"<{next(iter(names.values()))}" if length is None else names[length]
        for length in (effective["length"], *effective["interval"])
    )
    return TableCell(length, f"[{low}, {'≥' if effective['or_more'] else ''}{high}]")


def _notes(record: Mapping[str, Any]) -> Iterator[str]:
    runs = record["runs"]
    yield (
        "Means in points, 0 to 100, with their 95 % intervals over needles, of which these are treated as a sample. "
        "All lengths: the mean of the lengths' means, each the mean of its depths' means."
    )
    if (few := needles_note(runs[0]["overall"]["method"])) is not None:
        yield f"{few}."
    sums = [f"{run['name']} = {parts}" for run in runs if (parts := make_up(run["headline"])) is not None]
    if sums:
        yield f"All rows, by part: {'; '.join(sums)}."
    if any(run["headline"]["weighed_by"] == "manifest" for run in runs):
        yield "Rows of a part share the weight that the dataset gives it, in all means; parts of weight 0 are left out."
    yield (
        "Effective length: the longest whose mean is at least 85.6, as in RULER. Its interval: from the longest length "
        "whose interval lies wholly at or above that, to the longest whose interval reaches it; ≥: no longer length "
        "was measured; –: not shown by these data, as the intervals of the lengths overlap."
    )
    counts = ", ".join(f"{run['name']} {run['overall']['n']:,}" for run in runs)
    yield f"n: {counts} rows."
    silent = [f"{run['name']} {count:,}" for run in runs if (count := run["overall"]["unanswered"])]
    if silent:
        yield f"Rows without an answer: {', '.join(silent)}."
    signatures = dict.fromkeys(run["signature"] for run in runs)
    if len(signatures) == 1:
        yield from (f"Signature: {text}" for text in signatures if text)
    else:
        yield from (f"Signature of {run['name']}: {run['signature']}" for run in runs)
    yield from (f"{note}." for note in record["notes"])
