"""Reads times of day (19:52, 7.52 p.m., 下午五点四十三分) and days of the year (23 February, 2月23日, 腊月十七).

Times are minutes after midnight. Days of the lunar year are read as such.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from niah_score.text.fold import Reading, late
from niah_score.text.numerals import HAN, ORDINALS, SMALL, TENS, han_number, says_numbers
from niah_score.text.phrases import phrases_of


class Day(NamedTuple):
    """A day of a month; `year` if it is given."""

    month: int
    day: int
    year: int | None = None


_SAID = phrases_of("times")
MONTHS = {name: number for number, name in enumerate(_SAID.months, 1)} | {"sept": 9}
MONTHS |= {name[:3]: number for name, number in MONTHS.items()}
MONTH_NAME = late("jan|feb|mar|apr|may|ju[nl]|aug|sep|oct|nov|dec")
DAYS_OF = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_MONTH = rf"(?:{'|'.join(sorted(MONTHS, key=len, reverse=True))})"
_DAY_WORD = rf"(?:(?:{'|'.join(TENS)})[ -])?(?:{'|'.join(sorted((*SMALL, *TENS, *ORDINALS), key=len, reverse=True))})"
_WRITTEN = phrases_of(
    "days_and_times", han=HAN, month=_MONTH, day_word=_DAY_WORD, ten="|".join(TENS),
    below_twenty="|".join(sorted(SMALL, key=len, reverse=True)),
)  # fmt: skip
_LUNAR_NAMES = {"正": 1, "冬": 11, "腊": 12}
_LUNAR_CALENDARS = ("农历", "阴历", "旧历", "夏历")


def dates_in(folded: str) -> list[Reading]:
    """The days in a folded text, in order, by the solar calendar.

    If both orders of day and month make a date (3/2), both are included. Months and days in digits alone need a
    separator that dates are written with: 23/2, 23.02., 02-23.
    """
    readings: list[Reading] = []
    for pattern in (_WRITTEN.day_month, _WRITTEN.month_day) if MONTH_NAME.search(folded) else ():
        for match in pattern.finditer(folded):
            readings += _reading(match, MONTHS[match["month"]], _count(match["day"]), match["year"])
    for match in _WRITTEN.numeric.finditer(folded) if _WRITTEN.marked_date.search(folded) else ():
        if match["y"]:
            readings += _reading(match, int(match["a"]), int(match["b"]), match["y"])
            continue
        one, other = int(match["c"]), int(match["d"])
        for month, day in {(one, other), (other, one)}:
            readings += _reading(match, month, day, match["y2"])
    readings += (reading for reading, is_lunar in _chinese(folded) if not is_lunar)
    return sorted(set(readings), key=lambda reading: (reading.start, reading.end, reading.value[:2]))


def lunar_dates_in(folded: str) -> list[Reading]:
    """The days of the lunar year in a folded text: 腊月十七, 农历12月17日, the 17th of the twelfth lunar month.

    A month and a day in Chinese numerals without 日 or 号 (十二月十七) are lunar too: lunar days are written so.
    """
    readings = [reading for reading, is_lunar in _chinese(folded) if is_lunar]
    for match in _WRITTEN.lunar_english.finditer(folded) if "lunar" in folded else ():
        month, day = _count(match["month"] or match["month2"]), _count(match["day"] or match["day2"])
        readings += _reading(match, month or 0, day, None, longest=30)
    for match in _WRITTEN.lunar_numeric.finditer(folded):
        readings += _reading(match, int(match["month"]), int(match["day"]), None, longest=30)
    return sorted(readings, key=lambda reading: (reading.start, reading.end))


def date_of(folded: str) -> Day | None:
    """The day that a whole folded text names; None if it names none or is ambiguous."""
    return _whole(folded.rstrip("."), dates_in(folded))


def lunar_date_of(folded: str) -> Day | None:
    """The day of the lunar year that a whole folded text names; None if it names none."""
    return _whole(folded, lunar_dates_in(folded))


def _whole(folded: str, readings: list[Reading]) -> Day | None:
    whole = {reading.value for reading in readings if reading.start == 0 and reading.end >= len(folded)}
    return whole.pop() if len(whole) == 1 else None


def _reading(
    match: re.Match[str], month: int, day: int | None, year: str | None, longest: int | None = None
) -> Iterator[Reading]:
    if day is None or not 1 <= month <= 12 or not 1 <= day <= (longest or DAYS_OF[month - 1]):
        return
    full = int(year) if year and len(year) == 4 and year.isascii() else None
    yield Reading(Day(month, day, full), *match.span())


def _chinese(folded: str) -> Iterator[tuple[Reading, bool]]:
    """Days written with 月, and whether each one is a lunar day."""
    for match in _WRITTEN.chinese_date.finditer(folded) if "月" in folded else ():
        named = _LUNAR_NAMES.get(match["month"])
        month, day = named or _count(match["month"]), _count(match["day"])
        calendar = (match["calendar"] or "")[:2]
        is_spelt = not match["month"].isdigit() and not match["day"].isdigit()
        traditional = match["first"] is not None or match["day"][0] in "廿卅"
        is_lunar = calendar in _LUNAR_CALENDARS or (
            not calendar and (named is not None or traditional or (is_spelt and match["unit"] is None))
        )
        for reading in _reading(match, month or 0, day, match["year"], 30 if is_lunar else None):
            yield reading, is_lunar


BEFORE_NOON, AFTER_NOON, AROUND_NOON = _SAID.before_noon, _SAID.after_noon, _SAID.around_noon


def _as_pattern(word: str) -> str:
    return rf"(?<![a-z]){re.escape(word)}(?![a-z])" if word.isascii() else word


_DAY = 24 * 60
# "Earliest" and "latest" (最早, 最晚) do not name a half of the day.
_HALVES = late(
    "|".join(
        rf"(?P<{name}>{'|'.join(map(_as_pattern, words))}|{alone})"
        for name, words, alone in (
            ("am", BEFORE_NOON, "(?<!最)早(?!点)"),
            ("night", _SAID.at_night, "(?<!最)晚(?!点)"),
            ("noon", AROUND_NOON, "(?!)"),
            ("pm", [word for word in AFTER_NOON if word not in (*_SAID.at_night, *AROUND_NOON)], "(?!)"),
        )
    )
)
_NEAR = 64  # code points on either side in which a half of the day is looked for


def times_in(folded: str) -> list[Reading]:
    """The times in a folded text, in order; an ambiguous one comes twice.

    If the half of the day is named, next to a time or elsewhere in its clause (or in its sentence, if it is the only
    time in the text; in long texts, in its window), the time is in that half, and is left out if its hour contradicts
    it (19:52 a.m.). Otherwise digits are taken literally (7:52 is in the morning), and spoken forms up to twelve (seven
    fifty-two, 七点五十二分) mean either half.
    """
    taken: list[_Candidate] = []
    claimed = bytearray(len(folded))
    for candidate in _candidates(folded):
        fits = candidate.hour <= 24 and candidate.minute < 60
        if fits and not any(claimed[candidate.start : candidate.end]):
            claimed[candidate.start : candidate.end] = b"\1" * (candidate.end - candidate.start)
            taken.append(candidate)
    readings = []
    for one in sorted(taken):
        half = one.half or _half_near(folded, one, _WRITTEN.clause_end)
        if half is None and len(taken) == 1:
            half = _half_near(folded, one, _WRITTEN.sentence_end)
        halves = ("am", "pm") if half is None and one.is_spoken and 1 <= one.hour <= 12 else (half,)
        values = [value for each in halves if (value := _in_half(one.hour, one.minute, each)) is not None]
        readings += [Reading(value, one.start, one.end) for value in values]
    return readings


def times_of(folded: str) -> frozenset[int]:
    """The times that a whole folded text may mean, in minutes after midnight; none if it says anything else."""
    readings = times_in(folded)
    if not readings or len({reading.start for reading in readings}) > 1:
        return frozenset()
    rest = folded[: readings[0].start] + " " + folded[readings[0].end :]
    is_whole = not _WRITTEN.around.sub("", _HALVES.sub("", rest)).strip(" .,")
    return frozenset(reading.value for reading in readings) if is_whole else frozenset()


def _in_half(hour: int, minute: int, half: str | None) -> int | None:
    if half == "night":
        half = "am" if hour < 6 or hour == 12 else "pm"
    if half == "noon":
        half = "am" if 10 <= hour < 12 else "pm"
    if half == "pm" and hour < 12:
        hour += 12
    elif half == "am" and hour == 12:
        hour = 0
    elif half == "am" and hour > 12:
        return None
    return (hour * 60 + minute) % _DAY


def around(folded: str, start: int, end: int, stop: re.Pattern[str], near: int = _NEAR) -> tuple[str, str]:
    """The `near` code points before and after a time, up to the end of its clause or sentence (`stop`)."""
    before = folded[max(0, start - near) : start]
    cuts = list(stop.finditer(before))
    after = folded[end : end + near]
    cut = stop.search(after)
    return before[cuts[-1].end() :] if cuts else before, after[: cut.start()] if cut else after


def _half_near(folded: str, one: _Candidate, end: re.Pattern[str]) -> str | None:
    """The half of the day named nearest to a time, within its clause or sentence."""
    before, after = around(folded, one.start, one.end, end)
    if not (_WRITTEN.any_half.search(before) or _WRITTEN.any_half.search(after)):
        return None
    said = [(len(before) - match.end(), match.lastgroup) for match in _HALVES.finditer(before)]
    said += [(match.start(), match.lastgroup) for match in _HALVES.finditer(after)]
    return min(said)[1] if said else None


class _Candidate(NamedTuple):
    """A possible time. `is_spoken`: in a form that usually leaves the half of the day to the listener."""

    start: int
    end: int
    hour: int
    minute: int
    half: str | None = None
    is_spoken: bool = False


def _candidates(folded: str) -> Iterator[_Candidate]:
    """Possible times; of overlapping ones, the most informative come first."""
    match: re.Match[str]
    for match in _WRITTEN.relative.finditer(folded) if _WRITTEN.sides.search(folded) else ():
        minutes = 30 if match["half"] else 15 if match["quarter"] else _count(match["n"])
        yield from _shifted(match, match["h"], minutes, 1 if match["side"] in ("past", "after") else -1)
    for match in _WRITTEN.chinese_before.finditer(folded) if "差" in folded else ():
        yield from _shifted(match, match["h"] or match["h2"], _count(match["n"] or match["n2"]), -1)
    for match in _WRITTEN.digital.finditer(folded) if _WRITTEN.marked.search(folded) else ():
        spoken = match["by"] is not None and match["by"][0] in "点时" and int(match["h"]) < 13
        yield _Candidate(*match.span(), int(match["h"]), int(match["m"]), _half(match["half"]), spoken)
    for match in _WRITTEN.military.finditer(folded):
        yield _Candidate(*match.span(), int(match["h"] or match["h2"]), int(match["m"] or match["m2"]))
    for match in _WRITTEN.spoken.finditer(folded) if says_numbers(folded) else ():
        minute = SMALL[match["oh"]] if match["oh"] else SMALL.get(match["teen"] or "zero", 60)
        if match["ten"]:
            minute = TENS[match["ten"]] + SMALL.get(match["unit"] or "zero", 60)
        yield _Candidate(*match.span(), _count(match["h"]) or 0, minute, None, True)
    for match in _WRITTEN.chinese.finditer(folded) if _WRITTEN.hour_sign.search(folded) else ():
        part = {"半": 30, "一": 15, "三": 45}.get(match["half"] or match["quarter"])
        hour, given = _count(match["h"]), _count(match["m"] or "0") if part is None else part
        if hour is not None and given is not None:
            yield _Candidate(*match.span(), hour, given, None, True)
    for match in _WRITTEN.full_hour.finditer(folded) if _WRITTEN.full.search(folded) else ():
        hour = int(match["h"] or match["hour"])
        yield _Candidate(*match.span(), hour, 0, _half(match["half"]), match["hour"] is not None)
    for match in _WRITTEN.named.finditer(folded):
        yield _Candidate(*match.span(), 12, 0, "pm" if match.lastgroup == "noon" else "am")


def _shifted(match: re.Match[str], hour_text: str, minutes: int | None, sign: int) -> Iterator[_Candidate]:
    """A time given as minutes before (`sign` -1) or after (1) a full hour."""
    hour = _count(hour_text)
    if minutes is not None and hour is not None and minutes < 60 and hour <= 24:
        total = (hour * 60 + sign * minutes) % _DAY
        yield _Candidate(*match.span(), total // 60 or (12 if hour <= 12 else 0), total % 60, None, True)


def _half(letter: str | None) -> str | None:
    return None if letter is None else f"{letter}m"


def _count(text: str) -> int | None:
    """A count below a hundred, in digits (23, 23rd) or words of either language, cardinal or ordinal."""
    digits = re.match(r"\d+", text)
    if digits and (text.isascii() or digits.end() == len(text)):
        return int(digits[0])
    if not text.isascii():
        value = han_number(text)
        return None if value is None or value >= 100 else int(value)
    ten, _, unit = text.replace("-", " ").rpartition(" ")
    last = SMALL.get(unit, ORDINALS.get(unit, TENS.get(unit)))
    if last is None or (ten and (ten not in TENS or last > 9)):
        return None
    return TENS.get(ten, 0) + last
