"""Makes the tables of a comparison: the runs by length, and how far each is from the first."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from niah_score.errors import ScoreError
from niah_score.report.comparison.side_by_side import SideBySide
from niah_score.report.comparison.typeset import TABLE_FORMATS, Table, TableCell
from niah_score.report.overview import make_up
from niah_score.statistics.effective_length import EffectiveContext, EffectiveLength
from niah_score.statistics.figures import Figure
from niah_score.statistics.intervals import interval_text, needles_note
from niah_score.statistics.paired import Difference
from niah_score.text.visible import one_line

_MISSING = {
    "zero": "Rows without an answer count as 0.",
    "exclude": "Rows without an answer are left out.",
    "error": "Every row has an answer.",
}
# Beyond so many runs, what is printed are differences to the first.
_MOST_PAIRED = 12
_LATEX_NEEDS = (
    "% Needs \\usepackage{booktabs}; names that are not Latin need XeLaTeX or LuaLaTeX, and a font that has them.",
)


def scores_table(side: SideBySide) -> Table:
    """The table of scores: a line a run; columns are the lengths, the two means and the three effective lengths."""
    names = length_names(side.lengths)
    lines = []
    for place, line in enumerate(side.lines):
        figures: list[tuple[int | str, Figure]] = [*enumerate(line.lengths)]
        figures += [("rows", line.of_rows), ("lengths", line.of_lengths)]
        cells = [_scored(figure, best=side.best.get(column) == place) for column, figure in figures]
        effective = (_effective(line.ruler, names), _effective(line.nolima, names), _context(line.context, names))
        lines.append((TableCell(line.name), *cells, *effective))
    groups = (("length (tokens)", len(names)), ("mean of", 2), ("effective length", 3))
    return Table(
        f"{_titled(side)}: means by length, over the {side.comparison.rows:,} rows that all runs have",
        "tab:niah-comparison",
        tuple(group for group in groups if group[1]),
        ("run", *names.values(), "all rows", "all lengths", "RULER", "NoLiMa", "every depth"),
        tuple(lines),
        tuple(_notes_of_scores(side, [cell for line in lines for cell in line])),
    )


def differences_table(side: SideBySide) -> Table:
    """The table of differences: a line for each run minus the first; columns are the lengths and the two means."""
    names = length_names(side.lengths)
    lines = [
        (TableCell(pair.second), *map(_apart, (*pair.lengths, pair.overall, pair.of_lengths)))
        for pair in side.comparison.pairs[: len(side.lines) - 1]
    ]
    groups = (("length (tokens)", len(names)), ("mean of", 2))
    note = (
        "Differences in points with their 95 % intervals, paired row by row: Student's t over needles, of which these "
        "are taken for a sample."
    )
    noise = (
        "Bold: more than noise. ≈ noise: the interval holds 0, or p is not below 0.05, adjusted by Holm's method over "
        "the lengths (for the means over all pairs of runs)."
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
    """Lengths as headings: in thousands where all are."""
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


def _apart(found: Difference) -> TableCell:
    if found.mean is None:
        return TableCell("–")
    mean = round(found.mean, 1) + 0.0
    mark = "≈" if found.noise else ""
    return TableCell(f"{mean:+.1f}" if mean else "0.0", _ends(found), mark, bold=not found.noise)


def _ends(figure: Figure | Difference) -> str:
    """The interval over needles; of a single needle, which has none, that of this needle."""
    low, high = (figure.low_these, figure.high_these) if figure.low is None else (figure.low, figure.high)
    if low is None or high is None:
        return ""
    return f"[{round(low, 1) + 0.0:.1f}, {round(high, 1) + 0.0:.1f}]"


def _effective(found: EffectiveLength, names: dict[int, str]) -> TableCell:
    if found.threshold is None or not names:
        return TableCell("–")
    marks = ("‡" if found.length != found.longest_unbroken else "") + ("†" if found.is_significant is False else "")
    if found.length is None:
        return TableCell(f"<{next(iter(names.values()))}", mark=marks)
    longest = found.next_length is None
    return TableCell(f"{'≥' if longest else ''}{names[found.length]}", mark=marks)


def _context(found: EffectiveContext, names: dict[int, str]) -> TableCell:
    if found.fewest_rows is None or not names:
        return TableCell("–")
    mark = "†" if found.is_significant is False else ""
    if found.length is None:
        return TableCell(f"<{next(iter(names.values()))}", mark=mark)
    return TableCell(f"{'≥' if found.next_length is None else ''}{names[found.length]}", mark=mark)


def _notes_of_scores(side: SideBySide, cells: Sequence[TableCell]) -> Iterator[str]:
    yield (
        "Means in points, 0 to 100, with their 95 % intervals over needles, of which these are taken for a sample. All "
        "lengths: the mean of the lengths' means, each the mean of its depths' means."
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
        "1,000 tokens or else at its shortest length (NoLiMa), or up to which the mean of every depth is at least 85.6 "
        "(every depth); ≥ the longest that there is."
    )
    marks = {mark for cell in cells for mark in cell.mark}
    if "†" in marks:
        yield (
            "† The next length's interval (every depth: those of all depths that stay below) holds the threshold: the "
            "rows do not tell which of the two it is."
        )
    if "‡" in marks:
        yield "‡ A shorter length stays below the threshold."
    counts = {line.of_rows.n for line in side.lines}
    each = ", ".join(f"{line.name} {line.of_rows.n:,}" for line in side.lines)
    yield f"n: {counts.pop():,} rows in each run." if len(counts) == 1 else f"n: {each} rows."
    silent = [f"{line.name} {line.of_rows.unanswered:,}" for line in side.lines if line.of_rows.unanswered]
    if silent:
        yield f"Rows without an answer: {', '.join(silent)}."
    yield from _measured(side, silent=bool(silent))
    yield from (f"{note}." for note in side.notes)


def _made_up(side: SideBySide) -> Iterator[str]:
    """A sentence on the parts that each run's mean of all rows is made of, and how they weigh in all figures."""
    told = [f"{line.name} = {parts}" for line in side.lines if (parts := make_up(line.headline)) is not None]
    if told:
        yield f"All rows, by part: {'; '.join(told)}."
    if any(line.headline["weighed_by"] == "manifest" for line in side.lines):
        yield "Rows of a part share the weight that the dataset gives it, in all means; parts of weight 0 are left out."


def _extremes(side: SideBySide) -> Iterator[str]:
    """A sentence on the means of 0 and 100, whose intervals over needles and of these needles differ most."""
    names = length_names(side.lengths)
    found = [
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
    if found:
        yield f"Means of 0 and 100 with the 95 % interval of these needles alone: {', '.join(found)}."


def _measured(side: SideBySide, *, silent: bool) -> Iterator[str]:
    """Sentences on what missing answers count as and on the signature; one for each run where they differ.

    `silent`: whether a row has no answer, for example an empty one, though none is missing.
    """
    signatures = dict.fromkeys(line.signature for line in side.lines)
    ways = {found for text in signatures for found in re.findall(r"\|missing:(\w+)", text)}
    if len(ways) == 1:
        yield from (_MISSING[way] for way in ways if way in _MISSING and not (silent and way == "error"))
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
    found = side.comparison
    yield f"{found.metric} over the {found.rows:,} rows that all runs have"
    for run, line in zip(found.runs, side.lines, strict=True):
        yield f"  {one_line(run.name):24} {_interval(run.figure)}"
        if (told := make_up(line.headline)) is not None:
            yield f"    = {told}"


def _pairs(side: SideBySide) -> Iterator[str]:
    """Every pair's difference over all rows, and by length where the first run is one of the two.

    Of very many runs, the pairs with the first run alone.
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


def _difference(found: Difference) -> str:
    p = f"  {found.test}" if found.adjusted is None else f"  p {found.adjusted:.3g} ({found.test})"
    return f"{_interval(found, '+')}{p}{'  noise' if found.noise else ''}"
