"""Spellings of values: each states its value and no other."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from each import each
from hypothesis import given
from hypothesis import strategies as st
from properties import examples

from niah_gen.tasks import spellings
from niah_score.text import fold
from niah_score.text.money import CODES
from niah_score.text.values import parsed

LANGUAGES = st.sampled_from(["en", "zh"])
_LONGEST_MONTH = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
# Currencies that are read in answers only by their own name or sign.
UNREAD = {"AUD", "CAD", "NZD", "SGD"}


def check(forms: Sequence[str]) -> None:
    assert 1 <= len(forms) <= 12
    assert len(set(forms)) == len(forms)


@examples(50)
@given(value=st.integers(0, 10**12 + 5) | st.integers(0, 20_000), language=LANGUAGES)
def test_every_spelling_of_a_number_states_it(value: int, language: str) -> None:
    forms = spellings.number(Decimal(value), language)
    check(forms)
    assert all(parsed(fold(word), "number") == {Decimal(value)} for word in forms), forms


@each("language", ["en", "zh"])
def test_every_spelling_of_a_time_can_mean_it(language: str) -> None:
    for minutes in {*range(0, 24 * 60, 7), 59, 60, 719, 720, 779, 780, 1439}:
        forms = spellings.time(minutes, language)
        check(forms)
        assert all(minutes in parsed(fold(word), "time") for word in forms), forms


@each("language", ["en", "zh"])
def test_every_spelling_of_a_day_states_it(language: str) -> None:
    for month, longest in enumerate(_LONGEST_MONTH, 1):
        for day in range(1, longest + 1):
            forms = spellings.date(month, day, language)
            check(forms)
            assert all([value[:2] for value in parsed(fold(word), "date")] == [(month, day)] for word in forms), forms


@each("language", ["en", "zh"])
def test_every_spelling_of_a_lunar_day_states_it(language: str) -> None:
    for month in range(1, 13):
        for day in range(1, 31):
            forms = spellings.lunar_date(month, day, language)
            check(forms)
            expected = [(month, day)]
            assert all([value[:2] for value in parsed(fold(word), "lunar_date")] == expected for word in forms), forms


@examples(50)
@given(
    value=st.decimals(0, 10**7, places=2) | st.integers(0, 10**13).map(Decimal) | st.decimals(0, 9, places=3),
    currency=st.sampled_from(sorted(CODES)),
    language=LANGUAGES,
)
def test_every_spelling_of_an_amount_states_it(value: Decimal, currency: str, language: str) -> None:
    forms = spellings.amount(value, currency, language)
    check(forms)
    read = [{amount.value for amount in parsed(fold(word), f"amount:{currency}")} for word in forms]
    if currency in UNREAD:
        read = [values for values in read if values]
    if sum(map(str.isdigit, spellings.plain(value))) < 14:
        assert read
        assert all(values == {value} for values in read), (forms, read)


@each(
    ("value", "language", "expected"),
    [
        ("0", "en", ["0", "zero"]),
        ("417", "en", ["417", "four hundred and seventeen", "four hundred seventeen"]),
        ("1043", "en", ["1043", "1,043", "one thousand and forty-three", "one thousand forty-three"]),
        ("2000000", "en", ["2000000", "2,000,000", "two million"]),
        ("4.50", "en", ["4.5"]),
        ("283", "zh", ["283", "二百八十三", "两百八十三"]),
        ("1208", "zh", ["1208", "1,208", "一千二百零八", "一千两百零八"]),
        ("20", "zh", ["20", "二十"]),
        ("110", "zh", ["110", "一百一十"]),
        ("30005", "zh", ["30005", "30,005", "三万零五"]),
    ],
)
def test_numbers_are_spelt_as_people_write_them(value: str, language: str, expected: list[str]) -> None:
    assert spellings.number(Decimal(value), language) == expected


@each(
    ("actual", "expected"),
    [
        (spellings.time(19 * 60 + 52, "en"), ["19:52", "19.52", "7:52 pm", "7.52 pm", "7:52 p.m."]),
        (
            spellings.time(17 * 60 + 43, "zh"),
            ["17点43分", "17:43", "17时43分", "十七点四十三分", "下午5点43分", "下午5:43", "下午五点四十三分"],
        ),
        (spellings.time(0, "en"), ["0:00", "00:00", "0.00", "12:00 am", "12.00 am", "12:00 a.m."]),
        (spellings.time(6 * 60, "zh"), ["6点", "6:00", "6时", "六点", "上午6点", "上午6:00", "上午六点"]),
        (spellings.date(2, 23, "zh"), ["2月23日", "2月23号", "二月二十三日"]),
        (spellings.lunar_date(12, 17, "zh"), ["腊月十七", "农历腊月十七", "农历十二月十七", "农历12月17日"]),
        (spellings.lunar_date(1, 5, "zh"), ["正月初五", "农历正月初五", "农历一月初五", "农历1月5日"]),
        (
            spellings.amount(Decimal("4.35"), "GBP", "en"),
            ["£4.35", "4.35 pounds", "GBP 4.35", "4.35", "four pounds thirty-five", "435 pence"],
        ),
        (spellings.amount(Decimal("0.05"), "GBP", "en"), ["£0.05", "0.05 pounds", "GBP 0.05", "0.05", "5 pence"]),
        (spellings.amount(Decimal(1173), "CNY", "zh"), ["1173元", "1173", "1,173元", "一千一百七十三元"]),
    ],
)
def test_values_are_spelt_as_people_write_them(actual: list[str], expected: list[str]) -> None:
    assert actual == expected


def test_a_day_with_ambiguous_digits_is_not_spelt_in_digits() -> None:
    assert "23/2" in spellings.date(2, 23, "en")
    assert not [word for word in spellings.date(2, 3, "en") if "/" in word]


def test_a_time_is_not_spelt_like_a_year() -> None:
    assert not [word for word in spellings.time(19 * 60 + 52, "en") if word.isalpha() or "nineteen" in word]


def test_ordinals_have_the_right_suffix() -> None:
    ordinals = [spellings.ordinal(number, "en") for number in (1, 2, 3, 4, 11, 12, 13, 20)]
    assert ordinals == ["1st", "2nd", "3rd", "4th", "11th", "12th", "13th", "20th"]
    assert spellings.ordinal(3, "zh") == "3"
