"""Makes a small perplexity set, and a language model of a few random numbers that computes log-probabilities for it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow.parquet as pq
import tiktoken
from made import written as written

import niah_gen
from niah_gen.tokenizers.find import BytePairTokenizer, find_tokenizer

LENGTHS = (200, 400, 640)
RECIPE: dict[str, Any] = {
    "lengths": list(LENGTHS), "languages": ["en", "zh"], "options": {"tokens": 640, "documents": 4, "stride": 96},
}  # fmt: skip
_WIDTH, _CLASSES, _KEPT = 24, 512, 0.9


@lru_cache(maxsize=1)
def _weights() -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    draw = np.random.default_rng(17)
    return draw.normal(size=(_CLASSES, _WIDTH)), draw.normal(size=(_WIDTH, _CLASSES)) / 4


def log_probs(ids: Sequence[int]) -> list[float]:
    """The log-probability of every token but the first: a softmax of a state that depends on all tokens before it."""
    embedded, out = _weights()
    states = np.zeros((len(ids) - 1, _WIDTH))
    state = np.zeros(_WIDTH)
    for place, token in enumerate(ids[:-1]):
        state = _KEPT * state + embedded[token % _CLASSES]
        states[place] = state
    logits = states @ out
    logits -= logits.max(axis=1, keepdims=True)
    chosen = logits[np.arange(len(states)), np.array(ids[1:]) % _CLASSES]
    values: list[float] = (chosen - np.log(np.exp(logits).sum(axis=1))).tolist()
    return values


def encoding(name: str) -> tiktoken.Encoding:
    """A bundled encoding as tiktoken has it, so that no code of the project splits the text."""
    tokenizer = find_tokenizer(name)
    assert isinstance(tokenizer, BytePairTokenizer)
    return tokenizer.encoding


def ids_of(text: str, tokenizer: str) -> list[int]:
    return encoding(tokenizer).encode_ordinary(text)


def offsets_of(text: str, tokenizer: str) -> list[int]:
    """The code point at which each token begins."""
    begins = [number for number, char in enumerate(text) for _ in char.encode()]
    sizes = [len(encoding(tokenizer).decode_single_token_bytes(token)) for token in ids_of(text, tokenizer)]
    return [begins[sum_before] for sum_before in np.cumsum([0, *sizes[:-1]]).tolist()]


def rows_of(dataset: Path) -> list[dict[str, Any]]:
    files = sorted(dataset.glob("data/*/*.parquet"))
    return [row for file in files for row in pq.ParquetFile(file).read().to_pylist()]


def windows(folder: Path, tokenizer: str = "cl100k_base", **fields: Any) -> Path:
    """A perplexity set of four documents per language."""
    return niah_gen.build("perplexity", folder, overrides={**RECIPE, "tokenizer": tokenizer, **fields})


def token_records(dataset: Path, tokenizer: str = "cl100k_base") -> list[dict[str, Any]]:
    """The model's log-probabilities for every row, as plain records."""
    return [
        {"id": row["id"], "token_logprobs": [None, *log_probs(ids_of(row["prompt"], tokenizer))]}
        for row in rows_of(dataset)
    ]


def sums_of(ids: Iterable[str]) -> list[dict[str, Any]]:
    """The sums of a model that knows nothing, for each row under each condition that a gain needs."""
    return [
        {"id": name, "condition": condition, "logprob_sum": -1.0, "token_count": 2}
        for name in ids
        for condition in ("full", "alone", "needle")
    ]


def window_sums_of(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The sums of such a model over the scored tokens of each window."""
    return [{"id": row["id"], "logprob_sum": -9.5, "token_count": _new_tokens(row)} for row in rows]


class Direct(NamedTuple):
    """Sums over the scored tokens of one length: nats, tokens, bytes."""

    nats: float
    tokens: int
    bytes: int


def documents(dataset: Path, language: str, length: int) -> Iterator[list[dict[str, Any]]]:
    """The windows of a length over each document, in order."""
    by_document: dict[str, list[dict[str, Any]]] = {}
    for row in rows_of(dataset):
        if (row["language"], row["length"]) == (language, length):
            by_document.setdefault(row["needle_id"], []).append(row)
    for rows in by_document.values():
        yield sorted(rows, key=lambda row: int(row["repeat"]))


def direct(dataset: Path, language: str, length: int, tokenizer: str = "cl100k_base") -> Direct:
    """The sums computed over whole documents, token by token, each token with the context of its window.

    A document is the new text of its windows joined together and encoded once; of a row, only the end and the length
    of its window are used.
    """
    nats, tokens, size = 0.0, 0, 0
    for rows in documents(dataset, language, length):
        text = rows[0]["prompt"] + "".join(row["prompt"][row["target_span"]["start"] :] for row in rows[1:])
        ids = ids_of(text, tokenizer)
        done = rows[0]["target_token_span"]["start"]
        for row in rows:
            end = len(ids) if row is rows[-1] else done + _new_tokens(row)
            start = end - row["prompt_tokens"]
            values = log_probs(ids[start:end])
            nats -= sum(values[done - start - 1 :])
            tokens += end - done
            done = end
        assert done == len(ids)
        size += len(text.encode()) - len(rows[0]["prompt"][: rows[0]["target_span"]["start"]].encode())
    return Direct(nats, tokens, size)


def _new_tokens(row: dict[str, Any]) -> int:
    return int(row["target_token_span"]["end"] - row["target_token_span"]["start"])
