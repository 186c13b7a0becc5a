"""Counts the tokens of generated lines by adding up those of their parts, exactly as the whole text is encoded.

Behind a slot whose value ends with a letter or digit, a space or a mark is a safe cut (`tokenizers/cuts.py`). So a
line falls into stretches: from the last cut before a slot to the end of the slot's value. What a value adds to its
stretch is counted once for every word and every group of digits, not for every line.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from niah_gen.haystacks.slots import UUID_GROUPS, Digits, Slot, Uuids, Values, Words, texts
from niah_gen.tokenizers.cuts import safe_cuts
from niah_gen.tokenizers.find import Ints, Tokenizer

# Tokens of each of a slot's values with what stands on their left.
CountValues = Callable[[Values], Ints]


class LineTokens(NamedTuple):
    """How the tokens of a line are counted.

    `fixed`: of what all lines share; `slots`: each slot's. A line is counted from the end of the last slot of the line
    before it to the end of its own last slot.
    """

    fixed: int
    slots: tuple[CountValues, ...]

    def of(self, values: Sequence[Values], lines: int) -> Ints:
        """Tokens of each of some lines. `values`: those of each slot."""
        total = np.full(lines, self.fixed, dtype=np.int64)
        for count, drawn in zip(self.slots, values, strict=True):
            total += count(drawn)
        return total


def line_tokens(parts: Sequence[str | Slot], joiner: str, tokenizer: Tokenizer) -> LineTokens | None:
    """How the lines of `parts` are counted, each followed by `joiner`; None where they have to be encoded whole."""
    places = [place for place, part in enumerate(parts) if not isinstance(part, str)]
    if not tokenizer.local or not places:
        return None
    last = places[-1]
    # From the end of a last slot to the end of the next.
    round_ = [*parts[last + 1 :], joiner, *parts[: last + 1]]
    fixed = 0
    slots: list[CountValues] = []
    runs: dict[str, _Runs] = {}  # of UUIDs, for all slots
    literal = ""
    for part in round_:
        if isinstance(part, str):
            literal += part
            continue
        # The first of these is the cut behind the slot before: any letter shows that there is one.
        cuts = safe_cuts("a" + literal) - 1
        count = None
        if len(cuts) and cuts[0] == 0 and _ends_in_word(part):
            data = literal.encode()
            cut = int(cuts[-1])
            fixed += tokenizer.count(data[:cut].decode())
            count = _counting(part, data[cut:].decode(), tokenizer, runs)
        if count is None:
            return None
        slots.append(count)
        literal = ""
    return LineTokens(fixed, tuple(slots))


def _ends_in_word(slot: Slot) -> bool:
    """Whether each value ends with a character behind which a mark is a safe cut."""
    if not isinstance(slot, Words):
        return True
    last = slot.first if slot.second == ("",) and not slot.joiner else slot.second
    return _cut_before(last, ".")


def _cut_before(words: Sequence[str], mark: str) -> bool:
    """Whether there is a safe cut between the end of each word and a mark."""
    return all(len(safe_cuts(last + mark)) for last in {word[-1:] for word in words})


def _counting(slot: Slot, left: str, tokenizer: Tokenizer, runs: dict[str, _Runs]) -> CountValues | None:
    """The counting of a slot behind a text that begins at a safe cut; None where values cannot be taken apart."""
    if isinstance(slot, Words):
        apart = slot.second != ("",) and _cut_before(slot.first, slot.joiner[:1])
        return _words_apart(slot, left, tokenizer) if apart else _words_whole(slot, left, tokenizer)
    if not _three_digits_at_a_time(tokenizer) or left[-1:].isalnum():
        return None
    if isinstance(slot, Digits):
        return _digits(slot, left, tokenizer)
    return _UuidTokens(left, tokenizer, runs)


def _three_digits_at_a_time(tokenizer: Tokenizer) -> bool:
    r"""Whether runs of digits and of letters are encoded apart, and digits in groups of three from the first.

    That is the \p{N}{1,3} of the patterns of cl100k_base and its successors.
    """
    encoding = getattr(tokenizer, "encoding", None)
    return encoding is not None and r"\p{N}{1,3}" in encoding._pat_str


def _words_apart(slot: Words, left: str, tokenizer: Tokenizer) -> CountValues:
    front = np.array([tokenizer.count(left + word) for word in slot.first], dtype=np.int64)
    back = np.array([tokenizer.count(slot.joiner + word) for word in slot.second], dtype=np.int64)

    def count(values: Values) -> Ints:
        first, second = np.divmod(values.numbers, len(back))
        return front[first] + back[second]

    return count


def _words_whole(slot: Words, left: str, tokenizer: Tokenizer) -> CountValues:
    """Each value is encoded when it first comes."""
    known = np.zeros(len(slot.first) * len(slot.second), dtype=np.int64)

    def count(values: Values) -> Ints:
        found = known[values.numbers]
        fresh = np.unique(values.numbers[found == 0])
        if len(fresh):
            known[fresh] = [tokenizer.count(left + text) for text in texts(slot, Values(fresh))]
            found = known[values.numbers]
        return found

    return count


def _digits(slot: Digits, left: str, tokenizer: Tokenizer) -> CountValues:
    whole, rest = divmod(slot.size, 3)
    tables = [_group_table(3, tokenizer)] * whole + ([_group_table(rest, tokenizer)] if rest else [])
    beside = tokenizer.count(left + "1") - tokenizer.count("1")
    if all((table == 1).all() for table in tables):
        each = beside + len(tables)
        return lambda values: np.full(len(values.numbers), each, dtype=np.int64)

    def count(values: Values) -> Ints:
        left_over = values.numbers + 10 ** (slot.size - 1)
        total = np.full(len(left_over), beside, dtype=np.int64)
        for table in reversed(tables):
            left_over, group = np.divmod(left_over, len(table))
            total += table[group]
        return total

    return count


def _group_table(digits: int, tokenizer: Tokenizer) -> Ints:
    """Tokens of every group of so many digits."""
    return np.array([tokenizer.count(f"{number:0{digits}}") for number in range(10**digits)], dtype=np.int64)


# Runs of letters in UUIDs are counted once for all up to so many; longer ones, in one UUID of 2,500, with all of it.
_LONGEST_RUN = 8
_LETTERS = 7  # six, and none
_RUNS = _LETTERS**_LONGEST_RUN
_GROUP = 3


class _Runs:
    """Counts the tokens of runs of the letters a to f, given as numbers to the base 7, a being 1, behind a text."""

    def __init__(self, before: str, tokenizer: Tokenizer) -> None:
        self._before = before
        self._tokenizer = tokenizer
        self._known = np.zeros(_RUNS, dtype=np.uint8)

    def __call__(self, runs: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint8]:
        found = self._known[runs]
        if not found.all():
            fresh = np.unique(runs[found == 0])
            self._known[fresh] = [self._tokenizer.count(self._before + _letters(run)) for run in fresh.tolist()]
            found = self._known[runs]
        return found


def _letters(run: int) -> str:
    text = ""
    while run:
        run, letter = divmod(run, _LETTERS)
        text = " abcdef"[letter] + text
    return text


class _UuidTokens:
    """Counts the tokens of UUIDs: those of each run of letters, and one for each group of three digits of a run."""

    def __init__(self, left: str, tokenizer: Tokenizer, runs: dict[str, _Runs]) -> None:
        self._left = left
        self._tokenizer = tokenizer
        for before in ("", left, "-"):
            runs.setdefault(before, _Runs(before, tokenizer))
        self._inner = runs[""]
        # A run right behind what stands before the first group, or behind a hyphen, may be encoded together with it.
        self._first = [runs[before] for before in (left, "-")]
        self._beside = [tokenizer.count(before + "1") - tokenizer.count("1") for before in (left, "-")]

    def __call__(self, values: Values) -> Ints:
        digits = _nibbles(values)
        rows = digits.shape[1]
        letters = digits > 9
        total = np.zeros(rows, dtype=np.uint8)
        long = np.zeros(rows, dtype=np.bool_)
        column = 0
        for number, size in enumerate(UUID_GROUPS):
            kind = min(number, 1)
            phase = np.zeros(rows, dtype=np.uint8)  # digits of the group of three that is open
            run = np.zeros(rows, dtype=np.uint32)  # letters of the run that is open
            first = letters[column].copy()  # whether that is the group's first run, without a digit before it
            total += ~first * np.uint8(self._beside[kind])
            for place in range(column, column + size):
                letter = letters[place]
                self._close(np.flatnonzero(~letter & (run > 0)), run, first, self._first[kind], total)
                phase += 1
                phase -= (phase == _GROUP + 1) * np.uint8(_GROUP)
                phase *= ~letter
                total += phase == 1
                if place - column >= _LONGEST_RUN:
                    long |= letter & (run >= _RUNS // _LETTERS)
                    np.minimum(run, _RUNS // _LETTERS - 1, out=run)
                run *= _LETTERS
                run += digits[place] - np.uint8(9)
                run *= letter
            self._close(np.flatnonzero(run), run, first, self._first[kind], total)
            column += size
        found = total.astype(np.int64)
        rare = np.flatnonzero(long)
        if len(rare):
            assert values.more is not None
            whole = texts(Uuids(), Values(values.numbers[rare], values.more[rare]))
            found[rare] = [self._tokenizer.count(self._left + text) for text in whole]
        return found

    def _close(
        self,
        ended: Ints,
        run: npt.NDArray[np.uint32],
        first: npt.NDArray[np.bool_],
        behind: _Runs,
        total: npt.NDArray[np.uint8],
    ) -> None:
        """Add the tokens of the runs that have ended."""
        if not len(ended):
            return
        is_first = first[ended]
        inner, outer = ended[~is_first], ended[is_first]
        total[inner] += self._inner(run[inner])
        total[outer] += behind(run[outer])
        first[outer] = False


def _nibbles(values: Values) -> npt.NDArray[np.uint8]:
    """The 32 hexadecimal digits of UUIDs as numbers, a row for each place."""
    assert values.more is not None
    found = np.empty((32, len(values.more)), dtype=np.uint8)
    for half, words in enumerate((values.numbers.view(np.uint64), values.more)):
        for place in range(16):
            found[16 * half + place] = (words >> np.uint64(60 - 4 * place)) & np.uint64(15)
    return found
