"""Writes what services and platforms read: batch requests, examples, and prompts as plain files.

A batch service is a line of the table `BATCHES`: the form of its requests, what its files look like, and the fields
that the export fills in. Files stay within the limits of the service.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import IO, Any

import orjson

from niah_gen.errors import NiahError, ResourceError
from niah_gen.export.base import Chosen, ExportFormat, ExportOptions, Row
from niah_gen.export.contexts import CONTEXT_FILES, asked_rows
from niah_score.contract import BATCH_LIMITS, BATCH_REQUESTS, RequestSettings

# Makes what a service is sent for a row.
Request = Callable[[Row, ExportOptions], dict[str, Any]]

# What a file has before the first request, between two, and after the last.
_LINES = (b"", b"\n", b"\n")
# Anthropic's service takes no file: a batch is the body of one request. Each of its requests still has its own line,
# for tools that read lines.
_POST = (b'{"requests":[\n', b",\n", b"\n]}\n")
_TAKES = ("fields", "system", "max_tokens", "more_tokens", "max_requests", "max_bytes", "context_file")
_LIMIT = "use --max-tokens"
_CHAT = {"model": "use --model", "messages": "it is the prompt", "max_tokens": _LIMIT}
# For Gemini models, wherever they are served.
_GEMINI = {
    "model": "the model is named when the batch is submitted",
    "contents": "it is the prompt",
    "systemInstruction": "use --system",
    "system_instruction": "use --system",
    "generationConfig.maxOutputTokens": _LIMIT,
}


def _request(form: str, row: Row, options: ExportOptions, more: Mapping[str, Any] = {}) -> dict[str, Any]:
    """A request in the form that BATCH_REQUESTS has under a name. `more`: further fields of its body."""
    settings = RequestSettings(options.model or "", options.limit(row), fields={**options.fields, **more})
    return BATCH_REQUESTS[form](row["id"], options.messages(row), settings)


def _openai(row: Row, options: ExportOptions) -> dict[str, Any]:
    return _request("openai-responses" if options.api == "responses" else "openai-batch", row, options)


def _vllm(row: Row, options: ExportOptions) -> dict[str, Any]:
    # Servers older than OpenAI's new name for the limit know the old one.
    limit = {"max_completion_tokens": None, "max_tokens": options.limit(row)}
    return _request("openai-batch", row, options, limit)


def _anthropic(row: Row, options: ExportOptions) -> dict[str, Any]:
    request = _request("anthropic-batch", row, options)
    params = request["params"]
    thinking = params.get("thinking") if isinstance(params.get("thinking"), dict) else {}
    budget, limit = thinking.get("budget_tokens"), params["max_tokens"]
    if isinstance(budget, int) and budget >= limit:
        why = f"row {row['id']} may have {limit} tokens in total, and the budget must be below that"
        raise NiahError(f"--body thinking.budget_tokens={budget}: {why}; add --max-tokens +{budget}")
    if thinking.get("type", "disabled") != "disabled" and params.get("temperature", 1) != 1:
        why = f"the service refuses temperature {params['temperature']} with it"
        raise NiahError(f"--body thinking: {why}; leave --body temperature out")
    return request


_EXAMPLE = (
    "question", "answers", "keywords", "task", "part", "control", "language", "corpus", "length", "depth_percent",
    "needle_id", "haystack_id", "repeat", "metric", "prompt_tokens",
)  # fmt: skip


def _langsmith(row: Row, options: ExportOptions) -> dict[str, Any]:
    asked = {"prompt" if isinstance(row["prompt"], str) else "messages": row["prompt"]}
    answers = row.get("answers") or [None]
    return {
        # The id is among the inputs, so that a target can return it with its answer.
        "inputs": {"id": row["id"], **asked, "max_new_tokens": row["max_new_tokens"]},
        "reference_outputs": {"answer": answers[0], **{name: row.get(name) for name in _EXAMPLE[:3]}},
        "metadata": {"id": row["id"], **{name: row.get(name) for name in _EXAMPLE[3:]}},
    }


def _batch(
    what: str,
    stem: str,
    request: Request,
    takes: tuple[str, ...],
    reserved: Mapping[str, str] = {},
    framing: tuple[bytes, bytes, bytes] = _LINES,
    columns: Sequence[str] = (),
) -> ExportFormat:
    """A format of files of requests, named `stem`-00000 and so on, as many requests in each as the limits allow."""
    suffix = ".jsonl" if framing == _LINES else ".json"

    def write(chosen: Chosen, folder: Path, options: ExportOptions) -> dict[str, int]:
        name = "openai-responses" if options.api == "responses" else stem
        limits = BATCH_LIMITS.get(name, BATCH_LIMITS.get(f"{name}-batch", (None, None)))
        most = min(limits[0] or math.inf, options.max_requests or math.inf)
        room = min(limits[1] or math.inf, options.max_bytes or math.inf)
        before, between, after = framing
        written: dict[str, int] = {}
        with ExitStack() as opened:
            file: IO[bytes] | None = None
            path, size = "", 0
            for row in asked_rows(chosen, columns, folder, options):
                data = orjson.dumps(request(row, options))
                alone = len(before) + len(data) + len(after)
                if alone > room:
                    problem = f"its request alone makes a file of {alone:,} bytes, and the limit is {room:,}"
                    raise ResourceError(f"row {row['id']}: {problem}; leave such rows out with --subset")
                size += len(between) + len(data)
                if file is None or written[path] == most or size > room:
                    if file is not None:
                        file.write(after)
                        opened.close()
                    path, size = f"{name}-{len(written):05d}{suffix}", alone
                    written[path] = 0
                    file = opened.enter_context((folder / path).open("wb"))
                file.write((between if written[path] else before) + data)
                written[path] += 1
            if file is not None:
                file.write(after)
        return written

    # The number in a file name is exact, as it decides which files are replaced, and answers may be beside them.
    names = "openai-*" if stem == "openai-batch" else stem
    return ExportFormat(what, f"{names}-{'[0-9]' * 5}{suffix} {CONTEXT_FILES}", write, takes, reserved)


def _write_texts(chosen: Chosen, folder: Path, options: ExportOptions) -> dict[str, int]:
    (folder / "prompts").mkdir()
    for row in asked_rows(chosen, (), folder, options):
        prompt = row["prompt"]
        if not isinstance(prompt, str) and len(prompt) == 1 and prompt[0]["role"] == "user":
            prompt = prompt[0]["content"]
        # As a text, any other chat would need a model's template to say who speaks.
        is_text = isinstance(prompt, str)
        path = folder / "prompts" / f"{row['id']}{'.txt' if is_text else '.json'}"
        path.write_bytes(prompt.encode() if is_text else orjson.dumps(prompt) + b"\n")
    return {"prompts": len(chosen.entries)}


BATCHES: dict[str, ExportFormat] = {
    "openai-batch": _batch(
        "OpenAI batch: chat completions, or responses with --api responses",
        "openai-batch", _openai, ("model", "api", *_TAKES), {
            **_CHAT, "input": _CHAT["messages"], "instructions": "use --system",
            "max_completion_tokens": _LIMIT, "max_output_tokens": _LIMIT,
        },
    ),
    "vllm": _batch(
        "vLLM run_batch, and others that read OpenAI's batch lines with max_tokens",
        "vllm", _vllm, ("model", *_TAKES), {**_CHAT, "max_completion_tokens": _LIMIT},
    ),
    "anthropic": _batch(
        "Anthropic Message Batches: each file is the body of one POST",
        "anthropic", _anthropic, ("model", *_TAKES), {**_CHAT, "system": "use --system"}, _POST,
    ),
    "gemini": _batch(
        "Gemini API batch; the model is named when the file is submitted",
        "gemini", partial(_request, "gemini-batch"), _TAKES, _GEMINI,
    ),
    "vertex": _batch(
        "Vertex AI batch inference with Gemini models; the model is named when the job is submitted",
        # Prompts as they are: answers echo the request, and are joined by the prompt if the key does not come back.
        "vertex", partial(_request, "gemini-batch"),
        ("fields", "max_tokens", "more_tokens", "max_requests", "max_bytes"), _GEMINI,
    ),
    "langsmith": _batch(
        "examples of a LangSmith key-value dataset, with inputs, outputs and metadata",
        "langsmith", _langsmith, ("max_requests", "max_bytes", "context_file"), columns=_EXAMPLE,
    ),
    "text": ExportFormat(
        "one file per prompt, named by the row's id", f"prompts/* {CONTEXT_FILES}", _write_texts, ("context_file",),
    ),
}  # fmt: skip


def read_fields(assignments: Sequence[str]) -> dict[str, Any]:
    """The fields of `KEY=VALUE` words. A key may be a path (`thinking.type`); a value that is not JSON is a text.

    Raises NiahError for a word without `=`, an empty name, and a key that is given twice or is both value and table.
    """
    fields: dict[str, Any] = {}
    for word in assignments:
        key, equals, text = word.partition("=")
        *above, last = key.split(".")
        if not equals or not all((*above, last)):
            raise NiahError(f"--body {word!r}: expected KEY=VALUE, such as temperature=0.7 or thinking.type=adaptive")
        table: Any = fields
        for name in above:
            table = table.setdefault(name, {}) if isinstance(table, dict) else None
        if not isinstance(table, dict) or last in table:
            raise NiahError(f"--body {word!r}: {key!r}, or what it is in, already has a value; give each key once")
        try:
            table[last] = orjson.loads(text)
        except orjson.JSONDecodeError:
            table[last] = text
    return fields


def refuse_reserved(reserved: Mapping[str, str], fields: Mapping[str, Any]) -> None:
    """Raise NiahError for a field of --body that the export fills in, and say what to use instead."""
    for path, instead in reserved.items():
        table: Any = fields
        *above, last = path.split(".")
        for name in above:
            table = table.get(name) if isinstance(table, Mapping) else None
        if isinstance(table, Mapping) and last in table:
            raise NiahError(f"--body {path}: the export fills this field in; {instead}")
