"""Numerals: a number is read whole, in digits, words or Chinese numerals, and never from the middle of another."""

from __future__ import annotations

import cn2an
import num2words
from each import each
from hypothesis import given
from hypothesis import strategies as st
from properties import examples

from niah_score.text import fold
from niah_score.text.numerals import number_of, numbers_in
from niah_score.text.values import kind_of

whole = st.integers(0, 10**12 - 1) | st.integers(0, 10**4)


def read(text: str) -> list[str]:
    return [f"{reading.value.normalize():f}" for reading in numbers_in(fold(text))]


@each(("text", "numbers"), [
    ("1318feet", ["1318"]), ("GBP4.35", ["4.35"]), ("417th", ["417"]), ("1.234,5", ["1234.5"]), ("0.5,4", ["0.5", "4"]),
    ("1,2.3.4,5", ["1", "5"]), ("#3,174, #8,662", ["3174", "8662"]), ("1,417", ["1417"]), ("£2746.00", ["2746"]),
    ("4,35", ["4", "4.35", "35"]), ("417.", ["417"]), ("12-14", ["12", "14"]), ("-417", ["417"]), ("19:52", []),
    ("10.0.417.1", []), ("23/2", []), ("four hundred and seventeen", ["417"]), ("four hundred seventeen", ["417"]),
    ("Four-hundred-and-seventeen", ["417"]), ("the four hundred and seventeenth", ["417"]),
    ("two thousand, seven hundred and forty-six", ["2746"]), ("thirteen hundred and eighteen", ["1318"]),
    ("a thousand and forty three", ["1043"]), ("2 thousand 746", ["2746"]), ("1.3 million", ["1300000"]),
    ("four seventeen", ["417"]), ("nineteen oh five", ["1905"]), ("four one seven", ["417"]),
    ("four, seventeen and two", ["4", "17", "2"]), ("thirty-one seventy-four, eighty-six sixty-two", ["3174", "8662"]),
    ("hundreds of people", []), ("a second later", []), ("someone in Tennessee", []), ("第283号", ["283"]),
    ("第２８３号", ["283"]), ("两百八十三", ["283"]), ("二八三", ["283"]), ("贰佰捌拾叁", ["283"]),
    ("貳佰捌拾參", ["283"]), ("一千二百八十三", ["1283"]), ("1千173", ["1173"]), ("一千二", ["1200"]),
    ("一千零二", ["1002"]), ("一千二百单八", ["1208"]), ("二千九百十八", ["2918"]), ("12万3千", ["123000"]),
    ("1.5亿", ["150000000"]), ("廿三", ["23"]), ("三点一四", ["3.14"]), ("百分之四十", ["40"]), ("大陆", []), ("", []),
])  # fmt: skip
def test_numbers_are_read_in_all_usual_spellings(text: str, numbers: list[str]) -> None:
    assert read(text) == numbers


@each("text", ["4-1-7", "4 1 7"])
def test_separated_digits_may_be_one_number(text: str) -> None:
    assert "417" in read(text)


def test_a_space_may_group_digits() -> None:
    assert set(read("1 318 feet")) == {"1", "318", "1318"}


@examples(150)
@given(number=whole)
def test_numbers_in_english_words_are_read_with_or_without_hyphens_commas_and_the_word_and(number: int) -> None:
    words = num2words.num2words(number)
    for spelling in (
        words,
        words.replace(" and ", " "),
        words.replace("-", " "),
        words.replace(",", ""),
        words.title(),
    ):
        assert number_of(fold(spelling)) == number
    if number not in (0, 2):
        assert number_of(num2words.num2words(number, to="ordinal")) == number


@examples(150)
@given(number=whole)
def test_plain_and_formal_chinese_numerals_are_read(number: int) -> None:
    plain, formal = cn2an.an2cn(number, "low"), cn2an.an2cn(number, "up")
    assert number_of(fold(plain)) == number
    assert number_of(fold(formal)) == (number if len(formal) > 1 or not number else None)


@examples(100)
@given(number=whole, more=whole)
def test_no_number_is_read_from_the_middle_of_another(number: int, more: int) -> None:
    for text in (f"x{number}y", f"{number}.", f"({number})"):
        assert {reading.value for reading in numbers_in(text)} == {number}
    assert {reading.value for reading in numbers_in(f"{number}{more}")} == {int(f"{number}{more}")}


@examples(100)
@given(text=st.text("0123456789.,:/- 一二百千万thousand and oneten第\n", max_size=25))
def test_every_number_has_a_place_in_the_text(text: str) -> None:
    folded = fold(text)
    assert all(0 <= reading.start < reading.end <= len(folded) for reading in numbers_in(folded))


@examples(300)
@given(text=st.text("017.,:/", min_size=3, max_size=12))
def test_digits_with_any_marks_between_them_are_read(text: str) -> None:
    assert all(text[reading.start : reading.end].strip("017.,") == "" for reading in numbers_in(text))


@each("text", ["007", "12345678901234567", "drawer 417", "", "1,2,3", "second"])
def test_codes_and_sentences_are_not_numbers(text: str) -> None:
    assert number_of(fold(text)) is None


@given(text=st.integers(1, 10**17).map(str))
@examples(100)
def test_up_to_15_plain_digits_are_the_number_that_reading_finds(text: str) -> None:
    read_whole = [reading.value for reading in numbers_in(text) if (reading.start, reading.end) == (0, len(text))]
    assert number_of(text) == (read_whole[0] if len(text) <= 15 else None)
    assert kind_of(text) == ("number" if len(text) <= 15 else "text")
