"""Spellings of values in French, Spanish, Japanese and Arabic: each is read back as the value, in its own language."""

from __future__ import annotations

from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st
from properties import examples

from niah_gen.tasks import spellings
from niah_score.text import fold, holds_group
from niah_score.text.language import language_codes
from niah_score.text.times import Day
from niah_score.text.values import parsed

LANGUAGES = st.sampled_from([code for code in language_codes() if code not in ("en", "zh")])


@examples(150)
@given(value=st.integers(0, 10**9), language=LANGUAGES)
def test_every_spelling_of_a_number_states_it_and_the_first_is_in_digits(value: int, language: str) -> None:
    forms = spellings.number(Decimal(value), language)
    assert forms[0] == str(value)
    assert 1 <= len(forms) == len(set(forms)) <= 12
    for spelling in forms:
        assert Decimal(value) in parsed(fold(spelling), "number", language), spelling
        assert holds_group(fold(f"x {spelling}."), forms, "number", language)


@examples(100)
@given(minutes=st.integers(0, 24 * 60 - 1), language=LANGUAGES)
def test_every_spelling_of_a_time_states_it(minutes: int, language: str) -> None:
    forms = spellings.time(minutes, language)
    assert len(forms) <= 12
    for spelling in forms:
        assert minutes in parsed(fold(spelling), "time", language), spelling


@examples(100)
@given(month=st.integers(1, 12), day=st.integers(1, 28), language=LANGUAGES)
def test_every_spelling_of_a_day_states_only_that_day(month: int, day: int, language: str) -> None:
    forms = spellings.date(month, day, language)
    assert len(forms) <= 12
    for spelling in forms:
        assert parsed(fold(spelling), "date", language) == {Day(month, day)}, spelling


@examples(100)
@given(cents=st.integers(1, 10**7), language=LANGUAGES, currency=st.sampled_from(["EUR", "JPY", "GBP", "USD"]))
def test_every_spelling_of_an_amount_states_it(cents: int, language: str, currency: str) -> None:
    value = Decimal(cents) / 100
    forms = spellings.amount(value, currency, language)
    assert 1 <= len(forms) <= 12
    for spelling in forms:
        amounts = parsed(fold(spelling), f"amount:{currency}", language)
        assert value in {amount.value for amount in amounts}, spelling
