"""Fills haystacks with one line of a few plain sentences, over and over; the last line may end after any of them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from niah_gen.haystacks.fit import Fitting, prefix, seam_tokens
from niah_gen.haystacks.haystack import FillRequest, Haystack, Secret, Usage
from niah_gen.haystacks.sentences import Seam, Sentences
from niah_gen.tokenizers.find import Ints, Tokenizer
from niah_gen.tokenizers.spliced import WIDEST, Counter, Encoded, encode, encode_later, safe_cuts

# The five sentences of RULER's and InfiniteBench's noise, and ours for Chinese.
NOISE = {
    "en": ("The grass is green.", " The sky is blue.", " The sun is yellow.", " Here we go.", " There and back again."),
    "zh": ("草地是绿的。", "天空是蓝的。", "太阳是黄的。", "我们出发了。", "去了又回来。"),
}
# Lines that the text is longer than what was first asked for, at least.
_SPARE = 64
# Haystacks that are kept.
_MOST_KNOWN = 64


class NoiseFiller:
    """Fills haystacks with lines of noise. `sentences`: those of a line, which begin with what parts them.

    All haystacks are beginnings of one text, which grows with the lengths that are asked for.
    """

    def __init__(self, sentences: Sequence[str], tokenizer: Tokenizer) -> None:
        self._sentences = sentences
        self._line = "".join(sentences)
        self._tokenizer = tokenizer
        self._counter = Counter(tokenizer)
        self._text: Encoded | None = None
        self._lines = 0
        self._known: dict[int, tuple[Sentences, Haystack]] = {}

    @cached_property
    def _each(self) -> int:
        """Tokens of a line among others."""
        count = self._tokenizer.count
        lines = [f"{self._line}\n" * number for number in (2, 34)]
        return max(1, (count(lines[1]) - count(lines[0])) // 32)

    def fill(self, request: FillRequest) -> Haystack:
        """As many sentences as fit. Raises FitError where not one does."""
        fitting = Fitting(request, self._tokenizer, self._counter)
        if request.stands_still:
            return self._fill_around(request, fitting)
        of_line = len(self._sentences)
        lines = max(fitting.room, 0) // self._each + 2
        sentences, _ = self._ended(lines * of_line)
        added = seam_tokens(request, sentences, self._counter)
        # One more sentence may hold a few tokens more or less than it does alone, so that none is skipped.
        number = int(np.searchsorted(sentences.before, max(fitting.room, 0), side="right")) * of_line
        while number > 0:
            sentences, known = self._ended(number)
            trial = fitting.whole(sentences, added, known)
            if trial.below >= 0:
                return trial.haystack
            # Each sentence has two tokens at least.
            number -= max(1, -trial.below * of_line // (2 * self._each))
        raise fitting.no_room()

    def _fill_around(self, request: FillRequest, fitting: Fitting) -> Haystack:
        """The same for needles that stand still: what each adds at a line end is counted first, so few tries are made.

        The number of sentences that fit is found from a first one that depends on the request alone.
        """
        added = sum(self._added(needle, request.joiner) for needle in request.needles)
        most = fitting.room_for(self._sample, self._sample.size, added)
        whole, left = divmod(max(most, 0), self._each)
        number = max(1, whole * len(self._sentences) + bisect_right(self._parts, left) - 1)
        best: Haystack | None = None
        refused: set[int] = set()
        while number > 0:
            sentences, known = self._ended(number)
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

    def _added(self, needle: Encoded, joiner: str) -> int:
        """Tokens that a needle adds at a line end among others."""
        left, right, tokens = self._beside
        return self._counter.window(left + joiner.encode() + needle.data + right) - tokens

    @cached_property
    def _beside(self) -> tuple[bytes, bytes, int]:
        """What the counter encodes together with a needle at a line end, on either side, and its tokens."""
        line = self._line.encode()
        cuts = self._cuts.tolist()
        start = next((cut for cut in reversed(cuts) if cut <= len(line) - WIDEST), 0)
        end = next((cut for cut in cuts if cut + 1 >= WIDEST), len(line))
        left, right = line[start:], b"\n" + line[:end]
        return left, right, self._tokenizer.count((left + right).decode())

    @cached_property
    def _sample(self) -> Encoded:
        return encode(self._line, self._tokenizer)

    @cached_property
    def _parts(self) -> list[int]:
        """Tokens of the first sentences behind a line end: of none, of one, and so on."""
        count = self._tokenizer.count
        parts = ["".join(self._sentences[:number]) for number in range(1, len(self._sentences))]
        return [0, *(count(f"{self._line}\n{part}") - count(self._line) for part in parts)]

    @cached_property
    def _least(self) -> int:
        """Tokens of the shortest sentence, or one less: joined to what follows it may take so many."""
        return int(np.diff([*self._parts, self._each]).min()) - 1

    @cached_property
    def _most(self) -> int:
        """Tokens of the longest sentence, or one more."""
        return int(np.diff([*self._parts, self._each]).max()) + 1

    def _ended(self, number: int) -> tuple[Sentences, Haystack]:
        """So many sentences, and the haystack that they are: one for all rows that it fits."""
        known = self._known.get(number)
        if known is None:
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            sentences = self._ending(*divmod(number, len(self._sentences)))
            haystack = replace(prefix(sentences, len(sentences.places) - 1), period=len(self._line.encode()) + 1)
            known = self._known[number] = sentences, haystack
        return known

    def _ending(self, lines: int, rest: int) -> Sentences:
        """So many lines and the first `rest` sentences of one more, as sentences with a place behind each line."""
        text = self._long(lines + 1)
        size = len(self._line.encode())
        ends = np.arange(1, lines + 1, dtype=np.int64) * (size + 1) - 1
        if rest:
            part = len("".join(self._sentences[:rest]).encode())
            ends = np.append(ends, lines * (size + 1) + part)
        places = np.concatenate([np.zeros(1, dtype=np.int64), ends])
        before = self._before(text, places, lines)
        starts, behind = self._edges(places, rest)
        seam_at = np.zeros(len(places), dtype=np.int64)
        seam_at[0] = seam_at[-1] = -1
        if rest and len(seam_at) > 2:
            seam_at[-2] = -1 if behind[-2] >= places[-1] else 0
        return Sentences(text, places, before, (self._seam,), seam_at, starts, behind, None, None)

    def _before(self, text: Encoded, places: Ints, lines: int) -> Ints:
        if not self._tokenizer.local:
            found: Ints = np.searchsorted(text.ends, places, side="right")
            return found
        found = np.zeros(len(places), dtype=np.int64)
        found[1 : lines + 1] = self._counter.tokenizer.count(self._line) + self._each * np.arange(lines)
        if len(places) > lines + 1:
            tail = text.data[int(places[lines]) : int(places[-1])].decode()
            whole = self._tokenizer.count(self._line + tail) - self._tokenizer.count(self._line) if lines else 0
            found[-1] = found[lines] + whole if lines else self._tokenizer.count(tail)
        return found

    @cached_property
    def _cuts(self) -> Ints:
        """The safe cuts of a line with its line end; None where there is none."""
        return safe_cuts(self._line + "\n")

    @cached_property
    def _seam(self) -> Seam:
        """The text around the end of a line."""
        line = self._line.encode()
        first = self._cuts[0] if len(self._cuts) else len(line)
        left, right = line[int(self._cuts[-1]) if len(self._cuts) else 0 :], b"\n" + line[: int(first)]
        return Seam(left, right, self._tokenizer.count((left + right).decode()))

    def _edges(self, places: Ints, rest: int) -> tuple[Ints, Ints]:
        """Where the text that a needle at each place may change begins and ends."""
        starts = np.maximum(places - len(self._seam.left), 0)
        if rest:
            start = int(places[-2]) + 1 if len(places) > 1 else 0
            part = self._cuts[self._cuts < places[-1] - start]
            starts[-1] = start + int(part[-1]) if len(part) else max(start - 1, 0)
        behind = places + len(self._seam.right)
        behind[0] -= 1
        return starts, np.minimum(behind, places[-1])

    def _long(self, lines: int) -> Encoded:
        """A text of at least so many lines."""
        if self._text is None or lines > self._lines:
            self._lines = lines + max(_SPARE, lines // 8)
            self._known.clear()
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

    def usage(self, longest: int, secrets: Sequence[Secret]) -> Usage:
        """Nothing: there is no corpus."""
        return Usage(0, 0.0)

    def notes(self, secret: Secret) -> tuple[str, ...]:
        """Nothing."""
        return ()

    def repeats(self, length: int, reserve: int, needle_tokens: int) -> int | None:
        """Any number."""
        return None
