"""Reads what harness tasks are made of: where each chosen row belongs, and how long its answer may be."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from niah_gen.dataset.read import columns_in
from niah_gen.export.base import ExportOptions, TaskSource, WrittenFile, reply_limit, with_sound_limit
from niah_score.machine.files import sync_file

_TEMPLATES = Path(__file__).parents[1] / "library" / "harnesses"
_COLUMNS = (
    "id", "task", "part", "control", "language", "length", "depth_percent", "needles", "max_new_tokens",
)  # fmt: skip
# What some harness refuses in the name of a task, or some file system in the name of a file.
_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9._-]+")


class TaskRow(NamedTuple):
    """A chosen row. config: of the dataset. limit: the most tokens of an answer. columns: its coordinates, as read."""

    id: str
    config: str
    limit: int
    columns: Mapping[str, Any]


def task_rows(source: TaskSource, options: ExportOptions) -> list[TaskRow]:
    """The chosen rows in the order in which they are asked; of Parquet files no prompt is read.

    Raises IntegrityError for a row without a valid limit.
    """
    rows: dict[str, TaskRow] = {}
    chosen = set(source.ids)
    for file in source.dataset.files():
        for row in columns_in(file.path, _COLUMNS):
            if row["id"] not in chosen:
                continue
            columns = {**row, "needles": len(row["needles"] or ())}
            limit = reply_limit(with_sound_limit(row, file.path), options)
            rows[row["id"]] = TaskRow(row["id"], file.config, limit, columns)
    return [rows[name] for name in source.ids]


def grouped(rows: Iterable[TaskRow], names: Iterable[str]) -> dict[str, list[TaskRow]]:
    """Rows grouped by the name of each, in their order; names in the order of their first rows."""
    groups: dict[str, list[TaskRow]] = {}
    for row, name in zip(rows, names, strict=True):
        groups.setdefault(name, []).append(row)
    return groups


def task_name(*parts: str | None) -> str:
    """A name for a task: its non-empty parts, reduced to letters, digits, `.`, `_` and `-`, joined by `_`."""
    return "_".join(_NOT_IN_A_NAME.sub("-", part) for part in parts if part)


def template(name: str) -> str:
    """The text of a shipped file that runs inside a harness."""
    return (_TEMPLATES / name).read_text("utf-8")


def write_task_files(folder: Path, files: Mapping[str, str], rows: Sequence[TaskRow]) -> list[WrittenFile]:
    """Write the files of a task, by their paths below the folder. The first is recorded as holding all rows."""
    written: list[WrittenFile] = []
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        data = text.encode()
        path.write_bytes(data)
        sync_file(path)
        written.append(WrittenFile(name, 0 if written else len(rows), len(data)))
    return written
