"""Spells values by the rules in language files, for rows in languages other than English and Chinese."""

from __future__ import annotations

from niah_score.text.language import MatchingRules, find_language

_EASTERN = {ord(str(digit)): chr(0x660 + digit) for digit in range(10)}
_SPACES = ("\u00a0", "\u202f")


def rules_of(language: str) -> MatchingRules:
    """The rules of a language; the defaults if its file has none."""
    return find_language(language).matching or MatchingRules()


def number(digits: str, language: str) -> list[str]:
    """A number in digits: plain, with marks between thousands, and in Arabic script in Eastern Arabic digits."""
    rules = rules_of(language)
    whole, _, decimals = digits.partition(".")
    tail = f"{rules.decimal}{decimals}" if decimals else ""
    spelt = [whole + tail]
    if len(whole) > 3:
        marks = [*rules.thousands, *(_SPACES if " " in rules.thousands else ())] or [","]
        spelt += [f"{int(whole):,}".replace(",", mark) + tail for mark in marks]
    return [*spelt, *_eastern(spelt, language)]


def time(hour: int, minute: int, language: str) -> list[str]:
    """A time of day in the forms of the language, and in twelve hours with the half of the day."""
    rules = rules_of(language)
    forms = rules.times or ("{hour}:{minute}",)
    spelt = [_spelt(form, hour=str(hour), minute=f"{minute:02d}") for form in forms]
    halves = rules.after_noon if hour >= 12 else rules.before_noon
    twelve = str((hour - 1) % 12 + 1)
    for half in halves[:2]:
        said = _spelt(forms[0], hour=twelve, minute=f"{minute:02d}")
        spelt.append(f"{half}{said}" if find_language(language).joiner == "" else f"{said} {half}")
    # French uses non-breaking spaces.
    spelt += [text.replace(" ", space) for text in spelt[:1] if " " in text for space in _SPACES]
    return [*spelt, *_eastern(spelt, language)]


def date(month: int, day: int, language: str) -> list[str]:
    """A day of the solar year; in digits if the language file names no months."""
    rules = rules_of(language)
    if not rules.months:
        return [f"{day}.{month}.", f"{day}/{month}"]
    names = rules.months[month - 1]
    # The first day of a month may have forms of its own: 1er mars.
    forms = rules.dates if day == 1 else rules.dates[:1]
    spelt = [_spelt(form, day=str(day), month=name) for name in names for form in forms]
    return [*spelt, *_eastern(spelt[:1], language)][:12]


def amount(digits: str, currency: str, sign: str, language: str) -> list[str]:
    """A sum of money. `sign`: the currency's."""
    rules = rules_of(language)
    words = rules.money.get(currency, ())
    spelt = []
    for text in number(digits, language)[:3]:
        spelt += [f"{text} {sign}", f"{text}\u00a0{sign}", f"{sign}{text}", *(f"{text} {word}" for word in words[:2])]
        spelt += [f"{text}{word}" for word in words[:1]]
    return list(dict.fromkeys(spelt))[:12]


def _spelt(form: str, **values: str) -> str:
    for name, value in values.items():
        form = form.replace(f"{{{name}}}", value)
    return form


def _eastern(texts: list[str], language: str) -> list[str]:
    """The same texts in Eastern Arabic digits, for languages in Arabic script."""
    return [text.translate(_EASTERN) for text in texts] if "ARABIC" in find_language(language).scripts else []
