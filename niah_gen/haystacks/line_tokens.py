"""Counts the tokens of generated lines by adding up those of their parts, with the same result as encoding the text.

If a slot's value ends with a letter or digit, the space or mark after it begins at a safe cut (`tokenizers/cuts.py`).
So a line splits into stretches, each from the last cut before a slot to the end of the slot's value. What a value adds
to its stretch is counted once for every word and every group of digits, not for every line. UUIDs are counted one by
one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from niah_gen.haystacks.slots import Digits, Slot, Values, Words, texts
from niah_gen.tokenizers.cuts import safe_cuts
from niah_gen.tokenizers.find import Ints, Tokenizer

# Counts the tokens of each of a slot's values together with the text on their left.
CountValues = Callable[[Values], Ints]


class LineTokens(NamedTuple):
    """How the tokens of a line are counted: `fixed` for what all lines share, and a function for each slot.

    A line is counted from the end of the last slot of the line before it to the end of its own last slot.
    """

    fixed: int
    slots: tuple[CountValues, ...]

    def of(self, values: Sequence[Values], lines: int) -> Ints:
        """Tokens of each of `lines` lines. `values`: the values of each slot."""
        total = np.full(lines, self.fixed, dtype=np.int64)
        for count, drawn in zip(self.slots, values, strict=True):
            total += count(drawn)
        return total


def line_tokens(parts: Sequence[str | Slot], joiner: str, tokenizer: Tokenizer) -> LineTokens | None:
    """How lines of `parts`, each followed by `joiner`, are counted; None if they must be encoded whole."""
    places = [place for place, part in enumerate(parts) if not isinstance(part, str)]
    if not tokenizer.local or not places:
        return None
    last = places[-1]
    # The parts from the end of a line's last slot to the end of the next line's.
    rotated = [*parts[last + 1 :], joiner, *parts[: last + 1]]
    fixed = 0
    slots: list[CountValues] = []
    literal = ""
    for part in rotated:
        if isinstance(part, str):
            literal += part
            continue
        # The first of these is the cut right after the previous slot, whose value the "a" stands for.
        cuts = safe_cuts("a" + literal) - 1
        count = None
        if len(cuts) and cuts[0] == 0 and _ends_in_word(part):
            data = literal.encode()
            cut = int(cuts[-1])
            fixed += tokenizer.count(data[:cut].decode())
            count = _counting(part, data[cut:].decode(), tokenizer)
        if count is None:
            return None
        slots.append(count)
        literal = ""
    return LineTokens(fixed, tuple(slots))


def _ends_in_word(slot: Slot) -> bool:
    """Whether there is a safe cut between each value and a mark after it."""
    if not isinstance(slot, Words):
        return True
    last = slot.first if slot.second == ("",) and not slot.joiner else slot.second
    return _cut_before(last, ".")


def _cut_before(words: Sequence[str], mark: str) -> bool:
    """Whether there is a safe cut between the end of each word and a mark."""
    return all(len(safe_cuts(last + mark)) for last in {word[-1:] for word in words})


def _counting(slot: Slot, left: str, tokenizer: Tokenizer) -> CountValues | None:
    """How a slot after the text `left`, which begins at a safe cut, is counted; None if values cannot be split."""
    if isinstance(slot, Words):
        apart = slot.second != ("",) and _cut_before(slot.first, slot.joiner[:1])
        return _words_apart(slot, left, tokenizer) if apart else _words_whole(slot, left, tokenizer)
    if not _three_digits_at_a_time(tokenizer) or left[-1:].isalnum():
        return None
    if isinstance(slot, Digits):
        return _digits(slot, left, tokenizer)

    def count(values: Values) -> Ints:
        return np.array([tokenizer.count(left + text) for text in texts(slot, values)], dtype=np.int64)

    return count


def _three_digits_at_a_time(tokenizer: Tokenizer) -> bool:
    r"""Whether digits and letters are encoded separately, and digits in groups of three from the first.

    This is \p{N}{1,3} in the patterns of cl100k_base and its successors.
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
    """Encodes each value when it first occurs."""
    known = np.zeros(len(slot.first) * len(slot.second), dtype=np.int64)

    def count(values: Values) -> Ints:
        tokens = known[values.numbers]
        fresh = np.unique(values.numbers[tokens == 0])
        if len(fresh):
            known[fresh] = [tokenizer.count(left + text) for text in texts(slot, Values(fresh))]
            tokens = known[values.numbers]
        return tokens

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
    """Tokens of every group of `digits` digits."""
    return np.array([tokenizer.count(f"{number:0{digits}}") for number in range(10**digits)], dtype=np.int64)
