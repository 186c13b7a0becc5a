"""Proves contexts from what their rows record: spans, needles that stand once, and figures of the haystack."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import NamedTuple

from niah_gen.haystacks.boundaries import sentence_ends
from niah_gen.tokenizers.counted import covering
from niah_gen.tokenizers.find import Tokenizer
from niah_score.contract import Row, Span, sha256_hex
from niah_score.text import fold, holds, stated

# Percentage points between the recorded and the counted depth, which the builder estimates without a local tokenizer.
_TOLERANCE = {True: 1e-9, False: 1.0}
# Tokens by which counting parts separately may differ from counting the whole.
COUNTED_APART = 2


class PlacedNeedle(NamedTuple):
    """A needle's text and where its span says it stands in the context, in characters."""

    text: str
    start: int
    end: int


class ContextProof(NamedTuple):
    """A row's context, taken from its prompt, and what is needed to prove it.

    `asked`: the depth of each needle in percent. `joiner`: what joins a needle to the text on its left. `counted`:
    gives the figures of a haystack's text, kept for rows that share it.
    """

    row: Row
    context: str
    needles: tuple[PlacedNeedle, ...]
    asked: tuple[float, ...]
    joiner: str
    tokenizer: Tokenizer
    counted: Callable[[str], CountedHaystack]


class CountedHaystack:
    """The figures of a haystack's text; each is computed once, when it is first needed."""

    def __init__(self, text: str, tokenizer: Tokenizer, language: str = "en") -> None:
        self.text = text
        self._language = language
        self._tokenizer = tokenizer

    @cached_property
    def id(self) -> str:
        """Its digest, as in the column `haystack_id`."""
        return sha256_hex(self.text.encode())[:12]

    @cached_property
    def tokens(self) -> int:
        """Its tokens, encoded whole."""
        return self._tokenizer.count(self.text)

    def depth(self, place: int) -> float:
        """The share of its tokens before a place, encoded alone, in percent."""
        return 100 * self._tokenizer.count(self.text[:place]) / max(1, self.tokens)

    @cached_property
    def edges(self) -> list[int]:
        """Its beginning, where its sentences end, and its end."""
        return sorted({0, *sentence_ends(self.text, self._language), len(self.text)})

    def is_nearest(self, place: int, asked: float) -> bool:
        """Whether no sentence end is clearly nearer to a depth in percent than a place; exact at 0 and 100.

        A place may be off by half the sentence on the side of the depth, and two tokens for counting parts separately.
        """
        if asked in (0, 100):
            return place == (len(self.text) if asked else 0)
        off = (asked - self.depth(place)) * self.tokens / 100
        edges, at = self.edges, bisect_left(self.edges, place)
        low, high = (place, edges[min(at + 1, len(edges) - 1)]) if off > 0 else (edges[max(at - 1, 0)], place)
        return abs(off) <= self._tokenizer.count(self.text[low:high]) / 2 + COUNTED_APART

    def leak(self, keywords: Sequence[Sequence[str]]) -> str | None:
        """The keywords that it holds, joined by `, `; None if it holds none."""
        return ", ".join(stated(lambda word: holds(self._folded, word), keywords)) or None

    @cached_property
    def _folded(self) -> str:
        return fold(self.text)


def whole_token_spans(text: str, spans: Sequence[Span], tokenizer: Tokenizer) -> list[Span]:
    """The tokens, from 0, that cover any code point of each span."""
    ends = tokenizer.encode(text).ends
    found = []
    for span in spans:
        start, end = covering(ends, len(text[: span["start"]].encode()), len(text[: span["end"]].encode()))
        found.append(Span(start=start, end=end))
    return found


def context_of(row: Row) -> str:
    """The prompt, or the text of its message that holds the context."""
    prompt = row["prompt"]
    return prompt if isinstance(prompt, str) else prompt[row["context_message"]]["content"]


def check_spans(proof: ContextProof) -> None:
    """Checks that every needle stands at its span."""
    for text, start, end in proof.needles:
        assert proof.context[start:end] == text


def check_figures(row: Row, haystack: CountedHaystack, places: Sequence[int] = ()) -> None:
    """Checks the digest, the tokens and the depths that a row records of a haystack with needles at some places."""
    assert row["haystack_id"] == haystack.id
    assert row["haystack_tokens"] == haystack.tokens
    local = haystack._tokenizer.local
    for place, recorded in zip(places, row["needle_depths"], strict=True):
        assert abs(recorded - haystack.depth(place)) <= _TOLERANCE[local]


def check_native(proof: ContextProof) -> None:
    """Checks what a row records of a haystack with needles at sentence ends or between words."""
    row, local = proof.row, proof.tokenizer.local
    haystack, places = take_out(proof, proof.joiner)
    check_figures(row, haystack, places)
    text = haystack.text
    for place, asked in zip(places, proof.asked, strict=True):
        around = text[max(0, place - 30) : place] + "|" + text[place : place + 30]
        if row["boundary"] == "sentence":
            assert place in haystack.edges, f"no sentence ends at {around}"
        left, right = text[place - 1 : place], text[place : place + 1]
        if place not in (0, len(text)):
            assert not (left.isascii() and left.isalnum() and right.isascii() and right.isalnum()), around
        if asked in (0, 100) or (row["boundary"] == "sentence" and local):
            assert haystack.is_nearest(place, asked), f"a place nearer to {asked} % was free than {around}"
    assert row["leak"] == haystack.leak(row["keywords"])


def take_out(proof: ContextProof, joiner: str) -> tuple[CountedHaystack, list[int]]:
    """The haystack without its needles, and the place of each in it, in characters, in the row's order.

    The joiner stands before a needle; at the very beginning of the context it stands after it.
    """
    check_spans(proof)
    haystack, places = proof.context, [0] * len(proof.needles)
    order = sorted(range(len(proof.needles)), key=lambda number: proof.needles[number].start)
    reached = taken = 0
    for number in order:
        text, start, end = proof.needles[number]
        assert start >= reached, "two needles overlap"
        # If several needles stand at the very beginning, all but the first have the joiner before them.
        places[number] = max(0, start - len(joiner) - taken)
        reached = end
        taken += len(text) + len(joiner)
    for number in reversed(order):
        _, start, end = proof.needles[number]
        low, high = (start - len(joiner), end) if start else (start, end + len(joiner))
        assert (haystack[low:start] or haystack[end:high]) == joiner, f"needle {number + 1} is not joined as it should"
        haystack = haystack[:low] + haystack[high:]
    return proof.counted(haystack), places
