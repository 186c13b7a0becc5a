"""Fills haystacks with lines made of literal texts and slots, drawn and counted in bulk.

    line = Line(("One of the numbers for ", Words(ADJECTIVES, NOUNS, "-"), " is: ", Digits(7), "."))
    filler = LinesFiller("numbers", line, tokenizer)

All values of a haystack differ, and none is a keyword of its row or a value in a needle that has the form of a line. If
the tokenizer is not local, or the parts of a line cannot be counted separately, the whole text is encoded.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import chain, pairwise

import numpy as np

from niah_gen.errors import FitError
from niah_gen.haystacks.fit import MOST_BELOW, WINDOW, Fitting, Trial, seam_tokens
from niah_gen.haystacks.haystack import FillRequest, Haystack, Secret
from niah_gen.haystacks.line_tokens import LineTokens, line_tokens
from niah_gen.haystacks.picking import FEW, MANY, pick_lines
from niah_gen.haystacks.sentences import Kept, Seams, Sentences, sentences_of
from niah_gen.haystacks.slots import (
    PADDING,
    Bytes2D,
    ReadNumber,
    Slot,
    Values,
    Writer,
    deal,
    reader_of,
    scattered,
    size_of,
    writer_of,
)
from niah_gen.tokenizers.cuts import safe_cuts
from niah_gen.tokenizers.find import Ints, Tokenizer
from niah_gen.tokenizers.spliced import Counter, Encoded, Slice, encode, encode_later
from niah_score.text import fold, holds

# The tokens of a line are estimated from this many lines.
_SAMPLE = 256
# Lines encoded together, if they must be encoded.
_BATCH = 256
_ENDLESS = 2**62
# How often lines are picked before the nearest of those tried is taken.
_ATTEMPTS = 6


@dataclass(frozen=True)
class Line:
    """The form of the lines: alternating texts and slots, and the joiner between lines.

    `alike`: how many lines share each value of the first slot; they stand anywhere in the haystack. Raises ValueError
    if texts and slots do not alternate, if there is no slot, or if a text holds a line end.
    """

    parts: tuple[str | Slot, ...]
    joiner: str = "\n"
    alike: int = 1

    def __post_init__(self) -> None:
        if any(isinstance(left, str) == isinstance(right, str) for left, right in pairwise(self.parts)):
            raise ValueError("the parts of a line must alternate between texts and slots")
        if not self.slots or any(isinstance(part, str) and "\n" in part for part in self.parts):
            raise ValueError("a line must have a slot, and no line end in its texts")

    @cached_property
    def slots(self) -> tuple[Slot, ...]:
        """The slots, in order."""
        return tuple(part for part in self.parts if not isinstance(part, str))

    @cached_property
    def places_of_slots(self) -> tuple[tuple[Slot, tuple[int, ...]], ...]:
        """Each different slot, and its numbers among the slots."""
        places: dict[Slot, list[int]] = {}
        for place, slot in enumerate(self.slots):
            places.setdefault(slot, []).append(place)
        return tuple((slot, tuple(numbers)) for slot, numbers in places.items())

    @cached_property
    def readers(self) -> tuple[ReadNumber, ...]:
        """For each slot, the function that reads the numbers of its values."""
        return tuple(map(reader_of, self.slots))

    @cached_property
    def writers(self) -> tuple[Writer, ...]:
        """For each slot, what writes its values."""
        return tuple(map(writer_of, self.slots))

    @cached_property
    def row(self) -> tuple[Bytes2D, tuple[int, ...]]:
        """The bytes of a line and its joiner with empty slots, and where each slot begins."""
        row = b""
        places = []
        writers = iter(self.writers)
        for part in (*self.parts, self.joiner):
            if not isinstance(part, str):
                places.append(len(row))
            row += part.encode() if isinstance(part, str) else next(writers).width * PADDING
        return np.frombuffer(row, dtype=np.uint8), tuple(places)

    def numbers_of(self, texts: Sequence[str]) -> list[frozenset[int]]:
        """For each of `places_of_slots`, the numbers of the texts that are values of the slot."""
        readers = [self.readers[places[0]] for _, places in self.places_of_slots]
        return [frozenset(number for number in map(read, texts) if number is not None) for read in readers]

    def text(self, *values: str) -> str:
        """The line with these values in its slots."""
        given = iter(values)
        return "".join(part if isinstance(part, str) else next(given) for part in self.parts)

    def values_in(self, text: str) -> tuple[str, ...] | None:
        """The values in the slots of a line; None for a text of another form."""
        match = self._form.fullmatch(text)
        if match is None or any(read(text) is None for read, text in zip(self.readers, match.groups(), strict=True)):
            return None
        return match.groups()

    @cached_property
    def _form(self) -> re.Pattern[str]:
        return re.compile("".join(re.escape(part) if isinstance(part, str) else "(.+?)" for part in self.parts))


def draw_lines(line: Line, count: int, seed: str, avoid: Sequence[str] = ()) -> list[Values]:
    """The values of each slot for `count` lines, all different, and none of those in `avoid`.

    Raises FitError if a slot has too few values.
    """
    drawn: list[Values] = [Values(np.zeros(0, dtype=np.int64))] * len(line.slots)
    for (slot, places), avoided in zip(line.places_of_slots, line.numbers_of(avoid), strict=True):
        wanted = [-(-count // line.alike) if place == 0 else count for place in places]
        if sum(wanted) > size_of(slot) - len(avoided):
            raise FitError(
                f"a haystack of {count} lines needs {sum(wanted)} different {type(slot).__name__.lower()}, but there "
                f"are only {size_of(slot) - len(avoided)}; ask for shorter lengths, or for values of another type"
            )
        dealt = deal(slot, sum(wanted), f"{seed}/{places[0]}", avoided)
        start = 0
        for place, own in zip(places, wanted, strict=True):
            drawn[place] = _part_of(dealt, slice(start, start + own))
            start += own
    if line.alike > 1:
        shared = scattered(np.arange(count, dtype=np.int64), count, f"{seed}/alike") // line.alike
        drawn[0] = _part_of(drawn[0], shared)
    return drawn


def most_lines(line: Line, avoid: Sequence[str] = ()) -> int:
    """For how many lines there are different values, without those to avoid."""
    limits = []
    for slot, places in line.places_of_slots:
        # For every `alike` lines, the first place takes one value and each other place `alike` values.
        each = sum(1 if place == 0 else line.alike for place in places)
        limits.append(max(0, size_of(slot) - len(avoid) - 1) * line.alike // each)
    return min(limits)


def _part_of(values: Values, which: slice | Ints) -> Values:
    return Values(values.numbers[which], None if values.more is None else values.more[which])


def lay_lines(line: Line, drawn: Sequence[Values], count: int) -> tuple[bytes, Ints]:
    """Drawn lines, each with its joiner, as one text; and the size of each in bytes."""
    form, places = line.row
    grid = np.empty((count, len(form)), dtype=np.uint8)
    grid[:] = form
    sizes = np.zeros(count, dtype=np.int64)
    fixed = len(form)
    for at, writer, values in zip(places, line.writers, drawn, strict=True):
        for data, own in writer.columns(values):
            wide = data.shape[1]
            grid[:, at : at + wide] = data
            at += wide
            if own is not None:
                sizes += own
                fixed -= wide
    sizes += fixed
    return grid.tobytes().translate(None, PADDING), sizes


class LinesFiller:
    """Fills haystacks with lines of one form, drawn by the coordinates. `name` seeds the draws."""

    def __init__(self, name: str, line: Line, tokenizer: Tokenizer) -> None:
        self._name = name
        self._line = line
        self._tokenizer = tokenizer
        self._counter = Counter(tokenizer)
        self._literals = fold("\n".join(part for part in line.parts if isinstance(part, str)))

    @cached_property
    def _tokens(self) -> LineTokens | None:
        return line_tokens(self._line.parts, self._line.joiner, self._tokenizer)

    def fill(self, request: FillRequest) -> Haystack:
        """As many lines as fit; the last few are picked by their tokens to come near the budget.

        If all lines have the same number of tokens, prompts end up to one line below it. Raises FitError if not even
        one line fits, if a slot has too few values, or if a keyword is in the text of every line.
        """
        line, secret = self._line, request.secret
        seed = f"{request.seed}/{self._name}/{secret.id}/{request.length}/{request.repeat}"
        if request.depth is not None:
            seed += f"/{request.depth!r}"
        keywords = [word for group in secret.keywords for word in group]
        for word in keywords:
            if holds(self._literals, word):
                raise FitError(
                    f"{self._name}: every line holds {word!r}, a keyword of {secret.id!r}; ask for something else"
                )
        forms = [line.values_in(text) for text in secret.texts]
        avoid = list(dict.fromkeys([*keywords, *chain.from_iterable(form for form in forms if form)]))
        fitting = Fitting(request, self._tokenizer, self._counter)
        if self._tokens is not None and (self._head_cut or all(forms)):
            haystack = self._counted(request, fitting, self._tokens, seed, avoid)
        else:
            sentences = self._encoded(max(fitting.room, 1), seed, avoid)
            added = seam_tokens(request, sentences, self._counter)
            haystack = fitting.haystack(sentences, added, (line.joiner,), None)
        cleared = frozenset(word for word in keywords if any(read(word) is not None for read in line.readers))
        return replace(haystack, cleared=cleared)

    def _counted(
        self, request: FillRequest, fitting: Fitting, tokens: LineTokens, seed: str, avoid: Sequence[str]
    ) -> Haystack:
        """Lines counted by their parts, the last few of them picked to fill what is left."""
        added = self._added_anywhere(request)
        sample, size = self._sample
        room = fitting.room_for(sample, size, sum(added) if added else request.needle_tokens)
        best: Trial | None = None
        # At the ends of the text a needle may add one more token than between two lines.
        near = MOST_BELOW // 2 - 1
        for spare, slack in ((FEW, near), (MANY, near), (MANY, room)):  # at last, any haystack that fits will do
            drawn, each = self._drawn(max(room, 1), spare, tokens, seed, avoid)
            left, aim = room - 1, slack
            for _ in range(_ATTEMPTS):
                picked = pick_lines(each, left, aim)
                if picked is None:
                    break
                sentences = self._laid([_part_of(values, picked) for values in drawn], each[picked])
                trial = fitting.whole(sentences, [np.full(len(sentences.places), more) for more in added])
                if 0 <= trial.below <= max(trial.aim, aim):
                    return trial.haystack
                if trial.below >= 0 and (best is None or trial.below < best.below):
                    best = trial
                left = int(each[picked].sum()) + trial.below
                aim = max(trial.aim, slack if slack == room else 0)
            if best is not None:
                return best.haystack
        raise fitting.no_room()

    def _added_anywhere(self, request: FillRequest) -> list[int]:
        """For each needle, the tokens that it adds between any two lines, which are the same everywhere.

        With a needle in the lines' form, the text is still made of such lines, whose tokens add up. Around any other
        needle, the text is the same up to the nearest cuts. Empty if the needles' places are fixed.
        """
        if request.needles_fixed:
            return []
        sample, _ = self._sample
        end = sample.data.index(self._line.joiner.encode())
        left, right = Slice(sample, 0, end), Slice(sample, end, len(sample.data))
        count = self._counter.count
        alone = count([left, right])
        return [
            count([left, request.joiner, Slice(needle, 0, len(needle.data)), right]) - alone
            for needle in request.needles
        ]

    @cached_property
    def _sample(self) -> tuple[Encoded, int]:
        """Two lines, and their tokens among others."""
        assert self._tokens is not None
        drawn = draw_lines(self._line, 2, f"{self._name}/sample")
        data, _ = lay_lines(self._line, drawn, 2)
        text = data.decode().removesuffix(self._line.joiner)
        return encode(text, self._tokenizer), int(self._tokens.of(drawn, 2).sum())

    @cached_property
    def _tail_tokens(self) -> int:
        return self._tokenizer.count(self._tail)

    @cached_property
    def _tail(self) -> str:
        """What a line ends with, after its last slot."""
        last = self._line.parts[-1]
        return last if isinstance(last, str) else ""

    @cached_property
    def _head_cut(self) -> int:
        """Bytes from the end of a line to the first safe cut in the next; 0 if that depends on its slots."""
        # A cut right before the joiner does not count: it would depend on how the line ends.
        first = self._line.parts[0]
        cuts = safe_cuts(self._line.joiner + (first if isinstance(first, str) else ""))
        return int(cuts[0]) if len(cuts) else 0

    @cached_property
    def _each(self) -> float:
        """About how many tokens a line has."""
        count = min(_SAMPLE, most_lines(self._line))
        drawn = draw_lines(self._line, count, self._name)
        if self._tokens is not None:
            return float(self._tokens.of(drawn, count).mean())
        text, _ = lay_lines(self._line, drawn, count)
        return self._tokenizer.count(text.decode()) / count

    def _lines_for(self, room: int, spare: int, avoid: Sequence[str]) -> int:
        """How many lines to draw: about as many as have `room` tokens, and `spare` more if there are values for them.

        Raises FitError if there are too few values.
        """
        least, most = int(room / self._each * 1.005) + 1, most_lines(self._line, avoid)
        if least > most:
            raise FitError(
                f"{self._name}: {room} tokens take {least} lines, but there are different values for only {most}; ask "
                "for shorter lengths, or for values of another type"
            )
        return min(least + spare, most)

    def _drawn(
        self, room: int, spare: int, tokens: LineTokens, seed: str, avoid: Sequence[str]
    ) -> tuple[list[Values], Ints]:
        """Values of lines with `room` tokens and of about `spare` more lines, and the tokens of each line."""
        line = self._line
        count, most = self._lines_for(room, spare, avoid), most_lines(line, avoid)
        while True:
            drawn = draw_lines(line, count, seed, avoid)
            each = tokens.of(drawn, count)
            if int(each[: count - spare // 2].sum()) >= room or count == most:
                return drawn, each
            count = min(count + count // 50 + spare, most)

    def _laid(self, drawn: Sequence[Values], each: Ints) -> Sentences:
        """Drawn lines as a text, without a joiner after the last. `each`: the tokens of each line."""
        line, tokenizer = self._line, self._tokenizer
        data, sizes = lay_lines(line, drawn, len(each))
        joiner = len(line.joiner.encode())
        data = data[: len(data) - joiner]
        places = np.zeros(len(each) + 1, dtype=np.int64)
        np.cumsum(sizes, out=places[1:])
        places[1:] -= joiner
        # A needle changes tokens from the last slot before it to the first cut, or end of a slot, after it.
        starts = np.zeros(len(places), dtype=np.int64)
        cuts = starts[1:]
        np.subtract(places[1:], len(self._tail.encode()), out=cuts)
        before = np.zeros(len(places), dtype=np.int64)
        np.cumsum(each, out=before[1:])
        exact = before[1:] - each[0]
        before[1:] = exact + (tokenizer.count(data[: int(cuts[0])].decode()) + self._tail_tokens)
        text = encode_later(data, tokenizer, cuts, exact)
        after = places + self._head_cut if self._head_cut else np.append(cuts, len(data))
        seam_at = np.zeros(len(places), dtype=np.int64)
        seam_at[0] = seam_at[-1] = -1
        ends = np.minimum(after, len(data))
        return Sentences(text, places, before, partial(Seams, (), seam_at), starts, ends, None, None)

    def _encoded(self, room: int, seed: str, avoid: Sequence[str]) -> Sentences:
        """Lines for `room` tokens and at least `WINDOW` more, encoded whole."""
        count = self._lines_for(room, 2 * WINDOW, avoid)
        data, sizes = lay_lines(self._line, draw_lines(self._line, count, seed, avoid), count)
        starts = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(sizes)])
        joiner = len(self._line.joiner.encode())

        def batches() -> Iterator[Kept]:
            for first in range(0, count, _BATCH):
                edges = starts[first : first + _BATCH + 1]
                text = encode(data[int(edges[0]) : int(edges[-1])].decode(), self._tokenizer)
                yield Kept(text, edges[1:] - edges[0] - joiner, text.size)

        return sentences_of(batches(), _ENDLESS, room, WINDOW, self._tokenizer)

    def notes(self, secret: Secret) -> tuple[str, ...]:
        """Nothing."""
        return ()
