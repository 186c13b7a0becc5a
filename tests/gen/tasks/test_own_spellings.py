"""Spellings of values in French, Spanish, Japanese and Arabic: each is read back as the value, in its own language."""

from __future__ import annotations

from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st
from properties import examples

from niah_gen.tasks import spellings
from niah_score.text import fold, holds_group
from niah_score.text.dates import Day
from niah_score.text.language import language_codes
from niah_score.text.values import parsed

OWN = st.sampled_from([code for code in language_codes() if code not in ("en", "zh")])


@examples(150)
@given(value=st.integers(0, 10**9), language=OWN)
def test_every_spelling_of_a_number_states_it_and_the_first_nothing_else(value: int, language: str) -> None:
    found = spellings.number(Decimal(value), language)
    assert found[0] == str(value)
    assert 1 <= len(found) == len(set(found)) <= 12
    for spelling in found:
        assert Decimal(value) in parsed(fold(spelling), "number", language), spelling
        assert holds_group(fold(f"x {spelling}."), found, "number", language)


@examples(100)
@given(minutes=st.integers(0, 24 * 60 - 1), language=OWN)
def test_every_spelling_of_a_time_states_it(minutes: int, language: str) -> None:
    found = spellings.time(minutes, language)
    assert len(found) <= 12
    for spelling in found:
        assert minutes in parsed(fold(spelling), "time", language), spelling


@examples(100)
@given(month=st.integers(1, 12), day=st.integers(1, 28), language=OWN)
def test_every_spelling_of_a_day_states_it_alone(month: int, day: int, language: str) -> None:
    found = spellings.date(month, day, language)
    assert len(found) <= 12
    for spelling in found:
        assert parsed(fold(spelling), "date", language) == {Day(month, day)}, spelling


@examples(100)
@given(cents=st.integers(1, 10**7), language=OWN, currency=st.sampled_from(["EUR", "JPY", "GBP", "USD"]))
def test_every_spelling_of_a_sum_states_it(cents: int, language: str, currency: str) -> None:
    value = Decimal(cents) / 100
    found = spellings.amount(value, currency, language)
    assert 1 <= len(found) <= 12
    for spelling in found:
        held = parsed(fold(spelling), f"amount:{currency}", language)
        assert value in {amount.value for amount in held}, spelling
