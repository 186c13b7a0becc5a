"""Fits sentences to a token budget: takes as many as fit, then inserts a few later ones to fill what is left.

A prompt must never exceed its budget and should end only a little below it, wherever its needles are. So a haystack is
judged by the tokens of its prompts over every arrangement that the needles take as the depth goes from 0 to 100, and
does not depend on the depths that a recipe lists. What a needle adds to the prompt is counted at its seam only.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from niah_gen.errors import FitError
from niah_gen.haystacks.haystack import FillRequest, Haystack, passes_of
from niah_gen.haystacks.joints import EndsOf, Joint, find_joint, inside_ends, inside_text, unfit, whole_paragraphs
from niah_gen.haystacks.picking import pick
from niah_gen.haystacks.sentences import Sentences
from niah_gen.haystacks.splice import lay, nearest, nearest_few
from niah_gen.haystacks.spread import DepthLine
from niah_gen.tokenizers.find import Ints, Tokenizer
from niah_gen.tokenizers.spliced import Counter, Encoded, Slice, encode

# A prompt ends at most this many tokens below its budget; what a needle adds differs by 0 to 2 from place to place.
MOST_BELOW = 8
_AIM = 4
# Inserted sentences are picked from this many; if none fit, some of the haystack's last sentences are dropped first.
WINDOW = 256
_GIVE_BACK = (0, 2, 8, 32, 128)
_ATTEMPTS = 6
# haystack_passes of a haystack in which only an inserted sentence occurs twice.
_SOME_TWICE = 1.0001
# Without a local tokenizer, seams are estimates: so many tokens per needle stay free below the budget.
_UNSURE = 2
# The most needle places over all arrangements together; each takes 8 bytes, several times over.
_MOST_PLACED = 50_000_000


class Extent(NamedTuple):
    """The fewest and the most tokens of the prompts over one haystack, over all places of their needles."""

    fewest: int
    most: int


class Trial(NamedTuple):
    """A haystack that was tried. `below`: tokens from its longest prompt to the budget; `aim`: the most allowed."""

    below: int
    aim: int
    haystack: Haystack


def seam_tokens(request: FillRequest, sentences: Sentences, counter: Counter) -> tuple[Ints, ...]:
    """For each needle, the tokens that it adds at each place of the sentences; 0 where a place has no seam.

    Empty if the needles' places are fixed: they are counted there.
    """
    if request.needles_fixed:
        return ()
    per_needle: list[Ints] = []
    for needle in request.needles:
        hidden = Slice(needle, 0, len(needle.data))
        added = [
            counter.count([seam.left.decode() + request.joiner, hidden, seam.right.decode()]) - seam.tokens
            for seam in sentences.seams.different
        ]
        per_needle.append(np.array([*added, 0], dtype=np.int64)[sentences.seams.at])
    return tuple(per_needle)


class Fitting:
    """Fits haystacks to one request."""

    def __init__(self, request: FillRequest, tokenizer: Tokenizer, counter: Counter) -> None:
        self._request = request
        self._tokenizer = tokenizer
        self._counter = counter
        self._others = sum(counter.count([other]) for other in request.frame.others)
        # If the needles' places are fixed, the prompt itself can be counted, whatever the tokenizer.
        self._whole = request.counted_whole and request.needles_fixed and not tokenizer.local
        unsure = 0 if tokenizer.local or self._whole else _UNSURE * len(request.needles)
        self._budget = request.length - request.reserve - self._others - unsure
        self._bare: dict[int, Trial] = {}

    @cached_property
    def room(self) -> int:
        """Tokens left for filler, to within a few."""
        return self._request.length - self._request.reserve - self._fixed

    @cached_property
    def _fixed(self) -> int:
        frame = self._request.frame
        return self._others + self._request.needle_tokens + self._counter.count([frame.before, frame.after])

    def room_for(self, sample: Encoded, tokens: int, added: int) -> int:
        """Tokens left for filler that begins and ends like a sample of `tokens` tokens. `added`: what needles add."""
        frame = self._request.frame
        around = self._counter.count([frame.before, Slice(sample, 0, len(sample.data)), frame.after]) - tokens
        return self._budget - around - added

    def haystack(
        self, sentences: Sentences, added: Sequence[Ints], joiners: Sequence[str], ends_of: EndsOf
    ) -> Haystack:
        """A haystack whose prompts come near enough to the budget, or the nearest of those tried.

        `sentences`: at least `room` tokens and WINDOW sentences more; `added`: their `seam_tokens`; `joiners`: what
        separates inserted sentences, the preferred one first; `ends_of`: finds sentence ends, to check that inserted
        sentences stay whole. Raises FitError if not even one sentence fits.
        """
        count, bare = self._longest_bare(sentences, added)
        best = bare if bare and whole_paragraphs(sentences, count) == count else None
        for joiner in joiners:
            for first, last in _windows(sentences, count):
                if best is not None and best.below <= best.aim:
                    break
                joint = find_joint(sentences, first, joiner, ends_of)
                for trial in self._completed(sentences, added, first, last, joint, ends_of):
                    if best is None or trial.below < best.below:
                        best = trial
        if bare and (best is None or (best.below > best.aim and bare.below < best.below)):
            best = bare
        if best is None:
            last, joint = min(WINDOW, len(sentences.places) - 1), Joint(0, joiners[-1])
            best = next(self._completed(sentences, added, 0, last, joint, ends_of, any_size=True), None)
        if best is None:
            raise self.no_room()
        return self._counted(best.haystack, sentences)

    def whole(self, sentences: Sentences, added: Sequence[Ints], known: Haystack | None = None) -> Trial:
        """All of the sentences as a haystack. `known`: that haystack, if it exists already."""
        trial = self._try(known or prefix(sentences, len(sentences.places) - 1), sentences, added)
        return trial._replace(haystack=self._counted(trial.haystack, sentences))

    def no_room(self) -> FitError:
        """The error to raise if not even one sentence fits."""
        return FitError(
            f"length {self._request.length} leaves no room for a sentence: the reserve for the answer takes "
            f"{self._request.reserve} tokens, prompt and needle {self._fixed}; ask for longer lengths (8k means "
            "eight evenly spaced ones, 8000 just that one) or a smaller reserve"
        )

    def _counted(self, haystack: Haystack, sentences: Sentences) -> Haystack:
        """The haystack with its tokens counted whole if they are estimates so far."""
        if self._tokenizer.local:
            return haystack
        tokens = self._counter.count(haystack.slices(0, haystack.size))
        before = np.append(np.minimum(haystack.needle_places()[1][:-1], tokens), tokens)
        least = _SOME_TWICE if haystack.passes > 1 else 1.0
        return replace(haystack, tokens=tokens, before=before, passes=_passes(tokens, sentences, least))

    def _with_inside(self, sentences: Sentences, count: int, joint: Joint, picked: Sequence[int]) -> Haystack:
        """The first `count` sentences with the picked ones inserted at a joint."""
        kept, later = slice(joint.place + 1), slice(joint.place + 1, count + 1)
        texts = [_text(sentences, number, joint.joiner) for number in picked]
        inside = encode(inside_text(count, joint, texts), self._tokenizer)
        at = int(sentences.places[joint.place])
        ends, moved = at + inside_ends(joint, texts), sentences.places[later] + len(inside.data)
        places = np.concatenate([sentences.places[kept], ends, moved])
        haystack = replace(prefix(sentences, count), inside=inside, at=at, places=places)

        def counted(ends: Ints) -> Ints:
            return np.array([self._counter.count(haystack.slices(0, end)) for end in ends.tolist()], dtype=np.int64)

        after = sentences.before[later] + inside.size
        if self._tokenizer.local:
            within = counted(ends)
            # Past the first safe cut after the joint, the tokens before every place change by the same number.
            near = int(np.searchsorted(sentences.seam_starts[later], at, side="right")) + 1
            exact = counted(moved[:near])
            if near < len(after):
                after[near:] += exact[-1] - after[near - 1]
            after[:near] = exact
        else:
            within = sentences.before[joint.place] + np.searchsorted(inside.ends, ends - at, side="right")
        before = np.concatenate([sentences.before[kept], within, after])
        tokens = int(before[-1])
        least = _SOME_TWICE if _repeats(sentences, count, picked) else 1.0
        return replace(haystack, tokens=tokens, passes=_passes(tokens, sentences, least), before=before)

    def _completed(
        self,
        sentences: Sentences,
        added: Sequence[Ints],
        first: int,
        last: int,
        joint: Joint,
        ends_of: EndsOf,
        any_size: bool = False,
    ) -> Iterator[Trial]:
        """Haystacks of the first `first` sentences and some picked up to `last`, until one comes near enough.

        `any_size`: take the longest sentence that fits, however short.
        """
        left, aim = self.room, self.room if any_size else _AIM
        if first:
            left, aim, _ = self._try_bare(sentences, first, added)
        sizes = np.diff(sentences.before[first : last + 1]).tolist()
        for _ in range(_ATTEMPTS):
            picked = pick(sizes, left, aim)
            while misfits := unfit(sentences, first, joint, [_text(sentences, first + n, "") for n in picked], ends_of):
                for number in misfits:
                    sizes[picked[number]] = 0
                picked = pick(sizes, left, aim)
            if not picked:
                return
            haystack = self._with_inside(sentences, first, joint, [first + number for number in picked])
            trial = self._try(haystack, sentences, added)
            if trial.below >= 0:
                yield trial
                if trial.below <= trial.aim:
                    return
            # The next pick allows for the tokens that joining added or saved.
            left += trial.below if trial.below < 0 else trial.below - trial.aim
            aim = left if any_size else trial.aim

    def _longest_bare(self, sentences: Sentences, added: Sequence[Ints]) -> tuple[int, Trial | None]:
        """How many sentences fit with none inserted, and the haystack of these; 0 and None if not even one fits."""
        most = int(np.searchsorted(sentences.before, self.room, side="right"))  # one more than the room suggests
        trials = ((count, self._try_bare(sentences, count, added)) for count in range(most, 0, -1))
        return next(((count, trial) for count, trial in trials if trial.below >= 0), (0, None))

    def _try_bare(self, sentences: Sentences, count: int, added: Sequence[Ints]) -> Trial:
        """The first `count` sentences with none inserted."""
        if count not in self._bare:
            self._bare[count] = self._try(prefix(sentences, count), sentences, added)
        return self._bare[count]

    def _try(self, haystack: Haystack, sentences: Sentences, added: Sequence[Ints]) -> Trial:
        fewest, most = self._extent(haystack, sentences, added)
        return Trial(self._budget - most, max(0, min(_AIM, MOST_BELOW - (most - fewest))), haystack)

    def _extent(self, haystack: Haystack, sentences: Sentences, added: Sequence[Ints]) -> Extent:
        """The fewest and the most tokens of the prompts over a haystack, without those of the other messages."""
        if self._whole:
            haystack = self._counted(haystack, sentences)
        places, before = haystack.needle_places()
        if self._request.needles_fixed:
            fixed = nearest_few(before, [line.at(0) / 100 * haystack.tokens for line in self._request.lines])
            tokens = self._count(haystack, sorted((int(places[place]), number) for number, place in enumerate(fixed)))
            return Extent(tokens, tokens)
        base = self._count(haystack, [])
        kept = _kept_seams(haystack, sentences)
        alone = [self._alone(haystack, places, known, kept, n, base) for n, known in enumerate(added)]
        if len(alone) == 1:
            return Extent(base + int(alone[0].min()), base + int(alone[0].max()))
        arranged = arrangements(before, haystack.tokens, self._request.lines)
        total = np.full(len(arranged), base)
        for number, delta in enumerate(alone):
            total += delta[arranged[:, number]]
        self._correct_overlaps(total, arranged, haystack, sentences, alone, base)
        return Extent(int(total.min()), int(total.max()))

    def _alone(self, haystack: Haystack, places: Ints, known: Ints, kept: Ints, number: int, base: int) -> Ints:
        """Tokens that one needle adds, at each place, to `base`. `known`: its `seam_tokens`; `kept`: `_kept_seams`."""
        delta = known[kept]
        for place in np.flatnonzero(kept < 0).tolist():
            if self._tokenizer.local:
                delta[place] = self._count(haystack, [(int(places[place]), number)]) - base
            else:
                delta[place] = known.max(initial=self._request.needles[number].size + 1)
        return delta

    def _correct_overlaps(
        self, total: Ints, arranged: Ints, haystack: Haystack, sentences: Sentences, alone: Sequence[Ints], base: int
    ) -> None:
        """Correct the tokens of arrangements in which the seams of neighbouring needles overlap.

        Such a pair, most often at one place, does not add the sum of what each needle adds `alone`. `total` is changed
        in place; each different pair is counted once.
        """
        places, _ = haystack.needle_places()
        starts, ends = _seam_edges(haystack, sentences)
        needles = np.argsort(arranged, axis=1, kind="stable")  # of each arrangement, in the order of the text
        stops = np.take_along_axis(arranged, needles, axis=1)  # their places
        for left in range(len(alone) - 1):
            pair = slice(left, left + 2)
            overlapping = np.flatnonzero(starts[stops[:, left + 1]] < ends[stops[:, left]])
            pairs = np.concatenate([needles[overlapping, pair], stops[overlapping, pair]], axis=1)
            different, which = np.unique(pairs, axis=0, return_inverse=True)
            corrections = []
            for first, second, at_first, at_second in different.tolist():
                both = self._count(haystack, [(int(places[at_first]), first), (int(places[at_second]), second)])
                corrections.append(both - base - int(alone[first][at_first]) - int(alone[second][at_second]))
            total[overlapping] += np.array(corrections, dtype=np.int64)[which.reshape(-1)]

    def _count(self, haystack: Haystack, stands: Sequence[tuple[int, int]]) -> int:
        """Tokens of the prompt with needles at some of the haystack's bytes. `stands`: as `lay` takes them."""
        frame = self._request.frame
        pieces = lay(haystack, self._request.needles, stands, self._request.joiner)
        return self._counter.count([frame.before, *(piece.content for piece in pieces), frame.after])


def arrangements(before: Ints, tokens: int, lines: Sequence[DepthLine]) -> Ints:
    """Every arrangement of the needles as the depth goes from 0 to 100: one row each, with the place of each needle.

    Raises FitError if there are too many.
    """
    middles = (before[:-1] + before[1:]) * (50 / tokens)
    ends = (0, 100) if any(line.wraps for line in lines) else (0,)
    if sum(bool(line.slope) for line in lines) * len(middles) * len(ends) * len(lines) > _MOST_PLACED:
        raise FitError(
            f"{len(lines)} needles that move over {len(middles)} places can be arranged in too many ways for one "
            "haystack to fit every depth; set fresh_haystacks = true, or hide fewer"
        )
    moves = [(middles + end - line.offset) / line.slope for line in lines if line.slope for end in ends]
    turns = np.unique(np.concatenate([[0.0, 100.0], *moves, *(line.turns() for line in lines)]))
    turns = turns[(turns >= 0) & (turns <= 100)]
    depths = np.concatenate([[0.0, 100.0], (turns[:-1] + turns[1:]) / 2])
    columns = [nearest(before, line.at_all(depths) / 100 * tokens) for line in lines]
    return np.stack(columns, axis=1)


def _windows(sentences: Sentences, count: int) -> Iterator[tuple[int, int]]:
    """Pairs to try: how many sentences to keep, and the last one to pick others from; unused sentences come first."""
    each = sentences.per_pass
    unused = (count // each + 1) * each if each else len(sentences.places)
    kept = dict.fromkeys([whole_paragraphs(sentences, count), *(max(0, count - back) for back in _GIVE_BACK)])
    for end in (unused, len(sentences.places)):
        for first in kept:
            last = min(first + WINDOW, end)
            if first < last:
                yield first, last


def _text(sentences: Sentences, number: int, joiner: str) -> str:
    """A sentence without the joiner or white space that joins it to the one before."""
    return sentences.text.text(*sentences.places[[number, number + 1]].tolist()).removeprefix(joiner).strip()


def prefix(sentences: Sentences, count: int) -> Haystack:
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


def _kept_seams(haystack: Haystack, sentences: Sentences) -> Ints:
    """For each place of a haystack, the number of the place in `sentences` that has the same text around it.

    -1 for the places of inserted sentences, and for those too near to them or to the ends.
    """
    # Seams that reach past the sentences kept no longer have the same text.
    last = int(np.searchsorted(sentences.seam_ends, haystack.end))
    numbers = np.where(sentences.seams.at[:last] < 0, -1, np.arange(last))
    kept = np.full(len(haystack.needle_places()[0]), -1)
    if haystack.inside is None:
        kept[:last] = numbers
        return kept
    low = min(int(np.searchsorted(sentences.seam_ends, haystack.at)), last)
    high = int(np.searchsorted(sentences.seam_starts, haystack.at, side="right"))
    new = len(kept) - int(np.searchsorted(sentences.places, haystack.end)) - 1
    kept[:low] = numbers[:low]
    kept[new + high : new + max(high, last)] = numbers[high:]
    return kept


def _seam_edges(haystack: Haystack, sentences: Sentences) -> tuple[Ints, Ints]:
    """The start and end, for each place of a haystack, of the text whose tokens a needle there may change."""
    own = int(np.searchsorted(sentences.places, haystack.end)) + 1
    starts, ends = sentences.seam_starts[:own], sentences.seam_ends[:own]
    cut = ends >= haystack.end
    at, put = haystack.at, haystack.size - haystack.end
    if put:
        joint = int(np.searchsorted(sentences.places, at))
        low, high = starts[joint], ends[joint]
        # An edge right at the joint is no longer a safe cut: the inserted text may begin or end with any character.
        starts = np.where(starts == at, low, starts + put * (starts > at))
        ends = np.where(ends == at, high, ends)
        cut |= ends >= haystack.end
        ends = np.where(cut, haystack.size, ends + put * (ends > at))
        new = np.full(len(haystack.needle_places()[0]) - own, 1)
        starts = np.concatenate([starts[: joint + 1], new * low, starts[joint + 1 :]])
        return starts, np.concatenate([ends[: joint + 1], new * ends[joint], ends[joint + 1 :]])
    return starts, np.where(cut, haystack.size, ends)


def _passes(tokens: int, sentences: Sentences, least: float) -> float:
    return max(least, passes_of(tokens, sentences.once or tokens))


def _repeats(sentences: Sentences, count: int, picked: Sequence[int]) -> bool:
    """Whether the haystack holds a sentence twice."""
    each = sentences.per_pass
    if not each:
        return False
    fresh = {number % each for number in picked if number % each >= count}
    return count > each or len(fresh) < len(picked)
