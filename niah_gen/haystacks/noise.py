"""Fills haystacks by repeating one line of a few plain sentences; the last line may end after any of them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property, lru_cache

import numpy as np

from niah_gen.haystacks.fit import Fitting, prefix, seam_tokens
from niah_gen.haystacks.haystack import FillRequest, Haystack, Secret
from niah_gen.haystacks.sentences import Seam, Seams, Sentences
from niah_gen.tokenizers.cuts import safe_cuts
from niah_gen.tokenizers.find import Ints, Tokenizer
from niah_gen.tokenizers.spliced import Counter, Encoded, encode, encode_later

# The five sentences of RULER's and InfiniteBench's noise; the Chinese ones are ours.
NOISE = {
    "en": ("The grass is green.", " The sky is blue.", " The sun is yellow.", " Here we go.", " There and back again."),
    "zh": ("草地是绿的。", "天空是蓝的。", "太阳是黄的。", "我们出发了。", "去了又回来。"),
}
# The text is at least this many lines longer than needed at first.
_SPARE = 64


class NoiseFiller:
    """Fills haystacks with lines of noise. `sentences`: those of a line, each beginning with its separator.

    All haystacks are beginnings of one text, which grows with the lengths asked for.
    """

    def __init__(self, sentences: Sequence[str], tokenizer: Tokenizer) -> None:
        self._sentences = sentences
        self._line = "".join(sentences)
        self._tokenizer = tokenizer
        self._counter = Counter(tokenizer)
        self._text: Encoded | None = None
        self._lines = 0
        # Rows of one length end at only a few different places.
        self._endings = lru_cache(maxsize=64)(self._ending)

    @cached_property
    def _each(self) -> int:
        """Tokens of a line between others."""
        count = self._tokenizer.count
        lines = [f"{self._line}\n" * number for number in (2, 34)]
        return max(1, (count(lines[1]) - count(lines[0])) // 32)

    def fill(self, request: FillRequest) -> Haystack:
        """As many sentences as fit. Raises FitError if not even one does."""
        fitting = Fitting(request, self._tokenizer, self._counter)
        if request.needles_fixed:
            return self._fill_around(request, fitting)
        per_line = len(self._sentences)
        added = seam_tokens(request, self._endings(max(fitting.room, 0) // self._each + 2, 0)[0], self._counter)
        sample = self._sample
        between = sum(int(tokens[1]) for tokens in added)
        number = self._fitting(fitting.room_for(sample, sample.size, between))
        if not self._tokenizer.local:
            number += 1  # one more sentence may fit, too
        while number > 0:
            sentences, known = self._endings(*divmod(number, per_line))
            trial = fitting.whole(sentences, added, known)
            if trial.below >= 0:
                return trial.haystack
            # Drop half as many sentences of average size as the excess is worth, so that none that fits is lost.
            number -= max(1, -trial.below * per_line // (2 * self._each))
        raise fitting.no_room()

    def _fill_around(self, request: FillRequest, fitting: Fitting) -> Haystack:
        """As many sentences as fit around needles whose places are fixed: one more would not fit.

        What each needle adds at a line end is counted first, so that few haystacks are tried; rows that leave the same
        room get the same haystack.
        """
        left, right, tokens = self._seam
        joiner = request.joiner.encode()
        windows = (left + joiner + needle.data + right for needle in request.needles)
        added = sum(map(self._counter.window, windows)) - tokens * len(request.needles)
        number = max(1, self._fitting(fitting.room_for(self._sample, self._sample.size, added)))
        best: Haystack | None = None
        refused: set[int] = set()
        while number > 0:
            sentences, known = self._endings(*divmod(number, len(self._sentences)))
            trial = fitting.whole(sentences, (), known)
            if trial.below >= 0:
                best = trial.haystack
                if trial.below < self._least or number + 1 in refused:
                    break
                number += 1
            else:
                refused.add(number)
                if best is not None:
                    break
                number -= max(1, -trial.below // self._most)
        if best is None:
            raise fitting.no_room()
        return best

    @cached_property
    def _least(self) -> int:
        """Tokens of the shortest sentence, less the one that it may lose where it joins what follows."""
        return int(np.diff([0, *self._next, self._each]).min()) - 1

    @cached_property
    def _most(self) -> int:
        """Tokens of the longest sentence, and one that joining may add."""
        return int(np.diff([0, *self._next, self._each]).max()) + 1

    def _fitting(self, room: int) -> int:
        """How many sentences, from the beginning of the text, have at most `room` tokens."""
        whole = self._beginnings[-1]
        if room < whole:
            return bisect_right(self._beginnings, room)
        lines, left = divmod(room - whole, self._each)
        return (1 + lines) * len(self._sentences) + bisect_right(self._next, left)

    @cached_property
    def _beginnings(self) -> list[int]:
        """Tokens of the first line up to the end of each sentence."""
        return [self._tokenizer.count("".join(self._sentences[: n + 1])) for n in range(len(self._sentences))]

    @cached_property
    def _next(self) -> list[int]:
        """Tokens from the end of the line before to the end of each sentence of a line, except the last."""
        lines = [f"{self._line}\n{''.join(self._sentences[:number])}" for number in range(1, len(self._sentences))]
        return [self._tokenizer.count(line) - self._beginnings[-1] for line in lines]

    @cached_property
    def _sample(self) -> Encoded:
        return encode(f"{self._line}\n{self._line}", self._tokenizer)

    def _ending(self, lines: int, rest: int) -> tuple[Sentences, Haystack]:
        """`lines` lines and the first `rest` sentences of another, with a place after each; also as a haystack."""
        text = self._long(lines + 1)
        size = len(self._line.encode())
        places = np.arange(lines + 1, dtype=np.int64) * (size + 1) - 1
        places[0] = 0
        if rest:
            part = len("".join(self._sentences[:rest]).encode())
            places = np.append(places, lines * (size + 1) + part)
        before = self._before(text, places, lines, rest)
        starts, ends = self._edges(places, rest)
        seam_at = np.zeros(len(places), dtype=np.int64)
        seam_at[0] = seam_at[-1] = -1
        if rest and len(seam_at) > 2:
            seam_at[-2] = -1 if ends[-2] >= places[-1] else 0
        around = Seams((self._seam,), seam_at)
        sentences = Sentences(text, places, before, lambda: around, starts, ends, None, None)
        return sentences, replace(prefix(sentences, len(places) - 1), period=size + 1)

    def _before(self, text: Encoded, places: Ints, lines: int, rest: int) -> Ints:
        """Tokens before each place."""
        if not self._tokenizer.local:
            estimates: Ints = np.searchsorted(text.ends, places, side="right")
            return estimates
        before = np.zeros(len(places), dtype=np.int64)
        before[1 : lines + 1] = self._beginnings[-1] + self._each * np.arange(lines)
        if rest:
            before[-1] = before[lines] + self._next[rest - 1] if lines else self._beginnings[rest - 1]
        return before

    @cached_property
    def _cuts(self) -> Ints:
        """The safe cuts of a line with its line end."""
        return safe_cuts(self._line + "\n")

    @cached_property
    def _seam(self) -> Seam:
        """The text around the end of a line."""
        line = self._line.encode()
        first = self._cuts[0] if len(self._cuts) else len(line)
        left, right = line[int(self._cuts[-1]) if len(self._cuts) else 0 :], b"\n" + line[: int(first)]
        return Seam(left, right, self._tokenizer.count((left + right).decode()))

    def _edges(self, places: Ints, rest: int) -> tuple[Ints, Ints]:
        """The start and end, for each place, of the text whose tokens a needle there may change."""
        starts = np.maximum(places - len(self._seam.left), 0)
        if rest:
            start = int(places[-2]) + 1 if len(places) > 1 else 0
            part = self._cuts[self._cuts < places[-1] - start]
            starts[-1] = start + int(part[-1]) if len(part) else max(start - 1, 0)
        ends = places + len(self._seam.right)
        ends[0] -= 1
        return starts, np.minimum(ends, places[-1])

    def _long(self, lines: int) -> Encoded:
        """A text of at least `lines` lines."""
        if self._text is None or lines > self._lines:
            self._lines = lines + max(_SPARE, lines // 8)
            data = f"{self._line}\n".encode() * self._lines
            if self._tokenizer.local and len(self._cuts):
                line, first = self._line.encode(), int(self._cuts[0])
                inside = [self._tokenizer.count(line[first:cut].decode()) for cut in self._cuts.tolist()]
                numbers = np.arange(self._lines, dtype=np.int64)[:, None]
                cuts = (numbers * (len(line) + 1) + self._cuts).reshape(-1)
                exact = (numbers * self._each + np.array(inside, dtype=np.int64)).reshape(-1)
                self._text = encode_later(data, self._tokenizer, cuts, exact)
            else:
                self._text = encode(data.decode(), self._tokenizer)
        return self._text

    def notes(self, secret: Secret) -> tuple[str, ...]:
        """Nothing."""
        return ()
