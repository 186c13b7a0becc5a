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
