"""Fits a generated text to its budget: sizes it by the tokens of its words, and counts it at its two ends.

Makers add up the tokens of their words, each counted once with what stands before it. With a local tokenizer these sums
are exact between two safe cuts (`tokenizers/spliced.py`), so not even a long text is ever encoded. With any other
tokenizer they are estimates: the whole text is counted, and made again until it fits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from niah_gen.errors import FitError
from niah_gen.haystacks.fit import MOST_BELOW
from niah_gen.prompts.frame import Frame
from niah_gen.tokenizers.find import Ints, Tokenizer
from niah_gen.tokenizers.spliced import Counter, Encoded, Slice, encode_later

_ATTEMPTS = 8
_NONE = np.zeros(0, dtype=np.int64)


class TextDraft(NamedTuple):
    """A text in UTF-8, and the tokens that its maker expects it to have.

    `cuts`: byte offsets of two safe cuts, None if there are no two or if sums of tokens are not exact; `between`: the
    tokens between them, exact if the tokenizer is local.
    """

    data: bytes
    tokens: int
    cuts: tuple[int, int] | None = None
    between: int = 0

    def encoded(self, tokenizer: Tokenizer) -> Encoded:
        """The text, with its exact tokens as far as they are known."""
        if self.cuts is None or not tokenizer.local:
            return encode_later(self.data, tokenizer, _NONE, _NONE)
        exact = np.array([0, self.between], dtype=np.int64)
        return encode_later(self.data, tokenizer, np.array(self.cuts, dtype=np.int64), exact)


def fit_text(
    build: Callable[[int], TextDraft],
    probe: TextDraft,
    budget: int,
    frame: Frame,
    tokenizer: Tokenizer,
    counter: Counter,
) -> Encoded:
    """The longest text that a maker builds within a budget, in tokens of the whole prompt; at most 8 below it.

    `build`: makes the longest text of at most so many expected tokens. `probe`: the shortest text of its form; the
    difference between its tokens in the prompt and those expected is taken to be the same for any other text. If no
    text comes that near, the longest of those tried is taken. Raises FitError if none fits, and what `build` raises.
    """
    budget -= sum(map(tokenizer.count, frame.others))
    fixed = counter.count([frame.before, probe.data.decode(), frame.after]) - probe.tokens
    best: tuple[int, Encoded] | None = None
    tried: set[bytes] = set()
    wanted = budget - fixed
    for _ in range(_ATTEMPTS):
        draft = build(wanted)
        if draft.data in tried:
            wanted -= 1
            continue
        text = draft.encoded(tokenizer)
        below = budget - counter.count([frame.before, Slice(text, 0, len(text.data)), frame.after])
        if below >= 0 and (best is None or below < best[0]):
            best = below, text
        if 0 <= below <= MOST_BELOW:
            break
        tried.add(draft.data)
        wanted = draft.tokens + below
    if best is None:
        raise FitError(f"the length leaves {max(0, budget - fixed)} tokens, too few for a text; ask for longer lengths")
    return best[1]


def tokens_between(data: bytes, ends: Ints, tokenizer: Tokenizer) -> Ints:
    """Tokens of each of several texts in a row, which end at these bytes; exact if the tokenizer is local.

    Each must begin with a mark or white space and end with a letter or digit, so that all meet at safe cuts; they are
    encoded together.
    """
    # After a letter, the first text begins at a safe cut too.
    before = np.searchsorted(tokenizer.encode("a" + data.decode()).ends, np.append(0, ends) + 1, side="right")
    tokens: Ints = np.maximum(np.diff(before), 1)
    return tokens
