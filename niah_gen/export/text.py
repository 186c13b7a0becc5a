"""Writes each prompt into its own file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from niah_gen.errors import IntegrityError
from niah_gen.export.base import ExportFormat, ExportOptions, ExportRow, WrittenFile, json_line
from niah_score.machine.files import sync_file

_FOLDER = "prompts"


def _write(rows: Iterator[ExportRow], folder: Path, options: ExportOptions) -> list[WrittenFile]:
    count = size = 0
    for row in rows:
        data, suffix = _file(row)
        path = folder / _FOLDER / f"{row['id']}{suffix}"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(data)
        sync_file(path)
        count, size = count + 1, size + len(data)
    return [WrittenFile(_FOLDER, count, size)]


def _file(row: ExportRow) -> tuple[bytes, str]:
    """The bytes of a prompt and the suffix of its file."""
    prompt = row["prompt"]
    if not isinstance(prompt, str):
        if len(prompt) > 1 or prompt[0]["role"] != "user":
            # As a text, this would need a model's template to say who speaks.
            return json_line(prompt, row) + b"\n", ".json"
        prompt = prompt[0]["content"]
    try:
        return prompt.encode(), ".txt"
    except UnicodeEncodeError as error:
        raise IntegrityError(f"row {row['id']}: cannot be written as UTF-8 ({error}); verify the dataset") from None


TEXT = ExportFormat(
    name="text",
    what="one file per prompt, named by the row's id",
    files="prompts/ID.txt, the prompt byte for byte; prompts/ID.json for chats of several messages",
    pattern=f"{_FOLDER}/*",
    write=_write,
)
