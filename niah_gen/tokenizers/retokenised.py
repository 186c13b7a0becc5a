"""Encodes texts that are cut from encoded texts or joined from them, but only where their tokens change."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence

import numpy as np

from niah_gen.tokenizers.cuts import WIDEST
from niah_gen.tokenizers.find import Ints, Tokenizer, Tokens
from niah_gen.tokenizers.spliced import Encoded, encode, with_cuts


def unchanged_tokens(source: Encoded, size: int) -> int:
    """How many of a text's first `size` tokens are sure to stay the same when these are decoded and encoded again."""
    usable = _usable_cuts(source, source.byte_at(size))
    return source.tokens_before(int(source.cuts[usable - 1])) if usable else 0


def _usable_cuts(source: Encoded, end: int) -> int:
    """Number of safe cuts with both their characters before byte `end`."""
    return bisect_right(source.cuts.data, end - WIDEST)


def retokenised_prefix(source: Encoded, size: int, tokenizer: Tokenizer) -> Encoded:
    """The first `size` tokens, decoded (a broken last character becomes U+FFFD) and encoded again.

    `source` must be the encoding of one text. Only the part after its last safe cut is encoded again.
    """
    end = source.byte_at(size)
    usable = _usable_cuts(source, end)
    if not usable:
        return encode(source.text(0, end), tokenizer)
    cut = int(source.cuts[usable - 1])
    tail = encode(source.text(cut, end), tokenizer)
    kept = source.tokens_before(cut)
    tokens = Tokens(
        np.concatenate([source.ids[:kept], tail.ids]), np.concatenate([source.ends[:kept], tail.ends + cut])
    )
    return Encoded(
        source.data[:cut] + tail.data,
        lambda: tokens,
        source.cuts[:usable],
        source.exact[:usable],
    )


def retokenised_suffix(source: Encoded, start: int, tokenizer: Tokenizer) -> Encoded:
    """The text from byte `start` on, where a character begins, encoded again.

    With a local tokenizer, only the part before the first safe cut is encoded.
    """
    first = bisect_left(source.cuts.data, start + WIDEST)
    if not tokenizer.local or first == len(source.cuts):
        return encode(source.text(start, len(source.data)), tokenizer)
    cut = int(source.cuts[first])
    head = encode(source.text(start, cut), tokenizer)
    kept = source.tokens_before(cut)
    tokens = Tokens(
        np.concatenate([head.ids, source.ids[kept:]]), np.concatenate([head.ends, source.ends[kept:] - start])
    )
    return with_cuts(source.data[start:], tokens, np.concatenate([head.cuts, source.cuts[first:] - start]))


def concatenated(parts: Sequence[Encoded], tokenizer: Tokenizer) -> Encoded:
    """The text of the parts one after the other, as `encode` makes it. Each part must be the encoding of one text.

    With a local tokenizer, only what lies between the last safe cut of a part and the first one of the next is encoded
    again.
    """
    if len(parts) == 1:
        return parts[0]
    if not tokenizer.local:
        return encode(b"".join(part.data for part in parts).decode(), tokenizer)
    ids: list[Ints] = []
    ends: list[Ints] = []
    cuts: list[Ints] = []
    at = 0  # where the next piece begins
    seam = b""  # the beginning of that piece, not encoded yet

    def add(piece: Tokens, its_cuts: Ints) -> None:
        ids.append(piece.ids)
        ends.append(piece.ends + at)
        cuts.append(its_cuts + at)

    for part in parts:
        if not len(part.cuts):
            seam += part.data
            continue
        first, last = int(part.cuts[0]), int(part.cuts[-1])
        between = encode((seam + part.data[:first]).decode(), tokenizer)
        add(between.tokens(), between.cuts)
        at += len(between.data)
        low, high = part.tokens_before(first), part.tokens_before(last)
        add(Tokens(part.ids[low:high], part.ends[low:high] - first), part.cuts - first)
        at += last - first
        seam = part.data[last:]
    tail = encode(seam.decode(), tokenizer)
    add(tail.tokens(), tail.cuts)
    data = b"".join(part.data for part in parts)
    return with_cuts(data, Tokens(np.concatenate(ids), np.concatenate(ends)), np.concatenate(cuts))
