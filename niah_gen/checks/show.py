"""Shows one row as a person reads it: its coordinates, its truth, and its prompt with the needles marked."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from niah_gen.dataset.read import rows_in
from niah_gen.errors import NiahError
from niah_score.contract import Row, open_dataset

_MARKS = ("\x1b[1;7m", "\x1b[0m", "\x1b[2m", "\x1b[0m")
_PLAIN_MARKS = (">>>", "<<<", "[", "]")
_SHOWN_AROUND = 240


def find_row(folder: Path, row_id: str) -> Row:
    """The row with an id. Raises NiahError if the dataset has none, ContractError if it is no dataset."""
    dataset = open_dataset(folder)
    for file in dataset.files():
        row = _row_in(file.path, row_id)
        if row is not None:
            return row
    raise NiahError(f"{folder}: no row {row_id!r} among {dataset.manifest.rows}; ids are in the column `id`")


def _row_in(path: Path, row_id: str) -> Row | None:
    if path.suffix == ".parquet" and all(row["id"] != row_id for row in rows_in(path, ["id"])):
        return None  # the ids alone are read fast
    found: Row | None = next((row for row in rows_in(path) if row["id"] == row_id), None)
    return found


def describe(row: Row, whole: bool, colour: bool) -> Iterator[str]:
    """The lines to print. `whole`: the prompt in full, else the text around needles and at both ends."""
    for name in (
        "id", "task", "control", "language", "corpus", "placement", "template", "tokenizer", "length", "prompt_tokens",
    ):  # fmt: skip
        yield f"{name:16} {_clean(row[name])}"
    yield f"{'haystack':16} {row['haystack_tokens']} tokens, {row['haystack_passes']:g} passes, id {row['haystack_id']}"
    obtained = ", ".join(map(_percent, row["needle_depths"]))
    yield f"{'depth':16} {_percent(row['depth_percent'])} asked, {obtained} obtained"
    yield f"{'boundary':16} {_clean(row['boundary'])}"
    yield f"{'question':16} {_clean(row['question'])}"
    yield f"{'answers':16} {_clean(' | '.join(row['answers']))}"
    yield f"{'keywords':16} {_clean(' + '.join(' / '.join(group) for group in row['keywords']))}"
    yield f"{'metric':16} {_clean(row['metric'])}"
    if row["leak"]:
        yield f"{'leak':16} {_clean(row['leak'])}"
    prompt = row["prompt"]
    messages: list[Any] = [{"role": None, "content": prompt}] if isinstance(prompt, str) else prompt
    for number, message in enumerate(messages):
        yield ""
        yield f"--- {message['role'] or 'prompt'} ---"
        needles = list(_needles(row)) if number == max(row["context_message"], 0) else []
        yield _marked(message["content"], needles, whole, _MARKS if colour else _PLAIN_MARKS)


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f} %"


def _needles(row: Row) -> Iterator[tuple[int, int, str]]:
    """Where each needle stands, and what to say about it: its number in a set, and the depth it obtained."""
    depths = row["needle_depths"]
    for number, span in enumerate(row["needle_spans"]):
        label = _percent(depths[number]) if number < len(depths) else "-"
        yield span["start"], span["end"], f"{number + 1}: {label}" if len(row["needle_spans"]) > 1 else label


def _marked(text: str, needles: list[tuple[int, int, str]], whole: bool, marks: tuple[str, str, str, str]) -> str:
    """A prompt with its needles marked and labelled, control characters shown."""
    shown: list[str] = []
    at = 0
    for start, end, label in [*sorted(needles), (len(text), len(text), "")]:
        shown.append(_clean(_elided(text[at : max(at, start)], whole), keep_lines=True))
        if end > start:
            shown.append(f"{marks[2]}{label}{marks[3]} {marks[0]}")
            shown.append(_clean(text[max(at, start) : end], keep_lines=True) + marks[1])
        at = max(at, end)
    return "".join(shown)


def _elided(text: str, whole: bool) -> str:
    left_out = len(text) - 2 * _SHOWN_AROUND
    if whole or left_out < _SHOWN_AROUND:
        return text
    return f"{text[:_SHOWN_AROUND]}\n[... {left_out} characters ...]\n{text[-_SHOWN_AROUND:]}"


def _clean(value: object, keep_lines: bool = False) -> str:
    """A value as text whose control and bidi characters are shown, not obeyed by the terminal."""
    return "".join(
        char if char.isprintable() or (char == "\n" and keep_lines) or char == " " else _escape(char)
        for char in str("-" if value is None else value)
    )


def _escape(char: str) -> str:
    return char.encode("unicode_escape").decode() if ord(char) < 0x3000 else char
