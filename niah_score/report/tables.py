"""Writes tables as text, Markdown or CSV, also as OpenCompass does, and what is beside them as JSON.

No text in a table acts as markup, on a terminal or in a spreadsheet.
"""

from __future__ import annotations

import csv
import io
import json
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from niah_score.contract import file_sha256
from niah_score.errors import check_choice
from niah_score.statistics.scored import Scored, coordinate_text
from niah_score.text.visible import FORMULA_MARKS, as_plain_cell, in_markdown, one_line, paragraph_in_markdown

if TYPE_CHECKING:
    import polars as pl

    from niah_score.join.join import Problem


class TableCell(NamedTuple):
    """A cell of a table: a figure, a `mark` after it, and in `small` letters its interval."""

    main: str
    small: str = ""
    mark: str = ""
    bold: bool = False


class Table(NamedTuple):
    """Each line has a cell for each of `columns`; the first names the line. `notes`: sentences below all."""

    title: str
    columns: tuple[str, ...]
    lines: tuple[tuple[TableCell, ...], ...]
    notes: tuple[str, ...]


def _as_text(table: Table) -> list[str]:
    """The table in columns, with a star after what the other formats set bold."""

    def set_cell(cell: TableCell) -> str:
        return f"{cell.main}{'*' if cell.bold else ''}{cell.mark} {cell.small}".rstrip()

    lines = [table.columns, *(map(set_cell, line) for line in table.lines)]
    return [
        one_line(table.title),
        *(f"  {line}" for line in aligned([list(map(one_line, line)) for line in lines])),
        *("  " + one_line(re.sub(r"^Bold:", "*", note)) for note in table.notes),
    ]


def _width(text: str) -> int:
    """How many columns of a terminal a text takes."""
    return sum(
        0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text
    )


def _as_markdown(table: Table) -> list[str]:
    """The table between its title and its notes."""

    def set_cell(cell: TableCell) -> str:
        main = in_markdown(cell.main)
        return f"{f'**{main}**' if cell.bold else main}{in_markdown(cell.mark)} {in_markdown(cell.small)}".rstrip()

    lines = [
        [in_markdown(name) for name in table.columns],
        [":--", *("--:" for _ in table.columns[1:])],
        *([set_cell(cell) for cell in line] for line in table.lines),
    ]
    return [
        paragraph_in_markdown(table.title),
        "",
        *(f"| {' | '.join(line)} |" for line in lines),
        "",
        *[part for note in table.notes for part in (paragraph_in_markdown(note), "")][:-1],
    ]


def table_lines(table: Table, form: str) -> list[str]:
    """A table as lines of text or Markdown. Raises ScoreError for another format."""
    check_choice("--format", form, tuple(_FORMS))
    return _FORMS[form](table)


_FORMS = {"text": _as_text, "markdown": _as_markdown}


def aligned(lines: Sequence[Sequence[str]]) -> list[str]:
    """Lines of texts in columns, the first one to the left, the others to the right; wide characters count as two."""
    widths = [max(map(_width, column)) for column in zip(*lines, strict=True)]
    text = []
    for line in lines:
        padding = [" " * (width - _width(cell)) for cell, width in zip(line, widths, strict=True)]
        text.append("  ".join([line[0] + padding[0], *map(str.__add__, padding[1:], line[1:])]).rstrip())
    return text


def write_csv(frame: pl.DataFrame, path: Path) -> None:
    """Write a frame as a CSV file in which a spreadsheet sees no formulas; mean, low and high have four decimals."""
    import polars as pl

    texts = [name for name, kind in frame.schema.items() if kind == pl.String]
    rounded = [name for name in ("mean", "low", "high") if name in frame.columns]
    plain = frame.with_columns(
        *(plain_cells(pl.col(name)) for name in texts), *(pl.col(name).cast(pl.Float64).round(4) for name in rounded)
    )
    # Errors of polars do not say that the disk is full, and it cannot open a path that is not UTF-8.
    path.write_text(plain.write_csv(), "utf-8", newline="")


def plain_cells(column: pl.Expr) -> pl.Expr:
    """A column of texts, with an apostrophe before each that a spreadsheet would take for a formula."""
    import polars as pl

    risky = pl.any_horizontal(column.str.starts_with(mark) for mark in FORMULA_MARKS)
    return pl.when(risky).then(pl.lit("'") + column).otherwise(column).alias(column.meta.output_name())


def as_json(record: Mapping[str, Any]) -> bytes:
    """A record as JSON that people can read. Raises ValueError for NaN and infinity."""
    return (json.dumps(record, ensure_ascii=False, indent=2, allow_nan=False) + "\n").encode()


def write_problems(problems: Iterable[Problem], path: Path) -> None:
    """Write problems as JSONL."""
    with path.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(problem._asdict(), ensure_ascii=False) + "\n" for problem in problems)


def listed_files(folder: Path, names: Iterable[str]) -> dict[str, dict[str, Any]]:
    """What a summary says of the files beside it: their sha256 and size."""
    return {name: {"sha256": file_sha256(folder / name), "bytes": (folder / name).stat().st_size} for name in names}


# OpenCompass ---------------------------------------------------------------------------------------------------------

# The tool writes <this file>_<model>.png and puts the model in a title, where matplotlib reads $...$ as a formula.
_NOT_IN_A_NAME = re.compile(r"[/\\$\x00-\x1f\x7f]")
_LONGEST_NAME = 200  # bytes in UTF-8, of the 255 that a file name may have


def opencompass_summary(scored: Scored, model: str) -> str:
    """The scores as CSV for its tools_needleinahaystack.py, with the columns dataset, version, metric, mode, <model>.

    There is one line for each length and depth, over all its rows, named like Length1000Depth0_origin_zh_8k (origin is
    OpenCompass's word for a single needle, 8k the longest length; task and language are left out if a cell has
    several). One line, because the tool computes a cell as the plain mean of its lines: its overall score is then our
    mean of the lengths' means. Means have two decimals, as OpenCompass writes them, or six if two would round. A cell
    without scores is an empty field. Rows without length or depth have no such name and are left out.
    """
    cells = scored.figures("score", "length", "depth_percent")
    kinds: dict[tuple[Any, Any], list[tuple[str, str | None]]] = defaultdict(list)
    for length, depth, task, language in scored.groups("length", "depth_percent", "task", "language")[0]:
        kinds[length, depth].append(("origin" if task in (None, "single") else task, language))
    longest = max((length for length, _ in cells if length is not None), default=0)
    size = f"{longest // 1000}k" if longest % 1000 == 0 else str(longest)
    text = io.StringIO()
    lines = csv.writer(text, lineterminator="\n")
    lines.writerow(["dataset", "version", "metric", "mode", as_plain_cell(_as_file_name(model))])
    for (length, depth), figure in cells.items():
        if length is None or depth is None:
            continue
        shared = [of[0] for of in zip(*kinds[length, depth], strict=True) if len(set(of)) == 1 and of[0] is not None]
        name = "_".join([f"Length{length}Depth{coordinate_text(depth)}", *shared, size])
        lines.writerow([name, "-", "score", "gen", "" if figure.mean is None else _points(figure.mean)])
    return text.getvalue()


def _points(mean: float) -> str:
    short = f"{mean:.2f}"
    return short if abs(float(short) - mean) < 1e-9 else f"{mean:.6f}"


def _as_file_name(model: str) -> str:
    """A model's name as the tool can use it in a file name and a title."""
    name = _NOT_IN_A_NAME.sub("-", model).encode(errors="replace")[:_LONGEST_NAME].decode(errors="ignore")
    return name or "model"
