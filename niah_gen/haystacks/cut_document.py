"""Cuts a document to a budget: keeps whole sentences from its head, its tail or both ends, and given passages.

A unit is a sentence, or a line if the line ends without one. Units of more than 1,000 characters are cut at the last
white space or comma before that. Given passages are never cut, and their units are always kept.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from niah_gen.haystacks.boundaries import sentence_ends
from niah_gen.tokenizers.cuts import byte_offsets
from niah_gen.tokenizers.find import Ints
from niah_gen.tokenizers.spliced import Encoded, Slice

CUTS = ("head", "tail", "middle")
# Stands between two stretches of a document where text was left out.
GAP = "\n"
_LONGEST_UNIT = 1000
_LATE = re.compile(r"[\s，、；：]")


class Stretch(NamedTuple):
    """A stretch of a text: code points from `start` to `end`."""

    start: int
    end: int


def unit_edges(text: str, passages: Sequence[Stretch] = ()) -> list[int]:
    """Where a text may be cut, ascending, with its beginning and end: never inside a passage."""
    edges = {0, len(text), *sentence_ends(text), *(match.end() for match in re.finditer(r"\n+", text))}
    for start, end in pairwise(sorted(edges)):
        while end - start > _LONGEST_UNIT:
            late = [match.end() for match in _LATE.finditer(text, start + 1, start + _LONGEST_UNIT)]
            start = late[-1] if late else start + _LONGEST_UNIT
            edges.add(start)
    inside = sorted(passages)
    starts = [passage.start for passage in inside]

    def cuts_none(edge: int) -> bool:
        at = bisect_left(starts, edge) - 1
        return at < 0 or inside[at].end <= edge

    return sorted(filter(cuts_none, edges))


def stretches_of(text: str, edges: Sequence[int], kept: Sequence[int]) -> list[Stretch]:
    """The stretches that some units make, ascending: neighbours joined, and white space at gaps removed.

    `kept`: numbers of units, ascending.
    """
    joined: list[Stretch] = []
    for number in kept:
        start, end = edges[number], edges[number + 1]
        if joined and joined[-1].end == start:
            joined[-1] = Stretch(joined[-1].start, end)
        else:
            joined.append(Stretch(start, end))
    trimmed = []
    for start, end in joined:
        while start and start < end and text[start].isspace():
            start += 1
        while end < len(text) and end > start and text[end - 1].isspace():
            end -= 1
        if start < end:
            trimmed.append(Stretch(start, end))
    return trimmed


class CutText:
    """A document to be cut for prompts; its units are found once.

    `passages`: stretches that are kept whole. `source`: the document, encoded.
    """

    def __init__(self, text: str, source: Encoded, passages: Sequence[Stretch]) -> None:
        self._text = text
        self._source = source
        self._passages = sorted(passages)
        self._edges = unit_edges(text, passages)
        self._bytes = _byte_edges(text)

    def slices(self, stretches: Sequence[Stretch]) -> list[tuple[Slice, int]]:
        """The pieces of some stretches, in order, each with the number of the passage that it is, or -1."""
        pieces: list[tuple[Slice, int]] = []
        for start, end in stretches:
            at = start
            for number, passage in enumerate(self._passages):
                if start <= passage.start and passage.end <= end:
                    pieces += [(self._slice(at, passage.start), -1), (self._slice(*passage), number)]
                    at = passage.end
            pieces.append((self._slice(at, end), -1))
        return [(slice_, number) for slice_, number in pieces if slice_.start < slice_.end]

    def _slice(self, start: int, end: int) -> Slice:
        return Slice(self._source, self._bytes(start), self._bytes(end))

    def cut(self, keep: str, fits: Callable[[Sequence[Stretch]], bool]) -> list[Stretch] | None:
        """The most units that fit; None if not even the passages fit or, without passages, not one unit.

        `keep`: the part to keep, one of `CUTS`. `fits`: whether some stretches, one after the other, are within the
        budget.
        """
        must = self._must()
        order = [number for number in self._order(keep) if number not in must]

        def first(count: int) -> list[Stretch]:
            return stretches_of(self._text, self._edges, sorted({*must, *order[:count]}))

        fewest = 0 if must else 1
        if fewest > len(order) or not fits(first(fewest)):
            return None
        low, high = 0, len(order) + 1
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if fits(first(middle)) else (low, middle)
        while low < len(order) and fits(first(low + 1)):  # counts of parts that join may fall
            low += 1
        return first(low)

    def _must(self) -> frozenset[int]:
        """The numbers of the units that hold any part of a passage."""
        return frozenset(
            number
            for passage in self._passages
            for number in range(bisect_right(self._edges, passage.start) - 1, bisect_left(self._edges, passage.end))
        )

    def _order(self, keep: str) -> list[int]:
        """The units in the order in which they are taken; `middle` takes as many tokens from the head as the tail."""
        count = len(self._edges) - 1
        if keep == "head":
            return list(range(count))
        if keep == "tail":
            return list(range(count - 1, -1, -1))
        before = [self._source.tokens_before(self._bytes(edge)) for edge in self._edges]
        order, head, tail = [], 0, count - 1
        while head <= tail:
            if before[head] - before[0] <= before[-1] - before[tail + 1]:
                order.append(head)
                head += 1
            else:
                order.append(tail)
                tail -= 1
        return order


def _byte_edges(text: str) -> Callable[[int], int]:
    """Returns a function that gives the byte at which a code point of a text begins."""
    if text.isascii():
        return lambda at: at
    points = np.frombuffer(text.encode("utf-32-le"), dtype=np.uint32)
    offsets: Ints = byte_offsets(points, np.arange(len(text) + 1, dtype=np.int64))
    return lambda at: int(offsets[at])
