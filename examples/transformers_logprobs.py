"""Asks a Transformers model for log-probabilities, and resumes where a run was stopped.

    python examples/transformers_logprobs.py DATASET logprobs.jsonl --model NAME
    python examples/transformers_logprobs.py requests/loglikelihood.jsonl logprobs.jsonl --model NAME

It needs only transformers, torch and pyarrow. For a perplexity set, a line of logprobs.jsonl holds one number for each
token of the window (null for those before the target) and the offset of each token; for the requests that
`niah-gen export --to loglikelihood` writes, it holds the sum over the answer and its number of tokens. If the tokenizer
has a BOS token, it goes first. Exit codes: 0 everything has a line, 2 nothing can be asked, 3 some requests are longer
than the model's context or need too much memory; they have no line, and the same command asks them again.
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

Request = dict[str, Any]


class TooLongError(Exception):
    """A request has more tokens than the model reads."""


def requests(source: Path) -> Iterator[Request]:
    """The windows of a dataset, or the lines of a file of requests. Only a few are in memory at once."""
    if source.suffix == ".jsonl":
        with source.open("rb") as lines:
            yield from map(json.loads, lines)
        return
    listed = json.loads((source / "manifest.json").read_bytes())["files"]
    for path in (file["path"] for file in listed if file["path"].startswith("data/")):
        with pq.ParquetFile(source / path) as table:
            for batch in table.iter_batches(batch_size=8, columns=["id", "prompt", "target_span"]):
                yield from batch.to_pylist()


def answered(path: Path) -> set[tuple[str, str]]:
    """Ids and conditions of the lines of a file, created if missing. A last line cut short by a kill is removed."""
    found, end = set(), 0
    path.touch()
    with path.open("rb") as lines:
        for line in lines:
            if not line.endswith(b"\n"):
                break
            record = json.loads(line)
            found.add((record["id"], record.get("condition", "full")))
            end += len(line)
    os.truncate(path, end)
    return found


def log_probs(model: Any, ids: list[int], first: int) -> list[float]:
    """The log-probabilities of the tokens from number `first` on, which must be at least 1."""
    import torch

    context = getattr(model.config.get_text_config(), "max_position_embeddings", None) or sys.maxsize
    if len(ids) > context:
        raise TooLongError(f"{len(ids)} tokens, but the model reads at most {context}")
    with torch.inference_mode():
        inputs = torch.tensor([ids], device=model.device)
        logits = model(input_ids=inputs, logits_to_keep=len(ids) - first + 1).logits[0, :-1]
        scores = torch.log_softmax(logits.double() if logits.dtype == torch.float64 else logits.float(), dim=-1)
        found: list[float] = scores.gather(1, inputs[0, first:, None])[:, 0].tolist()
    return found


def window(model: Any, tokenizer: Any, request: Request, begins: list[int]) -> Request:
    """The line for a window. `begins`: ids before the text, such as BOS."""
    encoded = tokenizer(request["prompt"], add_special_tokens=False, return_offsets_mapping=True)
    offsets = [0] * len(begins) + [start for start, _ in encoded["offset_mapping"]]
    ids = [*begins, *encoded["input_ids"]]
    start = request["target_span"]["start"]
    first = max(1, next(place for place, offset in enumerate(offsets) if place >= len(begins) and offset >= start))
    values = [None] * first + log_probs(model, ids, first)
    return {"id": request["id"], "token_logprobs": values, "text_offset": offsets}


def answer(model: Any, tokenizer: Any, request: Request, begins: list[int]) -> Request:
    """The line for an answer after a context. It is encoded alone, so its tokens are the same in every condition."""
    if "messages" in request:
        opened = request["messages"][-1]["role"] == "assistant"
        form = {"continue_final_message": True} if opened else {"add_generation_prompt": True}
        before = tokenizer.apply_chat_template(request["messages"], tokenize=True, return_dict=True, **form)[
            "input_ids"
        ]
    else:
        before = [*begins, *tokenizer(request["context"], add_special_tokens=False)["input_ids"]]
    own = tokenizer(request["continuation"], add_special_tokens=False)["input_ids"]
    values = log_probs(model, [*before, *own], len(before))
    named = {"id": request["id"], "condition": request["condition"]}
    return {**named, "logprob_sum": sum(values), "token_count": len(own)}


def run(options: argparse.Namespace) -> int:
    """Ask for everything that has no line yet; return the exit code."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    done = answered(options.out)
    tokenizer = AutoTokenizer.from_pretrained(options.model)
    model = AutoModelForCausalLM.from_pretrained(options.model, dtype=options.dtype).eval().to(options.device)
    begins = [] if tokenizer.bos_token_id is None else [tokenizer.bos_token_id]
    lacking = 0
    with options.out.open("ab", buffering=0) as file:
        for request in requests(options.source):
            if (request["id"], request.get("condition", "full")) in done:
                continue
            ask = answer if "continuation" in request else window
            try:
                line = ask(model, tokenizer, request, begins)
            except (TooLongError, torch.OutOfMemoryError) as error:
                lacking += 1
                print(f"{request['id']}: {error}", file=sys.stderr)
                continue
            file.write(json.dumps(line).encode() + b"\n")
    return 3 if lacking else 0


def main() -> int:
    """Parse the arguments, run, and return the exit code."""
    parser = argparse.ArgumentParser(description="Ask a Transformers model for log-probabilities.")
    parser.add_argument("source", type=Path, help="folder of a perplexity set, or loglikelihood.jsonl of an export")
    parser.add_argument("out", type=Path, help="JSONL file that lines are appended to")
    parser.add_argument("--model", required=True, help="name or folder of the model")
    parser.add_argument("--device", default="cpu", help="such as cuda")
    parser.add_argument("--dtype", default="auto", help="such as bfloat16 or float32")
    try:
        return run(parser.parse_args())
    except (OSError, ValueError, KeyError, TypeError) as error:  # including Transformers' own
        print(f"transformers_logprobs: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
