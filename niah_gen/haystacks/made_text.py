"""Fits a generated text to its budget: sizes it by the sum of the tokens of its words, then counts it and corrects."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from niah_gen.errors import FitError
from niah_gen.haystacks.fit import MOST_BELOW
from niah_gen.prompts.frame import Frame
from niah_gen.tokenizers.find import Ints, Tokenizer
from niah_gen.tokenizers.spliced import Counter, Encoded, Slice, encode

_ATTEMPTS = 8
# A text, and the tokens that its maker expects it to have.
Draft = tuple[str, int]


def fit_text(build: Callable[[int], Draft], probe: Draft, budget: int, frame: Frame, counter: Counter) -> Encoded:
    """The longest text that a maker builds within a budget, in tokens of the whole prompt; at most 8 below it.

    `build`: makes the longest text of at most so many expected tokens. `probe`: the shortest text of its form; the
    difference between its tokens in the prompt and those expected is taken to be the same for any other text. If no
    text comes that near, the longest of those tried is taken. Raises FitError if none fits, and what `build` raises.
    """
    budget -= sum(map(counter.tokenizer.count, frame.others))
    fixed = counter.count([frame.before, probe[0], frame.after]) - probe[1]
    best: tuple[int, Encoded] | None = None
    tried: set[str] = set()
    wanted = budget - fixed
    for _ in range(_ATTEMPTS):
        draft, expected = build(wanted)
        if draft in tried:
            wanted -= 1
            continue
        text = encode(draft, counter.tokenizer)
        below = budget - counter.count([frame.before, Slice(text, 0, len(text.data)), frame.after])
        if below >= 0 and (best is None or below < best[0]):
            best = below, text
        if 0 <= below <= MOST_BELOW:
            break
        tried.add(draft)
        wanted = expected + below
    if best is None:
        raise FitError(f"the length leaves {max(0, budget - fixed)} tokens, too few for a text; ask for longer lengths")
    return best[1]


def tokens_of_each(texts: Sequence[str], tokenizer: Tokenizer) -> Ints:
    """Tokens of each of several texts in a row; exact if the tokenizer is local.

    Each must begin with a mark or white space and end with a letter or digit, so that all meet at safe cuts; they are
    encoded together.
    """
    # After a letter, the first text begins at a safe cut too.
    places = np.cumsum([1, *(len(text.encode()) for text in texts)])
    before = np.searchsorted(tokenizer.encode("a" + "".join(texts)).ends, places, side="right")
    tokens: Ints = np.maximum(np.diff(before), 1)
    return tokens
