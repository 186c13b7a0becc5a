"""Fills haystacks with lines made of literal texts and slots, drawn and counted in bulk.

    line = Line(("One of the numbers for ", Words(ADJECTIVES, NOUNS, "-"), " is: ", Digits(7), "."))
    filler = LinesFiller("numbers", line, tokenizer)

All values of a haystack differ, and none is a keyword of its row or stands in a needle that has the form of a line. A
tokenizer that is not local, and a line whose parts cannot be counted apart, cost the encoding of the whole text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import chain

import numpy as np

from niah_gen.errors import FitError
from niah_gen.haystacks.fit import WINDOW, Fitting, seam_tokens
from niah_gen.haystacks.haystack import FillRequest, Haystack, Secret, Usage
from niah_gen.haystacks.line_tokens import LineTokens, line_tokens
from niah_gen.haystacks.sentences import Kept, Sentences, sentences_of
from niah_gen.haystacks.slots import PADDING, Column, Slot, Values, columns, deal, number_of, scattered, size_of
from niah_gen.tokenizers.find import Ints, Tokenizer
from niah_gen.tokenizers.spliced import Counter, Slice, encode, encode_later, safe_cuts
from niah_score.text import fold, holds

# Lines from which the tokens of a line are estimated.
_SAMPLE = 256
# Lines encoded together where they have to be.
_BATCH = 256
_ENDLESS = 2**62


@dataclass(frozen=True)
class Line:
    """The form of the lines: texts and slots in turn, and what parts one line from the next.

    `alike`: so many lines share the value of the first slot; they stand anywhere in the haystack.
    Raises ValueError where two slots stand side by side, or a text holds a line end.
    """

    parts: tuple[str | Slot, ...]
    joiner: str = "\n"
    alike: int = 1

    def __post_init__(self) -> None:
        for left, right in zip(self.parts, self.parts[1:], strict=False):
            if isinstance(left, str) == isinstance(right, str):
                raise ValueError("a line is texts and slots in turn")
        if not self.slots or any(isinstance(part, str) and "\n" in part for part in self.parts):
            raise ValueError("a line has a slot, and no line end of its own")

    @cached_property
    def slots(self) -> tuple[Slot, ...]:
        """The slots, in order."""
        return tuple(part for part in self.parts if not isinstance(part, str))

    def text(self, *values: str) -> str:
        """The line with these values in its slots."""
        given = iter(values)
        return "".join(part if isinstance(part, str) else next(given) for part in self.parts)

    def values_in(self, text: str) -> tuple[str, ...] | None:
        """The values in the slots of a line; None for a text of another form."""
        found = self._form.fullmatch(text)
        if found is None or any(number_of(*pair) is None for pair in zip(self.slots, found.groups(), strict=True)):
            return None
        return found.groups()

    @cached_property
    def _form(self) -> re.Pattern[str]:
        return re.compile("".join(re.escape(part) if isinstance(part, str) else "(.+?)" for part in self.parts))


def draw_lines(line: Line, count: int, seed: str, avoid: Sequence[str] = ()) -> list[Values]:
    """The values of each slot for so many lines, all different, and none of those to avoid.

    Raises FitError where the slots have too few values.
    """
    pools: dict[Slot, list[int]] = {}
    for place, slot in enumerate(line.slots):
        pools.setdefault(slot, []).append(place)
    found: list[Values] = [Values(np.zeros(0, dtype=np.int64))] * len(line.slots)
    for slot, places in pools.items():
        numbers = (number_of(slot, text) for text in avoid)
        avoided = frozenset(number for number in numbers if number is not None)
        wanted = [-(-count // line.alike) if place == 0 else count for place in places]
        if sum(wanted) > size_of(slot) - len(avoided):
            raise FitError(
                f"a haystack of {count} lines needs {sum(wanted)} different {type(slot).__name__.lower()}, and there "
                f"are {size_of(slot) - len(avoided)}; ask for shorter lengths, or for values of another type"
            )
        dealt = deal(slot, sum(wanted), f"{seed}/{places[0]}", avoided)
        starts = np.cumsum([0, *wanted])
        for place, start, end in zip(places, starts, starts[1:], strict=False):
            found[place] = _part_of(dealt, slice(start, end))
    if line.alike > 1:
        shared = scattered(np.arange(count, dtype=np.int64), count, f"{seed}/alike") // line.alike
        found[0] = _part_of(found[0], shared)
    return found


def most_lines(line: Line, avoid: Sequence[str] = ()) -> int:
    """For how many lines there are different values, without those to avoid."""
    found = []
    for slot in dict.fromkeys(line.slots):
        each = Fraction(0)
        for place, other in enumerate(line.slots):
            each += Fraction(1, 1 if place else line.alike) * (other == slot)
        found.append(int(max(0, size_of(slot) - len(avoid) - 1) / each))
    return min(found)


def _part_of(values: Values, which: slice | Ints) -> Values:
    return Values(values.numbers[which], None if values.more is None else values.more[which])


def lay_lines(line: Line, drawn: Sequence[Values], count: int) -> tuple[bytes, Ints]:
    """Drawn lines, each with its joiner, as one text; and the bytes of each."""
    given = iter(zip(line.slots, drawn, strict=True))
    found: list[Column] = []
    for part in (*line.parts, line.joiner):
        if isinstance(part, str):
            literal = np.frombuffer(part.encode(), dtype=np.uint8)
            found.append(Column(np.broadcast_to(literal, (count, len(literal)))))
        else:
            found += columns(*next(given))
    width = sum(column.data.shape[1] for column in found)
    grid = np.empty((count, width), dtype=np.uint8)
    sizes = np.zeros(count, dtype=np.int64)
    at = 0
    for data, own in found:
        wide = data.shape[1]
        grid[:, at : at + wide] = data
        sizes += wide if own is None else own
        at += wide
    return grid.tobytes().translate(None, PADDING), sizes


class LinesFiller:
    """Fills haystacks with lines of one form, drawn by the coordinates. `name` seeds the draws."""

    def __init__(self, name: str, line: Line, tokenizer: Tokenizer) -> None:
        self._name = name
        self._line = line
        self._tokenizer = tokenizer
        self._counter = Counter(tokenizer)
        literals = "\n".join(part for part in line.parts if isinstance(part, str))
        self._literals = fold(literals)

    @cached_property
    def _tokens(self) -> LineTokens | None:
        return line_tokens(self._line.parts, self._line.joiner, self._tokenizer)

    def fill(self, request: FillRequest) -> Haystack:
        """As many lines as fit; the last few are picked by their tokens to come near the budget.

        Where all lines have as many tokens, prompts end up to a line below it. Raises FitError where not one line fits,
        or where slots have too few values.
        """
        line, secret = self._line, request.secret
        seed = f"{request.seed}/{self._name}/{secret.id}/{request.length}/{request.repeat}"
        if request.depth is not None:
            seed += f"/{request.depth!r}"
        keywords = [word for group in secret.keywords for word in group]
        for word in keywords:
            if holds(self._literals, word):
                raise FitError(f"{self._name}: every line holds {word!r}, a keyword of {secret.id!r}; ask otherwise")
        forms = [line.values_in(text) for text in secret.texts]
        avoid = list(dict.fromkeys([*keywords, *chain.from_iterable(form for form in forms if form)]))
        fitting = Fitting(request, self._tokenizer, self._counter)
        drawn = self._drawn(max(fitting.room, 1), seed, avoid)
        if drawn is not None and (self._head_cut or all(forms)):
            sentences = drawn
            added = _added_anywhere(request, sentences, self._counter)
        else:
            sentences = self._encoded(max(fitting.room, 1), seed, avoid)
            added = seam_tokens(request, sentences, self._counter)
        haystack = fitting.haystack(sentences, added, (line.joiner,), None)
        cleared = frozenset(word for word in keywords if any(number_of(slot, word) is not None for slot in line.slots))
        return replace(haystack, cleared=cleared)

    @cached_property
    def _head(self) -> str:
        """What a line begins with."""
        first = self._line.parts[0]
        return first if isinstance(first, str) else ""

    @cached_property
    def _tail(self) -> str:
        """What a line ends with, behind its last slot."""
        last = self._line.parts[-1]
        return last if isinstance(last, str) else ""

    @cached_property
    def _head_cut(self) -> int:
        """Bytes from the end of a line to the first safe cut in the next; 0 where that depends on its slots."""
        # Behind a joiner, a cut at its very beginning would be one in this text only.
        cuts = safe_cuts(self._line.joiner + self._head)
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

    def _lines_for(self, room: int, avoid: Sequence[str]) -> int:
        """How many lines to draw: about as many as have `room` tokens, and some more where there are values for them.

        Raises FitError where there are too few values.
        """
        least, most = int(room / self._each * 1.005) + 1, most_lines(self._line, avoid)
        if least > most:
            raise FitError(
                f"{self._name}: {room} tokens take {least} lines, and there are different values for {most}; ask for "
                "shorter lengths, or for values of another type"
            )
        return min(least + 2 * WINDOW, most)

    def _drawn(self, room: int, seed: str, avoid: Sequence[str]) -> Sentences | None:
        """Lines with `room` tokens and WINDOW lines more, counted by their parts; None where that cannot be."""
        line, tokenizer = self._line, self._tokenizer
        if self._tokens is None:
            return None
        count, most = self._lines_for(room, avoid), most_lines(line, avoid)
        while True:
            drawn = draw_lines(line, count, seed, avoid)
            each = self._tokens.of(drawn, count)
            if int(each[: count - WINDOW].sum()) >= room or count == most:
                break
            count = min(count + count // 50 + WINDOW, most)
        data, sizes = lay_lines(line, drawn, count)
        ends = np.cumsum(sizes)
        places = np.concatenate([np.zeros(1, dtype=np.int64), ends - len(line.joiner.encode())])
        cuts = places[1:] - len(self._tail.encode())
        exact = np.cumsum(each) - each[0]
        before = exact + (tokenizer.count(data[: int(cuts[0])].decode()) + tokenizer.count(self._tail))
        before = np.concatenate([np.zeros(1, dtype=np.int64), before])
        text = encode_later(data, tokenizer, cuts, exact)
        # A needle changes tokens from the last slot before it to the first cut, or slot's end, behind it.
        starts = np.concatenate([np.zeros(1, dtype=np.int64), cuts])
        behind = places + self._head_cut if self._head_cut else np.append(cuts, len(data))
        seam_at = np.zeros(len(places), dtype=np.int64)
        seam_at[[0, -1]] = -1
        return Sentences(text, places, before, (), seam_at, starts, np.minimum(behind, len(data)), None, None)

    def _encoded(self, room: int, seed: str, avoid: Sequence[str]) -> Sentences:
        """The same lines, encoded."""
        count = self._lines_for(room, avoid)
        data, sizes = lay_lines(self._line, draw_lines(self._line, count, seed, avoid), count)
        starts = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(sizes)])
        joiner = len(self._line.joiner.encode())

        def batches() -> Iterator[Kept]:
            for first in range(0, count, _BATCH):
                edges = starts[first : first + _BATCH + 1]
                text = encode(data[int(edges[0]) : int(edges[-1])].decode(), self._tokenizer)
                yield Kept(text, edges[1:] - edges[0] - joiner, text.size)

        return sentences_of(batches(), _ENDLESS, room, WINDOW, self._tokenizer)

    def usage(self, longest: int, secrets: Sequence[Secret]) -> Usage:
        """Nothing: there is no corpus."""
        return Usage(0, 0.0)

    def notes(self, secret: Secret) -> tuple[str, ...]:
        """Nothing."""
        return ()

    def repeats(self, length: int, reserve: int, needle_tokens: int) -> int | None:
        """Any number."""
        return None


def _added_anywhere(request: FillRequest, sentences: Sentences, counter: Counter) -> tuple[Ints, ...]:
    """For each needle, the tokens that it adds between any two lines, which is the same everywhere.

    A needle of the lines' form makes a text of such lines, whose tokens are the sum of the lines'; around any other the
    text is the same up to the nearest cuts.
    """
    if request.stands_still:
        return ()
    text, places = sentences.text, sentences.places.tolist()
    left, right = Slice(text, 0, places[1]), Slice(text, places[1], places[3])
    alone = counter.count([left, right])
    found = []
    for needle in request.needles:
        more = counter.count([left, request.joiner, Slice(needle, 0, len(needle.data)), right]) - alone
        found.append(np.full(len(places), more, dtype=np.int64))
    return tuple(found)
