"""Writes input files of OpenAI's batch service, for chat completions or for responses."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from niah_gen.errors import NiahError
from niah_gen.export.base import ExportFormat, ExportOptions, ExportRow, WrittenFile, json_line
from niah_gen.export.requests import CHAT_FIELDS, NUMBER, REQUEST_OPTIONS, refusing, request_of, write_requests
from niah_score.contract import BATCH_LIMITS

APIS = {"chat": "openai-batch", "responses": "openai-responses"}


def _write(rows: Iterator[ExportRow], folder: Path, options: ExportOptions) -> list[WrittenFile]:
    form = APIS[options.api or "chat"]
    requests = ((row["id"], json_line(request_of(form, row, options), row)) for row in rows)
    return write_requests(requests, folder, form, BATCH_LIMITS[form], options)


_FIELDS = refusing(
    {
        **CHAT_FIELDS,
        "input": "it is the prompt",
        "instructions": "use --system",
        "max_completion_tokens": "use --max-tokens",
        "max_output_tokens": "use --max-tokens",
    }
)


def _check(options: ExportOptions) -> None:
    if options.api is not None and options.api not in APIS:
        raise NiahError(f"--api {options.api!r}: expected {' or '.join(APIS)}")
    _FIELDS(options)


OPENAI_BATCH = ExportFormat(
    name="openai-batch",
    what="OpenAI batch: chat completions, or responses with --api responses",
    files="openai-batch-00000.jsonl or openai-responses-00000.jsonl, ...: 50,000 requests and 200 MB each",
    pattern=f"openai-*-{NUMBER}.jsonl",
    write=_write,
    takes=("model", "api", *REQUEST_OPTIONS),
    needs_model=True,
    check=_check,
)
