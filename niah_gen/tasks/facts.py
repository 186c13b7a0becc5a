"""Reads keyword groups: spellings of a text, or a typed value whose spellings come from tables.

    "Hallorane"                              one spelling
    ["bog oak", "bogwood"]                   spellings; the kind of the first is recognised
    {number = 283}                           a number; {number = 1318, unit = "feet"} voids other units of length
    {time = "19:52"}                         a time of day
    {date = "02-23"}, {date = "1931-02-23"}  a day, month first
    {lunar_date = "12-17"}                   a day of the lunar year
    {amount = 4.35, unit = "GBP"}            a sum of money
    {text = ["Hallorane"], rejects = ["'s"]} spellings, and what voids a match that it touches
    {text = "lilac", of = "upper"}           one of several pairs: lilac counts only if it is said of that team; `of`
                                             may be a list of its names

Every table also takes `rejects` and, to add to the spellings from our tables, `spellings`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import date, time
from decimal import Decimal, InvalidOperation
from typing import Any, NamedTuple

from niah_gen.tasks import spellings, units
from niah_score.text import fold, group_of
from niah_score.text.language import find_language, rules_code
from niah_score.text.money import CODES
from niah_score.text.values import AMOUNT, PAIR, TEXT, Value, kind_of, parsed, values_in

_KEYS = ("text", "number", "time", "date", "lunar_date", "amount")
_MORE = ("unit", "rejects", "spellings", "of")
_TIME = re.compile(r"([01]?\d|2[0-3])[:.]([0-5]\d)")
_DATE = re.compile(r"(?:(\d{4})-)?(\d{1,2})-(\d{1,2})")
_LONGEST_MONTH = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


class Fact(NamedTuple):
    """A keyword group: its spellings, the kind of value that they state, and what voids a match that it touches."""

    spellings: tuple[str, ...]
    kind: str
    rejects: tuple[str, ...] = ()


def read_fact(item: object, language: str, needles: Sequence[str]) -> Fact | str:
    """Reads a keyword group as a needle file gives it; returns a sentence if something is wrong with it.

    `needles`: the texts that state the fact. The spelling they use comes first, and the unit that follows it there
    decides which other units are rejected.
    """
    if isinstance(item, dict):
        return next(_wrong(item), None) or _of_table(item, language, needles)
    given = texts_of(item)
    if not given:
        return f"expected a text, a list of texts or a table such as {{number = 283}}, found {item!r}"
    kind = _recognised(given, needles)
    return Fact(given, kind, _rejects(kind, given, None, needles, rules_code(language)))


def told_apart(facts: Sequence[Fact]) -> list[Fact]:
    """The facts of one needle, in which those of pairs reject the owners of the others."""
    owners = [(fact, fact.kind.removeprefix(PAIR).split("|")) for fact in facts if fact.kind.startswith(PAIR)]

    def others(fact: Fact) -> list[str]:
        return [name for other, names in owners if other.kind != fact.kind for name in names]

    return [
        fact._replace(rejects=tuple(dict.fromkeys((*fact.rejects, *others(fact)))))
        if fact.kind.startswith(PAIR)
        else fact
        for fact in facts
    ]


def unit_in(needles: Sequence[str], values: Sequence[Any]) -> str | None:
    """The known unit or currency that follows one of these numbers in a needle; None if there is none."""
    for folded in map(fold, needles):
        for value, _, end in values_in(folded, "number"):
            if value in values and (unit := units.leading_unit(folded[end:])) is not None:
                return unit
    return None


def _wrong(item: dict[Any, Any]) -> Iterator[str]:
    """Checks the keys of a table, and the values of those that every table may have."""
    named = [key for key in item if key in _KEYS]
    if len(named) != 1 or len(named) + sum(key in _MORE for key in item) < len(item):
        keys = ", ".join(map(str, item)) or "nothing"
        yield f"expected one of {', '.join(_KEYS)}, and optionally {', '.join(_MORE)}; found {keys}"
        return
    for key in ("rejects", "spellings"):
        if not isinstance(item.get(key, []), list) or (item.get(key) and not texts_of(item[key])):
            yield f"{key}: expected a list of texts, none empty, found {item[key]!r}"
    unit, of = item.get("unit"), item.get("of")
    if unit is not None and named[0] not in ("number", "amount"):
        yield f"unit: {named[0]} takes no unit"
    elif unit is not None and not (isinstance(unit, str) and units.unit_named(unit)):
        yield f"unit: {unit!r} is unknown; leave it out and list wrong units in rejects"
    if of is not None and (named[0] != "text" or not texts_of(of) or any("|" in name for name in texts_of(of))):
        yield f"of: expected the owner of a text, or a list of its names, without |; found {of!r}"


def _of_table(item: dict[str, Any], language: str, needles: Sequence[str]) -> Fact | str:
    (key,) = (key for key in item if key in _KEYS)
    spelt = _spelt(key, item[key], item.get("unit"), language)
    if isinstance(spelt, str):
        return spelt
    kind, words = spelt
    if kind != TEXT:
        words = _as_written_first(words, kind, needles, rules_code(language))
        if not group_of(tuple(words), kind, (), rules_code(language)).values:
            return f"{key}: {item[key]!r} has too many digits to be read as a value; state it as a text"
    elif "of" in item:
        kind = PAIR + "|".join(texts_of(item["of"]))
    words = list(dict.fromkeys((*words, *item.get("spellings", []))))
    rejects = dict.fromkeys(
        (*item.get("rejects", []), *_rejects(kind, words, item.get("unit"), needles, rules_code(language)))
    )
    return Fact(tuple(words), kind, tuple(rejects))


def _spelt(key: str, value: Any, unit: Any, language: str) -> tuple[str, list[str]] | str:
    """The kind and spellings of a value that a table states, or a sentence that says what is wrong with it."""
    if key == "text":
        texts = list(texts_of(value))
        return (TEXT, texts) if texts else f"text: expected texts, none empty, found {value!r}"
    if key in ("number", "amount"):
        number = _number(value)
        if number is None:
            return f"{key}: expected a number of at least 0, found {value!r}"
        if key == "number":
            return "number", spellings.number(number, language)
        if unit not in CODES:
            return f"amount: expected a currency as its unit, one of {', '.join(sorted(CODES))}; found {unit!r}"
        return AMOUNT + unit, spellings.amount(number, unit, language)
    if key == "time":
        # TOML also has a time type: time = 19:52:00.
        text = value.isoformat().removesuffix(":00") if isinstance(value, time) else value
        match = _TIME.fullmatch(text) if isinstance(text, str) else None
        if not match:
            return f'time: expected a 24-hour time such as "19:52", found {value!r}'
        return "time", spellings.time(int(match[1]) * 60 + int(match[2]), language)
    text = value.isoformat() if type(value) is date else value
    match = _DATE.fullmatch(text) if isinstance(text, str) else None
    month, day = (int(match[2]), int(match[3])) if match else (0, 0)
    if not 1 <= month <= 12 or not 1 <= day <= (30 if key == "lunar_date" else _LONGEST_MONTH[month - 1]):
        return f'{key}: expected month and day such as "02-23", found {value!r}'
    if key == "lunar_date":
        return "lunar_date", spellings.lunar_date(month, day, language)
    words = spellings.date(month, day, language)
    if match and match[1]:
        words = [_with_year(word, match[1], language) for word in words[:3]]
    return "date", words


def _with_year(day: str, year: str, language: str) -> str:
    return f"{year}年{day}" if find_language(language).joiner == "" else f"{day} {year}"


def _number(value: object) -> Decimal | None:
    """A number of at least 0, from a TOML value; None for anything else."""
    try:
        number = Decimal(str(value)) if isinstance(value, int | float) and not isinstance(value, bool) else None
    except InvalidOperation:
        return None
    return number if number is not None and number.is_finite() and number >= 0 else None


def _as_written_first(words: list[str], kind: str, needles: Sequence[str], language: str) -> list[str]:
    """The spellings, with the one that the needles use first; the longest, if they use several.

    The first must state a single value: 六点二十三分 could be in the morning or the evening.
    """
    unique = [word for word in words if len(parsed(fold(word), kind, language)) == 1] or words
    used = [word for word in unique if any(word in text for text in needles)]
    first = max(used, key=len, default=unique[0])
    return [first, *(word for word in words if word != first)]


def _recognised(given: tuple[str, ...], needles: Sequence[str]) -> str:
    """The kind of the first spelling; a number that a needle gives in a currency is an amount."""
    group = group_of(given)
    if group.kind != "number":
        return group.kind
    for text in map(fold, needles):
        for reading in values_in(text, AMOUNT + "USD"):
            kind = kind_of(text[reading.start : reading.end])
            if reading.value.value in group.values and kind.startswith(AMOUNT) and not _is_weighed(text, reading):
                return kind
    return group.kind


def _is_weighed(folded: str, amount: Value) -> bool:
    """Whether an amount may be something other than money: pounds are also a weight."""
    numbers = (number for number in values_in(folded, "number") if number.start >= amount.start)
    unit = next((units.leading_unit(folded[number.end :]) for number in numbers), None)
    return unit is not None and units.is_measure(unit)


def _rejects(
    kind: str, words: Sequence[str], unit: str | None, needles: Sequence[str], language: str
) -> tuple[str, ...]:
    """What voids a value: units other than its own, or the other half of the day."""
    values = group_of(tuple(words), kind, (), language).values
    if kind == "time" and len(values) == 1:
        return units.other_half(values[0])
    if kind.startswith(AMOUNT):
        return units.other_units(kind.removeprefix(AMOUNT))
    if kind != "number":
        return ()
    unit = unit or unit_in(needles, values)
    return () if unit is None else units.other_units(unit)


def texts_of(value: object) -> tuple[str, ...]:
    """A text or a list of texts, as a tuple; empty if one is blank or cannot be UTF-8, or for anything else."""
    items = [value] if isinstance(value, str) else value
    if not isinstance(items, list | tuple):
        return ()
    texts = tuple(item for item in items if isinstance(item, str) and item.strip() and is_encodable(item))
    return texts if len(texts) == len(items) else ()


def is_encodable(text: str) -> bool:
    """Whether a text can be written as UTF-8, which half a surrogate pair cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
