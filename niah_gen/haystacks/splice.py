"""Puts needles into a haystack and says where they really landed.

Native puts a needle at the place nearest to its depth, on either side. The published placements are bug-for-bug, with
their sources' arithmetic: depth is divided by 100 before it is multiplied, which floor sees.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from niah_gen.haystacks.haystack import Haystack
from niah_gen.recipe.schedules import Line
from niah_gen.tokenizers.find import Ints, Tokenizer
from niah_gen.tokenizers.spliced import Encoded, Slice, Stretch, literal


class Piece(NamedTuple):
    """Tokens `start` to `end` of a text; `needle` is its number, -1 for filler."""

    source: Encoded
    start: int
    end: int
    needle: int = -1

    @property
    def size(self) -> int:
        """Number of tokens."""
        return self.end - self.start


class Part(NamedTuple):
    """A stretch of the context in order; `needle` is its number, -1 for filler and what joins."""

    content: Slice | str
    needle: int

    def stretch(self) -> Stretch:
        """The part ready to be written; broken characters become U+FFFD."""
        if isinstance(self.content, str):
            return literal(self.content)
        return self.content.source.stretch(self.content.start, self.content.end)


class Spliced(NamedTuple):
    """A context with its needles in it.

    `tokens_before[k]`: haystack tokens before needle k, other needles not counted.
    """

    parts: tuple[Part, ...]
    tokens_before: tuple[int, ...]


class Wish(NamedTuple):
    """Where needles are wanted: `depth` of the first in percent, `diff` between the needles of a set.

    For native: `lines` tells the depth of each needle, `joiner` what joins it to the sentences around it.
    """

    depth: float
    diff: float
    lines: tuple[Line, ...] = ()
    joiner: str = ""


def splice(placement: str, haystack: Haystack, needles: Sequence[Encoded], wish: Wish, tokenizer: Tokenizer) -> Spliced:
    """Put needles into a haystack by a placement's rule."""
    return _RULES[placement](haystack, needles, wish, tokenizer)


def nearest(before: Ints, tokens: npt.ArrayLike) -> Ints:
    """Numbers of the places nearest to some distances from the beginning, in tokens; of two as near, the first.

    `before`: tokens before each place, ascending.
    """
    found: Ints = np.searchsorted((before[:-1] + before[1:]) / 2, tokens)
    # The end is the last place also where the words before it have no tokens of their own.
    return np.where(np.asarray(tokens) >= before[-1], len(before) - 1, found)


def lay(haystack: Haystack, needles: Sequence[Encoded], stands: Sequence[tuple[int, int]], joiner: str) -> list[Part]:
    """A haystack's parts with needles at some of its bytes. `stands`: byte and needle, in the order of the text.

    At the very beginning there is nothing to join to on the left, so there the joiner follows.
    """
    parts: list[Part] = []
    at = 0
    for byte, number in stands:
        parts += [Part(piece, -1) for piece in haystack.slices(at, byte)]
        joined = [Part(joiner, -1), Part(Slice(needles[number], 0, len(needles[number].data)), number)]
        parts += [part for part in (joined if byte else joined[::-1]) if part.content]
        at = byte
    return parts + [Part(piece, -1) for piece in haystack.slices(at, haystack.size)]


def _native(haystack: Haystack, needles: Sequence[Encoded], wish: Wish, tokenizer: Tokenizer) -> Spliced:
    places, before = haystack.places, haystack.before
    if places is None or before is None:
        raise ValueError("native needs a haystack with places")
    found = nearest(before, [line.at(wish.depth) / 100 * haystack.tokens for line in wish.lines])
    stands = sorted((int(places[place]), number) for number, place in enumerate(found))
    return Spliced(tuple(lay(haystack, needles, stands, wish.joiner)), tuple(int(before[place]) for place in found))


def _gkamradt(haystack: Haystack, needles: Sequence[Encoded], wish: Wish, tokenizer: Tokenizer) -> Spliced:
    period = tuple(int(token) for token in tokenizer.encode(".").ids)
    pieces = [Piece(haystack.source, 0, haystack.tokens)]
    depth = wish.depth
    step = (100 - depth) / len(needles)
    for number, needle in enumerate(needles):
        total = sum(piece.size for piece in pieces)
        at = total if depth == 100 else _after_period(pieces, int(total * (depth / 100)), period)
        pieces = insert(pieces, at, Piece(needle, 0, needle.size, number))
        depth += step
    return _spliced(pieces, len(needles))


def _after_period(pieces: Sequence[Piece], at: int, period: tuple[int, ...]) -> int:
    """The nearest place at or before token `at` that follows a period token; 0 if there is none."""
    start = sum(piece.size for piece in pieces)
    for piece in reversed(pieces):
        start -= piece.size
        if start >= at:
            continue
        found = _positions(piece.source, period)
        last = bisect_left(found.data, piece.start + at - start) - 1
        if last >= 0 and found[last] >= piece.start:
            return start + int(found[last]) - piece.start + 1
        at = start
    return 0


@lru_cache(maxsize=16)
def _positions(source: Encoded, tokens: tuple[int, ...]) -> Ints:
    return np.flatnonzero(source.ids == tokens[0] if len(tokens) == 1 else np.isin(source.ids, tokens))


def _opencompass(haystack: Haystack, needles: Sequence[Encoded], wish: Wish, tokenizer: Tokenizer) -> Spliced:
    size = haystack.tokens
    points = [int(size * (wish.depth / 100))]
    for number in range(1, len(needles)):
        point = int(points[-1] + needles[number - 1].size + size * (wish.diff / 100))
        points.append(min(point, size + sum(needle.size for needle in needles[:number])))
    pieces = [Piece(haystack.source, 0, size)]
    for number, needle in enumerate(needles):
        pieces = insert(pieces, points[number], Piece(needle, 0, needle.size, number))
        # The points already count the needles before them; the published code adds each needle once more.
        for later in range(number + 1, len(points)):
            points[later] += needle.size
    return _spliced(pieces, len(needles))


_RULES: dict[str, Callable[[Haystack, Sequence[Encoded], Wish, Tokenizer], Spliced]] = {
    "native": _native,
    "gkamradt": _gkamradt,
    "opencompass": _opencompass,
    "opencompass-processed": _opencompass,
}


def insert(pieces: Sequence[Piece], at: int, new: Piece) -> list[Piece]:
    """Pieces with another one put in before token `at` of the whole; past the end it is appended."""
    result: list[Piece] = []
    start = 0
    placed = False
    for piece in pieces:
        inside = at - start
        if not placed and inside < piece.size:
            cut = piece.start + inside
            result += [piece._replace(end=cut), new, piece._replace(start=cut)]
            placed = True
        else:
            result.append(piece)
        start += piece.size
    return [piece for piece in result if piece.size] + ([] if placed else [new])


def _spliced(pieces: Sequence[Piece], count: int) -> Spliced:
    parts = []
    before = [0] * count
    seen: set[int] = set()
    filler = 0
    for piece in pieces:
        source = piece.source
        parts.append(Part(Slice(source, source.byte_at(piece.start), source.byte_at(piece.end)), piece.needle))
        if piece.needle < 0:
            filler += piece.size
        elif piece.needle not in seen:
            seen.add(piece.needle)
            before[piece.needle] = filler
    return Spliced(tuple(parts), tuple(before))
