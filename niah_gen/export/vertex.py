"""Writes input files of Vertex AI's batch inference with Gemini models."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from niah_gen.export.base import ExportFormat, ExportOptions, ExportRow, WrittenFile
from niah_gen.export.gemini import GEMINI_FIELDS, gemini_requests
from niah_gen.export.requests import NUMBER, REQUEST_OPTIONS, write_requests
from niah_score.contract import BATCH_LIMITS


def _write(rows: Iterator[ExportRow], folder: Path, options: ExportOptions) -> list[WrittenFile]:
    return write_requests(gemini_requests(rows, options), folder, "vertex", BATCH_LIMITS["vertex-batch"], options)


VERTEX = ExportFormat(
    name="vertex",
    what="Vertex AI batch inference with Gemini models; the model is named when the job is submitted",
    files="vertex-00000.jsonl, ...: 200,000 requests and 1 GB each",
    pattern=f"vertex-{NUMBER}.jsonl",
    write=_write,
    # No system text: answers echo the request, and are joined by the prompt if the key does not come back.
    takes=tuple(name for name in REQUEST_OPTIONS if name != "system"),
    check=GEMINI_FIELDS,
)
