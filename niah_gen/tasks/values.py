"""Reads keyword groups: spellings of a text, or a typed value that is then spelt in every usual way.

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

Every table also takes `rejects` and, to add to the spellings from our tables, `spellings`. A value is spelt in at most
a dozen ways, for tools that search for text; ours parse values. Row ids digest the spellings, so a change here renames
every row that asks for such a value.

The needles of the package state what this makes of them, so that builds from them need none of it.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, time
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

from niah_gen.tasks.words import chinese, english, nth, spelt
from niah_score.text import fold, group_of
from niah_score.text.language import ALWAYS_READ, MatchingRules, find_language, rules_code
from niah_score.text.money import CODES, CURRENCIES
from niah_score.text.times import AFTER_NOON, AROUND_NOON, BEFORE_NOON
from niah_score.text.values import AMOUNT, PAIR, TEXT, kind_of, parsed, values_in

_MORE = ("unit", "rejects", "spellings", "of")
_EXPECTED = {
    "text": "texts, none empty", "number": "a number of at least 0", "time": 'a 24-hour time such as "19:52"',
    "date": 'month and day such as "02-23"', "lunar_date": 'month and day such as "02-23"',
    "amount": f"a number of at least 0 with a currency as its unit, one of {', '.join(sorted(CODES))}",
}  # fmt: skip
_TIME = re.compile(r"([01]?\d|2[0-3])[:.]([0-5]\d)(?::00)?")
_DATE = re.compile(r"(?:(\d{4})-)?(\d{1,2})-(\d{1,2})")
_LONGEST_MONTH = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_TABLES = tomllib.loads((Path(__file__).parents[1] / "library" / "values.toml").read_text("utf-8"))
_EASTERN = {ord(str(digit)): chr(0x660 + digit) for digit in range(10)}
# French puts spaces that do not break into numbers and times.
_SPACES = ("\u00a0", "\u202f")


class Fact(NamedTuple):
    """A keyword group: its spellings, the kind of value that they state, and what voids a match that it touches."""

    spellings: tuple[str, ...]
    kind: str
    rejects: tuple[str, ...] = ()


def texts_of(value: object) -> tuple[str, ...]:
    """A text or a list of texts, as a tuple; empty if one is blank or cannot be UTF-8, or for anything else."""
    items = [value] if isinstance(value, str) else value
    return tuple(items) if isinstance(items, list | tuple) and all(map(is_text, items)) else ()


def is_text(value: object) -> bool:
    """Whether something is a text that is not blank and can be written as UTF-8, which half a surrogate pair cannot."""
    return isinstance(value, str) and bool(value.strip()) and not any("\ud800" <= char <= "\udfff" for char in value)


# Keyword groups -------------------------------------------------------------------------------------------------------


def read_fact(item: object, language: str, needles: Sequence[str]) -> Fact:
    """A keyword group as a needle file gives it. Raises ValueError with what is wrong with it.

    `needles`: the texts that state the fact. The spelling they use comes first, and the unit that follows it there
    decides which other units are rejected.
    """
    stated: Mapping[str, Any] = item if isinstance(item, dict) else {"text": item}
    rules = rules_code(language)
    key, unit = _key_of(stated), stated.get("unit", "")
    words = _forms(key, stated[key], unit, language)
    if not words:
        expected = _EXPECTED[key] if stated is item else "a text, a list of texts or a table such as {number = 283}"
        raise ValueError(f"{key}: expected {expected}, found {stated[key]!r}")
    kind = f"{AMOUNT}{unit}" if key == "amount" else key if stated is item else _recognised(words, needles)
    if "of" in stated:
        kind = PAIR + "|".join(texts_of(stated["of"]))
    if key != TEXT:
        words = _as_written_first(words, kind, needles, rules)
        if not group_of(words, kind, (), rules).values:
            raise ValueError(f"{key}: {stated[key]!r} has too many digits to be read as a value; state it as a text")
    words = _different((*words, *stated.get("spellings", ())))
    return Fact(words, kind, _different((*stated.get("rejects", ()), *_rejects(kind, words, unit, needles, rules))))


def _key_of(item: Mapping[str, Any]) -> str:
    """The key that states what a table is. Raises ValueError if there is not one, or others have wrong values."""
    keys, unit, of = [key for key in item if key in _EXPECTED], item.get("unit"), item.get("of")
    if len(keys) != 1 or not set(item) <= {*_EXPECTED, *_MORE}:
        known = f"expected one of {', '.join(_EXPECTED)}, and optionally {', '.join(_MORE)}"
        raise ValueError(f"{known}; found {', '.join(map(str, item)) or 'nothing'}")
    for key in ("rejects", "spellings"):
        if item.get(key, []) != [] and not (isinstance(item[key], list) and texts_of(item[key])):
            raise ValueError(f"{key}: expected a list of texts, none empty, found {item[key]!r}")
    if unit is not None and not (keys[0] in ("number", "amount") and isinstance(unit, str) and names_of(unit)):
        raise ValueError(f"unit: expected that of a number; {unit!r} is unknown: list wrong units in rejects")
    if of is not None and (keys[0] != "text" or not texts_of(of) or "|" in "".join(texts_of(of))):
        raise ValueError(f"of: expected the owner of a text, or a list of its names, without |; found {of!r}")
    return keys[0]


def _forms(key: str, value: Any, unit: Any, language: str) -> tuple[str, ...]:
    """The spellings of what a table states; none if it is not of its kind."""
    if key in ("number", "amount"):
        if type(value) not in (int, float) or not 0 <= value < float("inf"):
            return ()
        if key == "amount":
            return _amount(Decimal(str(value)), unit, language) if unit in CODES else ()
        if language in ALWAYS_READ and value == int(value):
            return spelt(int(value), language)
        return _in_digits(_plain(value), language)
    if key == "text":
        return texts_of(value)
    # TOML also has types for times and days.
    text = str(value) if isinstance(value, str | date | time) else ""
    match = (_TIME if key == "time" else _DATE).fullmatch(text)
    if match is None:
        return ()
    if key == "time":
        return _time(int(match[1]), int(match[2]), language)
    month, day = int(match[2]), int(match[3])
    if not 1 <= month <= 12 or not 1 <= day <= (30 if key == "lunar_date" else _LONGEST_MONTH[month - 1]):
        return ()
    return _day(key, match[1], month, day, language)


def _as_written_first(forms: tuple[str, ...], kind: str, needles: Sequence[str], rules: str) -> tuple[str, ...]:
    """The spellings, with the one that the needles use first; the longest, if they use several.

    The first must state a single value: 六点二十三分 could be in the morning or the evening.
    """
    unique = [form for form in forms if len(parsed(fold(form), kind, rules)) == 1] or forms
    first = max((form for form in unique if any(form in text for text in needles)), key=len, default=unique[0])
    return _different((first, *forms))


def _recognised(words: tuple[str, ...], needles: Sequence[str]) -> str:
    """The kind of the first spelling; a number that a needle gives in a currency is an amount."""
    group = group_of(words)
    unit = unit_in(needles, group.values)
    # Pounds are also a weight.
    is_measure = any(unit in names and family[0] not in CURRENCIES for names, family in _UNITS)
    for text in map(fold, needles) if group.kind == "number" and not is_measure else ():
        for reading in values_in(text, AMOUNT + "USD"):
            kind = kind_of(text[reading.start : reading.end])
            if reading.value.value in group.values and kind.startswith(AMOUNT):
                return kind
    return group.kind


def _rejects(kind: str, words: tuple[str, ...], unit: str, needles: Sequence[str], rules: str) -> tuple[str, ...]:
    """What voids a value: units other than its own, or the other half of the day. `unit`: empty for the needles'."""
    values = group_of(words, kind, (), rules).values
    if kind == "time" and len(values) == 1:
        # In minutes after midnight: from ten on, and from noon on.
        around = AROUND_NOON if values[0] >= 600 else ()
        return BEFORE_NOON if values[0] >= 720 else tuple(word for word in AFTER_NOON if word not in around)
    known = kind.removeprefix(AMOUNT) if kind.startswith(AMOUNT) else unit or unit_in(needles, values)
    families = [units for units in _UNITS if kind != "time" and fold(known) in map(fold, units[0])]
    own = {name for names, _ in families for name in names}
    return _different(name for _, family in families for name in family if name not in own)


def _different(words: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(words))


# Units ----------------------------------------------------------------------------------------------------------------


def unit_in(needles: Sequence[str], values: Sequence[Any]) -> str:
    """The known unit or currency that follows one of these numbers in a needle; empty if there is none."""
    found = ((folded, number) for folded in map(fold, needles) for number in values_in(folded, "number"))
    units = (leading_unit(folded[number.end :]) for folded, number in found if number.value in values)
    return next(filter(None, units), "")


_FAMILIES = [(family, [other for unit in family for other in unit]) for family in _TABLES["units"].values()]
_SUMS = [[name for name, codes in CURRENCIES.items() if code in codes] for code in sorted(CODES)]
_FAMILIES.append((_SUMS, [*CURRENCIES, *_TABLES["other_money"]]))
# The names of every unit and currency, each with those of all units of the same quantity.
_UNITS = [(tuple(names), tuple(others)) for family, others in _FAMILIES for names in family]
_NAMES = sorted({fold(name) for names, _ in _UNITS for name in names}, key=len, reverse=True)
_LEADING = "|".join(re.escape(name) + "(?![a-z])" * ("a" <= name[-1] <= "z") for name in _NAMES)


def leading_unit(folded: str) -> str:
    """The unit or currency at the start of a folded text, which follows a number; empty if there is none."""
    match = re.match(f"[ -]*({_LEADING})", folded)
    return match[1] if match else ""


def names_of(unit: str) -> tuple[str, ...]:
    """All names of a unit or currency, folded, in both languages; none for an unknown one."""
    named = [tuple(map(fold, names)) for names, _ in _UNITS]
    return _different(name for names in named if fold(unit) in names for name in names)


# Spellings ------------------------------------------------------------------------------------------------------------


def _filled(forms: Iterable[str], values: Mapping[str, object]) -> tuple[str, ...]:
    """The forms with the values that they name; those that name one that is None are left out."""
    for name, value in values.items():
        field = f"{{{name}}}"
        forms = [form.replace(field, str(value)) for form in forms if value is not None or field not in form]
    return _different(forms)


def _rules(language: str) -> MatchingRules:
    return find_language(language).matching or MatchingRules()


def _with_eastern(forms: Sequence[str], language: str) -> tuple[str, ...]:
    """Spellings, and in Arabic script the same in Eastern Arabic digits."""
    digits = _EASTERN if "ARABIC" in find_language(language).scripts else {}
    return _different((*forms, *(form.translate(digits) for form in forms)))


def _plain(number: object) -> str:
    """A number in digits, without an exponent, digit groups or trailing zeros."""
    return f"{Decimal(str(number)).normalize():f}"


def _in_digits(digits: str, language: str) -> tuple[str, ...]:
    """A number in digits, plain and with the marks between thousands of a language of its own rules."""
    whole, _, decimals = digits.partition(".")
    rules = _rules(language)
    tail = f"{rules.decimal}{decimals}" if decimals else ""
    marks = [*rules.thousands, *(_SPACES if " " in rules.thousands else ())] or [","]
    marks = marks if language not in ALWAYS_READ and len(whole) > 3 else []
    return _with_eastern([whole + tail, *(f"{int(whole):,}".replace(",", mark) + tail for mark in marks)], language)


def _time(hour: int, minute: int, language: str) -> tuple[str, ...]:
    values: dict[str, object] = {"hour": hour, "hour02": f"{hour:02d}", "twelve": (hour - 1) % 12 + 1}
    values["minute"] = f"{minute:02d}"
    if language in ALWAYS_READ:
        halves = max(one for one in _TABLES[language]["halves"] if one[0] <= hour)
        half, dotted = (*halves[1:], None, None)[:2]
        values |= {"half": half, "dotted": dotted, "figures": f"{minute:02d}分" if minute else ""}
        values |= {"han_hour": chinese(hour), "han_twelve": chinese((hour - 1) % 12 + 1)}
        values["words"] = f"{'零' if minute < 10 else ''}{chinese(minute)}分" if minute else ""
        return _filled(_TABLES[language]["times"], values)
    rules, spaced = _rules(language), find_language(language).joiner
    usual, *others = rules.times or ("{hour}:{minute}",)
    said = usual.replace("{hour}", "{twelve}")
    halves = (rules.after_noon if hour >= 12 else rules.before_noon)[:2]
    forms = [usual, *others, *(f"{said} {half}" if spaced else f"{half}{said}" for half in halves)]
    return _with_eastern(_filled([*forms, *(usual.replace(" ", space) for space in _SPACES)], values), language)


def _day(key: str, year: str | None, month: int, day: int, language: str) -> tuple[str, ...]:
    rules, name = _rules(language), _TABLES["en"]["months"][month - 1]
    values: dict[str, object] = {"day": day, "nth": nth(day), "number": month, "nth_month": nth(month)}
    values |= {"han_month": chinese(month), "han_day": chinese(day), "late_day": day if day > 12 else None}
    values["named"] = {1: "正", 11: "冬", 12: "腊"}.get(month, chinese(month))
    values["lunar_day"] = f"初{chinese(day)}" if day <= 10 else chinese(day)
    if key == "lunar_date":
        return _filled(_TABLES["zh" if language == "zh" else "en"]["lunar_dates"], values)
    if language in ALWAYS_READ:
        days = _filled(_TABLES[language]["dates"], {**values, "month": name, "short": name[:3]})
    elif rules.months:
        # The first day of a month may have forms of its own: 1er mars.
        forms = rules.dates if day == 1 else rules.dates[:1]
        named = [text for name in rules.months[month - 1] for text in _filled(forms, {**values, "month": name})]
        days = _different((*named, *_with_eastern(named[:1], language)))[:12]
    else:
        days = (f"{day}.{month}.", f"{day}/{month}")
    spaced = find_language(language).joiner
    return days if year is None else tuple(f"{text} {year}" if spaced else f"{year}年{text}" for text in days[:3])


def _amount(value: Decimal, currency: str, language: str) -> tuple[str, ...]:
    digits, whole, cents = _plain(value), int(value), value % 1 * 100
    digits += "0" if digits[-2:-1] == "." else ""
    values: dict[str, object] = {"currency": currency, **_TABLES["currencies"][currency]}
    if language not in ALWAYS_READ:
        words = (*_rules(language).money.get(currency, ()), None, None)
        values |= {"sign": str(values["sign"]).strip(), "word": words[0], "second": words[1]}
        each = [{**values, "digits": text} for text in _in_digits(digits, language)[:3]]
        return _different(form for one in each for form in _filled(_TABLES["other"]["amounts"], one))[:12]
    values |= {"digits": digits, "grouped": f"{Decimal(digits):,}", "said": None, "hundredths": None}
    if whole < 10**12 and cents == int(cents):
        if language == "zh" and not cents:
            values["said"] = f"{chinese(whole)}{values['han']}"
        elif language == "en" and whole and not 0 < cents < 10:  # "three yuan one" would be 3.1
            values["said"] = f"{english(whole)} {values['word']}" + (f" {english(int(cents))}" if cents else "")
        if cents and "hundredth" in values:
            values["hundredths"] = f"{whole * 100 + int(cents)} {values['hundredth']}"
    return _filled(_TABLES[language]["amounts"], values)
