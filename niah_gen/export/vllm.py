"""Writes input files of vLLM's run_batch."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from niah_gen.export.base import ExportFormat, ExportOptions, ExportRow, WrittenFile, json_line
from niah_gen.export.requests import CHAT_FIELDS, NUMBER, REQUEST_OPTIONS, refusing, request_of, write_requests
from niah_score.contract import BATCH_LIMITS


def _request(row: ExportRow, options: ExportOptions) -> bytes:
    request = request_of("openai-batch", row, options)
    body = request["body"]
    # Servers older than OpenAI's new name for the field know this one.
    body["max_tokens"] = body.pop("max_completion_tokens")
    return json_line(request, row)


def _write(rows: Iterator[ExportRow], folder: Path, options: ExportOptions) -> list[WrittenFile]:
    requests = ((row["id"], _request(row, options)) for row in rows)
    return write_requests(requests, folder, "vllm", BATCH_LIMITS["vllm-batch"], options)


VLLM = ExportFormat(
    name="vllm",
    what="vLLM run_batch, and others that read OpenAI's batch lines with max_tokens",
    files="vllm-00000.jsonl: all requests, unless --max-requests or --max-bytes sets a limit",
    pattern=f"vllm-{NUMBER}.jsonl",
    write=_write,
    takes=("model", *REQUEST_OPTIONS),
    needs_model=True,
    check=refusing({**CHAT_FIELDS, "max_completion_tokens": "use --max-tokens"}),
)
