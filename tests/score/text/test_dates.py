"""Dates: days of the solar and of the lunar year, in digits and words, and neither mistaken for the other."""

from __future__ import annotations

from datetime import date, timedelta

from each import each
from growth import not_linear
from hypothesis import given
from hypothesis import strategies as st
from properties import examples

from niah_score.text import fold
from niah_score.text.dates import date_of, dates_in, lunar_date_of, lunar_dates_in


def solar(text: str) -> list[tuple[int, int]]:
    return sorted({reading.value[:2] for reading in dates_in(fold(text))})


def lunar(text: str) -> list[tuple[int, int]]:
    return sorted({reading.value[:2] for reading in lunar_dates_in(fold(text))})


@each(
    "text",
    [
        "23 February",
        "On February 23.",
        "23rd of February",
        "the 23rd day of February",
        "February the 23rd",
        "23rd Feb.",
        "Feb. 23",
        "23-Feb",
        "twenty third of February",
        "February twenty-third",
        "23/2",
        "2/23",
        "23.02.",
        "02-23",
        "23.2.1931",
        "1931-02-23",
        "23 February 1931",
        "2月23日",
        "2月23号",
        "二月二十三日",
        "公历二月二十三日",
        "二月二十三號",
    ],
)
def test_a_solar_day_is_read_in_all_usual_spellings(text: str) -> None:
    assert solar(text) == [(2, 23)]
    assert lunar(text) == []


@each(
    "text",
    [
        "腊月十七",
        "臘月十七",
        "农历腊月17日",
        "农历12月17日",
        "农历十二月17日",
        "阴历十二月十七",
        "十二月十七",
        "旧历腊月十七日",
        "the 17th day of the twelfth lunar month",
        "17th of the 12th lunar month",
        "twelfth lunar month, 17th day",
        "the 17th of the twelfth month in the lunar calendar",
        "农历12/17",
    ],
)
def test_a_lunar_day_is_read_in_all_usual_spellings(text: str) -> None:
    assert lunar(text) == [(12, 17)]
    assert solar(text) == []


@each(
    ("text", "days"),
    [
        ("12月17日", [(12, 17)]),
        ("公历十二月十七日", [(12, 17)]),
        ("3/2", [(2, 3), (3, 2)]),
        ("30 February", []),
        ("32/1", []),
        ("23号", []),
        ("1.2.3.4", []),
        ("19:52", []),
        ("may be 5", []),
        ("正月初三", []),
        ("", []),
    ],
)
def test_a_text_like_a_date_yields_only_the_solar_days_that_it_can_mean(text: str, days: list[tuple[int, int]]) -> None:
    assert solar(text) == days


def test_days_of_traditional_months_are_lunar() -> None:
    assert lunar("正月初三") == [(1, 3)]
    assert lunar("八月廿五") == [(8, 25)]
    assert lunar("冬月三十") == [(11, 30)]


@each("text", ["23 February 1931", "1931年2月23日", "1931-02-23"])
def test_the_year_of_a_date_is_kept(text: str) -> None:
    assert date_of(fold(text)) == (2, 23, 1931)


@each("text", ["3/2", "on 23 February", "February", "23", "", "腊月十七"])
def test_a_keyword_that_is_not_exactly_one_solar_day_is_not_a_date(text: str) -> None:
    assert date_of(fold(text)) is None


def test_a_keyword_that_is_one_lunar_day_is_a_lunar_date() -> None:
    assert lunar_date_of("腊月十七") == (12, 17, None)
    assert lunar_date_of("12月17日") is None


@examples(50)
@given(number=st.integers(0, 364))
def test_every_day_of_the_year_is_read(number: int) -> None:
    day = date(2023, 1, 1) + timedelta(number)
    for form in ("%d %B", "%B %d", "%d-%b", "%m月%d日", "%d.%m.", "%Y-%m-%d"):
        assert (day.month, day.day) in solar(day.strftime(form))


def test_reading_takes_linear_time() -> None:
    parts = ("23/2 ", "2月", "腊月", "feb ", "23 ", "the 23rd day of ", "-1-2", "12th of the ")
    assert not_linear(lambda text: dates_in(fold(text)), parts) == []
    assert not_linear(lambda text: lunar_dates_in(fold(text)), parts) == []


def test_chinese_dates_may_have_spaces_around_their_digits() -> None:
    assert solar("每年 2 月 23 日祝福") == solar("1931 年 2 月 23 号") == [(2, 23)]
    assert date_of(fold("2 月 23 日")) == (2, 23, None)
    assert lunar("农历 12 月 17 日") == lunar("腊月 十七") == lunar("腊月 17") == [(12, 17)]
