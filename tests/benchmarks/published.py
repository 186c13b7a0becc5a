"""Builds contexts cell by cell as the published generators are described, for benchmarks and tests to compare with.

Slow on purpose: everything is read and encoded again for every cell, as lists of tokens. It is also the reference of
the parity tests, as goldens alone would leave most of a grid untested.
"""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path

import tiktoken


def _encode(encoding: tiktoken.Encoding, text: str) -> list[int]:
    return encoding.encode(text, disallowed_special=())


def gkamradt_context(
    encoding: tiktoken.Encoding,
    folder: Path,
    length: int,
    depth: float,
    needles: Sequence[str],
    reserve: int = 200,
    longest: int = 0,
) -> str:
    """One context of LLMTest_NeedleInAHaystack, the corpus read from its files."""
    corpus = "".join(path.read_text("utf-8") for path in sorted(folder.glob("*.txt")))
    text = corpus
    tokens = _encode(encoding, text)
    while len(tokens) < longest:
        text += corpus
        tokens = _encode(encoding, text)
    if len(tokens) > length:
        text = encoding.decode(tokens[:length])
    tokens = _encode(encoding, text)
    hidden = [_encode(encoding, needle) for needle in needles]
    limit = length - reserve
    total = sum(map(len, hidden))
    if len(tokens) + total > limit:
        tokens = tokens[: limit - total]
    period = _encode(encoding, ".")
    step = (100 - depth) / len(needles)
    for needle in hidden:
        if depth == 100:
            tokens = tokens + needle
        else:
            at = int(len(tokens) * (depth / 100))
            while at > 0 and tokens[at - 1] not in period:
                at -= 1
            tokens = tokens[:at] + needle + tokens[at:]
        depth += step
    return encoding.decode(tokens)


def opencompass_context(
    encoding: tiktoken.Encoding,
    path: Path,
    length: int,
    depth: float,
    repeat: int,
    needles: Sequence[str],
    diff: float = 25,
    reserve: int = 200,
) -> str:
    """One context of OpenCompass CDME, the documents read from their file."""
    documents = [json.loads(line)["text"] for line in path.read_text("utf-8").split("\n") if line]
    for counter in range(repeat + 1):
        random.seed(counter)
        random.shuffle(documents)
    return _opencompass_insert(encoding, documents, length, depth, needles, diff, reserve)


def opencompass_cell(
    encoding: tiktoken.Encoding, path: Path, length: int, depth: float, repeats: int, needles: Sequence[str]
) -> list[str]:
    """All repeats of one (length, depth), as the published loader makes them: it reads the file once for each cell."""
    documents = [json.loads(line)["text"] for line in path.read_text("utf-8").split("\n") if line]
    contexts = []
    for counter in range(repeats):
        random.seed(counter)
        random.shuffle(documents)
        contexts.append(_opencompass_insert(encoding, documents, length, depth, needles, 25, 200))
    return contexts


def _opencompass_insert(
    encoding: tiktoken.Encoding,
    documents: Sequence[str],
    length: int,
    depth: float,
    needles: Sequence[str],
    diff: float,
    reserve: int,
) -> str:
    hidden = [_encode(encoding, needle) for needle in needles]
    target = length - reserve - sum(map(len, hidden))
    tokens: list[int] = []
    for document in documents:
        tokens.extend(_encode(encoding, document))
        if len(tokens) >= target:
            break
    tokens = tokens[:target]
    size = len(tokens)
    points = [int(size * (depth / 100))]
    for number in range(1, len(hidden)):
        point = int(points[-1] + len(hidden[number - 1]) + size * (diff / 100))
        points.append(min(point, size + sum(map(len, hidden[:number]))))
    for number, needle in enumerate(hidden):
        tokens = tokens[: points[number]] + needle + tokens[points[number] :]
        for later in range(number + 1, len(points)):
            points[later] += len(needle)
    return encoding.decode(tokens)


def opencompass_processed_contexts(
    encoding: tiktoken.Encoding,
    path: Path,
    length: int,
    depth: float,
    needle: str,
    records: int = 10,
    reserve: int = 200,
) -> list[str]:
    """The contexts of one file, as the first OpenCompass CDME generator wrote them."""
    hidden = _encode(encoding, needle)
    target = length - reserve - len(hidden)
    contexts: list[str] = []
    tokens: list[int] = []
    for line in filter(None, path.read_text("utf-8").split("\n")):
        tokens.extend(_encode(encoding, json.loads(line)["text"]))
        if len(tokens) >= target:
            kept = tokens[:target]
            at = int(len(kept) * (depth / 100))
            contexts.append(encoding.decode(kept[:at] + hidden + kept[at:]))
            tokens = []
            if len(contexts) >= records:
                break
    return contexts
