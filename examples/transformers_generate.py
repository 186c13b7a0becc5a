"""Answers a dataset's prompts with Transformers, one at a time, and resumes where a run was stopped.

    python examples/transformers_generate.py DATASET answers.jsonl --model NAME

It needs only transformers, torch and pyarrow. Each row is one line of answers.jsonl, written as soon as it is answered.
The same command resumes after the last complete line: rows with an answer are skipped, rows with an error are asked
again.

Chats, and texts as one user message, go through the tokenizer's chat template; if it has none, or with --raw, texts are
sent unchanged. --shard 3/8 takes every eighth row from the third on: eight runs, each with its own file, answer the
whole dataset. Exit codes: 0 every row of the shard has an answer, 2 nothing can be asked, 3 some rows have no answer,
because their prompts are longer than the model's context or need too much memory; their lines have `error`.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator
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


def ask(model: Any, tokenizer: Any, row: Row, options: argparse.Namespace) -> Row:
    """The line of answers.jsonl for a row."""
    import torch

    prompt = row["prompt"]
    if tokenizer.chat_template and not options.raw:
        chat = [{"role": "user", "content": prompt}] if isinstance(prompt, str) else prompt
        form = {"add_generation_prompt": True, "return_tensors": "pt", "return_dict": True, **options.template}
        inputs = tokenizer.apply_chat_template(chat, **form).to(model.device)
    elif isinstance(prompt, str):
        inputs = tokenizer(prompt, return_tensors="pt").to(model.device)
    else:
        raise GivenUpError("chat messages need a chat template: leave out --raw, or use a model that has one")
    length = inputs["input_ids"].shape[1]
    context = getattr(model.config.get_text_config(), "max_position_embeddings", None) or sys.maxsize
    if length >= context:
        return {"id": row["id"], "error": f"the prompt has {length} tokens, but the model reads at most {context}"}
    limits = {"max_new_tokens": min(room(row, options.max_tokens), context - length), "do_sample": False}
    try:
        with torch.inference_mode():
            found = model.generate(**inputs, **limits | options.sampling)[0, length:].tolist()
    except torch.OutOfMemoryError:
        return {"id": row["id"], "error": f"out of memory at {length} tokens"}
    ends = model.generation_config.eos_token_id
    ended = found[-1:] == [ends] or (isinstance(ends, list) and found[-1] in ends)
    text = tokenizer.decode(found[:-1] if ended else found, skip_special_tokens=not options.special_tokens)
    return {"id": row["id"], "prediction": text, "finish_reason": "stop" if ended else "length"}


def run(options: argparse.Namespace) -> int:
    """Answer the rows without an answer, one after the other; return the exit code."""
    done = answered(options.out)
    todo = (row for row in rows(options.dataset, options.shard) if row["id"] not in done)
    model, tokenizer, errors = None, None, 0
    with options.out.open("ab", buffering=0) as file:
        for row in todo:
            if model is None:
                from transformers import AutoModelForCausalLM, AutoTokenizer

                tokenizer = AutoTokenizer.from_pretrained(options.model)
                model = AutoModelForCausalLM.from_pretrained(options.model, **{"dtype": "auto", **options.load}).eval()
                if options.device:
                    model.to(options.device)
            line = ask(model, tokenizer, row, options)
            file.write(json.dumps(line).encode() + b"\n")
            if "error" in line:
                errors += 1
                print(f"{line['id']}: {line['error']}", file=sys.stderr)
    return 3 if errors else 0


def main() -> int:
    """Parse the arguments, run, and return the exit code."""
    parser = argparse.ArgumentParser(description="Answer every row of a dataset with a model of Transformers.")
    parser.add_argument("dataset", type=Path, help="dataset folder, or a Parquet file with id and prompt")
    parser.add_argument("out", type=Path, help="JSONL file that answers are appended to")
    parser.add_argument("--model", required=True, help="name or folder of the model")
    parser.add_argument("--device", help="such as cuda; default: where --load puts the model, else the CPU")
    parser.add_argument("--raw", action="store_true", help="send texts unchanged, without a chat template")
    parser.add_argument("--max-tokens", default="+0", metavar="N|+N", help="N, or N more than the row's own limit")
    parser.add_argument("--shard", type=shard, default=(1, 1), metavar="I/N", help="every Nth row from the Ith on")
    parser.add_argument("--special-tokens", action="store_true", help="keep them, such as those around thinking")
    parser.add_argument("--load", type=json_object, default={}, metavar="JSON", help="arguments of from_pretrained")
    parser.add_argument("--sampling", type=json_object, default={}, metavar="JSON", help="arguments of generate")
    parser.add_argument("--template", type=json_object, default={}, metavar="JSON", help="for the chat template")
    try:
        return run(parser.parse_args())
    except (GivenUpError, OSError, ValueError, TypeError) as error:  # including Transformers' own
        print(f"transformers_generate: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
