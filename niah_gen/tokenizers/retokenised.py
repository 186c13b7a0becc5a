"""Encodes again what is cut out of an encoded text, as far as the cut changes its tokens."""

from __future__ import annotations

from bisect import bisect_left, bisect_right

import numpy as np

from niah_gen.tokenizers.cuts import WIDEST
from niah_gen.tokenizers.find import Tokenizer, Tokens
from niah_gen.tokenizers.spliced import Encoded, encode, with_cuts


def unchanged_tokens(source: Encoded, size: int) -> int:
    """How many of a text's first `size` tokens are sure to stay when these are decoded and encoded again."""
    usable = _usable_cuts(source, source.byte_at(size))
    return source.tokens_before(int(source.cuts[usable - 1])) if usable else 0


def _usable_cuts(source: Encoded, end: int) -> int:
    """Number of safe cuts whose two characters lie before byte `end`."""
    return bisect_right(source.cuts.data, end - WIDEST)


def retokenised_prefix(source: Encoded, size: int, tokenizer: Tokenizer) -> Encoded:
    """The first `size` tokens, decoded (a broken last character becomes U+FFFD) and encoded again.

    `source` must be one text's encoding. Only the part after its last safe cut is encoded again.
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

    Of a tokenizer that is local, only the part before the first safe cut is.
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
