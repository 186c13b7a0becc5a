"""Finds which tokens of a text cover its needles, by encoding all of it."""

from __future__ import annotations

from collections.abc import Sequence

from niah_gen.tokenizers.counted import covering
from niah_gen.tokenizers.find import Tokenizer
from niah_score.contract import Span


def whole_token_spans(text: str, spans: Sequence[Span], tokenizer: Tokenizer) -> list[Span]:
    """The tokens, from 0, that cover any code point of each span."""
    ends = tokenizer.encode(text).ends
    found = []
    for span in spans:
        start, end = covering(ends, len(text[: span["start"]].encode()), len(text[: span["end"]].encode()))
        found.append(Span(start=start, end=end))
    return found
