"""A native context in, its haystack with the needles taken out again, and what is wrong with either.

Native promises that a needle stands whole, once, between sentences, joined as its language joins them: so taking it out
with its joiner must leave the very text whose digest, tokens and leaks the row records.
"""

from __future__ import annotations

import reprlib
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

from niah_gen.haystacks.boundaries import sentence_ends
from niah_gen.tokenizers.find import Tokenizer
from niah_score.contract import Row, sha256_hex
from niah_score.text import fold, holds

# Points between the depth recorded and the depth counted. Without locality the builder estimates it.
_TOLERANCE = {True: 1e-9, False: 1.0}
_BROKEN = "\ufffd"
# How much text on either side of a broken character must be the corpus's own, in characters.
_AROUND_BROKEN = 8
# How much text around a place tells a person where it is, in characters.
_AROUND_PLACE = 30

# The documents of a corpus that hold broken characters; None if the corpus is not on this machine.
BrokenDocuments = Callable[[str], Sequence[str] | None]


class Hidden(NamedTuple):
    """A needle's text and where its span says it stands in the context, in characters."""

    text: str
    start: int
    end: int


class Taken(NamedTuple):
    """A haystack without its needles, and the place of each in it, in characters, in the order of the row."""

    haystack: str
    places: tuple[int, ...]


def shown(value: object) -> str:
    """A value as a problem quotes it: on one line, its middle left out if it is long."""
    return _SHORT.repr(value)


_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = 80


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


def misplaced(hidden: Sequence[Hidden], context: str, offset: int) -> Iterator[str]:
    """A sentence for each needle that is not what its span holds. `offset`: characters before the context."""
    for number, (text, start, end) in enumerate(hidden, 1):
        if context[start:end] != text:
            at = context.find(text)
            really = f"; it stands at {at + offset} to {at + offset + len(text)}" if at >= 0 else ""
            yield (
                f"needle {number} is not at its span {start + offset} to {end + offset}, "
                f"where {shown(context[start:end])} stands{really}"
            )


def take_out(hidden: Sequence[Hidden], context: str, joiner: str) -> Taken | str:
    """Take needles that stand at their spans, and what joins them, out of a context; or what keeps them from it.

    A needle is joined to what is on its left; at the very beginning it stands first, and the joiner follows it.
    """
    order = sorted(range(len(hidden)), key=lambda number: hidden[number].start)
    places = [0] * len(hidden)
    reached = taken = 0
    for number in order:
        text, start, end = hidden[number]
        if start < reached:
            return f"needle {number + 1} overlaps another one"
        # Of needles one after the other at the very beginning all but the first are joined to a needle.
        places[number] = max(0, start - len(joiner) - taken)
        reached = end
        taken += len(text) + len(joiner)
    haystack = context
    for number in reversed(order):
        _, start, end = hidden[number]
        low, high = (start - len(joiner), end) if start else (start, end + len(joiner))
        gap = haystack[low:start] or haystack[end:high]
        if gap != joiner:
            return f"needle {number + 1} is joined by {shown(gap)}, expected {shown(joiner)}"
        haystack = haystack[:low] + haystack[high:]
    return Taken(haystack, tuple(places))


class CountedHaystack:
    """What can be said of a haystack's text alone; each is found once, when it is first asked for."""

    def __init__(self, text: str, tokenizer: Tokenizer) -> None:
        self.text = text
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
        return frozenset(sentence_ends(self.text))

    def is_nearest(self, place: int, asked: float, boundary: str | None, local: bool) -> bool:
        """Whether no sentence end is clearly nearer to a depth in percent than a place; the ends are exact.

        Counted by the segment on the side of the depth, with two tokens for what counting apart adds.
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
        for word in {word for group in keywords for word in group} - self._held.keys():
            self._held[word] = holds(self._folded, word)
        return ", ".join(word for group in keywords for word in group if self._held[word]) or None

    @cached_property
    def _folded(self) -> str:
        return fold(self.text)

    @cached_property
    def broken(self) -> tuple[tuple[int, str], ...]:
        """Each U+FFFD and the text around it, up to 8 characters on either side of the same sentence."""
        found = []
        at = self.text.find(_BROKEN)
        while at >= 0:
            # Sentences of different documents may stand side by side.
            first, last = at, at + 1
            while first > max(0, at - _AROUND_BROKEN) and first not in self.ends and self.text[first - 1] != "\n":
                first -= 1
            while last < min(len(self.text), at + 1 + _AROUND_BROKEN) and last not in self.ends:
                if self.text[last] == "\n":
                    break
                last += 1
            found.append((at, self.text[first:last].strip()))
            at = self.text.find(_BROKEN, at + 1)
        return tuple(found)


def wrong_haystack(
    row: Row,
    places: Sequence[int],
    asked: Sequence[float],
    haystack: CountedHaystack,
    local: bool,
    documents: BrokenDocuments,
) -> Iterator[str]:
    """What a row says of its haystack and is not so.

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
    yield from _strangers(row["corpus"], haystack, documents, row["boundary"])


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


def _strangers(
    corpus: str, haystack: CountedHaystack, documents: BrokenDocuments, boundary: str | None
) -> Iterator[str]:
    """A sentence if the haystack has broken characters that are not the corpus's own.

    Without the corpus nothing can be said. Where words are picked, what is around a character is not the corpus's.
    """
    if not haystack.broken:
        return
    held = documents(corpus)
    if held is None or (boundary == "word" and held):
        return
    for at, around in haystack.broken:
        if not any(around in document for document in held):
            yield f"the haystack holds a U+FFFD at {at} that corpus {corpus!r} does not: {shown(around)}"
            return
