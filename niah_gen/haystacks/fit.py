"""Fits sentences to a token budget: as many as fit, then a few from further on that fill what is left.

A prompt may never be longer than its budget and should be only a little shorter, wherever its needles stand. So a
haystack is judged by the tokens of its prompts over all places that the needles take as the depth goes from 0 to 100,
and does not depend on the depths that a recipe lists. What a needle adds to the prompt is counted at its seam alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from niah_gen.errors import FitError
from niah_gen.haystacks.haystack import FillRequest, Haystack, passes_of
from niah_gen.haystacks.sentences import Sentences
from niah_gen.haystacks.splice import lay, nearest
from niah_gen.haystacks.spread import DepthLine
from niah_gen.tokenizers.find import Ints, Tokenizer
from niah_gen.tokenizers.spliced import Counter, Slice, encode

# A prompt ends at most this many tokens below its budget; what a needle adds differs by 0 to 2 from place to place.
MOST_BELOW = 8
_AIM = 4
# Closing sentences are picked among this many; where none fit, some of the haystack's own are given back first.
WINDOW = 256
_GIVE_BACK = (0, 2, 8, 32, 128)
_ATTEMPTS = 6
# haystack_passes of a haystack in which only a closing sentence stands twice.
_SOME_TWICE = 1.0001
# For a tokenizer that is not local, seams are estimates: tokens kept free below the budget, for each needle.
_UNSURE = 2

# Whether a sentence may close a haystack: on a line of its own it may be none, as the number of a list.
StandsAlone = Callable[[str], bool]


class Extent(NamedTuple):
    """The fewest and the most tokens that prompts over one haystack have, over all places of their needles."""

    fewest: int
    most: int


class _Trial(NamedTuple):
    """A haystack that was tried: how far its longest prompt stays below the budget, and how far it may."""

    below: int
    aim: int
    haystack: Haystack


def seam_tokens(request: FillRequest, sentences: Sentences, counter: Counter) -> tuple[Ints, ...]:
    """For each needle, the tokens that it adds at each place of the sentences; 0 where a place has no seam."""
    found = []
    for needle in request.needles:
        hidden = Slice(needle, 0, len(needle.data))
        added = [
            counter.count([seam.left.decode() + request.joiner, hidden, seam.right.decode()]) - seam.tokens
            for seam in sentences.seams
        ]
        found.append(np.array([*added, 0], dtype=np.int64)[sentences.seam_at])
    return tuple(found)


class Fitting:
    """One request and what its prompts hold besides filler; `room`: tokens left for that."""

    def __init__(self, request: FillRequest, tokenizer: Tokenizer, counter: Counter) -> None:
        self._request = request
        self._tokenizer = tokenizer
        self._counter = counter
        frame = request.frame
        others = sum(tokenizer.count(other) for other in frame.others)
        self._fixed = others + request.needle_tokens + counter.count([frame.before, frame.after])
        unsure = 0 if tokenizer.local else _UNSURE * len(request.needles)
        self._budget = request.length - request.reserve - others - unsure
        # To within a few tokens.
        self.room = request.length - request.reserve - self._fixed

    def haystack(self, sentences: Sentences, added: Sequence[Ints], joiner: str, stands_alone: StandsAlone) -> Haystack:
        """The haystack whose prompts come near enough to the budget, or the nearest of those tried.

        `sentences` has at least `room` tokens and WINDOW sentences more; `added` is their `seam_tokens`; `joiner` parts
        closing sentences, which `stands_alone` accepts. Raises FitError if not one sentence fits.
        """
        self._stands_alone = stands_alone
        best: _Trial | None = None
        count = int(np.searchsorted(sentences.before, self.room, side="right"))  # one more than the room says
        while count > 0:
            best = self._try(_prefix(sentences, count), sentences, added)
            if best.below >= 0:
                break
            best = None
            count -= 1
        for first, last in _windows(sentences, max(count, 0)):
            if best is not None and best.below <= best.aim:
                break
            for trial in self._closed(sentences, added, first, last, joiner):
                if best is None or trial.below < best.below:
                    best = trial
        if best is None:
            best = next(self._closed(sentences, added, 0, min(WINDOW, len(sentences.places) - 1), joiner, True), None)
        if best is None:
            raise FitError(
                f"length {self._request.length} leaves no room for a sentence: the reserve for the answer takes "
                f"{self._request.reserve} tokens, prompt and needle {self._fixed}; ask for longer lengths (8k means "
                "eight even ones, 8000 that one) or a smaller reserve"
            )
        haystack = best.haystack
        if self._tokenizer.local:
            return haystack
        tokens = self._counter.count(haystack.slices(0, haystack.size))
        before = np.append(np.minimum(_before(haystack)[:-1], tokens), tokens)
        least = _SOME_TWICE if haystack.passes > 1 else 1.0
        return replace(haystack, tokens=tokens, before=before, passes=_passes(tokens, sentences, least))

    def _with_closing(self, sentences: Sentences, count: int, picked: Sequence[int], joiner: str) -> Haystack:
        """The first `count` sentences, and after them the picked ones, each after a joiner."""
        own = _prefix(sentences, count)
        texts = [_text(sentences, number) for number in picked]
        closing = encode(joiner.join([*([""] if count else []), *texts]), self._tokenizer)
        gaps = [len(joiner.encode()) if count or number else 0 for number in range(len(texts))]
        ends = own.end + np.cumsum([gap + len(text.encode()) for gap, text in zip(gaps, texts, strict=True)])
        whole = replace(own, closing=closing)
        if self._tokenizer.local:
            counts = [self._counter.count(whole.slices(0, end)) for end in ends.tolist()]
        else:
            counts = (own.tokens + np.searchsorted(closing.ends, ends - own.end, side="right")).tolist()
        return replace(
            whole,
            tokens=counts[-1],
            passes=_passes(counts[-1], sentences, _SOME_TWICE if _repeats(sentences, count, picked) else 1.0),
            places=np.concatenate([sentences.places[: count + 1], ends]),
            before=np.concatenate([sentences.before[: count + 1], np.array(counts, dtype=np.int64)]),
        )

    def _closed(
        self, sentences: Sentences, added: Sequence[Ints], first: int, last: int, joiner: str, anyhow: bool = False
    ) -> Iterator[_Trial]:
        """Haystacks of the first sentences and some picked between `first` and `last`, until one comes near enough.

        `anyhow`: the longest sentence that fits will do.
        """
        left, aim = self.room, self.room if anyhow else _AIM
        if first:
            left, aim, _ = self._try(_prefix(sentences, first), sentences, added)
        sizes = np.diff(sentences.before[first : last + 1]).tolist()
        for _ in range(_ATTEMPTS):
            picked = pick(sizes, left, aim)
            while unfit := [n for n in picked if not self._stands_alone(_text(sentences, first + n))]:
                for number in unfit:
                    sizes[number] = 0
                picked = pick(sizes, left, aim)
            if not picked:
                return
            haystack = self._with_closing(sentences, first, [first + number for number in picked], joiner)
            trial = self._try(haystack, sentences, added)
            if trial.below >= 0:
                yield trial
                if trial.below <= trial.aim:
                    return
            # The next pick makes up for what joining took or saved.
            left += trial.below if trial.below < 0 else trial.below - trial.aim
            aim = left if anyhow else trial.aim

    def _try(self, haystack: Haystack, sentences: Sentences, added: Sequence[Ints]) -> _Trial:
        fewest, most = self._extent(haystack, sentences, added)
        return _Trial(self._budget - most, max(0, min(_AIM, MOST_BELOW - (most - fewest))), haystack)

    def _extent(self, haystack: Haystack, sentences: Sentences, added: Sequence[Ints]) -> Extent:
        places, before = _places(haystack), _before(haystack)
        base = self._count(haystack, [])
        # Seams that reach past the sentences kept end in other text now.
        kept = int(np.searchsorted(sentences.seam_ends, haystack.end))
        alone = [
            self._alone(haystack, places, known[:kept], sentences.seam_at[:kept], n, base)
            for n, known in enumerate(added)
        ]
        if len(alone) == 1:
            return Extent(base + int(alone[0].min()), base + int(alone[0].max()))
        if not any(line.slope for line in self._request.lines):
            found = nearest(before, [line.at(0) / 100 * haystack.tokens for line in self._request.lines])
            only = self._count(haystack, sorted((int(places[place]), number) for number, place in enumerate(found)))
            return Extent(only, only)
        ways = arrangements(before, haystack.tokens, self._request.lines)
        total = np.full(len(ways), base)
        for number, delta in enumerate(alone):
            total += delta[ways[:, number]]
        starts = np.where(places > haystack.end, haystack.end, sentences.seam_starts[: len(places)])
        ends = np.full(len(places), haystack.size)
        ends[:kept] = sentences.seam_ends[:kept]
        for number in range(len(alone) - 1):
            # Two needles whose seams overlap, most often at one place, add other than what each adds alone.
            touching = np.flatnonzero(starts[ways[:, number + 1]] < ends[ways[:, number]])
            pairs, which = np.unique(
                ways[touching, number] * len(places) + ways[touching, number + 1], return_inverse=True
            )
            more = []
            for one, two in zip((pairs // len(places)).tolist(), (pairs % len(places)).tolist(), strict=True):
                both = self._count(haystack, [(int(places[one]), number), (int(places[two]), number + 1)])
                more.append(both - base - int(alone[number][one]) - int(alone[number + 1][two]))
            total[touching] += np.array(more, dtype=np.int64)[which]
        return Extent(int(total.min()), int(total.max()))

    def _alone(self, haystack: Haystack, places: Ints, known: Ints, seam_at: Ints, number: int, base: int) -> Ints:
        """Tokens that one needle adds at each place of a haystack."""
        delta = np.empty(len(places), dtype=np.int64)
        delta[: len(known)] = known
        for place in [*np.flatnonzero(seam_at < 0), *range(len(known), len(places))]:
            if self._tokenizer.local:
                delta[place] = self._count(haystack, [(int(places[place]), number)]) - base
            else:
                delta[place] = known.max(initial=self._request.needles[number].size + 1)
        return delta

    def _count(self, haystack: Haystack, stands: Sequence[tuple[int, int]]) -> int:
        frame = self._request.frame
        pieces = lay(haystack, self._request.needles, stands, self._request.joiner)
        return self._counter.count([frame.before, *(piece.content for piece in pieces), frame.after])


def arrangements(before: Ints, tokens: int, lines: Sequence[DepthLine]) -> Ints:
    """The ways in which a set's needles stand as the depth goes from 0 to 100: a row each, a place for each needle."""
    middles = (before[:-1] + before[1:]) * (50 / tokens)
    moves = [(middles - line.offset) / line.slope for line in lines if line.slope]
    turns = np.unique(np.concatenate([[0.0, 100.0], *moves]))
    turns = turns[(turns >= 0) & (turns <= 100)]
    depths = np.concatenate([[0.0, 100.0], (turns[:-1] + turns[1:]) / 2])
    columns = [nearest(before, np.minimum(100.0, line.offset + line.slope * depths) / 100 * tokens) for line in lines]
    return np.stack(columns, axis=1)


def pick(sizes: Sequence[int], left: int, aim: int) -> tuple[int, ...]:
    """Numbers of sizes that add up to at most `left` and at least `left - aim`; empty if none do.

    Sizes of 0 are never picked. The single one that comes nearest, else the first sum found.
    """
    single = min(
        ((left - size, number) for number, size in enumerate(sizes) if 0 < size <= left <= size + aim), default=None
    )
    if single:
        return (single[1],)
    sums: dict[int, tuple[int, ...]] = {0: ()}
    for number, size in enumerate(sizes):
        for total, picked in list(sums.items()):
            more = total + size
            if size > 0 and more <= left and more not in sums:
                sums[more] = (*picked, number)
                if more >= left - aim:
                    return sums[more]
    return ()


def _windows(sentences: Sentences, count: int) -> Iterator[tuple[int, int]]:
    """Where closing sentences are picked: after the haystack's own, at first only those that it does not hold yet."""
    each = sentences.per_pass
    unused = (count // each + 1) * each if each else len(sentences.places)
    for end in (unused, len(sentences.places)):
        for first in dict.fromkeys(max(0, count - back) for back in _GIVE_BACK):
            last = min(first + WINDOW, end)
            if first < last:
                yield first, last


def _text(sentences: Sentences, number: int) -> str:
    """A sentence without the white space before it."""
    return sentences.text.text(*sentences.places[[number, number + 1]].tolist()).strip()


def _prefix(sentences: Sentences, count: int) -> Haystack:
    """The first `count` sentences as they stand."""
    tokens = int(sentences.before[count])
    return Haystack(
        sentences.text,
        int(sentences.places[count]),
        tokens,
        _passes(tokens, sentences, _SOME_TWICE if _repeats(sentences, count, ()) else 1.0),
        sentences.places[: count + 1],
        sentences.before[: count + 1],
    )


def _passes(tokens: int, sentences: Sentences, least: float) -> float:
    return max(least, passes_of(tokens, sentences.once or tokens))


def _repeats(sentences: Sentences, count: int, picked: Sequence[int]) -> bool:
    """Whether a sentence stands in the haystack twice."""
    each = sentences.per_pass
    if not each:
        return False
    fresh = {number % each for number in picked if number % each >= count}
    return count > each or len(fresh) < len(picked)


def _places(haystack: Haystack) -> Ints:
    if haystack.places is None:
        raise ValueError("a native haystack has places")
    return haystack.places


def _before(haystack: Haystack) -> Ints:
    if haystack.before is None:
        raise ValueError("a native haystack has places")
    return haystack.before
