"""Makes the tables of a comparison: the runs by length, and the difference of each to the first.

`record` is what comparison.json holds.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from niah_score.report.charts.grid import length_labels
from niah_score.report.overview import make_up
from niah_score.report.tables import Table, TableCell
from niah_score.statistics.intervals import interval_text, needles_note
from niah_score.text.visible import one_line

_MISSING = {
    "zero": "Rows without an answer count as 0.",
    "exclude": "Rows without an answer are left out.",
    "error": "Every row has an answer.",
}


def scores_table(record: Mapping[str, Any]) -> Table:
    """The table of scores: a line for each run; the columns are lengths, two means and the effective length."""
    names = _names(record)
    best = {(one["column"], one["run"]) for one in record["best"]}
    lines = []
    for run in record["runs"]:
        cells = [
            _cell(figure, bold=(column, run["name"]) in best)
            for column, figure in (*zip(names, run["lengths"], strict=True), ("rows", run["overall"]),
                                   ("lengths", run["overall_of_lengths"]))
        ]  # fmt: skip
        lines.append((TableCell(run["name"]), *cells, _effective(run["effective_length"]["ruler"], names)))
    title = f"{_titled(record)}: means by length, over the {record['rows']:,} rows that all runs have"
    any_bold = any(cell.bold for line in lines for cell in line)
    return _table(title, "comparison", names, lines, _notes(record, any_bold=any_bold), effective=True)


def differences_table(record: Mapping[str, Any]) -> Table:
    """The table of differences: a line for each run minus the first; the columns are lengths and two means."""
    names = _names(record)
    first, *others = record["runs"]
    # Pairs with the first run come first.
    lines = [
        (TableCell(pair["second"]), *map(_difference, (*pair["lengths"], pair["overall"], pair["overall_of_lengths"])))
        for pair in record["pairs"][: len(others)]
    ]
    notes = (
        "Differences in points with their 95 % intervals, paired row by row: Student's t over needles, of which these "
        "are treated as a sample.",
        "Bold: more than noise. ≈ noise: the interval contains 0, or p is not below 0.05, adjusted by Holm's method "
        "over the lengths (for the means over all pairs of runs).",
    )
    return _table(f"{_titled(record)}: differences to {first['name']}", "differences", names, lines, notes)


def _table(
    title: str, label: str, names: Mapping[int, str], lines: Sequence[tuple[TableCell, ...]], notes: Iterator[str]
    | Sequence[str], *, effective: bool = False,
) -> Table:  # fmt: skip
    groups = [("length (tokens)", len(names)), ("mean of", 2), ("85.6 points", 1 * effective)]
    columns = ("run", *names.values(), "all rows", "all lengths", *(("effective length",) if effective else ()))
    spanned = tuple(group for group in groups if group[1])
    return Table(title, f"tab:niah-{label}", spanned, columns, tuple(lines), tuple(notes))


def _names(record: Mapping[str, Any]) -> dict[int, str]:
    """The lengths as headings."""
    lengths = [one["length"] for one in record["runs"][0]["lengths"]]
    return dict(zip(lengths, length_labels(lengths), strict=True))


def _titled(record: Mapping[str, Any]) -> str:
    datasets = ", ".join(dict.fromkeys(run["dataset"] for run in record["runs"]))
    own = f" ({', '.join(record['metrics'])})" if record["metric"] == "score" and record["metrics"] else ""
    return f"{record['metric']}{own} on {datasets}"


def _cell(figure: Mapping[str, Any], sign: str = "", mark: str = "", *, bold: bool) -> TableCell:
    """A mean and its interval over needles; with a single needle there is none, so that of this needle's rows."""
    if figure["mean"] is None:
        return TableCell("–")
    ends = ("low", "high") if figure["low"] is not None else ("low_these", "high_these")
    mean, low, high = (
        figure[name] if figure[name] is None else round(figure[name], 1) + 0.0 for name in ("mean", *ends)
    )
    small = "" if low is None or high is None else f"[{low:.1f}, {high:.1f}]"
    return TableCell(f"{mean:{sign}.1f}" if mean else "0.0", small, mark, bold)


def _difference(difference: Mapping[str, Any]) -> TableCell:
    return _cell(difference, "+", "≈" if difference["noise"] else "", bold=not difference["noise"])


def _effective(effective: Mapping[str, Any], names: Mapping[int, str]) -> TableCell:
    if effective["interval"] is None:
        return TableCell("–")
    length, low, high = (
        f"<{next(iter(names.values()))}" if length is None else names[length]
        for length in (effective["length"], *effective["interval"])
    )
    return TableCell(length, f"[{low}, {'≥' if effective['or_more'] else ''}{high}]")


def _notes(record: Mapping[str, Any], *, any_bold: bool) -> Iterator[str]:
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
    if any_bold:
        yield (
            "Bold: the best of its column, where its paired difference to every other run is more than noise, by a "
            "95 % interval without 0 and p below 0.05, adjusted by Holm's method over the lengths."
        )
    else:
        yield "No best of a column is marked: nowhere is its paired difference to every other run more than noise."
    yield (
        "Effective length: the longest whose mean is at least 85.6, as in RULER. Its interval: from the longest length "
        "whose interval lies wholly at or above that, to the longest whose interval reaches it; ≥: no longer length "
        "was measured; –: not shown by these data, as the intervals of the lengths overlap."
    )
    counts = {run["overall"]["n"] for run in runs}
    each = ", ".join(f"{run['name']} {run['overall']['n']:,}" for run in runs)
    yield f"n: {counts.pop():,} rows in each run." if len(counts) == 1 else f"n: {each} rows."
    silent = [f"{run['name']} {count:,}" for run in runs if (count := run["overall"]["unanswered"])]
    if silent:
        yield f"Rows without an answer: {', '.join(silent)}."
    signatures = dict.fromkeys(run["signature"] for run in runs)
    rules = {rule for text in signatures for rule in re.findall(r"\|missing:(\w+)", text)}
    if len(rules) == 1:
        yield from (_MISSING[rule] for rule in rules if rule in _MISSING and not (silent and rule == "error"))
    if len(signatures) == 1:
        yield from (f"Signature: {text}" for text in signatures if text)
    else:
        yield from (f"Signature of {run['name']}: {run['signature']}" for run in runs)
    yield from (f"{note}." for note in record["notes"])


def pairs_of(record: Mapping[str, Any]) -> list[str]:
    """What the text has after the table: every pair's differences, by length if the first run is one of the two."""
    lines = []
    for pair in record["pairs"]:
        lines += [one_line(f"{pair['second']} - {pair['first']}"), f"  {'all':24} {_tested(pair['overall'])}"]
        if pair["first"] == record["runs"][0]["name"]:
            lines += [f"  {one['length']:<24} {_tested(one)}" for one in pair["lengths"]]
    return lines


def _tested(d: Mapping[str, Any]) -> str:
    figure = "     -" if d["mean"] is None else f"{d['mean']:+7.2f}  {interval_text(d)}"
    p = f"  {d['test']}" if d["adjusted"] is None else f"  p {d['adjusted']:.3g} ({d['test']})"
    return f"{figure}  n {d['n']:,}{p}{'  noise' if d['noise'] else ''}"
