"""Writes examples for a key-value dataset of LangSmith."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from niah_gen.export.base import ExportFormat, ExportOptions, ExportRow, WrittenFile, json_line
from niah_gen.export.requests import NUMBER, write_requests
from niah_score.contract import BatchLimits

_OUTPUTS = ("question", "answers", "keywords")
_METADATA = (
    "task", "part", "control", "language", "corpus", "length", "depth_percent", "needle_id", "haystack_id", "repeat",
    "metric", "prompt_tokens",
)  # fmt: skip


def _example(row: ExportRow) -> dict[str, Any]:
    prompt = row["prompt"]
    asked = {"prompt": prompt} if isinstance(prompt, str) else {"messages": prompt}
    answers = row.get("answers") or []
    return {
        # The id is among the inputs, so that a target can return it with its answer.
        "inputs": {"id": row["id"], **asked, "max_new_tokens": row["max_new_tokens"]},
        "reference_outputs": {"answer": answers[0] if answers else None, **{name: row.get(name) for name in _OUTPUTS}},
        "metadata": {"id": row["id"], **{name: row.get(name) for name in _METADATA}},
    }


def _write(rows: Iterator[ExportRow], folder: Path, options: ExportOptions) -> list[WrittenFile]:
    examples = ((row["id"], json_line(_example(row), row)) for row in rows)
    return write_requests(examples, folder, "langsmith", BatchLimits(None, None), options)


LANGSMITH = ExportFormat(
    name="langsmith",
    what="examples of a LangSmith key-value dataset, with inputs, outputs and metadata",
    files="langsmith-00000.jsonl: one example per line, as create_examples takes them",
    pattern=f"langsmith-{NUMBER}.jsonl",
    write=_write,
    columns=(*_OUTPUTS, *_METADATA),
    takes=("max_requests", "max_bytes"),
)
