"""Puts needles into haystacks, at their places or between tokens, and reports where they landed.

The rule that chooses a needle's place is in the file of the placement.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from niah_gen.haystacks.haystack import Haystack
from niah_gen.haystacks.spread import DepthLine
from niah_gen.tokenizers.counted import Counted, Edit
from niah_gen.tokenizers.find import Ints, Tokenizer


class Laid(NamedTuple):
    """How needles stand in a haystack: what the edits make of it, and where each needle then is, in code points.

    `tokens_before[k]`: haystack tokens before needle k, other needles not counted.
    """

    edits: tuple[Edit, ...]
    needles: tuple[tuple[int, int], ...]
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


def lay(
    needles: Sequence[str], stands: Iterable[tuple[int, int]], joiner: str
) -> tuple[tuple[Edit, ...], tuple[tuple[int, int], ...]]:
    """The edits that put needles at some code points of a haystack, and where each needle then is.

    `stands`: code point and number of each needle, in the order of the text. The joiner stands before a needle; at the
    very beginning, where there is nothing to join to, it stands after it.
    """
    edits = []
    spans = {}
    added = 0
    for point, number in stands:
        needle = needles[number]
        start = point + added + (len(joiner) if point else 0)
        spans[number] = start, start + len(needle)
        edits.append(Edit(point, point, joiner + needle if point else needle + joiner))
        added += len(joiner) + len(needle)
    return tuple(edits), tuple(spans[number] for number in sorted(spans))


def place_nearest(haystack: Haystack, needles: Sequence[str], targets: DepthTargets, tokenizer: Tokenizer) -> Laid:
    """Put each needle at the haystack's place nearest to its depth, on either side."""
    places, before = haystack.needle_places()
    chosen = nearest(before, [line.at(targets.depth) / 100 * haystack.tokens for line in targets.lines]).tolist()
    stands = sorted((int(places[place]), number) for number, place in enumerate(chosen))
    return Laid(*lay(needles, stands, targets.joiner), tuple(int(before[place]) for place in chosen))


class TokenRange(NamedTuple):
    """Tokens `start` to `end` of a text; `needle` is its number, -1 for filler."""

    source: Counted
    start: int
    end: int
    needle: int = -1

    @property
    def size(self) -> int:
        """Number of tokens."""
        return self.end - self.start


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


def between_tokens(haystack: Haystack, ranges: Sequence[TokenRange], needles: Sequence[Counted]) -> Laid:
    """What token ranges make of a haystack, whose own ranges are all of it, in order.

    A code point whose tokens are separated becomes U+FFFD on both sides.
    """
    edits: list[Edit] = []
    places: list[int] = []  # where each edit's text begins in the whole
    found: dict[int, list[int]] = {}
    before: dict[int, int] = {}
    opened, text, at, filler = 0, "", 0, 0  # where the last edit begins, its text, its place in the whole; tokens

    def cut(point: int, first: int, last: int | None = None) -> str:
        """Bytes `first` to `last` of a code point that is cut."""
        return haystack.source.text[point].encode()[first:last].decode(errors="replace")

    for part in ranges:
        if part.needle >= 0:
            begun = at + len(text)
            text += part.source.of_tokens(part.start, part.end)
            before.setdefault(part.needle, filler)
            span = found.setdefault(part.needle, [begun, 0])
            span[1] = at + len(text)
            continue
        (start, inside), (end, over) = part.source.point_at(part.start), part.source.point_at(part.end)
        filler += part.size
        if inside:
            text += cut(start, inside, over if end == start else None)
            start += 1
        if start <= end:
            if text or start > opened:
                edits.append(Edit(opened, start, text))
                places.append(at)
            at += len(text) + end - start
            opened, text = end, cut(end, 0, over) if over else ""
    if text or haystack.end > opened:
        edits.append(Edit(opened, haystack.end, text))
        places.append(at)
    for number, span in found.items():
        edit = bisect_right(places, span[0]) - 1
        # gkamradt can put a needle before the last space of an earlier one. The earlier one still reads whole if the
        # next begins with a space, and its span says so.
        if edits[edit].text.startswith(needles[number].text, span[0] - places[edit]):
            span[1] = span[0] + len(needles[number].text)
    numbers = range(len(needles))
    return Laid(
        tuple(edits), tuple((found[n][0], found[n][1]) for n in numbers if n in found),
        tuple(before.get(n, 0) for n in numbers),
    )  # fmt: skip
