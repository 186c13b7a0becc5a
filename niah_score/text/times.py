"""Reads times of day in folded text, as minutes after midnight: 19:52, 7.52 p.m., 下午五点四十三分."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

from niah_score.text.chinese_numerals import HAN, han_number
from niah_score.text.late_pattern import late
from niah_score.text.nearby import matches_near
from niah_score.text.numerals import SMALL, TENS, says_numbers

Half = Literal["am", "pm"]

# Words for before and after noon. They are looked for in the same clause as a time, as are 早 and 晚 alone.
BEFORE_NOON = (
    "am", "a.m", "in the morning", "morning", "before noon", "上午", "早上", "早晨", "清晨", "凌晨", "清早", "一早",
)  # fmt: skip
AFTER_NOON = (
    "pm", "p.m", "in the afternoon", "in the evening", "at night", "afternoon", "evening", "tonight", "night",
    "after noon", "下午", "午后", "中午", "傍晚", "晚上", "夜里", "夜间", "夜晚", "黄昏", "当晚", "晚间",
)  # fmt: skip
# Twelve at night is midnight, and two at night is in the morning.
_AT_NIGHT = ("at night", "tonight", "night", "晚上", "夜里", "夜间", "夜晚", "当晚", "晚间")
# With these words, ten and eleven are before noon.
AROUND_NOON = ("中午", "晌午", "午间")


class TimeReading(NamedTuple):
    """A time in minutes after midnight, and its place: code points `start` up to, but not including, `end`."""

    value: int
    start: int
    end: int


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
            ("night", _AT_NIGHT, "(?<!最)晚(?!点)"),
            ("noon", AROUND_NOON, "(?!)"),
            ("pm", [word for word in AFTER_NOON if word not in (*_AT_NIGHT, *AROUND_NOON)], "(?!)"),
        )
    )
)
_CLAUSE_END = late(r"[;!?。；！？，、\n]|, |\. |\.$")
# Marks that every match of a pattern above contains.
_SIDE = late(r" (?:past|after|to|before|of|till|until) \d")
_SIDES = late(r" (?:past|after|to|before|of|till|until) ")
_MARKED = late(r"\d(?:\s?(?:[:h时]|点钟?)\s?|\.)\d")
_FOUR_DIGITS = late(r"\d{4}")
_HOUR_SIGN = late("[点时]")
_FULL = late(r"\d\s?(?:[ap]\.?\s?m|o'clock)")
_NOON = late("noon|midday|midnight|正午|午夜")
_ANY_HALF = late("am|a\\.m|pm|p\\.m|morning|noon|evening|night|[早晨午晚夜昏]")
_SENTENCE_END = late(r"[;!?。；！？\n]|\. |\.$")
_NEAR = 64  # code points on either side in which a half of the day is looked for


def times_in(folded: str) -> list[TimeReading]:
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
        readings += [TimeReading(value, one.start, one.end) for value in values]
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


def names_half(folded: str, start: int, end: int) -> bool:
    """Whether anything near a time in its sentence may name a half of the day."""
    return any(map(_ANY_HALF.search, around(folded, start, end, _SENTENCE_END)))


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
    has_words = says_numbers(folded)
    if has_words or _SIDE.search(folded):
        yield from _relative(folded)
    if "差" in folded:
        for match in _CHINESE_BEFORE.finditer(folded):
            yield from _shifted(match, match["h"] or match["h2"], _count(match["n"] or match["n2"]), -1)
    yield from _in_digits(folded)
    if has_words:
        yield from _spoken(folded)
    yield from _in_chinese(folded)
    for match in _FULL_HOUR.finditer(folded) if _FULL.search(folded) else ():
        hour = int(match["h"] or match["hour"])
        yield _Candidate(*match.span(), hour, 0, _half(match["half"]), match["hour"] is not None)
    for match in _NAMED.finditer(folded) if _NOON.search(folded) else ():
        yield _Candidate(*match.span(), 12, 0, "pm" if match.lastgroup == "noon" else "am")


def _relative(folded: str) -> Iterator[_Candidate]:
    for match in matches_near(_RELATIVE, _SIDES, folded, 32):
        minutes = 30 if match["half"] else 15 if match["quarter"] else _count(match["n"])
        sign = 1 if match["side"] in ("past", "after") else -1
        yield from _shifted(match, match["h"], minutes, sign)


def _in_digits(folded: str) -> Iterator[_Candidate]:
    for match in matches_near(_DIGITAL, _MARKED, folded, 1):
        spoken = match["by"] is not None and match["by"][0] in "点时" and int(match["h"]) < 13
        yield _Candidate(*match.span(), int(match["h"]), int(match["m"]), _half(match["half"]), spoken)
    for match in matches_near(_MILITARY, _FOUR_DIGITS, folded, 3):
        yield _Candidate(*match.span(), int(match["h"] or match["h2"]), int(match["m"] or match["m2"]))


def _spoken(folded: str) -> Iterator[_Candidate]:
    for match in _SPOKEN.finditer(folded):
        minute = 0
        if match["oh"]:
            minute = SMALL[match["oh"]]
        elif match["ten"]:
            minute = TENS[match["ten"]] + SMALL.get(match["unit"] or "zero", 60)
        elif match["teen"]:
            minute = SMALL.get(match["teen"], 60)
        yield _Candidate(*match.span(), _count(match["h"]) or 0, minute, None, True)


def _in_chinese(folded: str) -> Iterator[_Candidate]:
    for match in matches_near(_CHINESE, _HOUR_SIGN, folded, 3):
        hour = _count(match["h"])
        quarters = {"一": 15, "三": 45}
        minute = 30 if match["half"] else quarters[match["quarter"]] if match["quarter"] else _count(match["m"] or "0")
        if hour is not None and minute is not None:
            yield _Candidate(*match.span(), hour, minute, None, True)


def _shifted(match: re.Match[str], hour_text: str, minutes: int | None, sign: int) -> Iterator[_Candidate]:
    """A time given as minutes before (`sign` -1) or after (1) a full hour."""
    hour = _count(hour_text)
    if minutes is not None and hour is not None and minutes < 60 and hour <= 24:
        total = (hour * 60 + sign * minutes) % _DAY
        yield _Candidate(*match.span(), total // 60 or (12 if hour <= 12 else 0), total % 60, None, True)


def _half(letter: str | None) -> str | None:
    return None if letter is None else f"{letter}m"


def _count(text: str) -> int | None:
    """A count below a hundred, in digits or words of either language."""
    if text.isascii() and text.isdigit():
        return int(text)
    if text.isascii():
        ten, _, unit = text.replace("-", " ").partition(" ")
        if ten in TENS:
            return TENS[ten] + SMALL.get(unit or "zero", 0)
        return SMALL.get(text)
    value = han_number(text)
    return None if value is None or value >= 100 else int(value)
