"""Fits a text that is made whole to its budget: built by an estimate of its tokens, counted, and built again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from niah_gen.errors import FitError
from niah_gen.haystacks.fit import MOST_BELOW
from niah_gen.haystacks.proof import ContextProof, CountedHaystack, shown
from niah_gen.prompts.frame import Frame
from niah_gen.tokenizers.find import Tokenizer
from niah_gen.tokenizers.spliced import Counter, Encoded, Slice, encode

# With a local tokenizer the estimate is off by what stands at the two ends, so the second text fits.
_ATTEMPTS = 8


class Draft(NamedTuple):
    """A text, and the tokens that its maker expects it to have."""

    text: str
    tokens: int


def fit_text(
    build: Callable[[int], Draft], budget: int, frame: Frame, tokenizer: Tokenizer, counter: Counter
) -> Encoded:
    """The longest text that a maker builds within a budget, in tokens of the whole prompt; at most 8 below it.

    `build`: the longest text of at most so many expected tokens. Where no text comes that near, the longest of those
    tried is taken. Raises FitError where none fits, and what `build` raises.
    """
    budget -= sum(map(tokenizer.count, frame.others))
    fixed = counter.count([frame.before, frame.after])
    found: tuple[int, Encoded] | None = None
    tried: set[str] = set()
    wanted = budget - fixed
    for _ in range(_ATTEMPTS):
        draft = build(wanted)
        if draft.text in tried:
            wanted -= 1
            continue
        tried.add(draft.text)
        text = encode(draft.text, tokenizer)
        below = budget - counter.count([frame.before, Slice(text, 0, len(text.data)), frame.after])
        if below >= 0 and (found is None or below < found[0]):
            found = below, text
        if 0 <= below <= MOST_BELOW:
            break
        wanted = draft.tokens + below
    if found is None:
        raise FitError(f"the length leaves {max(0, budget - fixed)} tokens, too few; ask for longer lengths")
    return found[1]


def wrong_figures(proof: ContextProof) -> Iterator[str]:
    """What a row says of a context that is all haystack and is not true: its digest and its tokens."""
    counted: CountedHaystack = proof.counted(proof.context)
    if proof.row["haystack_id"] != counted.id:
        yield f"haystack_id is {shown(proof.row['haystack_id'])}, expected {counted.id!r} of the context"
    if proof.row["haystack_tokens"] != counted.tokens:
        yield f"haystack_tokens is {proof.row['haystack_tokens']}, expected {counted.tokens}"
