"""Defines what a placement is: the rule that decides where needles go and where the haystack is cut.

A row's depth becomes the depth of each of its needles (`DepthLine`), and that a place in the haystack: an edit.
"""

from __future__ import annotations

import random
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray

from niah_gen.corpora.read import Corpus
from niah_gen.haystacks.haystack import CorpusFiller, Haystack
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


Floats = NDArray[np.float64]

SPREADS = ("even", "diff", "random", "apart")


class DepthLine(NamedTuple):
    """The depth of a needle as a function of the row's depth: offset + slope x depth, at most 100, in percent.

    `wraps`: beyond 100 it continues from 0.
    """

    offset: float
    slope: float
    wraps: bool = False

    def at(self, depth: float) -> float:
        """The needle's depth in percent when the row's is `depth`."""
        own = self.offset + self.slope * depth
        if own > 100:
            return own - 100 if self.wraps else 100.0
        return own

    def turns(self) -> list[float]:
        """The row's depth beyond which the needle continues from 0, if there is one."""
        return [(100 - self.offset) / self.slope] if self.wraps and self.slope else []


def depth_lines(count: int, spread: str | Sequence[float], diff: float, seed: int) -> tuple[DepthLine, ...]:
    """The depth lines of a set's needles, the first of which stands at the row's depth d.

    even: each (100 - d) / count after the one before, so the last stops one step before the end. diff: each `diff`
    percent after the one before. random: at uniform seeded depths between d and 100, in the set's order. apart: at
    seeded distances after d, in no order, continuing from 0 beyond 100, at least 50 / count from each other. A list:
    at its depths, whatever d is.
    """
    if not isinstance(spread, str):
        return tuple(DepthLine(depth, 0.0) for depth in spread)
    if not count:
        return ()
    if spread == "diff":
        return tuple(DepthLine(diff * number, 1.0) for number in range(count))
    if spread == "apart":
        draw = random.Random(seed)
        slots = list(range(1, count))
        draw.shuffle(slots)
        offsets = [100 * (slot + draw.uniform(-0.25, 0.25)) / count for slot in slots]
        return (DepthLine(0.0, 1.0), *(DepthLine(offset, 1.0, wraps=True) for offset in offsets))
    shares = [number / count for number in range(count)]
    if spread == "random":
        draw = random.Random(seed)
        shares = [0.0, *sorted(draw.random() for _ in range(count - 1))]
    return tuple(DepthLine(100 * share, 1 - share) for share in shares)


def set_lines(sets: Sequence[int], spread: str | Sequence[float], diff: float, seed: int) -> tuple[DepthLine, ...]:
    """The depth lines of the needles of several sets. `sets`: how many needles each has.

    The first set follows the row's depth as `depth_lines` says. Every other set is spread the same way, but from its
    own seeded depth, uniform between 0 and 100, wherever the first one stands. A list gives the depth of every needle.
    """
    if not isinstance(spread, str) or not sets:
        return depth_lines(sum(sets), spread, diff, seed)
    lines = list(depth_lines(sets[0], spread, diff, seed))
    for number, count in enumerate(sets[1:], 1):
        start = random.Random(f"{seed}/set {number}").uniform(0, 100)
        lines += [DepthLine(line.at(start), 0.0) for line in depth_lines(count, spread, diff, seed + number)]
    return tuple(lines)


Place = Callable[[Haystack, Sequence[str], DepthTargets, Tokenizer], Laid]


# The fields of a recipe that the native placement leaves to it; all of them are in family8 of the row ids.
_CHOICES = ("question_position", "boundary", "leaks", "fresh_haystacks")


@dataclass(frozen=True, slots=True)
class Placement:
    """One placement. `version` is raised whenever the rows that it makes change.

    template, boundary, spread: the defaults for recipes that leave these fields out.
    fill: makes the filler of a corpus, given the recipe's `boundary` and `leaks`. place: puts needles into a haystack.
    rules: whose promises hold. `published`: those of a published system, which is followed bug for bug: needles go into
    corpora of any language and stand as written, documents that leak are only reported, and the recipe has no other
    choices. `records`: the same, and a corpus is cut into records, which may be fewer than the recipe's repeats; a
    record hides one needle, and is named by the integer part of its depth. `native`: ours, see `native`.
    """

    name: str
    version: int
    template: str
    fill: Callable[[Corpus, Tokenizer, str, str], CorpusFiller]
    place: Place
    boundary: str = "sentence"
    spread: str = "even"
    rules: str = "published"

    @property
    def native(self) -> bool:
        """Whether every needle stands once in a corpus of its language, in prompts that fit their budget.

        The recipe decides how the needles of a set are spread, and whether each row has its own filler.
        """
        return self.rules == "native"

    @property
    def leaks(self) -> str:
        """What becomes of documents that hold a keyword, unless the recipe says otherwise."""
        return "drop" if self.native else "report"

    @property
    def choices(self) -> tuple[str, ...]:
        """The recipe's fields that users may set."""
        return _CHOICES if self.native else ()

    @property
    def most_needles(self) -> int | None:
        """How many texts it can hide in a row; None for any number."""
        return 1 if self.rules == "records" else None

    def depths(self, asked: Sequence[float]) -> tuple[float, ...]:
        """Which of the recipe's depths have rows: of records of one name, the last one remains."""
        return tuple({int(depth): depth for depth in asked}.values()) if self.rules == "records" else tuple(asked)

    def boundary_at(self, boundary: str, depth: float | None) -> str:
        """Where needles stand in rows of a depth. Published systems append them at 100 percent to whatever is there."""
        return "token" if depth == 100 and not self.native else boundary

    def hidden(self, text: str) -> str:
        """A needle's text as it is inserted."""
        return text.strip() if self.native else text
