"""Writes input files of the Gemini API's batch service."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from niah_gen.export.base import ExportFormat, ExportOptions, ExportRow, WrittenFile, json_line
from niah_gen.export.requests import NUMBER, REQUEST_OPTIONS, refusing, request_of, write_requests
from niah_score.contract import BATCH_LIMITS

# For Gemini models, wherever they are served.
GEMINI_FIELDS = refusing(
    {
        "model": "the model is named when the batch is submitted",
        "contents": "it is the prompt",
        "systemInstruction": "use --system",
        "system_instruction": "use --system",
        "generationConfig.maxOutputTokens": "use --max-tokens",
        "generation_config": "it is spelled generationConfig here",
        "temperature": "it is generationConfig.temperature here",
        "thinkingConfig": "it is generationConfig.thinkingConfig here",
    }
)


def gemini_requests(rows: Iterator[ExportRow], options: ExportOptions) -> Iterator[tuple[str, bytes]]:
    """The id of each row, and its request as a line."""
    return ((row["id"], json_line(request_of("gemini-batch", row, options), row)) for row in rows)


def _write(rows: Iterator[ExportRow], folder: Path, options: ExportOptions) -> list[WrittenFile]:
    return write_requests(gemini_requests(rows, options), folder, "gemini", BATCH_LIMITS["gemini-batch"], options)


GEMINI = ExportFormat(
    name="gemini",
    what="Gemini API batch; the model is named when the file is submitted",
    files="gemini-00000.jsonl, ...: 2 GB each",
    pattern=f"gemini-{NUMBER}.jsonl",
    write=_write,
    takes=REQUEST_OPTIONS,
    check=GEMINI_FIELDS,
)
