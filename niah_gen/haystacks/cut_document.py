"""Cuts a document to a budget: whole sentences from its head, its tail, or both ends, and the passages to keep.

A unit is a sentence, or a line where a line ends without one. Units of more than 1,000 characters are cut at the last
white space or comma before that. No cut is made inside a passage that is to be kept, and its units are always kept.
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
# Between two stretches of a document, where something was left out between them.
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
    found = sorted(edges)
    for start, end in pairwise(tuple(found)):
        while end - start > _LONGEST_UNIT:
            late = [match.end() for match in _LATE.finditer(text, start + 1, start + _LONGEST_UNIT)]
            start = late[-1] if late else start + _LONGEST_UNIT
            found.append(start)
    inside = sorted(passages)
    starts = [passage.start for passage in inside]

    def cuts_none(edge: int) -> bool:
        at = bisect_left(starts, edge) - 1
        return at < 0 or inside[at].end <= edge

    return sorted(edge for edge in set(found) if cuts_none(edge))


def stretches_of(text: str, edges: Sequence[int], kept: Sequence[int]) -> list[Stretch]:
    """The stretches that some units make, ascending: neighbours joined, without white space at a gap.

    `kept`: numbers of units, ascending.
    """
    found: list[Stretch] = []
    for number in kept:
        start, end = edges[number], edges[number + 1]
        if found and found[-1].end == start:
            found[-1] = Stretch(found[-1].start, end)
        else:
            found.append(Stretch(start, end))
    trimmed = []
    for start, end in found:
        while start and start < end and text[start].isspace():
            start += 1
        while end < len(text) and end > start and text[end - 1].isspace():
            end -= 1
        if start < end:
            trimmed.append(Stretch(start, end))
    return trimmed


class CutText:
    """A document that is cut for prompts: its units and their tokens, found once.

    `passages`: stretches that are kept whole. `source`: the document, encoded.
    """

    def __init__(self, text: str, source: Encoded, passages: Sequence[Stretch]) -> None:
        self._text = text
        self._source = source
        self._passages = sorted(passages)
        self._edges = unit_edges(text, passages)
        self._bytes = _byte_edges(text)

    def slices(self, stretches: Sequence[Stretch]) -> list[tuple[Slice, int]]:
        """The pieces of some stretches in their order, each with the number of the passage that it is, else -1."""
        found: list[tuple[Slice, int]] = []
        for start, end in stretches:
            at = start
            for number, passage in enumerate(self._passages):
                if start <= passage.start and passage.end <= end:
                    found += [(self._slice(at, passage.start), -1), (self._slice(*passage), number)]
                    at = passage.end
            found.append((self._slice(at, end), -1))
        return [(slice_, number) for slice_, number in found if slice_.start < slice_.end]

    def _slice(self, start: int, end: int) -> Slice:
        return Slice(self._source, self._bytes(start), self._bytes(end))

    def cut(self, way: str, fits: Callable[[Sequence[Stretch]], bool]) -> list[Stretch] | None:
        """The most units that fit, taken as `way` says; None where not even the passages fit, or no unit does.

        `fits`: whether some stretches, laid one after the other, are within the budget.
        """
        must = self._must()
        order = [number for number in self._order(way) if number not in must]

        def first(count: int) -> list[Stretch]:
            return stretches_of(self._text, self._edges, sorted({*must, *order[:count]}))

        low, high = 0, len(order) + 1
        if (must and not fits(first(0))) or (not must and not (order and fits(first(1)))):
            return None
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if fits(first(middle)) else (low, middle)
        while low < len(order) and fits(first(low + 1)):  # counts of parts that join may fall
            low += 1
        return first(low)

    def _must(self) -> frozenset[int]:
        """The units that hold a passage, or a part of one's sentences."""
        return frozenset(
            number
            for passage in self._passages
            for number in range(bisect_right(self._edges, passage.start) - 1, bisect_left(self._edges, passage.end))
        )

    def _order(self, way: str) -> list[int]:
        """The units in the order in which they are taken; `middle` takes as many tokens from head as from tail."""
        count = len(self._edges) - 1
        if way == "head":
            return list(range(count))
        if way == "tail":
            return list(range(count - 1, -1, -1))
        before = [self._source.tokens_before(self._bytes(edge)) for edge in self._edges]
        found, head, tail = [], 0, count - 1
        while head <= tail:
            if before[head] - before[0] <= before[-1] - before[tail + 1]:
                found.append(head)
                head += 1
            else:
                found.append(tail)
                tail -= 1
        return found


def _byte_edges(text: str) -> Callable[[int], int]:
    """Returns what tells the byte at which a code point of a text begins."""
    if text.isascii():
        return lambda at: at
    points = np.frombuffer(text.encode("utf-32-le"), dtype=np.uint32)
    offsets: Ints = byte_offsets(points, np.arange(len(text) + 1, dtype=np.int64))
    return lambda at: int(offsets[at])
