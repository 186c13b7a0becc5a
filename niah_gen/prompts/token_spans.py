"""Finds which tokens of a message cover each needle, as the tokenizer encodes the whole message."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence

import numpy as np

from niah_gen.prompts.messages import Piece
from niah_gen.tokenizers.cuts import byte_offsets
from niah_gen.tokenizers.find import Ints, Tokenizer
from niah_gen.tokenizers.spliced import Counter
from niah_score.contract import Span


def token_spans(pieces: Sequence[Piece], spans: Sequence[Span], counter: Counter) -> list[Span]:
    """The tokens, from 0, that cover any code point of each needle. `spans`: the needles', in code points.

    Only the text around each needle is encoded, unless a needle lies in several pieces or the tokenizer is not local.
    """
    numbers = [piece.needle for piece in pieces if piece.needle >= 0]
    if not numbers:
        return []
    if not counter.tokenizer.local or len(numbers) != len(set(numbers)):
        return whole_token_spans("".join(piece.fragment().text for piece in pieces), spans, counter.tokenizer)
    marks = counter.marks([piece.content for piece in pieces], [piece.needle >= 0 for piece in pieces])
    return [Span(start=start, end=end) for _, (start, end) in sorted(zip(numbers, marks, strict=True))]


def whole_token_spans(text: str, spans: Sequence[Span], tokenizer: Tokenizer) -> list[Span]:
    """The same, by encoding the whole text; `token_spans` must equal it."""
    if not spans:
        return []
    ends = tokenizer.encode(text).ends
    points = np.frombuffer(text.encode("utf-32-le"), dtype=np.uint32)
    places = np.array([place for span in spans for place in (span["start"], span["end"])], dtype=np.int64)
    bytes_ = byte_offsets(points, places).tolist()
    return [
        Span(start=start, end=end)
        for start, end in (covering(ends, *pair) for pair in zip(bytes_[::2], bytes_[1::2], strict=True))
    ]


def covering(ends: Ints, start: int, end: int) -> tuple[int, int]:
    """The tokens that cover any of the bytes from `start` to `end`; `ends`: the byte offset where each token ends.

    Several tokens that end at one offset share the character before it.
    """
    first, last = bisect_right(ends.data, start), bisect_left(ends.data, end)
    if last < len(ends) and ends[last] == end:
        return first, bisect_right(ends.data, end)
    return first, min(last + 1, len(ends))
