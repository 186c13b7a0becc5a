"""Hints: a text that states a value, in whatever form, always shows the signs that are looked for first."""

from __future__ import annotations

from collections.abc import Iterator

import cn2an
import num2words
from each import each
from hypothesis import given
from hypothesis import strategies as st
from properties import examples

from niah_score.text import find_as_written, finds, fold, group_of, may_hold, may_state, spaced

MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
          "December")  # fmt: skip


def in_words(number: int, kind: str = "cardinal") -> str:
    return str(num2words.num2words(number, to=kind))


def in_han(number: int) -> str:
    return str(cn2an.an2cn(number, "low"))


def times(hour: int, minute: int) -> Iterator[str]:
    twelve = hour % 12 or 12
    half = "a.m." if hour < 12 else "p.m."
    yield from (
        f"{hour}:{minute:02}",
        f"{hour:02}.{minute:02}",
        f"{twelve}:{minute:02} {half}",
        f"{hour:02}{minute:02}h",
    )
    spoken = in_words(minute) if minute else "o'clock"
    yield f"{in_words(twelve)} {spoken} {half}"
    yield f"{hour}点{minute}分" if minute else f"{hour}点"
    yield f"{in_han(hour)}点{in_han(minute)}分" if minute else f"{in_han(hour)}时"
    for side, minutes, near in (("past", minute, hour), ("to", 60 - minute, hour + 1)):
        name = {15: "quarter", 30: "half"}.get(minutes, f"{in_words(minutes)} minutes")
        yield f"{name} {side} {in_words(near % 12 or 12)} {'in the morning' if near % 24 < 12 else 'in the evening'}"
    yield f"{hour}点{ {15: '一刻', 30: '半', 45: '三刻'}.get(minute, minute) }"
    yield f"差{60 - minute}分{hour + 1}点"
    if minute == 0:
        yield from {0: ("midnight",), 12: ("noon", "正午")}.get(hour, ())


def dates(month: int, day: int) -> Iterator[str]:
    name = MONTHS[month - 1]
    yield from (f"{day} {name}", f"{name[:3]} {day}", f"the {in_words(day, 'ordinal')} of {name}", f"{day}/{month}")
    yield from (
        f"{month:02}-{day:02}",
        f"{month}月{day}日",
        f"{in_han(month)}月{in_han(day)}号",
        f"2024-{month:02}-{day:02}",
    )


def lunar_dates(month: int, day: int) -> Iterator[str]:
    yield from (f"农历{month}月{day}日", f"农历{in_han(month)}月{in_han(day)}", f"旧历{month}/{day}")
    yield f"the {in_words(day, 'ordinal')} of the {in_words(month, 'ordinal')} lunar month"
    if day > 20:
        yield f"{in_han(month)}月廿{in_han(day % 10) if day % 10 else ''}"


def numbers(number: int) -> Iterator[str]:
    yield from (f"{number}", f"{number:,}", in_words(number), in_words(number).replace("-", " ").replace(" and", ""))
    yield from (in_han(number), str(cn2an.an2cn(number, "up")), in_words(number, "ordinal"))
    if number >= 1000:
        yield f"{number // 1000}千{in_han(number % 1000) if number % 1000 else ''}"
        yield f"{number // 1000} thousand {number % 1000 or ''}"
    if number % 100 == 0:
        yield f"{in_words(number // 100)} hundred"


def amounts(whole: int, cents: int) -> Iterator[str]:
    yield from (f"£{whole}.{cents:02}", f"GBP{whole}.{cents:02}", f"{whole} pounds {cents}", f"{100 * whole + cents}p")
    yield from (f"{whole} pounds and {cents} pence", f"{in_words(whole)} pounds {in_words(cents)} pence")
    yield f"{in_han(whole)}镑{in_han(cents)}便士"


def yuan(whole: int, cents: int) -> Iterator[str]:
    yield from (f"{whole}.{cents:02}元", f"¥{whole}.{cents:02}", f"{whole}块{cents // 10}毛{cents % 10}分")
    yield from (f"{in_han(whole)}元{in_han(cents // 10)}角{in_han(cents % 10)}分", f"{whole}.{cents:02} yuan")


def check(texts: Iterator[str], keyword: str, kind: str) -> int:
    """How many of the texts state the fact; each of them must show hints, and a literal find must be in a reading."""
    group, stating = group_of((fold(keyword),), kind), 0
    for text in map(fold, texts):
        spans = list(finds(text, group))
        assert not spans or may_state(text, group), (text, keyword)
        assert not spans or may_hold(text, spaced(text), group), (text, keyword)
        written = find_as_written(text, group)
        assert written is None or any(find.start <= written.start and written.end <= find.end for find in spans), (
            text,
            keyword,
        )
        stating += bool(spans)
    return stating


@each("hour", range(24))
def test_every_time_shows_hints_in_every_form(hour: int) -> None:
    for minute in range(60):
        assert check(times(hour, minute), f"{hour}:{minute:02}", "time") >= 7


@each("month", range(1, 13))
def test_every_day_shows_hints_in_every_form(month: int) -> None:
    for day in range(1, 29):
        assert check(dates(month, day), f"{day} {MONTHS[month - 1]}", "date") == 8
        assert check(lunar_dates(month, day), f"农历{month}月{day}日", "lunar_date") >= 4


@examples(200)
@given(st.integers(1, 9_999) | st.integers(1, 400).map(lambda count: 100 * count))
def test_every_number_shows_hints_in_every_form(number: int) -> None:
    assert check(numbers(number), str(number), "number") >= 5


@examples(150)
@given(st.integers(1, 3_000), st.integers(11, 99))
def test_every_amount_shows_hints_in_every_form(whole: int, cents: int) -> None:
    assert check(amounts(whole, cents), f"£{whole}.{cents:02}", "amount:GBP") >= 6
    assert check(yuan(whole, cents), f"{whole}.{cents:02}元", "amount:CNY") >= (5 if cents % 10 else 4)


WORDS = ("at", "on", "cost", "is", "half past", "quarter to", "twenty", "hundred", "million", "the", "and", "p.m.", "£",
         "3", "in the evening", "农历", "元", "角", "十", "of", "minutes to", "may")  # fmt: skip


@examples(500)
@given(
    st.lists(st.sampled_from(WORDS), max_size=3),
    st.lists(st.sampled_from(WORDS), max_size=3),
    st.sampled_from(["", " "]),
)
def test_a_value_that_is_found_as_written_is_also_found_by_reading(
    before: list[str], after: list[str], gap: str
) -> None:
    for written, kind in (("7:52", "time"), ("£4.35", "amount:GBP"), ("23 february", "date"), ("1318", "number")):
        check(iter([" ".join(before) + gap + written + gap + " ".join(after)]), written, kind)
