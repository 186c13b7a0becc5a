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
_MARKED_DATE = late(r"\d[-/.]\d")
DAYS_OF = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_MONTH = rf"(?:{'|'.join(sorted(MONTHS, key=len, reverse=True))})"
_DAY_WORD = rf"(?:(?:{'|'.join(TENS)})[ -])?(?:{'|'.join(sorted((*SMALL, *TENS, *ORDINALS), key=len, reverse=True))})"
_A_DAY = rf"(?:\d{{1,2}}(?:\s?(?:st|nd|rd|th))?|{_DAY_WORD})"
# What stands between the fields of a day: "Day: 19, Month: November", or a list of them.
_FIELD = r"[,;]? (?:and |[-*\u2022] ?)?"
_YEAR = r"(?:,?\s(?P<{}>\d{{4}})(?!\d))?"
_DAY_MONTH = late(
    rf"(?<![\da-z])(?<!\d[/.:])(?P<day>{_A_DAY})(?:\.?[ -]?(?:day )?(?:of )?(?:the month of )?|{_FIELD}month ?: ?)"
    rf"(?P<month>{_MONTH})(?![a-z])" + _YEAR.format("year")
)
_MONTH_DAY = late(
    rf"(?<![a-z])(?P<month>{_MONTH})(?:\.?[ -]?(?:the )?|{_FIELD}day ?: ?|,? (?:[-\u2013\u2014]|on) the (?=\d))"
    rf"(?P<day>{_A_DAY})(?![a-z\d:]|[.,]\d){_YEAR.format('year')}"
)
_NUMERIC = late(
    r"(?<![\d/.历-])(?<!\d:)(?:(?P<y>\d{4})(?P<s1>[-/.])(?P<a>\d{1,2})(?P=s1)(?P<b>\d{1,2})"
    r"|(?P<c>\d{1,2})(?P<s2>[-/.])(?P<d>\d{1,2})(?:(?P=s2)(?P<y2>\d{4}|\d{2}))?)\.?(?!\d|[-/.:]\d)"
)
_HAN_DATE = rf"(?:\d{{1,2}}|[{HAN}]{{1,3}})"
_CHINESE_DATE = late(
    rf"(?:(?P<year>\d{{4}}|[零〇一二三四五六七八九]{{4}})\s?年\s?)?"
    rf"(?P<calendar>(?:农历|阴历|旧历|夏历|公历|阳历|新历|西历)(?:的)?(?:每年)?\s?)?"
    rf"(?<![\d{HAN}])(?P<month>{_HAN_DATE}|正|冬|腊)\s?月\s?(?:[,;、]?\s?日期\s?:\s?)?(?P<first>初)?(?P<day>{_HAN_DATE})(?:\s?(?P<unit>日|号))?"
)
_LUNAR_NAMES = {"正": 1, "冬": 11, "腊": 12}
_LUNAR_CALENDARS = ("农历", "阴历", "旧历", "夏历")
_LUNAR_ENGLISH = late(
    rf"(?:the )?(?P<day>{_A_DAY})(?: day)?,? of (?:the )?(?P<month>{_A_DAY}) "
    rf"(?:lunar month|month (?:of|in|on|by) the lunar)"
    rf"|(?P<month2>{_A_DAY}) (?:lunar month|month of the lunar (?:year|calendar)),? (?:the |day )?(?P<day2>{_A_DAY})"
)
_LUNAR_NUMERIC = late(r"(?:农历|阴历|旧历|夏历)\s?(?P<month>\d{1,2})[/.-](?P<day>\d{1,2})(?!\d)")


def dates_in(folded: str) -> list[Reading]:
    """The days in a folded text, in order, by the solar calendar.

    If both orders of day and month make a date (3/2), both are included. Months and days in digits alone need a
    separator that dates are written with: 23/2, 23.02., 02-23.
    """
    readings: list[Reading] = []
    for pattern in (_DAY_MONTH, _MONTH_DAY) if MONTH_NAME.search(folded) else ():
        for match in pattern.finditer(folded):
            readings += _reading(match, MONTHS[match["month"]], _count(match["day"]), match["year"])
    for match in _NUMERIC.finditer(folded) if _MARKED_DATE.search(folded) else ():
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
    for match in _LUNAR_ENGLISH.finditer(folded) if "lunar" in folded else ():
        month, day = _count(match["month"] or match["month2"]), _count(match["day"] or match["day2"])
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
    for match in _CHINESE_DATE.finditer(folded) if "月" in folded else ():
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
_WORD = "|".join(sorted(SMALL, key=len, reverse=True))
_TEN = "|".join(TENS)
_HAN = f"[{HAN}]{{1,3}}"
# A half of the day right after the digits belongs to them.
_SUFFIX = r"(?:\s?(?P<half>[ap])\.?\s?m\b)?"
_DIGITAL = late(
    r"(?<![\d£$€¥])(?<!\d[.:])(?P<h>[01]?\d|2[0-4])(?:\s?(?P<by>[:h时]|点钟?)\s?|\.)(?P<m>[0-5]\d)(?!\d|[.:]\d\d:|,\d)(?::[0-5]\d)?"
    + _SUFFIX
)
_FULL_HOUR = late(
    r"(?<!\d)(?<!\d[.:])(?:(?P<h>0?\d|1[0-2])\s?(?P<half>[ap])\.?\s?m\b|(?P<hour>[01]?\d|2[0-4])\s?o'clock)"
)
_MILITARY = late(
    r"(?<!\d)(?<!\d[.:,])(?P<h>[01]\d|2[0-3])(?P<m>[0-5]\d)(?=\s?(?:h\b|hrs?\b|hours\b))"
    r"|\bat (?P<h2>[01]\d|2[0-3])(?P<m2>[0-5]\d)(?![\d.,:])"
)
_SPOKEN = late(
    rf"(?<![a-z])(?P<h>{_WORD}|twenty(?:[ -](?:one|two|three|four))?)[ -]"
    rf"(?:(?P<clock>o'clock)|oh[ -](?P<oh>one|two|three|four|five|six|seven|eight|nine)"
    rf"|(?P<ten>{_TEN})(?:[ -](?P<unit>{_WORD}))?|(?P<teen>ten|eleven|twelve|\w+teen))(?![a-z])"
)
_RELATIVE = late(
    rf"(?:(?P<half>half)|(?P<quarter>quarter)|(?P<n>\d{{1,2}}|(?:{_TEN})(?:[ -](?:{_WORD}))?|{_WORD})(?: minutes?)?)"
    rf" (?P<side>past|after|to|before|of|till|until) (?P<h>\d{{1,2}}|{_WORD})(?![a-z\d:.]\d?)"
)
_CHINESE = late(
    rf"(?<![\d{HAN}])(?P<h>\d{{1,2}}|{_HAN})(?:点钟?|时)(?:过)?(?:(?P<m>\d{{1,2}}|{_HAN})(?=分|\D|$)(?!刻|十|月|天|个)分?|(?P<half>半)|(?P<quarter>[一三])刻|钟|整)?"
)
_CHINESE_BEFORE = late(
    rf"(?:差(?P<n>\d{{1,2}}|{_HAN})分钟?(?:到)?(?P<h>\d{{1,2}}|{_HAN})点)|(?:(?<![\d{HAN}])(?P<h2>\d{{1,2}}|{_HAN})点(?:钟)?差(?P<n2>\d{{1,2}}|{_HAN})分)"
)
_NAMED = late(r"(?P<noon>\bnoon\b|\bmidday\b|正午)|(?P<midnight>\bmidnight\b|午夜)")
# What may surround the time in a keyword that is a time.
_AROUND = late(r"\b(?:at|by|the|h|hrs?|hours|about|around)\b|分")
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
_CLAUSE_END = late(r"[;!?。；！？，、\n]|, |\. |\.$")
# What every match of a pattern above contains, so that most texts need no more.
_SIDES = late(r" (?:past|after|to|before|of|till|until) ")
_MARKED = late(r"\d(?:\s?(?:[:h时]|点钟?)\s?|\.)\d")
_HOUR_SIGN = late("[点时]")
_FULL = late(r"\d\s?(?:[ap]\.?\s?m|o'clock)")
_ANY_HALF = late("am|a\\.m|pm|p\\.m|morning|noon|evening|night|[早晨午晚夜昏]")
_SENTENCE_END = late(r"[;!?。；！？\n]|\. |\.$")
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
        half = one.half or _half_near(folded, one, _CLAUSE_END)
        if half is None and len(taken) == 1:
            half = _half_near(folded, one, _SENTENCE_END)
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
    is_whole = not _AROUND.sub("", _HALVES.sub("", rest)).strip(" .,")
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
    if not (_ANY_HALF.search(before) or _ANY_HALF.search(after)):
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
    for match in _RELATIVE.finditer(folded) if _SIDES.search(folded) else ():
        minutes = 30 if match["half"] else 15 if match["quarter"] else _count(match["n"])
        yield from _shifted(match, match["h"], minutes, 1 if match["side"] in ("past", "after") else -1)
    for match in _CHINESE_BEFORE.finditer(folded) if "差" in folded else ():
        yield from _shifted(match, match["h"] or match["h2"], _count(match["n"] or match["n2"]), -1)
    for match in _DIGITAL.finditer(folded) if _MARKED.search(folded) else ():
        spoken = match["by"] is not None and match["by"][0] in "点时" and int(match["h"]) < 13
        yield _Candidate(*match.span(), int(match["h"]), int(match["m"]), _half(match["half"]), spoken)
    for match in _MILITARY.finditer(folded):
        yield _Candidate(*match.span(), int(match["h"] or match["h2"]), int(match["m"] or match["m2"]))
    for match in _SPOKEN.finditer(folded) if says_numbers(folded) else ():
        minute = SMALL[match["oh"]] if match["oh"] else SMALL.get(match["teen"] or "zero", 60)
        if match["ten"]:
            minute = TENS[match["ten"]] + SMALL.get(match["unit"] or "zero", 60)
        yield _Candidate(*match.span(), _count(match["h"]) or 0, minute, None, True)
    for match in _CHINESE.finditer(folded) if _HOUR_SIGN.search(folded) else ():
        part = {"半": 30, "一": 15, "三": 45}.get(match["half"] or match["quarter"])
        hour, given = _count(match["h"]), _count(match["m"] or "0") if part is None else part
        if hour is not None and given is not None:
            yield _Candidate(*match.span(), hour, given, None, True)
    for match in _FULL_HOUR.finditer(folded) if _FULL.search(folded) else ():
        hour = int(match["h"] or match["hour"])
        yield _Candidate(*match.span(), hour, 0, _half(match["half"]), match["hour"] is not None)
    for match in _NAMED.finditer(folded):
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
