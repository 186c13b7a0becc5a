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

from niah_gen.haystacks.boundaries import sentence_ends
from niah_gen.tokenizers.counted import Counted, Edit

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
    return sorted(edge for edge in edges if not any(start < edge < end for start, end in passages))


def stretches_of(text: str, edges: Sequence[int], kept: Sequence[int]) -> list[Stretch]:
    """The stretches that some units make, ascending: neighbours joined, and white space at gaps removed.

    `kept`: numbers of units, ascending.
    """
    joined: list[Stretch] = []
    for number in kept:
        start, end = edges[number], edges[number + 1]
        joined.append(Stretch(joined.pop().start if joined and joined[-1].end == start else start, end))
    trimmed = []
    for start, end in joined:
        said = text[start:end]
        start += len(said) - len(said.lstrip()) if start else 0
        end -= len(said) - len(said.rstrip()) if end < len(text) else 0
        trimmed += [Stretch(start, end)] if start < end else []
    return trimmed


class CutText:
    """A document to be cut for prompts; its units are found once. `passages`: stretches that are kept whole."""

    def __init__(self, source: Counted, passages: Sequence[Stretch]) -> None:
        self.source = source
        self._passages = sorted(passages)
        self._edges = unit_edges(source.text, passages)

    def edits(self, stretches: Sequence[Stretch], before: str, after: str) -> list[Edit]:
        """The document as edited to be some stretches, with gaps between them, between two texts."""
        if not stretches:
            return [Edit(0, len(self.source.text), before + after)]
        starts = [0, *(stretch.end for stretch in stretches)]
        ends = [*(stretch.start for stretch in stretches), len(self.source.text)]
        between = [before, *[GAP] * (len(stretches) - 1), after]
        return [Edit(*edit) for edit in zip(starts, ends, between, strict=True)]

    def pieces(self, stretches: Sequence[Stretch]) -> list[tuple[str, int]]:
        """Some stretches in order and the gaps between them, each piece with the passage that it is, or -1."""
        text = self.source.text
        pieces: list[tuple[str, int]] = []
        for start, end in stretches:
            pieces += [(GAP, -1)] if pieces else []
            for number, passage in enumerate(self._passages):
                if start <= passage.start and passage.end <= end:
                    pieces += [(text[start : passage.start], -1), (text[passage.start : passage.end], number)]
                    start = passage.end
            pieces.append((text[start:end], -1))
        return [piece for piece in pieces if piece[0]]

    def cut(self, keep: str, fits: Callable[[Sequence[Stretch]], bool]) -> list[Stretch] | None:
        """The most units that fit; None if not even the passages fit or, without passages, not one unit.

        `keep`: the part to keep, one of `CUTS`. `fits`: whether some stretches, one after the other, are within the
        budget.
        """
        must = self._must()
        order = [number for number in self._order(keep) if number not in must]

        def first(count: int) -> list[Stretch]:
            return stretches_of(self.source.text, self._edges, sorted({*must, *order[:count]}))

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
        if keep != "middle":
            return list(range(count) if keep == "head" else reversed(range(count)))
        before = list(map(self.source.tokens_to, self._edges))
        order, head, tail = [], 0, count - 1
        while head <= tail:
            if before[head] - before[0] <= before[-1] - before[tail + 1]:
                order.append(head)
                head += 1
            else:
                order.append(tail)
                tail -= 1
        return order
