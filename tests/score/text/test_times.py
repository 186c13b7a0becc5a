"""Times of 12-hour and 24-hour clocks, in digits and words of both languages, in the half of the day that is named."""

from __future__ import annotations

from datetime import date, timedelta

from each import each
from hypothesis import given
from hypothesis import strategies as st
from properties import examples

from niah_score.text import fold
from niah_score.text.times import date_of, dates_in, lunar_date_of, lunar_dates_in, times_in, times_of


def solar(text: str) -> list[tuple[int, int]]:
    return sorted({reading.value[:2] for reading in dates_in(fold(text))})


def lunar(text: str) -> list[tuple[int, int]]:
    return sorted({reading.value[:2] for reading in lunar_dates_in(fold(text))})


@each("text", [
    "23 February", "On February 23.", "23rd of February", "the 23rd day of February", "February the 23rd", "23rd Feb.",
    "Feb. 23", "23-Feb", "twenty third of February", "February twenty-third", "23/2", "2/23", "23.02.", "02-23",
    "23.2.1931", "1931-02-23", "23 February 1931", "2月23日", "2月23号", "二月二十三日", "公历二月二十三日",
    "二月二十三號",
])  # fmt: skip
def test_a_solar_day_is_read_in_all_usual_spellings(text: str) -> None:
    assert solar(text) == [(2, 23)]
    assert lunar(text) == []


@each("text", [
    "腊月十七", "臘月十七", "农历腊月17日", "农历12月17日", "农历十二月17日", "阴历十二月十七", "十二月十七",
    "旧历腊月十七日", "the 17th day of the twelfth lunar month", "17th of the 12th lunar month",
    "twelfth lunar month, 17th day", "the 17th of the twelfth month in the lunar calendar", "农历12/17",
])  # fmt: skip
def test_a_lunar_day_is_read_in_all_usual_spellings(text: str) -> None:
    assert lunar(text) == [(12, 17)]
    assert solar(text) == []


@each(("text", "days"), [
    ("12月17日", [(12, 17)]), ("公历十二月十七日", [(12, 17)]), ("3/2", [(2, 3), (3, 2)]), ("30 February", []),
    ("32/1", []), ("23号", []), ("1.2.3.4", []), ("19:52", []), ("may be 5", []), ("正月初三", []), ("", []),
])  # fmt: skip
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


def test_chinese_dates_may_have_spaces_around_their_digits() -> None:
    assert solar("每年 2 月 23 日祝福") == solar("1931 年 2 月 23 号") == [(2, 23)]
    assert date_of(fold("2 月 23 日")) == (2, 23, None)
    assert lunar("农历 12 月 17 日") == lunar("腊月 十七") == lunar("腊月 17") == [(12, 17)]


def read(text: str) -> list[str]:
    return sorted({f"{reading.value // 60}:{reading.value % 60:02d}" for reading in times_in(fold(text))})


@each(("text", "times"), [
    ("19:52", ["19:52"]), ("19:52h, 19.52 hrs, 19h52", ["19:52"]), ("19:52:30", ["19:52"]), ("the 19.52", ["19:52"]),
    ("7:52 PM", ["19:52"]), ("7.52 p.m.", ["19:52"]), ("7:52pm", ["19:52"]), ("12:15 am", ["0:15"]),
    ("12:15 pm", ["12:15"]), ("3pm", ["15:00"]), ("At 7:52.", ["7:52"]), ("7:52 on Sunday evening", ["19:52"]),
    ("7:52 in the morning", ["7:52"]), ("In the evening, the last train leaves at 7:52.", ["19:52"]),
    ("In the morning it opens at 8:10. It closes at 7:52", ["7:52", "8:10"]), ("1952 hours", ["19:52"]),
    ("at 1952", ["19:52"]), ("nineteen fifty-two", ["19:52"]), ("seven fifty-two", ["19:52", "7:52"]),
    ("seven fifty-two in the evening", ["19:52"]), ("seven oh five", ["19:05", "7:05"]),
    ("eight minutes to eight", ["19:52", "7:52"]), ("eight minutes to eight in the evening", ["19:52"]),
    ("half past seven pm", ["19:30"]), ("a quarter to one pm", ["12:45"]), ("3 o'clock", ["15:00", "3:00"]),
    ("noon", ["12:00"]), ("midnight", ["0:00"]), ("19:52 a.m.", []), ("25:10", []), ("7:65", []), ("1:2:3", []),
    ("4.5", []), ("twenty-seven days", []), ("晚上7点52分", ["19:52"]), ("17：43。", ["17:43"]),
    ("下午5時43分", ["17:43"]), ("17点43分", ["17:43"]), ("十七点四十三分", ["17:43"]),
    ("五点四十三分", ["17:43", "5:43"]), ("傍晚五点四十三", ["17:43"]), ("上午五点四十三分", ["5:43"]),
    ("最早17点43分", ["17:43"]), ("最晚5点43分", ["17:43", "5:43"]), ("差八分八点", ["19:52", "7:52"]),
    ("晚上八点差八分", ["19:52"]), ("下午五点一刻", ["17:15"]), ("凌晨五点半", ["5:30"]), ("二十四点", ["0:00"]),
    ("三点建议", ["15:00", "3:00"]), ("没有时间", []), ("晚上12点", ["0:00"]), ("夜里两点", ["2:00"]),
    ("中午12点半", ["12:30"]), ("中午11点38分", ["11:38"]), ("晌午10点5分", ["10:05"]), ("午间一点二十分", ["13:20"]),
    ("中午1点", ["13:00"]), ("£19.52", []), ("", []),
])  # fmt: skip
def test_times_are_read_in_all_usual_spellings(text: str, times: list[str]) -> None:
    assert read(text) == times


@each(("text", "minutes"), [
    ("19:52", {1192}), ("19:52h", {1192}), ("at 7:52 p.m.", {1192}), ("下午5点43分", {1063}),
    ("seven fifty-two", {472, 1192}), ("the 7:52 to Ormsgarth", set()), ("19:52 or 20:01", set()), ("417", set()),
    ("", set()),
])  # fmt: skip
def test_a_keyword_is_a_time_only_if_it_says_nothing_else(text: str, minutes: set[int]) -> None:
    assert times_of(fold(text)) == minutes


@examples(100)
@given(minutes=st.integers(0, 24 * 60 - 1))
def test_every_minute_of_the_day_is_read_in_digits_of_both_clocks(minutes: int) -> None:
    hour, minute = divmod(minutes, 60)
    twelve, half = (hour - 1) % 12 + 1, "pm" if hour >= 12 else "am"
    for text in (
        f"{hour}:{minute:02d}",
        f"{twelve}:{minute:02d} {half}",
        f"{hour:02d}h{minute:02d}",
        f"{hour}点{minute:02d}分",
    ):
        values = {reading.value for reading in times_in(fold(text))}
        assert minutes in values
        assert values <= {minutes, (minutes + 720) % 1440} if "点" in text else values == {minutes}
