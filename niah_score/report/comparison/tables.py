"""Makes the tables of a comparison: the runs by length, and the difference of each to the first."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from niah_score.errors import ScoreError
from niah_score.report.comparison.side_by_side import SideBySide
from niah_score.report.comparison.typeset import TABLE_FORMATS, Table, TableCell
from niah_score.report.overview import make_up
from niah_score.statistics.effective_length import EffectiveLength
from niah_score.statistics.figures import Figure
from niah_score.statistics.intervals import interval_text, needles_note
from niah_score.statistics.paired import Difference
from niah_score.text.visible import one_line

_MISSING = {
    "zero": "Rows without an answer count as 0.",
    "exclude": "Rows without an answer are left out.",
    "error": "Every row has an answer.",
}
# With more runs, only the differences to the first are printed.
_MOST_PAIRED = 12
_LATEX_NEEDS = (
    "% Needs \\usepackage{booktabs}; names that are not Latin need XeLaTeX or LuaLaTeX, and a font that has them.",
)


def scores_table(side: SideBySide) -> Table:
    """The table of scores: a line for each run; the columns are lengths, two means and two effective lengths."""
    names = length_names(side.lengths)
    lines = []
    for place, line in enumerate(side.lines):
        figures: list[tuple[int | str, Figure]] = [*enumerate(line.lengths)]
        figures += [("rows", line.of_rows), ("lengths", line.of_lengths)]
        cells = [_scored(figure, best=side.best.get(column) == place) for column, figure in figures]
        effective = (_effective(rule, names) for rule in (line.ruler, line.nolima))
        lines.append((TableCell(line.name), *cells, *effective))
    groups = (("length (tokens)", len(names)), ("mean of", 2), ("effective length", 2))
    return Table(
        f"{_titled(side)}: means by length, over the {side.comparison.rows:,} rows that all runs have",
        "tab:niah-comparison",
        tuple(group for group in groups if group[1]),
        ("run", *names.values(), "all rows", "all lengths", "RULER", "NoLiMa"),
        tuple(lines),
        tuple(_notes_of_scores(side, [cell for line in lines for cell in line])),
    )


def differences_table(side: SideBySide) -> Table:
    """The table of differences: a line for each run minus the first; the columns are lengths and two means."""
    names = length_names(side.lengths)
    lines = [
        (TableCell(pair.second), *map(_difference_cell, (*pair.lengths, pair.overall, pair.of_lengths)))
        for pair in side.comparison.pairs[: len(side.lines) - 1]
    ]
    groups = (("length (tokens)", len(names)), ("mean of", 2))
    note = (
        "Differences in points with their 95 % intervals, paired row by row: Student's t over needles, of which these "
        "are treated as a sample."
    )
    noise = (
        "Bold: more than noise. ≈ noise: the interval contains 0, or p is not below 0.05, adjusted by Holm's method "
        "over the lengths (for the means over all pairs of runs)."
    )
    return Table(
        f"{_titled(side)}: differences to {side.lines[0].name}",
        "tab:niah-differences",
        tuple(group for group in groups if group[1]),
        ("run", *names.values(), "all rows", "all lengths"),
        tuple(lines),
        (note, noise),
    )


def length_names(lengths: Sequence[int]) -> dict[int, str]:
    """Lengths as headings: in thousands if all are multiples of 1,000."""
    if all(length % 1000 == 0 for length in lengths):
        return {length: f"{length // 1000}k" for length in lengths}
    return {length: str(length) for length in lengths}


def _titled(side: SideBySide) -> str:
    datasets = ", ".join(dict.fromkeys(line.dataset for line in side.lines))
    own = f" ({', '.join(side.metrics)})" if side.comparison.metric == "score" and side.metrics else ""
    return f"{side.comparison.metric}{own} on {datasets}"


def _scored(figure: Figure, *, best: bool) -> TableCell:
    if figure.mean is None:
        return TableCell("–")
    return TableCell(f"{figure.mean:.1f}", _ends(figure), bold=best)


def _difference_cell(difference: Difference) -> TableCell:
    if difference.mean is None:
        return TableCell("–")
    mean = round(difference.mean, 1) + 0.0
    mark = "≈" if difference.noise else ""
    return TableCell(f"{mean:+.1f}" if mean else "0.0", _ends(difference), mark, bold=not difference.noise)


def _ends(figure: Figure | Difference) -> str:
    """The interval over needles; with a single needle there is none, so that of this needle's rows."""
    low, high = (figure.low_these, figure.high_these) if figure.low is None else (figure.low, figure.high)
    if low is None or high is None:
        return ""
    return f"[{round(low, 1) + 0.0:.1f}, {round(high, 1) + 0.0:.1f}]"


def _effective(effective: EffectiveLength, names: dict[int, str]) -> TableCell:
    if effective.interval is None:
        return TableCell("–")
    length, low, high = (
        f"<{next(iter(names.values()))}" if length is None else names[length]
        for length in (effective.length, *effective.interval)
    )
    return TableCell(length, f"[{low}, {'≥' if effective.or_more else ''}{high}]")


def _notes_of_scores(side: SideBySide, cells: Sequence[TableCell]) -> Iterator[str]:
    yield (
        "Means in points, 0 to 100, with their 95 % intervals over needles, of which these are treated as a sample. "
        "All lengths: the mean of the lengths' means, each the mean of its depths' means."
    )
    if (few := needles_note(side.lines[0].of_rows.method)) is not None:
        yield f"{few}."
    yield from _made_up(side)
    yield from _extremes(side)
    if any(cell.bold for cell in cells):
        yield (
            "Bold: the best of its column, where its paired difference to every other run is more than noise, by a "
            "95 % interval without 0 and p below 0.05, adjusted by Holm's method over the lengths."
        )
    else:
        yield "No best of a column is marked: nowhere is its paired difference to every other run more than noise."
    yield (
        "Effective length: the longest whose mean is at least 85.6 (RULER), or 0.85 of the run's best mean at up to "
        "1,000 tokens or else at its shortest length (NoLiMa). Its interval: from the longest length whose interval "
        "lies wholly at or above that, to the longest whose interval reaches it; ≥: no longer length was measured."
    )
    counts = {line.of_rows.n for line in side.lines}
    each = ", ".join(f"{line.name} {line.of_rows.n:,}" for line in side.lines)
    yield f"n: {counts.pop():,} rows in each run." if len(counts) == 1 else f"n: {each} rows."
    silent = [f"{line.name} {line.of_rows.unanswered:,}" for line in side.lines if line.of_rows.unanswered]
    if silent:
        yield f"Rows without an answer: {', '.join(silent)}."
    yield from _measured(side, silent=bool(silent))
    yield from (f"{note}." for note in side.notes)


def _made_up(side: SideBySide) -> Iterator[str]:
    """Sentences on the parts that each run's mean of all rows is made of, and their weights in all figures."""
    sums = [f"{line.name} = {parts}" for line in side.lines if (parts := make_up(line.headline)) is not None]
    if sums:
        yield f"All rows, by part: {'; '.join(sums)}."
    if any(line.headline["weighed_by"] == "manifest" for line in side.lines):
        yield "Rows of a part share the weight that the dataset gives it, in all means; parts of weight 0 are left out."


def _extremes(side: SideBySide) -> Iterator[str]:
    """A sentence on the means of 0 and 100, whose two intervals (over needles, of these needles) differ most."""
    names = length_names(side.lengths)
    extremes = [
        f"{line.name} {where} [{figure.low_these:.1f}, {figure.high_these:.1f}]"
        for line in side.lines
        for where, figure in (
            *zip(names.values(), line.lengths, strict=True),
            ("all rows", line.of_rows),
            ("all lengths", line.of_lengths),
        )
        if figure.mean in (figure.low, figure.high)
        and (figure.low, figure.high) != (figure.low_these, figure.high_these)
        and figure.low_these is not None
    ]
    if extremes:
        yield f"Means of 0 and 100 with the 95 % interval of these needles alone: {', '.join(extremes)}."


def _measured(side: SideBySide, *, silent: bool) -> Iterator[str]:
    """Sentences on what missing answers count as and on the signature; one for each run if they differ.

    `silent`: whether any row has no answer, which includes empty ones.
    """
    signatures = dict.fromkeys(line.signature for line in side.lines)
    rules = {rule for text in signatures for rule in re.findall(r"\|missing:(\w+)", text)}
    if len(rules) == 1:
        yield from (_MISSING[rule] for rule in rules if rule in _MISSING and not (silent and rule == "error"))
    if len(signatures) == 1:
        yield from (f"Signature: {text}" for text in signatures if text)
    else:
        yield from (f"Signature of {line.name}: {line.signature}" for line in side.lines)


def lines_of(side: SideBySide, form: str) -> list[str]:
    """The comparison as lines of text, Markdown or LaTeX. Raises ScoreError for another format."""
    if form not in TABLE_FORMATS:
        raise ScoreError(f"--format: {form!r} is unknown; expected one of {', '.join(TABLE_FORMATS)}")
    tables = [TABLE_FORMATS[form](table) for table in (scores_table(side), differences_table(side))]
    if form == "text":
        return [*_means(side), "", *tables[0], "", *_pairs(side)]
    return [*(_LATEX_NEEDS if form == "latex" else ()), *tables[0], "", *tables[1]]


def _means(side: SideBySide) -> Iterator[str]:
    """Every run's mean, and below it the parts that it is made of."""
    comparison = side.comparison
    yield f"{comparison.metric} over the {comparison.rows:,} rows that all runs have"
    for run, line in zip(comparison.runs, side.lines, strict=True):
        yield f"  {one_line(run.name):24} {_interval(run.figure)}"
        if (weighted_sum := make_up(line.headline)) is not None:
            yield f"    = {weighted_sum}"


def _pairs(side: SideBySide) -> Iterator[str]:
    """Every pair's difference over all rows, and by length if the first run is one of the two.

    With very many runs, only the pairs with the first run.
    """
    pairs, runs = side.comparison.pairs, len(side.lines)
    shown = pairs if runs <= _MOST_PAIRED else pairs[: runs - 1]
    if len(shown) < len(pairs):
        yield (
            f"differences to {one_line(side.lines[0].name)}, the first of {runs} runs; those of the "
            f"{len(pairs) - len(shown):,} other pairs are in the files that --out writes"
        )
    for pair in shown:
        yield one_line(f"{pair.second} - {pair.first}")
        yield f"  {'all':24} {_difference(pair.overall)}"
        if pair.first == side.lines[0].name:
            yield from (f"  {d.length:<24} {_difference(d)}" for d in pair.lengths)


def _interval(figure: Figure | Difference, sign: str = "") -> str:
    if figure.mean is None:
        return f"     -  n {figure.n:,}"
    return f"{figure.mean:{sign}7.2f}  {interval_text(figure)}  n {figure.n:,}"


def _difference(d: Difference) -> str:
    p = f"  {d.test}" if d.adjusted is None else f"  p {d.adjusted:.3g} ({d.test})"
    return f"{_interval(d, '+')}{p}{'  noise' if d.noise else ''}"
