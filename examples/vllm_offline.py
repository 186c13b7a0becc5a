"""Answers a dataset's prompts with vLLM in this process, without a server, and resumes where a run was stopped.

    python examples/vllm_offline.py DATASET answers.jsonl --model NAME --load '{"max_model_len": 131072}'

It needs only vLLM and pyarrow: copy it to the machine that has the GPUs. Each row is one line of answers.jsonl, written
when its batch is done; a run that is killed loses the batch under way. The same command resumes after the last complete
line: rows with an answer are skipped, rows with an error are asked again.

A text becomes one user message, or with --raw, for base models, the text that the model continues. --shard 3/8 takes
every eighth row from the third on: eight runs, each with its own file, answer the whole dataset. Exit codes: 0 every
row of the shard has an answer, 2 nothing can be asked, 3 some rows were refused, such as prompts that are too long;
their lines have `error`.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

Row = dict[str, Any]


class GivenUpError(Exception):
    """Nothing can be asked. The message says what is wrong and what to do."""


def rows(dataset: Path, shard: tuple[int, int]) -> Iterator[Row]:
    """Every row of a shard, in dataset order: id, max_new_tokens and prompt. Only a few are in memory at once."""
    files = [dataset]
    if dataset.is_dir():
        if not (dataset / "manifest.json").exists():
            raise GivenUpError(f"{dataset}: not a dataset, or not a complete one: there is no manifest.json")
        listed = json.loads((dataset / "manifest.json").read_bytes())["files"]
        files = [dataset / file["path"] for file in listed if file["path"].startswith("data/")]
    if not all(file.suffix == ".parquet" for file in files) or not files:
        raise GivenUpError(f"{dataset}: no Parquet files; build the dataset with --format parquet")
    number = 0
    for file in files:
        with pq.ParquetFile(file) as table:
            columns = [name for name in ("id", "max_new_tokens", "prompt") if name in table.schema_arrow.names]
            for batch in table.iter_batches(batch_size=8, columns=columns):
                for row in batch.to_pylist():
                    number += 1
                    if number % shard[1] == shard[0] % shard[1]:
                        yield row


def answered(path: Path) -> set[str]:
    """The ids with an answer in a file, which is created if missing. A last line cut short by a kill is removed."""
    ids, end = set(), 0
    path.touch()
    with path.open("rb") as lines:
        for line in lines:
            if not line.endswith(b"\n") and b'{"id": '.startswith(line[:7]):
                break
            try:
                answer = json.loads(line)
            except ValueError:
                answer = None
            if not isinstance(answer, dict) or not isinstance(answer.get("id"), str) or len(answer) < 2:
                raise GivenUpError(f"{path}: contains something other than answers; choose another file")
            if "error" not in answer:
                ids.add(answer["id"])
            end += len(line)
    os.truncate(path, end)
    return ids


def room(row: Row, limit: str) -> int:
    """How many tokens an answer may have: N, or for +N the row's own limit plus N. Raises GivenUpError."""
    try:
        tokens = int(limit) + (row["max_new_tokens"] if limit[0] == "+" else 0)
    except (ValueError, LookupError, TypeError):
        tokens = 0
    if tokens < 1:
        raise GivenUpError(f"--max-tokens {limit}: expected N, or +N for rows with max_new_tokens")
    return tokens


def shard(text: str) -> tuple[int, int]:
    """Parse I/N, such as 1/8 for the first of eight. Raises ValueError."""
    part, of = map(int, text.split("/"))
    if not 1 <= part <= of:
        raise ValueError(text)
    return part, of


def json_object(text: str) -> dict[str, Any]:
    """Parse a JSON object. Raises ValueError."""
    found = json.loads(text)
    if not isinstance(found, dict):
        raise ValueError(text)
    return found


def refusals() -> tuple[type[Exception], ...]:
    """The exceptions that vLLM raises for a prompt it refuses: ValueError, or since 2026 its own error."""
    try:
        from vllm.exceptions import VLLMClientError
    except ImportError:
        return (ValueError,)
    return (ValueError, VLLMClientError)


def ask(model: Any, batch: list[Row], options: argparse.Namespace) -> list[Row]:
    """The lines of answers.jsonl for a batch. If a prompt is refused, each prompt is asked separately."""
    from vllm import SamplingParams

    params = [
        SamplingParams(**{"temperature": 0.0, "max_tokens": room(row, options.max_tokens), **options.sampling})
        for row in batch
    ]
    prompts = [row["prompt"] for row in batch]
    if options.raw and not all(isinstance(prompt, str) for prompt in prompts):
        raise GivenUpError("--raw needs texts, but these prompts are chat messages; leave it out")
    try:
        if options.raw:
            outputs = model.generate(prompts, params)
        else:
            chats = [[{"role": "user", "content": text}] if isinstance(text, str) else text for text in prompts]
            outputs = model.chat(chats, params, chat_template_kwargs=options.template)
    except refusals() as error:
        if len(batch) == 1:
            return [{"id": batch[0]["id"], "error": " ".join(str(error).split())[:400]}]
        return [line for row in batch for line in ask(model, [row], options)]
    return [
        {"id": row["id"], "prediction": output.outputs[0].text, "finish_reason": output.outputs[0].finish_reason}
        for row, output in zip(batch, outputs, strict=True)
    ]


def run(options: argparse.Namespace) -> int:
    """Answer the rows without an answer, a batch at a time; return the exit code."""
    done = answered(options.out)
    todo = (row for row in rows(options.dataset, options.shard) if row["id"] not in done)
    model, errors = None, 0
    with options.out.open("ab", buffering=0) as file:
        while batch := list(islice(todo, options.batch)):
            if model is None:
                from vllm import LLM

                model = LLM(model=options.model, enable_prefix_caching=options.prefix_caching, **options.load)
            for line in ask(model, batch, options):
                file.write(json.dumps(line).encode() + b"\n")
                if "error" in line:
                    errors += 1
                    print(f"{line['id']}: {line['error']}", file=sys.stderr)
    return 3 if errors else 0


def main() -> int:
    """Parse the arguments, run, and return the exit code."""
    parser = argparse.ArgumentParser(description="Answer every row of a dataset with vLLM, without a server.")
    parser.add_argument("dataset", type=Path, help="dataset folder, or a Parquet file with id and prompt")
    parser.add_argument("out", type=Path, help="JSONL file that answers are appended to")
    parser.add_argument("--model", required=True, help="name or folder of the model")
    parser.add_argument("--raw", action="store_true", help="send texts unchanged, without a chat template")
    parser.add_argument("--max-tokens", default="+0", metavar="N|+N", help="N, or N more than the row's own limit")
    parser.add_argument("--batch", type=int, default=256, metavar="N", help="prompts at once; default %(default)s")
    parser.add_argument("--shard", type=shard, default=(1, 1), metavar="I/N", help="every Nth row from the Ith on")
    parser.add_argument("--prefix-caching", action=argparse.BooleanOptionalAction, help="default: as vLLM decides")
    parser.add_argument("--load", type=json_object, default={}, metavar="JSON", help="more arguments of vllm.LLM")
    parser.add_argument("--sampling", type=json_object, default={}, metavar="JSON", help="more for SamplingParams")
    parser.add_argument("--template", type=json_object, metavar="JSON", help="arguments of the chat template")
    try:
        return run(parser.parse_args())
    except (GivenUpError, OSError, ValueError, TypeError) as error:  # including an argument that vLLM refuses
        print(f"vllm_offline: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
