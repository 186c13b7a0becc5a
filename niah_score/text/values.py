"""Defines the kinds of facts, and reads their values in folded text: numbers, times, dates, amounts of money.

A kind is `text`, `number`, `time`, `date`, `lunar_date`, `amount:` and the ISO code of a currency, or `pair:` and the
owner of the fact ("pair:the upper team" for its colour), with alternative names after a |.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from niah_score.text.money import CODES, Amount, amount_of, amounts_in
from niah_score.text.numerals import is_plain_number, number_of, numbers_in
from niah_score.text.own_values import apart, own_values, own_whole
from niah_score.text.patterns import WHOLE, Reading, in_windows
from niah_score.text.times import Day, date_of, dates_in, lunar_date_of, lunar_dates_in, times_in, times_of

TEXT = "text"
AMOUNT = "amount:"
PAIR = "pair:"


def _one(parse: Callable[[str], Any]) -> Callable[[str], frozenset[Any]]:
    def parse_all(folded: str) -> frozenset[Any]:
        value = parse(folded)
        return frozenset() if value is None else frozenset((value,))

    return parse_all


def _amounts(folded: str) -> frozenset[Any]:
    amount = amount_of(folded)
    if amount is not None:
        return frozenset((amount,))
    number = number_of(folded)
    return frozenset() if number is None else frozenset((Amount(number, frozenset()),))


# For each kind, the values in a folded text, and those that a whole folded text may mean.
_KINDS: Mapping[str, tuple[Callable[[str], list[Reading]], Callable[[str], frozenset[Any]]]] = {
    "number": (numbers_in, _one(number_of)), "time": (times_in, times_of), "date": (dates_in, _one(date_of)),
    "lunar_date": (lunar_dates_in, _one(lunar_date_of)), "amount": (amounts_in, _amounts),
}  # fmt: skip
# The kinds that a text is tried for, after amounts with a currency; one without a currency is a number.
_RECOGNISED = ("number", "time", "date", "lunar_date")


def is_kind(kind: str) -> bool:
    """Whether a text is the name of a kind."""
    if kind.startswith(PAIR):
        return all(name.strip() for name in kind.removeprefix(PAIR).split("|"))
    return kind == TEXT or kind in _RECOGNISED or (kind.startswith(AMOUNT) and kind.removeprefix(AMOUNT) in CODES)


def kinds_expected() -> str:
    """A list of the kinds, for messages."""
    return f"{TEXT}, {', '.join(_RECOGNISED)}, amount: and a currency such as GBP, or pair: and an owner"


def kind_of(folded: str) -> str:
    """The kind of the fact that a whole folded text states; `text` if it is no value.

    Days are recognised only if they name their month, as 02-23 might be a code.
    """
    if is_plain_number(folded):
        return "number"
    if len(folded) > WHOLE:
        return TEXT
    amount = amount_of(folded)
    if amount is not None and amount.currencies:
        return AMOUNT + min(amount.currencies, key=lambda code: (code != "USD", code != "CNY", code))
    for kind in _RECOGNISED:
        if parsed(folded, kind) and (kind != "date" or any(char.isalpha() for char in folded)):
            return kind
    return TEXT


def parsed(folded: str, kind: str, language: str = "") -> frozenset[Any]:
    """The values of a kind that a whole folded text may mean; none for the kind `text`.

    `language`: one whose own rules are used in addition to those for every text; empty for none.
    """
    if kind == TEXT or kind.startswith(PAIR) or len(folded) > WHOLE:
        return frozenset()
    values = _KINDS[kind.partition(":")[0]][1](folded)
    if language:
        values |= own_whole(folded, kind, language)
    code = kind.removeprefix(AMOUNT)
    if kind.startswith(AMOUNT):
        values = frozenset(
            Amount(amount.value, frozenset((code,)))
            for amount in values
            if not amount.currencies or code in amount.currencies
        )
    return values


def values_in(folded: str, kind: str, language: str = "") -> list[Reading]:
    """The values of a kind in a folded text, in order. `language`: as in `parsed`.

    The rules for every text count only where the language's own read nothing: in French, 1 234,5 holds no 234.5; a time
    gives way to one that it overlaps.
    """
    if kind == TEXT or kind.startswith(PAIR):
        return []
    return list(_values_in(folded, kind.partition(":")[0], language))


def places_of(folded: str, kind: str, language: str) -> Mapping[Any, list[Reading]]:
    """The values of `values_in`, by value."""
    if kind == TEXT or kind.startswith(PAIR):
        return {}
    return _places_of(folded, kind.partition(":")[0], language)


@lru_cache(maxsize=8)
def _places_of(folded: str, kind: str, language: str) -> Mapping[Any, list[Reading]]:
    places: dict[Any, list[Reading]] = {}
    for value in _values_in(folded, kind, language):
        places.setdefault(value.value, []).append(value)
    return places


# The same text is often searched for several facts, one after the other.
@lru_cache(maxsize=8)
def _values_in(folded: str, kind: str, language: str) -> tuple[Reading, ...]:
    values = in_windows(folded, _KINDS[kind][0])
    own = in_windows(folded, lambda text: own_values(text, kind, language)) if language else []
    if own:
        kept = apart(values, own, touching=kind == "time")
        values = sorted(dict.fromkeys((*own, *kept)), key=lambda value: (value.start, value.end))
    return tuple(values)


@lru_cache(maxsize=8_192)
def values_held(folded: str, kind: str) -> frozenset[Any]:
    """The distinct values of a kind in a folded text; cached, as many values are looked for in the same text."""
    return frozenset(reading.value for reading in values_in(folded, kind))


def is_same(found: Any, wanted: Any) -> bool:
    """Whether a value found in a text is the one that is wanted.

    Years are compared only if both dates have one, and currencies only if the text names one.
    """
    if isinstance(wanted, Amount):
        codes = found.currencies
        return bool(found.value == wanted.value and (not codes or not codes.isdisjoint(wanted.currencies)))
    if isinstance(wanted, Day):
        years = {found.year, wanted.year} - {None}
        return bool(found[:2] == wanted[:2] and len(years) < 2)
    return bool(found == wanted)
