"""Times of 12-hour and 24-hour clocks, in digits and words of both languages, in the half of the day that is named."""

from __future__ import annotations

from each import each
from growth import not_linear
from hypothesis import given
from hypothesis import strategies as st
from properties import examples

from niah_score.text import fold
from niah_score.text.times import times_in, times_of


def read(text: str) -> list[str]:
    return sorted({f"{reading.value // 60}:{reading.value % 60:02d}" for reading in times_in(fold(text))})


@each(
    ("text", "times"),
    [
        ("19:52", ["19:52"]),
        ("19:52h, 19.52 hrs, 19h52", ["19:52"]),
        ("19:52:30", ["19:52"]),
        ("the 19.52", ["19:52"]),
        ("7:52 PM", ["19:52"]),
        ("7.52 p.m.", ["19:52"]),
        ("7:52pm", ["19:52"]),
        ("12:15 am", ["0:15"]),
        ("12:15 pm", ["12:15"]),
        ("3pm", ["15:00"]),
        ("At 7:52.", ["7:52"]),
        ("7:52 on Sunday evening", ["19:52"]),
        ("7:52 in the morning", ["7:52"]),
        ("In the evening, the last train leaves at 7:52.", ["19:52"]),
        ("In the morning it opens at 8:10. It closes at 7:52", ["7:52", "8:10"]),
        ("1952 hours", ["19:52"]),
        ("at 1952", ["19:52"]),
        ("nineteen fifty-two", ["19:52"]),
        ("seven fifty-two", ["19:52", "7:52"]),
        ("seven fifty-two in the evening", ["19:52"]),
        ("seven oh five", ["19:05", "7:05"]),
        ("eight minutes to eight", ["19:52", "7:52"]),
        ("eight minutes to eight in the evening", ["19:52"]),
        ("half past seven pm", ["19:30"]),
        ("a quarter to one pm", ["12:45"]),
        ("3 o'clock", ["15:00", "3:00"]),
        ("noon", ["12:00"]),
        ("midnight", ["0:00"]),
        ("19:52 a.m.", []),
        ("25:10", []),
        ("7:65", []),
        ("1:2:3", []),
        ("4.5", []),
        ("twenty-seven days", []),
        ("晚上7点52分", ["19:52"]),
        ("17：43。", ["17:43"]),
        ("下午5時43分", ["17:43"]),
        ("17点43分", ["17:43"]),
        ("十七点四十三分", ["17:43"]),
        ("五点四十三分", ["17:43", "5:43"]),
        ("傍晚五点四十三", ["17:43"]),
        ("上午五点四十三分", ["5:43"]),
        ("最早17点43分", ["17:43"]),
        ("最晚5点43分", ["17:43", "5:43"]),
        ("差八分八点", ["19:52", "7:52"]),
        ("晚上八点差八分", ["19:52"]),
        ("下午五点一刻", ["17:15"]),
        ("凌晨五点半", ["5:30"]),
        ("二十四点", ["0:00"]),
        ("三点建议", ["15:00", "3:00"]),
        ("没有时间", []),
        ("晚上12点", ["0:00"]),
        ("夜里两点", ["2:00"]),
        ("中午12点半", ["12:30"]),
        ("中午11点38分", ["11:38"]),
        ("晌午10点5分", ["10:05"]),
        ("午间一点二十分", ["13:20"]),
        ("中午1点", ["13:00"]),
        ("£19.52", []),
        ("", []),
    ],
)
def test_times_are_read_in_all_usual_spellings(text: str, times: list[str]) -> None:
    assert read(text) == times


@each(
    ("text", "minutes"),
    [
        ("19:52", {1192}),
        ("19:52h", {1192}),
        ("at 7:52 p.m.", {1192}),
        ("下午5点43分", {1063}),
        ("seven fifty-two", {472, 1192}),
        ("the 7:52 to Ormsgarth", set()),
        ("19:52 or 20:01", set()),
        ("417", set()),
        ("", set()),
    ],
)
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


def test_reading_takes_linear_time() -> None:
    parts = ("19:52 ", "7:52,", "点", "5点", "half past ", "seven ", "am ", "差", "12", "1952 hours ")
    assert not_linear(lambda text: times_in(fold(text)), parts) == []
