"""Reads Chinese numerals: plain and formal, with and without units, and mixed with digits."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from niah_score.text.late_pattern import late

_DIGITS = {char: value for value, char in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2, "○": 0}
# Formal numerals, as in accounts; within a number they are digits, alone they are mostly other words (大陆, 吴伍).
_FORMAL = {char: value for value, char in enumerate("壹贰叁肆伍陆柒捌玖", 1)} | {"参": 3}
_UNITS = {"十": 10, "百": 100, "千": 1000, "拾": 10, "佰": 100, "仟": 1000}
_SECTIONS = {"万": 10**4, "亿": 10**8, "萬": 10**4}
_TENS_IN_ONE = {"廿": 20, "卅": 30}
HAN = "".join((*_DIGITS, *_FORMAL, *_UNITS, *_SECTIONS, *_TENS_IN_ONE))

# Adjacent numerals, with any digits right next to them.
_RUN = late(rf"(?:(?<!\d)\d++(?:\.\d++)?)?[{HAN}](?:[{HAN}]|(?<=[百千万亿])单(?=[一二三四五六七八九])|\d+(?:\.\d+)?)*+")
_ITEM = late(r"\d+(?:\.\d+)?|.")
_DECIMALS = late(r"点([零〇一二三四五六七八九]+)(?![十百千万亿]|分)")


def han_numbers(folded: str) -> Iterator[tuple[Decimal | None, int, int]]:
    """Runs of Chinese numerals in a folded text: the number of each (None if it is none), its start and its end."""
    read = 0
    for match in _RUN.finditer(folded) if not folded.isascii() else ():
        start, end = match.span()
        if start < read:
            continue  # the digits after 点 were read with the number before it
        # In 百分之四十 only 四十 is a number.
        value = None if folded.startswith("分之", end) else han_number(match[0])
        decimals = _DECIMALS.match(folded, end)
        if decimals and value is not None and value == value.to_integral_value():
            value += Decimal(f"0.{''.join(str(_DIGITS[char]) for char in decimals[1])}")
            end = read = decimals.end()
        yield value, start, end


def han_number(text: str) -> Decimal | None:
    """The number that Chinese numerals, with or without digits, stand for; None if they are no number.

    Numerals without units are read as digits (二九一八 is 2918). After a unit of a hundred or more, a final numeral
    counts tenths of that unit (一千二 is 1200), unless 零 comes before it.
    """
    items = _ITEM.findall(text)
    if all(item in _DIGITS for item in items):
        return Decimal("".join(str(_DIGITS[item]) for item in items))
    if len(items) == 1 and items[0] in _FORMAL:
        return None
    if all(item in _DIGITS or item in _FORMAL for item in items):
        return Decimal("".join(str(_DIGITS.get(item, _FORMAL.get(item))) for item in items))
    total, section = Decimal(0), Decimal(0)
    pending: Decimal | None = None
    last_unit = Decimal(0)
    after_zero = False
    for item in items:
        if item in _UNITS:
            if pending is None and item not in "十拾":
                return None
            section += (1 if pending is None else pending) * _UNITS[item]
            pending, last_unit, after_zero = None, Decimal(_UNITS[item]), False
        elif item in _TENS_IN_ONE:
            if pending is not None:
                return None
            section += _TENS_IN_ONE[item]
            last_unit = Decimal(10)
        elif item in _SECTIONS:
            section += pending or 0
            if not section and not total:
                return None
            worth = _SECTIONS[item]
            total = (total + section) * worth if total and total < worth else total + section * worth
            section, pending, last_unit, after_zero = Decimal(0), None, Decimal(worth), False
        elif item in "零〇○单":
            if pending is not None:
                return None
            after_zero = True
        else:
            if pending is not None:
                return None
            pending = Decimal(_DIGITS.get(item, _FORMAL.get(item, -1)))
            if pending == -1:
                pending = Decimal(item)
    if pending is not None:
        is_tenth = last_unit >= 100 and not after_zero and pending < 10 and items[-1] not in "0123456789"
        section += pending * last_unit / 10 if is_tenth else pending
    return total + section
