"""Fills haystacks with lines made of literal texts and slots, drawn and counted in bulk.

    line = Line(("One of the numbers for ", Words(ADJECTIVES, NOUNS, "-"), " is: ", Digits(7), "."))
    filler = LinesFiller("numbers", line, tokenizer)

All values of a haystack differ, and none is a keyword of its row or a value in a needle that has the form of a line.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import pairwise

import numpy as np

from niah_gen.errors import FitError
from niah_gen.haystacks.generated import first_that_fit, room_for, tokens_of_each
from niah_gen.haystacks.haystack import FillRequest, Haystack
from niah_gen.haystacks.slots import (
    Column,
    Digits,
    Slot,
    Words,
    columns_of,
    deal,
    lay,
    number_of,
    scattered,
    size_of,
    texts,
)
from niah_gen.tokenizers.counted import Counted, count_to, counted, cut_points, known
from niah_gen.tokenizers.find import Ints, Tokenizer
from niah_score.text import fold, holds

# The tokens of a line are estimated from so many lines, and some more are drawn than that suggests.
_SAMPLE = 256
_SPARE, _SPARE_SHARE = 32, 0.02

# Counts the tokens of each of some values of a slot, by their numbers, with the text on their left.
CountNumbers = Callable[[Ints], Ints]


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

    def text(self, *values: str) -> str:
        """The line with these values in its slots."""
        given = iter(values)
        return "".join(part if isinstance(part, str) else next(given) for part in self.parts)

    def values_in(self, text: str) -> tuple[str, ...]:
        """What stands in the slots of a line; nothing for a text of another form."""
        pattern = "".join(re.escape(part) if isinstance(part, str) else "(.+?)" for part in self.parts)
        match = re.fullmatch(pattern, text)
        return match.groups() if match else ()

    @cached_property
    def most(self) -> int:
        """For how many lines there are different values."""
        limits = []
        for slot in set(self.slots):
            # For every `alike` lines, the first place takes one value and each other place `alike` values.
            each = sum(self.alike if place else 1 for place, own in enumerate(self.slots) if own == slot)
            limits.append(max(0, size_of(slot) - 1) * self.alike // each)
        return min(limits)

    def draw(self, count: int, seed: str) -> list[Ints]:
        """The numbers of the values of each slot for `count` lines, all different."""
        drawn: dict[int, Ints] = {}
        for slot in dict.fromkeys(self.slots):
            places = [place for place, own in enumerate(self.slots) if own == slot]
            ends = np.cumsum([count if place else -(-count // self.alike) for place in places])
            parts = np.split(deal(slot, int(ends[-1]), f"{seed}/{places[0]}"), ends[:-1])
            drawn |= dict(zip(places, parts, strict=True))
        if self.alike > 1:
            drawn[0] = drawn[0][scattered(np.arange(count, dtype=np.int64), count, f"{seed}/alike") // self.alike]
        return [drawn[place] for place in range(len(self.slots))]


class LinesFiller:
    """Fills haystacks with lines of one form, drawn by the coordinates. `name` seeds the draws."""

    def __init__(self, name: str, line: Line, tokenizer: Tokenizer) -> None:
        self._name = name
        self._line = line
        self._tokenizer = tokenizer
        self._literals = fold("\n".join(part for part in line.parts if isinstance(part, str)))
        last = line.parts[-1]
        self._tail = last if isinstance(last, str) else ""

    def fill(self, request: FillRequest) -> Haystack:
        """As many lines as fit.

        Raises FitError if not even one line fits, if a slot has too few values, or if a keyword is in the text of every
        line.
        """
        line, secret = self._line, request.secret
        seed = f"{request.seed}/{self._name}/{secret.id}/{request.length}/{request.repeat}"
        if request.depth is not None:
            seed += f"/{request.depth!r}"
        keywords = {word for group in secret.keywords for word in group}
        said = next((word for word in sorted(keywords) if holds(self._literals, word)), None)
        if said is not None:
            raise FitError(
                f"{self._name}: every line holds {said!r}, a keyword of {secret.id!r}; ask for something else"
            )
        avoid = keywords.union(*map(line.values_in, secret.texts))
        avoided = [[number for word in avoid if (number := number_of(slot, word)) is not None] for slot in line.slots]
        room = room_for(request, self._tokenizer)
        least, most = max(0, int(room / self._each)) + 1, line.most - len(avoid)
        if least > most:
            raise FitError(
                f"{self._name}: {room} tokens take {least} lines, but there are different values for only {most}; ask "
                "for shorter lengths, or for values of another type"
            )
        count = least + int(_SPARE_SHARE * least) + _SPARE
        text, places, before = self._lines(min(count, most) + len(avoid), seed, avoided)
        cleared = frozenset(word for word in keywords if any(number_of(slot, word) is not None for slot in line.slots))
        return replace(first_that_fit(text, places, before, room, request, self._tokenizer), cleared=cleared)

    @cached_property
    def _each(self) -> float:
        """About how many tokens a line has."""
        _, places, before = self._lines(min(_SAMPLE, self._line.most), self._name, [])
        return float(before[-1]) / (len(places) - 1)

    def _lines(self, count: int, seed: str, avoided: Sequence[Sequence[int]]) -> tuple[Counted, Ints, Ints]:
        """Lines drawn, without those with a number to avoid: the text, the places at their ends, the tokens before.

        `avoided`: numbers for each slot.
        """
        line, tokenizer = self._line, self._tokenizer
        drawn = line.draw(count, seed)
        if any(avoided):
            kept = ~np.any([np.isin(own, numbers) for own, numbers in zip(drawn, avoided, strict=True)], axis=0)
            drawn = [own[kept] for own in drawn]
        slots = zip(line.slots, drawn, strict=True)
        nothing = np.zeros(len(drawn[0]), dtype=np.int64)
        columns: list[Column] = []
        for part in (*line.parts, line.joiner):
            columns += [((part,), nothing)] if isinstance(part, str) else columns_of(*next(slots))
        text, sizes = lay(columns)
        text = text.removesuffix(line.joiner)
        places = np.append(0, np.cumsum(sizes) - len(line.joiner))
        if self._counts is None:
            source = counted(text, tokenizer)
            return source, places, count_to(source, places, tokenizer)
        each = np.sum([count(own) for count, own in zip(self._counts, drawn, strict=True)], axis=0)
        cuts, exact = places[1:] - len(self._tail), np.cumsum(each)
        first = tokenizer.count(text[: cuts[0]])
        before = np.append(0, exact + (first - each[0] + tokenizer.count(self._tail)))
        return known(text, cuts, exact, tokenizer), places, before

    @cached_property
    def _counts(self) -> list[CountNumbers] | None:
        """How the values of each slot are counted with the text between them and the slot before.

        If values end with a letter or digit, and the text after them begins with white space or a mark, lines meet at
        safe cuts, and their tokens add up. None if not, or if the tokenizer is not local: then the text is encoded.
        """
        if not self._tokenizer.local:
            return None
        left = self._tail + self._line.joiner
        counts = []
        for part in self._line.parts[: -1 if self._tail else None]:
            if isinstance(part, str):
                left += part
            elif _is_cut("a", left) and all(_is_cut(word, ".") for word in _last_words(part)):
                counts.append(_counting(part, left, self._tokenizer))
                left = ""
            else:
                return None
        return counts


def _is_cut(left: str, right: str) -> bool:
    """Whether there is a safe cut between two texts."""
    return len(cut_points(left[-1:] + right[:1])) == 1


def _last_words(slot: Slot) -> Sequence[str]:
    """What the values of a slot end with."""
    if not isinstance(slot, Words):
        return "0123456789abcdef"
    return slot.first if slot.second == ("",) and not slot.joiner else slot.second


def _counting(slot: Slot, left: str, tokenizer: Tokenizer) -> CountNumbers:
    """How the values of a slot are counted, each after the text `left`."""

    def each(numbers: Ints) -> Ints:
        return tokens_of_each([left + value for value in texts(slot, numbers)], tokenizer)

    match slot:
        case Words(first, second, joiner) if second != ("",) and all(_is_cut(word, joiner) for word in first):
            front = np.array([tokenizer.count(left + word) for word in first])
            back = np.array([tokenizer.count(joiner + word) for word in second])
            return lambda numbers: front[numbers // len(back)] + back[numbers % len(back)]
        case Words():
            return _remembered(each, size_of(slot))
        case Digits(size) if not left[-1:].isalnum() and _takes_three_digits(tokenizer):
            return lambda numbers: np.full(len(numbers), tokenizer.count(left + "1" * size))
        case _:
            return each


def _remembered(count: CountNumbers, size: int) -> CountNumbers:
    """Counts each number below `size` when it first occurs."""
    known = np.zeros(size, dtype=np.int64)

    def counted(numbers: Ints) -> Ints:
        fresh = np.unique(numbers[known[numbers] == 0])
        known[fresh] = count(fresh)
        return known[numbers]

    return counted


@lru_cache(maxsize=4)
def _takes_three_digits(tokenizer: Tokenizer) -> bool:
    r"""Whether digits are encoded three at a time, and any three of them are one token.

    This is \p{N}{1,3} in the patterns of cl100k_base and its successors.
    """
    pattern = getattr(getattr(tokenizer, "encoding", None), "_pat_str", "")
    groups = (f"{number:0{size}}" for size in (1, 2, 3) for number in range(10**size))
    return r"\p{N}{1,3}" in pattern and all(tokenizer.count(group) == 1 for group in groups)
