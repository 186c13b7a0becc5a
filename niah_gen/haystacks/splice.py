"""Puts needles into haystacks, between tokens or bytes, and reports where they landed.

The rule that chooses a needle's place is in the file of the placement.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from niah_gen.haystacks.haystack import Haystack
from niah_gen.haystacks.spread import DepthLine
from niah_gen.prompts.messages import NO_NEEDLE, Piece
from niah_gen.tokenizers.find import Ints
from niah_gen.tokenizers.spliced import Encoded, Slice


class TokenRange(NamedTuple):
    """Tokens `start` to `end` of a text; `needle` is its number, -1 for filler."""

    source: Encoded
    start: int
    end: int
    needle: int = NO_NEEDLE

    @property
    def size(self) -> int:
        """Number of tokens."""
        return self.end - self.start


class Spliced(NamedTuple):
    """A context with its needles in it.

    `tokens_before[k]`: haystack tokens before needle k, other needles not counted.
    """

    pieces: tuple[Piece, ...]
    tokens_before: tuple[int, ...]


class DepthTargets(NamedTuple):
    """Where needles should go: `depth` of the first in percent, `diff` between the needles of a set.

    For needles between sentences, `lines` gives the depth of each, and `joiner` joins it to the sentences around it.
    """

    depth: float
    diff: float
    lines: tuple[DepthLine, ...] = ()
    joiner: str = ""


def nearest(before: Ints, tokens: npt.ArrayLike) -> Ints:
    """Numbers of the places nearest to some distances from the beginning, in tokens; of two equally near, the first.

    `before`: tokens before each place, ascending.
    """
    places: Ints = np.searchsorted((before[:-1] + before[1:]) / 2, tokens)
    # The end is the last place even if the words before it share their tokens with other words.
    return np.where(np.asarray(tokens) >= before[-1], len(before) - 1, places)


def nearest_few(before: Ints, tokens: Iterable[float]) -> list[int]:
    """`nearest` for a few distances, each looked up separately."""
    known = before.data
    last = len(known) - 1
    gaps = range(last)

    def middle(place: int) -> float:
        return (known[place] + known[place + 1]) / 2

    return [last if each >= known[last] else bisect_left(gaps, each, key=middle) for each in tokens]


def lay(haystack: Haystack, needles: Sequence[Encoded], stands: Sequence[tuple[int, int]], joiner: str) -> list[Piece]:
    """A haystack's pieces with needles at some of its bytes. `stands`: byte and needle number, in text order.

    The joiner stands before a needle; at the very beginning, where there is nothing to join to, it stands after it.
    """
    pieces: list[Piece] = []
    at = 0
    for byte, number in stands:
        pieces += [Piece(slice_) for slice_ in haystack.slices(at, byte)]
        joined = [Piece(joiner), Piece(Slice(needles[number], 0, len(needles[number].data)), number)]
        pieces += [piece for piece in (joined if byte else joined[::-1]) if piece.content]
        at = byte
    return pieces + [Piece(slice_) for slice_ in haystack.slices(at, haystack.size)]


def place_nearest(haystack: Haystack, needles: Sequence[Encoded], targets: DepthTargets) -> Spliced:
    """Put each needle at the haystack's place nearest to its depth, on either side."""
    places, before = haystack.needle_places()
    chosen = nearest_few(before, [line.at(targets.depth) / 100 * haystack.tokens for line in targets.lines])
    stands = sorted((int(places[place]), number) for number, place in enumerate(chosen))
    return Spliced(tuple(lay(haystack, needles, stands, targets.joiner)), tuple(int(before[place]) for place in chosen))


def insert(ranges: Sequence[TokenRange], at: int, new: TokenRange) -> list[TokenRange]:
    """Token ranges with a new one inserted before token `at` of the whole; past the end it is appended."""
    result: list[TokenRange] = []
    start = 0
    placed = False
    for part in ranges:
        inside = at - start
        if not placed and inside < part.size:
            cut = part.start + inside
            result += [part._replace(end=cut), new, part._replace(start=cut)]
            placed = True
        else:
            result.append(part)
        start += part.size
    return [part for part in result if part.size] + ([] if placed else [new])


def spliced(ranges: Sequence[TokenRange], count: int) -> Spliced:
    """The context that token ranges make. `count`: the number of its needles."""
    pieces = []
    before = [0] * count
    seen: set[int] = set()
    filler = 0
    for part in ranges:
        source = part.source
        pieces.append(Piece(Slice(source, source.byte_at(part.start), source.byte_at(part.end)), part.needle))
        if part.needle < 0:
            filler += part.size
        elif part.needle not in seen:
            seen.add(part.needle)
            before[part.needle] = filler
    return Spliced(tuple(pieces), tuple(before))
