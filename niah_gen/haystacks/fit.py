"""Fits sentences to a token budget: as many as fit, and a few from further on, put inside, that fill what is left.

A prompt may never be longer than its budget and should be only a little shorter, wherever its needles stand. So a
haystack is judged by the tokens of its prompts over all places that the needles take as the depth goes from 0 to 100,
and does not depend on the depths that a recipe lists. What a needle adds to the prompt is counted at its seam alone.
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
# The sentences put inside are picked among this many; where none fit, some of the haystack's own are given back first.
WINDOW = 256
_GIVE_BACK = (0, 2, 8, 32, 128)
_ATTEMPTS = 6
# haystack_passes of a haystack in which only a sentence put inside stands twice.
_SOME_TWICE = 1.0001
# For a tokenizer that is not local, seams are estimates: tokens kept free below the budget, for each needle.
_UNSURE = 2


# Needles placed in all arrangements together: 8 bytes each, several times over.
_MOST_PLACED = 50_000_000


class Extent(NamedTuple):
    """The fewest and the most tokens that prompts over one haystack have, over all places of their needles."""

    fewest: int
    most: int


class Trial(NamedTuple):
    """A haystack that was tried: how many tokens its longest prompt stays below the budget, and how many it may."""

    below: int
    aim: int
    haystack: Haystack


def seam_tokens(request: FillRequest, sentences: Sentences, counter: Counter) -> tuple[Ints, ...]:
    """For each needle, the tokens that it adds at each place of the sentences; 0 where a place has no seam.

    None for needles that stand at one place each: they are counted there.
    """
    found: list[Ints] = []
    if request.stands_still:
        return ()
    for needle in request.needles:
        hidden = Slice(needle, 0, len(needle.data))
        added = [
            counter.count([seam.left.decode() + request.joiner, hidden, seam.right.decode()]) - seam.tokens
            for seam in sentences.seams.different
        ]
        found.append(np.array([*added, 0], dtype=np.int64)[sentences.seams.at])
    return tuple(found)


class Fitting:
    """One request and what its prompts hold besides filler."""

    def __init__(self, request: FillRequest, tokenizer: Tokenizer, counter: Counter) -> None:
        self._request = request
        self._tokenizer = tokenizer
        self._counter = counter
        self._others = sum(counter.count([other]) for other in request.frame.others)
        # Where needles stand still, the prompt itself can be counted, whatever the tokenizer.
        self._whole = request.counted_whole and request.stands_still and not tokenizer.local
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
        """Tokens left for filler that begins and ends as a sample does.

        `tokens`: what counts as those of the sample; `added`: what the needles add to them.
        """
        frame = self._request.frame
        around = self._counter.count([frame.before, Slice(sample, 0, len(sample.data)), frame.after]) - tokens
        return self._budget - around - added

    def haystack(
        self, sentences: Sentences, added: Sequence[Ints], joiners: Sequence[str], ends_of: EndsOf
    ) -> Haystack:
        """The haystack whose prompts come near enough to the budget, or the nearest of those tried.

        `sentences` has at least `room` tokens and WINDOW sentences more; `added` is their `seam_tokens`; `joiners` part
        what is put inside, the first where it can; `ends_of` tells whether that leaves whole sentences. Raises FitError
        if not one sentence fits.
        """
        count = int(np.searchsorted(sentences.before, self.room, side="right"))  # one more than the room says
        own: Trial | None = None
        while count > 0:
            own = self._try_bare(sentences, count, added)
            if own.below >= 0:
                break
            own = None
            count -= 1
        best = own if own and whole_paragraphs(sentences, count) == count else None
        for joiner in joiners:
            for first, last in _windows(sentences, max(count, 0)):
                if best is not None and best.below <= best.aim:
                    break
                joint = find_joint(sentences, first, joiner, ends_of)
                for trial in self._completed(sentences, added, first, last, joint, ends_of):
                    if best is None or trial.below < best.below:
                        best = trial
        if own and (best is None or (best.below > best.aim and own.below < best.below)):
            best = own
        if best is None:
            last, joint = min(WINDOW, len(sentences.places) - 1), Joint(0, joiners[-1])
            best = next(self._completed(sentences, added, 0, last, joint, ends_of, anyhow=True), None)
        if best is None:
            raise self.no_room()
        return self._counted(best.haystack, sentences)

    def whole(self, sentences: Sentences, added: Sequence[Ints], known: Haystack | None = None) -> Trial:
        """All of the sentences as a haystack. `known`: that haystack, where it was made before."""
        trial = self._try(known or prefix(sentences, len(sentences.places) - 1), sentences, added)
        return trial._replace(haystack=self._counted(trial.haystack, sentences))

    def no_room(self) -> FitError:
        """What to raise where not one sentence fits."""
        return FitError(
            f"length {self._request.length} leaves no room for a sentence: the reserve for the answer takes "
            f"{self._request.reserve} tokens, prompt and needle {self._fixed}; ask for longer lengths (8k means "
            "eight even ones, 8000 that one) or a smaller reserve"
        )

    def _counted(self, haystack: Haystack, sentences: Sentences) -> Haystack:
        """A haystack whose tokens are counted anew where they are estimates."""
        if self._tokenizer.local:
            return haystack
        tokens = self._counter.count(haystack.slices(0, haystack.size))
        before = np.append(np.minimum(_before(haystack)[:-1], tokens), tokens)
        least = _SOME_TWICE if haystack.passes > 1 else 1.0
        return replace(haystack, tokens=tokens, before=before, passes=_passes(tokens, sentences, least))

    def _with_inside(self, sentences: Sentences, count: int, joint: Joint, picked: Sequence[int]) -> Haystack:
        """The first `count` sentences with the picked ones put in at a joint."""
        own, place = prefix(sentences, count), joint.place
        texts = [_text(sentences, number, joint.joiner) for number in picked]
        inside = encode(inside_text(count, joint, texts), self._tokenizer)
        at, put = int(sentences.places[place]), len(inside.data)
        ends = at + inside_ends(joint, texts)
        after = sentences.places[place + 1 : count + 1] + put
        haystack = replace(
            own, inside=inside, at=at, places=np.concatenate([sentences.places[: place + 1], ends, after])
        )
        before = sentences.before[place + 1 : count + 1] + inside.size
        if self._tokenizer.local:
            counts = [self._counter.count(haystack.slices(0, end)) for end in ends.tolist()]
            # Behind the first safe cut after the joint all places have the same number of tokens more before them.
            near = int(np.searchsorted(sentences.seam_starts[place + 1 : count + 1], at, side="right")) + 1
            before[:near] = [self._counter.count(haystack.slices(0, end)) for end in after[:near].tolist()]
            if near < len(after):
                before[near:] += before[near - 1] - sentences.before[place + near] - inside.size
        else:
            counts = (sentences.before[place] + np.searchsorted(inside.ends, ends - at, side="right")).tolist()
        before = np.concatenate([sentences.before[: place + 1], np.array(counts, dtype=np.int64), before])
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
        anyhow: bool = False,
    ) -> Iterator[Trial]:
        """Haystacks of the first sentences and some picked between `first` and `last`, until one comes near enough.

        `anyhow`: the longest sentence that fits will do.
        """
        left, aim = self.room, self.room if anyhow else _AIM
        if first:
            left, aim, _ = self._try_bare(sentences, first, added)
        sizes = np.diff(sentences.before[first : last + 1]).tolist()
        for _ in range(_ATTEMPTS):
            picked = pick(sizes, left, aim)
            while wrong := unfit(sentences, first, joint, [_text(sentences, first + n, "") for n in picked], ends_of):
                for number in wrong:
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
            # The next pick makes up for what joining took or saved.
            left += trial.below if trial.below < 0 else trial.below - trial.aim
            aim = left if anyhow else trial.aim

    def _try_bare(self, sentences: Sentences, count: int, added: Sequence[Ints]) -> Trial:
        """The first `count` sentences with nothing put in."""
        if count not in self._bare:
            self._bare[count] = self._try(prefix(sentences, count), sentences, added)
        return self._bare[count]

    def _try(self, haystack: Haystack, sentences: Sentences, added: Sequence[Ints]) -> Trial:
        fewest, most = self._extent(haystack, sentences, added)
        return Trial(self._budget - most, max(0, min(_AIM, MOST_BELOW - (most - fewest))), haystack)

    def _extent(self, haystack: Haystack, sentences: Sentences, added: Sequence[Ints]) -> Extent:
        if self._whole:
            haystack = self._counted(haystack, sentences)
        places, before = _places(haystack), _before(haystack)
        if self._request.stands_still:
            still = nearest_few(before, [line.at(0) / 100 * haystack.tokens for line in self._request.lines])
            only = self._count(haystack, sorted((int(places[place]), number) for number, place in enumerate(still)))
            return Extent(only, only)
        base = self._count(haystack, [])
        kept = _kept_seams(haystack, sentences)
        alone = [self._alone(haystack, places, known, kept, n, base) for n, known in enumerate(added)]
        if len(alone) == 1:
            return Extent(base + int(alone[0].min()), base + int(alone[0].max()))
        ways = arrangements(before, haystack.tokens, self._request.lines)
        total = np.full(len(ways), base)
        for number, delta in enumerate(alone):
            total += delta[ways[:, number]]
        starts, ends = _seam_edges(haystack, sentences)
        # Two needles whose seams overlap, most often at one place, add other than what each adds alone.
        order = np.argsort(ways, axis=1, kind="stable")
        inorder = np.take_along_axis(ways, order, axis=1)
        for left in range(len(alone) - 1):
            touching = np.flatnonzero(starts[inorder[:, left + 1]] < ends[inorder[:, left]])
            pairs = np.concatenate([order[touching, left : left + 2], inorder[touching, left : left + 2]], axis=1)
            found, which = np.unique(pairs, axis=0, return_inverse=True)
            more = []
            for first, second, one, two in found.tolist():
                both = self._count(haystack, [(int(places[one]), first), (int(places[two]), second)])
                more.append(both - base - int(alone[first][one]) - int(alone[second][two]))
            total[touching] += np.array(more, dtype=np.int64)[which.reshape(-1)]
        return Extent(int(total.min()), int(total.max()))

    def _alone(self, haystack: Haystack, places: Ints, known: Ints, kept: Ints, number: int, base: int) -> Ints:
        """Tokens that one needle adds at each place of a haystack. `kept`: `_kept_seams`."""
        delta = known[kept]
        for place in np.flatnonzero(kept < 0).tolist():
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
    ends = (0, 100) if any(line.wraps for line in lines) else (0,)
    if sum(bool(line.slope) for line in lines) * len(middles) * len(ends) * len(lines) > _MOST_PLACED:
        raise FitError(
            f"{len(lines)} needles that move over {len(middles)} places stand in too many ways for one haystack to "
            "hold them at every depth; set fresh_haystacks = true, or hide fewer"
        )
    moves = [(middles + end - line.offset) / line.slope for line in lines if line.slope for end in ends]
    turns = np.unique(np.concatenate([[0.0, 100.0], *moves, *(line.turns() for line in lines)]))
    turns = turns[(turns >= 0) & (turns <= 100)]
    depths = np.concatenate([[0.0, 100.0], (turns[:-1] + turns[1:]) / 2])
    columns = [nearest(before, line.at_all(depths) / 100 * tokens) for line in lines]
    return np.stack(columns, axis=1)


def _windows(sentences: Sentences, count: int) -> Iterator[tuple[int, int]]:
    """How many sentences to keep, and up to which the others are picked: at first only those that none repeats."""
    each = sentences.per_pass
    unused = (count // each + 1) * each if each else len(sentences.places)
    kept = dict.fromkeys([whole_paragraphs(sentences, count), *(max(0, count - back) for back in _GIVE_BACK)])
    for end in (unused, len(sentences.places)):
        for first in kept:
            last = min(first + WINDOW, end)
            if first < last:
                yield first, last


def _text(sentences: Sentences, number: int, joiner: str) -> str:
    """A sentence without what joins it to the one before: the joiner, or white space."""
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
    """For each place of a haystack, the number of the sentences' place around which the text is the same.

    -1 for the places of what was put in and those too near to it, or to the ends.
    """
    # Seams that reach past the sentences kept end in other text now.
    last = int(np.searchsorted(sentences.seam_ends, haystack.end))
    numbers = np.where(sentences.seams.at[:last] < 0, -1, np.arange(last))
    kept = np.full(len(_places(haystack)), -1)
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
    """Where the text around each place of a haystack that a needle there changes the tokens of begins and ends."""
    own = int(np.searchsorted(sentences.places, haystack.end)) + 1
    starts, ends = sentences.seam_starts[:own], sentences.seam_ends[:own]
    cut = ends >= haystack.end
    at, put = haystack.at, haystack.size - haystack.end
    if put:
        joint = int(np.searchsorted(sentences.places, at))
        low, high = starts[joint], ends[joint]
        # An edge right at the joint is no safe cut any more: what is put in may begin or end with any character.
        starts = np.where(starts == at, low, starts + put * (starts > at))
        ends = np.where(ends == at, high, ends)
        cut |= ends >= haystack.end
        ends = np.where(cut, haystack.size, ends + put * (ends > at))
        new = np.full(len(_places(haystack)) - own, 1)
        starts = np.concatenate([starts[: joint + 1], new * low, starts[joint + 1 :]])
        return starts, np.concatenate([ends[: joint + 1], new * ends[joint], ends[joint + 1 :]])
    return starts, np.where(cut, haystack.size, ends)


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
