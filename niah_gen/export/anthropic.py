"""Writes the bodies of requests to Anthropic's Message Batches API."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from niah_gen.errors import NiahError
from niah_gen.export.base import ExportFormat, ExportOptions, ExportRow, WrittenFile, json_line
from niah_gen.export.requests import CHAT_FIELDS, NUMBER, REQUEST_OPTIONS, Framing, refusing, request_of, write_requests
from niah_score.contract import BATCH_LIMITS

# The service takes no file: a batch is the body of one request. Each still has its own line, for tools that read lines.
_BODY = Framing(b'{"requests":[\n', b",\n", b"\n]}\n")


def _request(row: ExportRow, options: ExportOptions) -> bytes:
    request = request_of("anthropic-batch", row, options)
    params = request["params"]
    thinking = params.get("thinking")
    budget = thinking.get("budget_tokens") if isinstance(thinking, dict) else None
    if isinstance(budget, int) and budget >= params["max_tokens"]:
        raise NiahError(
            f"--body thinking.budget_tokens={budget}: row {row['id']} may have {params['max_tokens']} tokens in total, "
            f"and the service refuses a budget that is not below that; add --max-tokens +{budget}"
        )
    if isinstance(thinking, dict) and thinking.get("type") != "disabled" and params.get("temperature", 1) != 1:
        raise NiahError(
            f"--body thinking: the service refuses temperature {params['temperature']} with it; leave --body "
            "temperature out"
        )
    return json_line(request, row)


def _write(rows: Iterator[ExportRow], folder: Path, options: ExportOptions) -> list[WrittenFile]:
    requests = ((row["id"], _request(row, options)) for row in rows)
    limits = BATCH_LIMITS["anthropic-batch"]
    return write_requests(requests, folder, "anthropic", limits, options, _BODY, ".json")


ANTHROPIC = ExportFormat(
    name="anthropic",
    what="Anthropic Message Batches: each file is the body of one POST",
    files="anthropic-00000.json, ...: 100,000 requests and 256 MB each",
    pattern=f"anthropic-{NUMBER}.json",
    write=_write,
    takes=("model", *REQUEST_OPTIONS),
    needs_model=True,
    check=refusing({**CHAT_FIELDS, "system": "use --system"}),
)
