"""Reads amounts of money in folded text: £4.35, GBP4.35, four pounds thirty-five, 435p, 4块3毛5."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from itertools import pairwise
from typing import NamedTuple

from niah_score.text.fold import Reading, late
from niah_score.text.numerals import numbers_in
from niah_score.text.phrases import phrases_of


class Amount(NamedTuple):
    """An amount of money. `currencies`: ISO codes, any of which may be meant ("$", "¥"); empty if none is named."""

    value: Decimal
    currencies: frozenset[str]


def _codes_by_name(subject: str) -> dict[str, tuple[str, ...]]:
    return {name: tuple(codes.split()) for codes, names in vars(phrases_of(subject)).items() for name in names}


# The names of currencies in folded text, of their hundredths and of their tenths, and the codes that each may mean.
CURRENCIES, _HUNDREDTHS, _TENTHS = map(_codes_by_name, ("currencies", "hundredths", "tenths"))
CODES = frozenset(code for codes in CURRENCIES.values() for code in codes)


def _names(table: Sequence[str]) -> str:
    """A pattern of names, the longest first; names of ASCII letters must be whole words, but may touch digits."""
    return "|".join(
        rf"(?<![a-z]){re.escape(name)}(?![a-z])" if name[-1].isascii() and name[-1].isalpha() else re.escape(name)
        for name in sorted(table, key=len, reverse=True)
    )


# Signs and codes may come before or after a number, words only after it.
_LEADING = [name for name in CURRENCIES if not name[-1].isalpha() or name.upper() in CODES or name in ("rmb", "人民币")]
_BEFORE = late(rf"(?:{_names(_LEADING)})[\s-]?$")
_AFTER = late(rf"[\s-]?(?P<name>{_names((*CURRENCIES, *_HUNDREDTHS, *_TENTHS))})")
_LIST_MARK = late(r"(?<![\d.,])(\d{1,2})([.):、])\s?$")
_LONGEST_MARK = 6
_AND = late(r",?\s?(?:and\s)?|-")


def amounts_in(folded: str) -> list[Reading]:
    """The amounts in a folded text, in order: every number, with the currency next to it, if any.

    Consecutive numbers of different units of a currency are one amount: 4 pounds 35 is 4.35.
    """
    parts = [with_currency(folded, number) for number in numbers_in(folded)]
    readings = [Reading(Amount(part.worth, part.currencies), part.start, part.end) for part in parts]
    for one, other in pairwise(parts):
        between = folded[one.end : other.start]
        if one.share == 1 and one.currencies and 0 <= one.end <= other.start and _AND.fullmatch(between):
            cents = _cents(one, other, folded)
            if cents is not None:
                codes = one.currencies & other.currencies if other.currencies else one.currencies
                readings.append(Reading(Amount(one.worth + cents, codes), one.start, other.end))
    readings += _in_three(folded, parts)
    # A reading that is part of a longer one does not count separately.
    longest: list[Reading] = []
    for reading in sorted(readings, key=lambda reading: (reading.start, -reading.end)):
        if not longest or reading.end > longest[-1].end or (reading.start, reading.end) == longest[-1][1:]:
            longest.append(reading)
    return longest


def amount_of(folded: str) -> Amount | None:
    """The amount that a whole folded text names, with its currency; None for a number alone or anything else."""
    whole = [reading for reading in amounts_in(folded) if (reading.start, reading.end) == (0, len(folded))]
    return whole[0].value if whole and whole[0].value.currencies else None


class PricedNumber(NamedTuple):
    """A number with the unit next to it. `share`: the size of that unit in its currency (1, 0.1 or 0.01)."""

    worth: Decimal
    number: Decimal
    share: Decimal
    currencies: frozenset[str]
    start: int
    end: int


def with_currency(folded: str, number: Reading) -> PricedNumber:
    """A number with the unit next to it, if any."""
    before = _BEFORE.search(folded, max(0, number.start - 12), number.start)
    after = _AFTER.match(folded, number.end)
    if before:
        codes = CURRENCIES[before[0].rstrip(" -")]
        return PricedNumber(number.value, number.value, Decimal(1), frozenset(codes), before.start(), number.end)
    if not after:
        return PricedNumber(number.value, number.value, Decimal(1), frozenset(), number.start, number.end)
    name = after["name"]
    share = Decimal("0.01") if name in _HUNDREDTHS else Decimal("0.1") if name in _TENTHS else Decimal(1)
    codes = _HUNDREDTHS.get(name) or _TENTHS.get(name) or CURRENCIES[name]
    return PricedNumber(number.value * share, number.value, share, frozenset(codes), number.start, after.end())


def _cents(one: PricedNumber, other: PricedNumber, folded: str) -> Decimal | None:
    """What a second number adds to a first one in whole units; None if it is not part of the same amount.

    A second number without a unit follows the name of the first one's, in Chinese directly, or a hyphen: 4 pounds 35,
    4块3, £4-35. In digits after a space it has two, and is not the next number of a list: "9. 14 pounds 10. 20 pounds".
    """
    if one.worth != one.worth.to_integral_value() or not 0 < other.number < 100:
        return None
    if other.share != 1:
        return other.worth if not other.currencies or one.currencies & other.currencies else None
    unit = folded[one.end - 1]
    apart = other.start > one.end
    if other.currencies or (unit.isdigit() and folded[one.end] != "-") or (apart and not unit.isascii()):
        return None
    digits = folded[other.start : other.end]
    if digits.isdigit() and apart and (len(digits) < 2 or _follows_in_list(one, other, folded)):
        return None
    return other.number / 10 if other.number < 10 and "CNY" in one.currencies else other.number / 100


def _follows_in_list(one: PricedNumber, other: PricedNumber, folded: str) -> bool:
    """Whether a number is the mark of a list's item, as the mark before the first number counts one less."""
    mark = _LIST_MARK.search(folded, max(0, one.start - _LONGEST_MARK), one.start)
    return mark is not None and int(mark[1]) + 1 == other.number and folded.startswith(mark[2], other.end)


def _in_three(folded: str, parts: Sequence[PricedNumber]) -> Iterator[Reading]:
    """Yuan, jiao and fen: 4块3毛5."""
    for one, two, three in zip(parts, parts[1:], parts[2:], strict=False):
        joined = one.end == two.start and two.end == three.start
        if joined and one.share == 1 and "CNY" in one.currencies and two.share == Decimal("0.1") and three.number < 10:
            yield Reading(Amount(one.worth + two.worth + three.number / 100, frozenset(("CNY",))), one.start, three.end)
