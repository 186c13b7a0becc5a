"""Reads days of the year in folded text (23 February, 23/2, 2月23日), and of the lunar year (腊月十七)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from niah_score.text.chinese_numerals import HAN, han_number
from niah_score.text.late_pattern import late
from niah_score.text.nearby import matches_near
from niah_score.text.numerals import ORDINALS, SMALL, TENS


class Day(NamedTuple):
    """A day of a month; `year` if it is given."""

    month: int
    day: int
    year: int | None = None


class DateReading(NamedTuple):
    """A day, and its place: code points `start` up to, but not including, `end`."""

    value: Day
    start: int
    end: int


MONTHS = {
    name: number
    for number, names in enumerate(
        (
            ("january", "jan"), ("february", "feb"), ("march", "mar"), ("april", "apr"), ("may",), ("june", "jun"),
            ("july", "jul"), ("august", "aug"), ("september", "sept", "sep"), ("october", "oct"), ("november", "nov"),
            ("december", "dec"),
        ),
        1,
    )
    for name in names
}  # fmt: skip
MONTH_NAME = late("jan|feb|mar|apr|may|ju[nl]|aug|sep|oct|nov|dec")
_CHINESE_MONTH = late("月")
_MARKED = late(r"\d[-/.]\d")
DAYS_OF = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_MONTH = rf"(?:{'|'.join(sorted(MONTHS, key=len, reverse=True))})"
_WORD = rf"(?:(?:{'|'.join(TENS)})[ -])?(?:{'|'.join(sorted((*SMALL, *TENS, *ORDINALS), key=len, reverse=True))})"
_DAY = rf"(?:\d{{1,2}}(?:\s?(?:st|nd|rd|th))?|{_WORD})"
# What stands between the fields of a day: "Day: 19, Month: November", or a list of them.
_FIELD = r"[,;]? (?:and |[-*\u2022] ?)?"
_YEAR = r"(?:,?\s(?P<{}>\d{{4}})(?!\d))?"
_DAY_MONTH = late(
    rf"(?<![\da-z])(?<!\d[/.:])(?P<day>{_DAY})(?:\.?[ -]?(?:day )?(?:of )?(?:the month of )?|{_FIELD}month ?: ?)"
    rf"(?P<month>{_MONTH})(?![a-z])" + _YEAR.format("year")
)
_MONTH_DAY = late(
    rf"(?<![a-z])(?P<month>{_MONTH})(?:\.?[ -]?(?:the )?|{_FIELD}day ?: ?|,? (?:[-\u2013\u2014]|on) the (?=\d))"
    rf"(?P<day>{_DAY})(?![a-z\d:]|[.,]\d){_YEAR.format('year')}"
)
_NUMERIC = late(
    r"(?<![\d/.历-])(?<!\d:)(?:(?P<y>\d{4})(?P<s1>[-/.])(?P<a>\d{1,2})(?P=s1)(?P<b>\d{1,2})"
    r"|(?P<c>\d{1,2})(?P<s2>[-/.])(?P<d>\d{1,2})(?:(?P=s2)(?P<y2>\d{4}|\d{2}))?)\.?(?!\d|[-/.:]\d)"
)
_HAN = rf"(?:\d{{1,2}}|[{HAN}]{{1,3}})"
_CHINESE = late(
    rf"(?:(?P<year>\d{{4}}|[零〇一二三四五六七八九]{{4}})\s?年\s?)?"
    rf"(?P<calendar>(?:农历|阴历|旧历|夏历|公历|阳历|新历|西历)(?:的)?(?:每年)?\s?)?"
    rf"(?<![\d{HAN}])(?P<month>{_HAN}|正|冬|腊)\s?月\s?(?:[,;、]?\s?日期\s?:\s?)?(?P<first>初)?(?P<day>{_HAN})(?:\s?(?P<unit>日|号))?"
)
_LUNAR_NAMES = {"正": 1, "冬": 11, "腊": 12}
_LUNAR_CALENDARS = ("农历", "阴历", "旧历", "夏历")
_LUNAR_ENGLISH = late(
    rf"(?:the )?(?P<day>{_DAY})(?: day)?,? of (?:the )?(?P<month>{_DAY}) "
    rf"(?:lunar month|month (?:of|in|on|by) the lunar)"
    rf"|(?P<month2>{_DAY}) (?:lunar month|month of the lunar (?:year|calendar)),? (?:the |day )?(?P<day2>{_DAY})"
)
_LUNAR_NUMERIC = late(r"(?:农历|阴历|旧历|夏历)\s?(?P<month>\d{1,2})[/.-](?P<day>\d{1,2})(?!\d)")


def dates_in(folded: str) -> list[DateReading]:
    """The days in a folded text, in order, by the solar calendar.

    If both orders of day and month make a date (3/2), both are included. Months and days in digits alone need a
    separator that dates are written with: 23/2, 23.02., 02-23.
    """
    readings: list[DateReading] = []
    for pattern, before in ((_DAY_MONTH, 40), (_MONTH_DAY, 0)):
        for match in matches_near(pattern, MONTH_NAME, folded, before):
            readings += _reading(match, MONTHS[match["month"]], _day(match["day"]), match["year"])
    for match in _NUMERIC.finditer(folded) if _MARKED.search(folded) else ():
        if match["y"]:
            readings += _reading(match, int(match["a"]), int(match["b"]), match["y"])
            continue
        one, other = int(match["c"]), int(match["d"])
        for month, day in {(one, other), (other, one)}:
            readings += _reading(match, month, day, match["y2"])
    readings += (reading for reading, is_lunar in _chinese(folded) if not is_lunar)
    return sorted(set(readings), key=lambda reading: (reading.start, reading.end, reading.value[:2]))


def lunar_dates_in(folded: str) -> list[DateReading]:
    """The days of the lunar year in a folded text: 腊月十七, 农历12月17日, the 17th of the twelfth lunar month.

    A month and a day in Chinese numerals without 日 or 号 (十二月十七) are lunar too: lunar days are written so.
    """
    readings = [reading for reading, is_lunar in _chinese(folded) if is_lunar]
    for match in _LUNAR_ENGLISH.finditer(folded) if "lunar" in folded else ():
        month, day = _day(match["month"] or match["month2"]), _day(match["day"] or match["day2"])
        readings += _reading(match, month or 0, day, None, longest=30)
    for match in _LUNAR_NUMERIC.finditer(folded):
        readings += _reading(match, int(match["month"]), int(match["day"]), None, longest=30)
    return sorted(readings, key=lambda reading: (reading.start, reading.end))


def date_of(folded: str) -> Day | None:
    """The day that a whole folded text names; None if it names none or is ambiguous."""
    return _whole(folded.rstrip("."), dates_in(folded))


def lunar_date_of(folded: str) -> Day | None:
    """The day of the lunar year that a whole folded text names; None if it names none."""
    return _whole(folded, lunar_dates_in(folded))


def _whole(folded: str, readings: list[DateReading]) -> Day | None:
    whole = {reading.value for reading in readings if reading.start == 0 and reading.end >= len(folded)}
    return whole.pop() if len(whole) == 1 else None


def _reading(
    match: re.Match[str], month: int, day: int | None, year: str | None, longest: int | None = None
) -> Iterator[DateReading]:
    if day is None or not 1 <= month <= 12 or not 1 <= day <= (longest or DAYS_OF[month - 1]):
        return
    full = int(year) if year and len(year) == 4 and year.isascii() else None
    yield DateReading(Day(month, day, full), *match.span())


def _chinese(folded: str) -> Iterator[tuple[DateReading, bool]]:
    """Days written with 月, and whether each one is a lunar day."""
    for match in matches_near(_CHINESE, _CHINESE_MONTH, folded, 20):
        named = _LUNAR_NAMES.get(match["month"])
        month, day = named or _chinese_count(match["month"]), _chinese_count(match["day"])
        calendar = (match["calendar"] or "")[:2]
        is_spelt = not match["month"].isdigit() and not match["day"].isdigit()
        traditional = match["first"] is not None or match["day"][0] in "廿卅"
        is_lunar = calendar in _LUNAR_CALENDARS or (
            not calendar and (named is not None or traditional or (is_spelt and match["unit"] is None))
        )
        for reading in _reading(match, month or 0, day, match["year"], 30 if is_lunar else None):
            yield reading, is_lunar


def _chinese_count(text: str) -> int | None:
    value = int(text) if text.isdigit() else han_number(text)
    return None if value is None else int(value)


def _day(text: str) -> int | None:
    """A day in digits or words, cardinal or ordinal."""
    digits = re.match(r"\d+", text)
    if digits:
        return int(digits[0])
    ten, _, unit = text.replace("-", " ").rpartition(" ")
    last = SMALL.get(unit, ORDINALS.get(unit, TENS.get(unit)))
    if last is None or (ten and (ten not in TENS or last > 9)):
        return None
    return TENS.get(ten, 0) + last
