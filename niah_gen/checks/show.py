"""Finds a row by its id, number or coordinates, and shows it to a person with its needles marked.

Only the prompts of the row's own row group are read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from niah_gen.dataset.read import columns_in, rows_at
from niah_gen.errors import NiahError, suggestion
from niah_score.contract import MANIFEST, Dataset, open_dataset
from niah_score.text.visible import visible

# The columns that rows are chosen by, under the names that users give them, from coarse to fine.
COORDINATES = {
    "part": "part", "language": "language", "corpus": "corpus", "length": "length", "needle": "needle_id",
    "control": "control", "repeat": "repeat", "depth": "depth_percent",
}  # fmt: skip
# How users ask for a column without a value, such as `control` in a row that is not a control.
NONE = "none"
_MOST_VALUES = 120
_MOST_HINTS = 12
_MARKS = ("\x1b[1;7m", "\x1b[0m", "\x1b[2m", "\x1b[0m")
_PLAIN_MARKS = (">>>", "<<<", "[", "]")
_SHOWN_AROUND = 240
# Left out of rows that have no value for them.
_OPTIONAL = ("part", "control", "leak")

Columns = Mapping[str, Any]


class FoundRow(NamedTuple):
    """A row, its number from 1 in manifest order, and how many rows there are.

    `others`: a sentence saying how many other rows match and how they differ; None if there are none.
    """

    row: Columns
    number: int
    of: int
    others: str | None = None


def row_by_id(folder: Path, asked: str) -> FoundRow:
    """The row with this id, or the only row whose id begins or ends with it.

    Raises NiahError if no row or several match, ContractError if the folder is not a dataset, IntegrityError if its
    files cannot be read.
    """
    dataset = open_dataset(folder)
    names = {number: str(row["id"]) for number, row in _rows(dataset, ["id"])}
    found = [number for number, name in names.items() if name == asked]
    found = found or [number for number, name in names.items() if name.startswith(asked) or name.endswith(asked)]
    if len(found) == 1:
        return _row_at(dataset, found[0])
    by_number = f"; for a row by its number: --row {asked}" if asked.isdecimal() else ""
    if found:
        some = ", ".join(names[number] for number in found[:3])
        raise NiahError(
            f"{folder}: {len(found)} ids begin or end with {asked!r}, such as {some}; give more of the id{by_number}"
        )
    raise NiahError(
        f"{folder}: no row {asked!r} among {len(names)}; ids are in the column `id`, and the beginning or end of one "
        f"is enough{by_number}"
    )


def row_by_number(folder: Path, number: int) -> FoundRow:
    """The row with this number, counted from 1 in manifest order. Raises as `row_by_id` does."""
    dataset = open_dataset(folder)
    rows = sum(file.rows for file in dataset.files())
    if not 1 <= number <= rows:
        raise NiahError(f"{folder}: no row {number}; rows are numbered 1 to {rows}" if rows else f"{folder}: no rows")
    return _row_at(dataset, number)


def row_by_coordinates(folder: Path, asked: Mapping[str, Any]) -> FoundRow:
    """The first row with the given coordinates, by the names of COORDINATES; `none` as part or control: without one.

    Depths must match to six digits; the nearest one is never guessed. Raises as `row_by_id` does, listing the values
    that exist.
    """
    dataset = open_dataset(folder)
    rows = _rows(dataset, list(COORDINATES.values()))
    cells = {n: {name: plain(row[column]) for name, column in COORDINATES.items()} for n, row in rows}
    if not cells:
        raise NiahError(f"{folder}: no rows")
    so_far: list[str] = []
    for name in COORDINATES:
        if asked.get(name) is None:
            continue
        kept = {number: cell for number, cell in cells.items() if fits(cell[name], asked[name])}
        if not kept:
            among = f"the rows with {' '.join(so_far)} have" if so_far else "there are"
            known = _values(cells, name)
            near = suggestion(asked[name], known) if isinstance(asked[name], str) else ""
            raise NiahError(
                f"{folder}: no row with --{name} {spelled(asked[name])}; {among} {_listed(known, _MOST_VALUES)}"
                + (near if "mean" in near else "")
            )
        cells = kept
        so_far.append(f"--{name} {spelled(asked[name])}")
    first, *others = cells
    found = _row_at(dataset, first)
    if not others:
        return found
    values = {name: _values(cells, name) for name in COORDINATES}
    apart = [f"--{name} ({_listed(known, _MOST_HINTS)})" for name, known in values.items() if len(known) > 1]
    match = "1 other row matches" if len(others) == 1 else f"{len(others)} other rows match"
    differing = f", told apart by {', '.join(apart)}" if apart else ""
    return found._replace(
        others=f"{match}{differing}; by number: --row ({_listed(list(map(str, others)), _MOST_HINTS)})"
    )


def _rows(dataset: Dataset, columns: Sequence[str]) -> Iterator[tuple[int, Columns]]:
    return enumerate((row for file in dataset.files() for row in columns_in(file.path, columns)), 1)


def _row_at(dataset: Dataset, number: int) -> FoundRow:
    """The row with an existing number."""
    before, rows = 0, sum(file.rows for file in dataset.files())
    for file in dataset.files():
        if number <= before + file.rows:
            return FoundRow(next(rows_at(file.path, [number - before])), number, rows)
        before += file.rows
    raise NiahError(f"{dataset.folder}: holds more rows than the {rows} in {MANIFEST}; verify it, and build it again")


def plain(value: Any) -> Any:
    """A coordinate that can be compared: text, a number or None."""
    return value if value is None or isinstance(value, str | int | float) else str(value)


def fits(value: Any, asked: Any) -> bool:
    """Whether a coordinate is the one asked for. 33.3333 matches a depth of 33.333333333333336."""
    if value is None:
        return bool(asked == NONE)
    if isinstance(asked, float) and isinstance(value, int | float):
        return value == asked or f"{value:g}" == f"{asked:g}"
    return bool(value == asked)


def spelled(value: Any) -> str:
    """A coordinate as a user would write it."""
    if value is None:
        return NONE
    return f"{value:g}" if isinstance(value, float) else str(value)


def _values(cells: Mapping[int, Columns], name: str) -> list[str]:
    """The values of a coordinate, each once: numbers ascending, names in row order."""
    values = list(dict.fromkeys(cell[name] for cell in cells.values()))
    if all(isinstance(value, int | float) for value in values):
        values.sort()
    return list(dict.fromkeys(map(spelled, values)))


def _listed(names: Sequence[str], most: int) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def describe(match: FoundRow, whole: bool, colour: bool) -> Iterator[str]:
    """The lines to print. `whole`: the prompt in full, else only the text around needles and at both ends.

    A column that is missing or of another type is shown as `-`.
    """
    row = match.row
    shown: dict[str, Any] = {"id": row.get("id"), "row": f"{match.number} of {match.of}"}
    for name in ("task", "part", "control", "language", "corpus", "placement", "template", "tokenizer", "length"):
        shown[name] = row.get(name)
    shown["prompt_tokens"], passes = row.get("prompt_tokens"), row.get("haystack_passes")
    times = f"{passes:g}" if isinstance(passes, int | float) else "-"
    shown["haystack"] = f"{row.get('haystack_tokens')} tokens, {times} passes, id {row.get('haystack_id')}"
    obtained = ", ".join(map(_percent, _list(row, "needle_depths"))) or "none"
    shown["depth"] = f"{_percent(row.get('depth_percent'))} asked, {obtained} obtained"
    shown |= {name: row.get(name) for name in ("boundary", "question")}
    shown["answers"] = " | ".join(map(str, _list(row, "answers")))
    for name in ("keywords", "decoys"):
        groups = [" / ".join(map(str, group)) for group in _list(row, name) if isinstance(group, list)]
        shown |= {name: " + ".join(groups)} if groups or name == "keywords" else {}
    shown |= {name: row.get(name) for name in ("metric", "leak")}
    for name, value in shown.items():
        if value is not None or name not in _OPTIONAL:
            yield f"{name:16} {_clean('-' if value is None else value)}"
    context, prompt = row.get("context_message"), row.get("prompt")
    for number, message in enumerate(prompt if isinstance(prompt, list) else [{"role": "prompt", "content": prompt}]):
        if not isinstance(message, dict) or message.get("content") is None:
            continue
        holds_context = number == (max(context, 0) if isinstance(context, int) else 0)
        needles = list(_needles(row)) if holds_context else []
        yield from ("", f"--- {_clean(message.get('role'))} ---")
        yield _marked(str(message["content"]), needles, whole, _MARKS if colour else _PLAIN_MARKS)


def _list(row: Columns, name: str) -> list[Any]:
    value = row.get(name)
    return value if isinstance(value, list) else []


def _percent(value: Any) -> str:
    return f"{value:.2f} %" if isinstance(value, int | float) else "-"


def _needles(row: Columns) -> Iterator[tuple[int, int, str]]:
    """The span of each needle and its label: its number in a set, and its actual depth."""
    depths, spans = _list(row, "needle_depths"), _list(row, "needle_spans")
    for number, span in enumerate(spans):
        start, end = (span.get("start"), span.get("end")) if isinstance(span, dict) else (None, None)
        if isinstance(start, int) and isinstance(end, int):
            label = _percent(depths[number]) if number < len(depths) else "-"
            yield start, end, f"{number + 1}: {label}" if len(spans) > 1 else label


def _marked(text: str, needles: list[tuple[int, int, str]], whole: bool, marks: tuple[str, str, str, str]) -> str:
    """A prompt with its needles marked and labelled, control characters escaped."""
    shown: list[str] = []
    at = 0
    for start, end, label in [*sorted(needles), (len(text), len(text), "")]:
        between = text[at : max(at, start)]
        left_out = len(between) - 2 * _SHOWN_AROUND
        if not whole and left_out >= _SHOWN_AROUND:
            between = f"{between[:_SHOWN_AROUND]}\n[... {left_out} characters ...]\n{between[-_SHOWN_AROUND:]}"
        shown.append(visible(between))
        if end > start:
            needle = visible(text[max(at, start) : end])
            shown.append(f"{marks[2]}{label}{marks[3]} {marks[0]}{needle}{marks[1]}")
        at = max(at, end)
    return "".join(shown)


def _clean(value: object) -> str:
    """A value on one line, with characters escaped that the terminal would obey."""
    return visible(str(value)).replace("\n", "\\n")
