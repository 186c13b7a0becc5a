"""Proves contexts from what their rows record: spans, needles that stand once, and figures of the haystack."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from niah_gen.errors import shown
from niah_gen.haystacks.boundaries import sentence_ends
from niah_gen.tokenizers.counted import covering
from niah_gen.tokenizers.find import Tokenizer
from niah_score.contract import Row, Span, sha256_hex
from niah_score.text import fold, holds, stated


class PlacedNeedle(NamedTuple):
    """A needle's text and where its span says it stands in the context, in characters."""

    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class ContextProof:
    """A row's context, taken from its prompt, and what is needed to prove it.

    `offset`: characters of the message before the context. `asked`: the depth of each needle in percent. `joiner`: what
    joins a needle to the text on its left. `counted`: gives the figures of a haystack's text, cached for rows that
    share it.
    """

    row: Row
    context: str
    offset: int
    needles: tuple[PlacedNeedle, ...]
    asked: tuple[float, ...]
    joiner: str
    tokenizer: Tokenizer
    counted: Callable[[str], CountedHaystack]


def not_once(needles: Sequence[str], contents: Sequence[str]) -> Iterator[str]:
    """A sentence for each needle that does not stand exactly once in a prompt's contents."""
    for number, text in enumerate(needles, 1):
        times = sum(_times(text, content) for content in contents)
        if times != 1:
            where = f"stands {times} times in the prompt" if times else "is nowhere in the prompt"
            yield f"needle {number} {where}, expected once: {shown(text)}"


def _times(text: str, content: str) -> int:
    """How often a text stands in another; occurrences may overlap."""
    times = 0
    at = content.find(text)
    while at >= 0:
        times += 1
        at = content.find(text, at + 1)
    return times


def misplaced(needles: Sequence[PlacedNeedle], context: str, offset: int) -> Iterator[str]:
    """A sentence for each needle that does not stand at its span. `offset`: characters before the context."""
    for number, (text, start, end) in enumerate(needles, 1):
        if context[start:end] != text:
            at = context.find(text)
            really = f"; it stands at {at + offset} to {at + offset + len(text)}" if at >= 0 else ""
            yield (
                f"needle {number} is not at its span {start + offset} to {end + offset}, "
                f"where {shown(context[start:end])} stands{really}"
            )


class CountedHaystack:
    """The figures of a haystack's text; each is computed once, when it is first needed."""

    def __init__(self, text: str, tokenizer: Tokenizer, language: str = "en") -> None:
        self.text = text
        self._language = language
        self._tokenizer = tokenizer
        self._before: dict[int, int] = {}
        self._held: dict[str, bool] = {}

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
        if place not in self._before:
            self._before[place] = self._tokenizer.count(self.text[:place])
        return 100 * self._before[place] / max(1, self.tokens)

    @cached_property
    def ends(self) -> frozenset[int]:
        """Where its sentences end."""
        return frozenset(sentence_ends(self.text, self._language))

    def is_nearest(self, place: int, asked: float, boundary: str | None, local: bool) -> bool:
        """Whether no sentence end is clearly nearer to a depth in percent than a place; exact at 0 and 100.

        A place may be off by half the segment on the side of the depth, and two tokens for counting parts separately.
        """
        if asked in (0, 100):
            return place == (len(self.text) if asked else 0)
        if boundary != "sentence" or not local:
            return True
        off = asked * self.tokens / 100 - self.depth(place) * self.tokens / 100
        ends = self._sorted_ends
        at = bisect_left(ends, place)
        low, high = (place, ends[min(at + 1, len(ends) - 1)]) if off > 0 else (ends[max(at - 1, 0)], place)
        return abs(off) <= self._tokenizer.count(self.text[low:high]) / 2 + 2

    @cached_property
    def _sorted_ends(self) -> list[int]:
        return sorted({0, *self.ends, len(self.text)})

    def leak(self, keywords: Sequence[Sequence[str]]) -> str | None:
        """The keywords that it holds, joined by `, `; None if it holds none."""
        return ", ".join(stated(self._holds, keywords)) or None

    def _holds(self, word: str) -> bool:
        if word not in self._held:
            self._held[word] = holds(self._folded, word)
        return self._held[word]

    @cached_property
    def _folded(self) -> str:
        return fold(self.text)


def wrong_figures(proof: ContextProof) -> Iterator[str]:
    """Problems with the digest and the tokens that a row records of a context that is all haystack."""
    counted = proof.counted(proof.context)
    if proof.row["haystack_id"] != counted.id:
        yield f"haystack_id is {shown(proof.row['haystack_id'])}, expected {counted.id!r} of the context"
    if proof.row["haystack_tokens"] != counted.tokens:
        yield f"haystack_tokens is {proof.row['haystack_tokens']}, expected {counted.tokens}"


def whole_token_spans(text: str, spans: Sequence[Span], tokenizer: Tokenizer) -> list[Span]:
    """The tokens, from 0, that cover any code point of each span."""
    ends = tokenizer.encode(text).ends
    found = []
    for span in spans:
        start, end = covering(ends, len(text[: span["start"]].encode()), len(text[: span["end"]].encode()))
        found.append(Span(start=start, end=end))
    return found


def wrong_target(row: Row, content: str, tokenizer: Tokenizer) -> Iterator[str]:
    """What is wrong with target_span and target_token_span. `content`: the message that they lie in."""
    target, tokens = row["target_span"], row["target_token_span"]
    if target is None:
        if tokens is not None:
            yield "target_token_span is given without a target_span"
        return
    if not 0 <= target["start"] < target["end"] <= len(content):
        yield f"target_span spans {target['start']} to {target['end']}, outside the prompt, which has {len(content)}"
        return
    (expected,) = whole_token_spans(content, [target], tokenizer)
    if tokens != expected:
        yield f"target_token_span is {tokens}, expected {expected}"


def context_of(row: Row) -> str:
    """The prompt, or the text of its message that holds the context."""
    prompt = row["prompt"]
    return prompt if isinstance(prompt, str) else prompt[row["context_message"]]["content"]


# Proves native contexts


# Percentage points between the recorded and the counted depth, which the builder estimates without a local tokenizer.
_TOLERANCE = {True: 1e-9, False: 1.0}
# How much text to quote on either side of a place, in characters.
_AROUND_PLACE = 30


class Taken(NamedTuple):
    """A haystack without its needles, and the place of each needle in it, in characters, in the row's order."""

    haystack: str
    places: tuple[int, ...]


def check_native(proof: ContextProof) -> Iterator[str]:
    """Problems with what a row records of its context, one sentence each."""
    if astray := list(misplaced(proof.needles, proof.context, proof.offset)):
        yield from astray
        return
    taken = take_out(proof.needles, proof.context, proof.joiner)
    if isinstance(taken, str):
        yield taken
        return
    haystack = proof.counted(taken.haystack)
    yield from wrong_haystack(proof.row, taken.places, proof.asked, haystack, proof.tokenizer.local)


def take_out(needles: Sequence[PlacedNeedle], context: str, joiner: str) -> Taken | str:
    """Take needles that stand at their spans, with their joiners, out of a context; or say what prevents it.

    The joiner stands before a needle; at the very beginning of the context it stands after it.
    """
    order = sorted(range(len(needles)), key=lambda number: needles[number].start)
    places = [0] * len(needles)
    reached = taken = 0
    for number in order:
        text, start, end = needles[number]
        if start < reached:
            return f"needle {number + 1} overlaps another one"
        # If several needles stand at the very beginning, all but the first have the joiner before them.
        places[number] = max(0, start - len(joiner) - taken)
        reached = end
        taken += len(text) + len(joiner)
    haystack = context
    for number in reversed(order):
        _, start, end = needles[number]
        low, high = (start - len(joiner), end) if start else (start, end + len(joiner))
        gap = haystack[low:start] or haystack[end:high]
        if gap != joiner:
            return f"needle {number + 1} is joined by {shown(gap)}, expected {shown(joiner)}"
        haystack = haystack[:low] + haystack[high:]
    return Taken(haystack, tuple(places))


def wrong_haystack(
    row: Row,
    places: Sequence[int],
    asked: Sequence[float],
    haystack: CountedHaystack,
    local: bool,
) -> Iterator[str]:
    """Problems with what a row records of its haystack, one sentence each.

    `places`, `asked`: where its needles stand, and the depths asked for. `local`: whether depths are counted exactly.
    """
    if row["haystack_id"] != haystack.id:
        yield f"haystack_id is {shown(row['haystack_id'])}, expected {haystack.id!r} of the prompt without its needles"
    if row["haystack_tokens"] != haystack.tokens:
        yield f"haystack_tokens is {row['haystack_tokens']}, expected {haystack.tokens}"
    for number, (place, recorded) in enumerate(zip(places, row["needle_depths"], strict=False), 1):
        depth = haystack.depth(place)
        if not abs(recorded - depth) <= _TOLERANCE[local]:
            yield f"the depth of needle {number} is {recorded}, expected {depth}"
        if problem := _no_boundary(haystack, place, row["boundary"]):
            yield f"needle {number} {problem}"
        elif number <= len(asked) and not haystack.is_nearest(place, asked[number - 1], row["boundary"], local):
            yield f"needle {number} stands at {depth:.2f} %; a place nearer to {asked[number - 1]:.2f} % was free"
    leak = haystack.leak(row["keywords"])
    if row["leak"] != leak:
        yield f"leak is {shown(row['leak'])}, expected {leak!r}"


def _no_boundary(haystack: CountedHaystack, place: int, boundary: str | None) -> str | None:
    """What is wrong with a place where a needle stands."""
    text = haystack.text
    if place in (0, len(text)):
        return None
    around = shown(text[max(0, place - _AROUND_PLACE) : place] + "|" + text[place : place + _AROUND_PLACE])
    if boundary == "sentence" and place not in haystack.ends:
        return f"does not stand where a sentence ends: {around}"
    left, right = text[place - 1], text[place]
    if left.isascii() and left.isalnum() and right.isascii() and right.isalnum():
        return f"stands inside a word: {around}"
    return None
