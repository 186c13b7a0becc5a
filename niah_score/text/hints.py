"""Rules out cheaply most texts that cannot state a value, as they lack one of its digits, so that fewer are parsed."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, NamedTuple

from niah_score.text.groups import Find, Group, words_in
from niah_score.text.money import CURRENCIES, Amount
from niah_score.text.numerals import HAN, find_plain, is_number_word
from niah_score.text.patterns import WHOLE, late
from niah_score.text.times import MONTH_NAME, Day, names_half

# The forms that show each digit in Chinese numerals and digits; there may be no 一 before 十.
_NUMERALS = {
    "1": "1一壹十拾", "2": "2二两贰廿", "3": "3三叁参卅", "4": "4四肆", "5": "5五伍", "6": "6六陆", "7": "7七柒",
    "8": "8八捌", "9": "9九玖",
}  # fmt: skip
# The forms that show each digit in English, as parts of words.
_WORDS: dict[str, tuple[str, ...]] = {
    "1": ("one", "first", "ten", "elev", "twel", "teen", "hundred", "thousand", "illion"),
    "2": ("two", "twel", "twen", "second"),
    "3": ("three", "third", "thir"),
    "4": ("four", "fort"),
    "5": ("five", "fif"),
    "6": ("six",),
    "7": ("seven",),
    "8": ("eigh",),
    "9": ("nin",),
}  # fmt: skip
# Words for minutes before or after an hour without the number.
_PARTS_OF_HOURS = {15: "quarter|刻", 45: "quarter|刻", 30: "half|半"}
_POWERS = ("hundred", "thousand", "illion")
# What makes a spelling another value right next to it (|): digits, numerals, letters, a calendar, smaller coins.
_BESIDE = late(
    rf"[\d{HAN}][^\w。！？；]{{0,3}}\||[.:]\|"
    rf"|\|[^\w。！？；]{{0,3}}[\d{HAN}]|[$£€¥]\s?\||[a-z]\||\|[a-z]"
    r"|[历闰].{0,4}\||\|.?[角毛分块]|\|\W{0,3}(?:hund|thou|mil|bil|tril|and)"
)
# Words before a spelling that may make it another value, in addition to numbers, months and currencies.
_CHANGING = frozenset(
    ("to", "past", "after", "before", "of", "till", "until", "half", "quarter", "minute", "minutes", "and", "lunar",
     "am", "pm", "m", "us", "hk", "nt", "a", "au", "c", "ca", "nz", "s", "sg")
)  # fmt: skip
_LAST_WORD = late("(?<![a-z])([a-z]+) ?$")
_NEAR = 16  # code points around a spelling that may change it
_ANY = late("")
_MONTH = late(rf"{MONTH_NAME.pattern}|月|\d[-/.]\d")
_LUNAR = late("月|lunar|[农阴旧夏]历")
# What may stand between two non-zero digits of a number, and of an amount with its units.
_GAP, _AMOUNT_GAP = (f"[^1-9二两三四五六七八九]{{0,{most}}}?" for most in (3, 16))


class _Signs(NamedTuple):
    """What a text that states a value must contain: a match of `form`, and the value's digits.

    The digits are a match of `digits`, or one form of every clause of `words`, or, in a text with an English power of
    ten, one form of every clause of `either`.
    """

    form: re.Pattern[str]
    digits: re.Pattern[str]
    words: tuple[tuple[str, ...], ...]
    either: tuple[tuple[str, ...], ...] = ()


def find_as_written(folded: str, group: Group) -> Find | None:
    """The place of a value in the group's first spelling, if the text around it allows no other reading.

    None means nothing: the text may still state the value, there or elsewhere. Groups with a language's own rules
    always get None.
    """
    if group.language:
        return None
    if group.kind == "number":
        digits = str(group.values[0])
        place = find_plain(folded, digits)
        return Find(place, place + len(digits)) if place >= 0 else None
    place = folded.find(group.written)
    if place < 0:
        return None
    end = place + len(group.written)
    before = folded[max(0, place - _NEAR) : place]
    if _BESIDE.search(f"{before}|{folded[end : end + _NEAR]}") or _changes(before):
        return None
    return None if group.kind == "time" and names_half(folded, place, end) else Find(place, end)


def _changes(before: str) -> bool:
    """Whether the last word of a text may change a value after it."""
    last = _LAST_WORD.search(before)
    if not last:
        return False
    word = last[1]
    return word in _CHANGING or word in CURRENCIES or is_number_word(word) or _MONTH.match(word) is not None


def may_state(folded: str, group: Group) -> bool:
    """Whether a folded text contains what every spelling of a group's value shows; true if it states the value.

    Long texts are not looked at, but read (`windows`): the signs of a value may take long to rule out in them.
    """
    return bool(group.language) or len(folded) > WHOLE or any(_shows(folded, signs) for signs in _signs(group))


def may_hold(folded: str, spaces: str, group: Group) -> bool:
    """Whether a folded text may state a fact, as a word or a value; true if it does. `spaces`: the text, spaced."""
    if group.language:
        return True
    words = words_in(spaces, group)
    return any(word.text in spaces for word in words) or bool(group.values and may_state(folded, group))


def _shows(folded: str, signs: _Signs) -> bool:
    if not signs.form.search(folded):
        return False
    if signs.digits.search(folded) or _holds_all(folded, signs.words):
        return True
    return bool(signs.either) and any(power in folded for power in _POWERS) and _holds_all(folded, signs.either)


def _holds_all(folded: str, clauses: tuple[tuple[str, ...], ...]) -> bool:
    return all(any(form in folded for form in clause) for clause in clauses)


@lru_cache(maxsize=65_536)
def _signs(group: Group) -> tuple[_Signs, ...]:
    return tuple(signs for value in group.values for signs in _of_value(value, group.kind))


def _of_value(value: Any, kind: str) -> list[_Signs]:
    if isinstance(value, Day):
        return [_of_count(value.day, _LUNAR if kind == "lunar_date" else _MONTH)]
    if kind == "time":
        # Minutes may count back from the next hour; full hours have none.
        return [_of_count(minutes, _ANY) for minutes in {value % 60, 60 - value % 60} if minutes < 60]
    digits = f"{value.value if isinstance(value, Amount) else value:f}".replace(".", "").replace("0", "")
    either = tuple((*_NUMERALS[digit], *_WORDS[digit]) for digit in dict.fromkeys(digits))
    return [_of_digits(digits, _AMOUNT_GAP if isinstance(value, Amount) else _GAP, _ANY)._replace(either=either)]


def _of_count(count: int, form: re.Pattern[str]) -> _Signs:
    """The signs of a count below a hundred, including, for minutes, a word for that part of an hour."""
    signs = _of_digits(str(count).replace("0", ""), _GAP, form)
    part = _PARTS_OF_HOURS.get(count)
    return signs._replace(digits=re.compile(f"{signs.digits.pattern}|{part}")) if part and count else signs


def _of_digits(digits: str, gap: str, form: re.Pattern[str]) -> _Signs:
    pattern = gap.join(f"[{_NUMERALS[digit]}]" for digit in digits)
    return _Signs(form, re.compile(pattern), tuple(_WORDS[digit] for digit in dict.fromkeys(digits)))
