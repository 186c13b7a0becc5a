"""Writes what services and platforms read: batch requests, examples, and prompts as plain files.

A batch service is a line of the table `BATCHES`: the form of its requests, what its files look like, and the fields
that the export fills in. Files stay within the limits of the service.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any

import orjson

from niah_gen.errors import IntegrityError, NiahError, ResourceError
from niah_gen.export.base import (
    Chosen,
    ExportFormat,
    ExportOptions,
    ExportRow,
    WrittenFile,
    json_line,
    messages_of,
    reply_limit,
    write_file,
)
from niah_score.contract import BATCH_LIMITS, BATCH_REQUESTS, BatchLimits, RequestSettings
from niah_score.machine.files import atomic_file

# The glob for the number in a file name: exact, as it decides which files are replaced, and answers may be beside them.
_NUMBER = "[0-9]" * 5
_TAKES = ("fields", "system", "max_tokens", "more_tokens", "max_requests", "max_bytes")
# What a file has before the first request, between two, and after the last.
_LINES = (b"", b"\n", b"\n")
# Anthropic's service takes no file: a batch is the body of one request. Each of its requests still has its own line,
# for tools that read lines.
_POST = (b'{"requests":[\n', b",\n", b"\n]}\n")
_LIMIT = "use --max-tokens"
_CHAT = {"model": "use --model", "messages": "it is the prompt", "max_tokens": _LIMIT}
# For Gemini models, wherever they are served.
_GEMINI = {
    "model": "the model is named when the batch is submitted",
    "contents": "it is the prompt",
    "systemInstruction": "use --system",
    "system_instruction": "use --system",
    "generationConfig.maxOutputTokens": _LIMIT,
    "generation_config": "it is spelled generationConfig here",
    "temperature": "it is generationConfig.temperature here",
    "thinkingConfig": "it is generationConfig.thinkingConfig here",
}


def _plain(form: str) -> Callable[[ExportRow, ExportOptions], dict[str, Any]]:
    """Makes requests in the form that BATCH_REQUESTS has under this name."""

    def request(row: ExportRow, options: ExportOptions) -> dict[str, Any]:
        settings = RequestSettings(options.model or "", reply_limit(row, options), fields=options.fields)
        return BATCH_REQUESTS[form](row["id"], messages_of(row, options), settings)

    return request


def _vllm(row: ExportRow, options: ExportOptions) -> dict[str, Any]:
    request = _plain("openai-batch")(row, options)
    body = request["body"]
    # Servers older than OpenAI's new name for the field know this one.
    body["max_tokens"] = body.pop("max_completion_tokens")
    return request


def _anthropic(row: ExportRow, options: ExportOptions) -> dict[str, Any]:
    request = _plain("anthropic-batch")(row, options)
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
    return request


_EXAMPLE_OUTPUTS = ("question", "answers", "keywords")
_EXAMPLE_METADATA = (
    "task", "part", "control", "language", "corpus", "length", "depth_percent", "needle_id", "haystack_id", "repeat",
    "metric", "prompt_tokens",
)  # fmt: skip


def _langsmith(row: ExportRow, options: ExportOptions) -> dict[str, Any]:
    prompt = row["prompt"]
    asked = {"prompt": prompt} if isinstance(prompt, str) else {"messages": prompt}
    answers = row.get("answers") or []
    outputs = {name: row.get(name) for name in _EXAMPLE_OUTPUTS}
    return {
        # The id is among the inputs, so that a target can return it with its answer.
        "inputs": {"id": row["id"], **asked, "max_new_tokens": row["max_new_tokens"]},
        "reference_outputs": {"answer": answers[0] if answers else None, **outputs},
        "metadata": {"id": row["id"], **{name: row.get(name) for name in _EXAMPLE_METADATA}},
    }


def _writer(
    request: Callable[[ExportRow, ExportOptions], dict[str, Any]],
    stem: str,
    limits: BatchLimits,
    framing: tuple[bytes, bytes, bytes] = _LINES,
    suffix: str = ".jsonl",
    columns: Sequence[str] = (),
) -> Callable[[Chosen, Path, ExportOptions], list[WrittenFile]]:
    """A format's `write` for files of requests."""

    def write(chosen: Chosen, folder: Path, options: ExportOptions) -> list[WrittenFile]:
        rows = chosen.rows(columns, folder)
        requests = ((row["id"], json_line(request(row, options), row)) for row in rows)
        return _write(requests, folder, stem, suffix, limits, options, framing)

    return write


def _write(
    requests: Iterator[tuple[str, bytes]],
    folder: Path,
    stem: str,
    suffix: str,
    limits: BatchLimits,
    options: ExportOptions,
    framing: tuple[bytes, bytes, bytes],
) -> list[WrittenFile]:
    """Write (row id, request) pairs into `stem`-00000, -00001 ..., as many in each as the limits allow.

    One request is in memory at a time. Raises ResourceError for a request that no file can hold.
    """
    most = _least(limits.requests, options.max_requests)
    room = _least(limits.bytes, options.max_bytes)
    before, between, after = framing
    around = len(before) + len(after)
    written: list[WrittenFile] = []
    with ExitStack() as opened:
        file: IO[bytes] | None = None
        rows = size = 0
        for name, request in requests:
            if around + len(request) > room:
                raise ResourceError(
                    f"row {name}: its request alone makes a file of {around + len(request):,} bytes, and the limit is "
                    f"{room:,}; leave such rows out with --subset"
                )
            if file is not None and (rows == most or size + len(between) + len(request) > room):
                file.write(after)
                opened.close()
                file = None
            if file is None:
                path = f"{stem}-{len(written):05d}{suffix}"
                file = opened.enter_context(atomic_file(folder / path))
                lead, rows, size = before, 0, around
                written.append(WrittenFile(path, 0, 0))
            else:
                lead, size = between, size + len(between)
            file.write(lead + request)
            rows, size = rows + 1, size + len(request)
            written[-1] = written[-1]._replace(rows=rows, bytes=size)
        if file is not None:
            file.write(after)
    return written


def _least(*values: int | None) -> float:
    return min((value for value in values if value is not None), default=float("inf"))


def _write_openai(chosen: Chosen, folder: Path, options: ExportOptions) -> list[WrittenFile]:
    form = "openai-responses" if options.api == "responses" else "openai-batch"
    return _writer(_plain(form), form, BATCH_LIMITS[form])(chosen, folder, options)


def _write_texts(chosen: Chosen, folder: Path, options: ExportOptions) -> list[WrittenFile]:
    count = size = 0
    for row in chosen.rows((), folder):
        data, suffix = _text(row)
        size += write_file(folder, f"prompts/{row['id']}{suffix}", data, 1).bytes
        count += 1
    return [WrittenFile("prompts", count, size)]


def _text(row: ExportRow) -> tuple[bytes, str]:
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


BATCHES: dict[str, ExportFormat] = {
    "openai-batch": ExportFormat(
        "OpenAI batch: chat completions, or responses with --api responses",
        f"openai-*-{_NUMBER}.jsonl",
        _write_openai,
        ("model", "api", *_TAKES),
        needs_model=True,
        reserved={
            **_CHAT, "input": "it is the prompt", "instructions": "use --system", "max_completion_tokens": _LIMIT,
            "max_output_tokens": _LIMIT,
        },
    ),
    "vllm": ExportFormat(
        "vLLM run_batch, and others that read OpenAI's batch lines with max_tokens",
        f"vllm-{_NUMBER}.jsonl",
        _writer(_vllm, "vllm", BATCH_LIMITS["vllm-batch"]),
        ("model", *_TAKES),
        needs_model=True,
        reserved={**_CHAT, "max_completion_tokens": _LIMIT},
    ),
    "anthropic": ExportFormat(
        "Anthropic Message Batches: each file is the body of one POST",
        f"anthropic-{_NUMBER}.json",
        _writer(_anthropic, "anthropic", BATCH_LIMITS["anthropic-batch"], _POST, ".json"),
        ("model", *_TAKES),
        needs_model=True,
        reserved={**_CHAT, "system": "use --system"},
    ),
    "gemini": ExportFormat(
        "Gemini API batch; the model is named when the file is submitted",
        f"gemini-{_NUMBER}.jsonl",
        _writer(_plain("gemini-batch"), "gemini", BATCH_LIMITS["gemini-batch"]),
        _TAKES,
        reserved=_GEMINI,
    ),
    "vertex": ExportFormat(
        "Vertex AI batch inference with Gemini models; the model is named when the job is submitted",
        f"vertex-{_NUMBER}.jsonl",
        _writer(_plain("gemini-batch"), "vertex", BATCH_LIMITS["vertex-batch"]),
        # No system text: answers echo the request, and are joined by the prompt if the key does not come back.
        tuple(name for name in _TAKES if name != "system"),
        reserved=_GEMINI,
    ),
    "langsmith": ExportFormat(
        "examples of a LangSmith key-value dataset, with inputs, outputs and metadata",
        f"langsmith-{_NUMBER}.jsonl",
        _writer(
            _langsmith, "langsmith", BatchLimits(None, None), columns=(*_EXAMPLE_OUTPUTS, *_EXAMPLE_METADATA)
        ),
        ("max_requests", "max_bytes"),
    ),
    "text": ExportFormat("one file per prompt, named by the row's id", "prompts/*", _write_texts),
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
        taken = None
        for name in above:
            table = table.setdefault(name, {})
            if not isinstance(table, dict):
                taken = name
                break
        if taken is not None or last in table:
            raise NiahError(f"--body {word!r}: {(taken or key)!r} already has a value; give each key once")
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
