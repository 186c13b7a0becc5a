"""Money: sums with signs, codes and words, in main units and subunits, each in the currency that is named beside it."""

from __future__ import annotations

from decimal import Decimal

from each import each
from hypothesis import given
from hypothesis import strategies as st
from properties import examples

from niah_score.text import fold
from niah_score.text.money import amount_of, amounts_in


def read(text: str) -> list[tuple[str, str]]:
    return [
        (f"{reading.value.value.normalize():f}", "/".join(sorted(reading.value.currencies)))
        for reading in amounts_in(fold(text))
    ]


@each(("text", "sums"), [
    ("£4.35", [("4.35", "GBP")]), ("GBP4.35", [("4.35", "GBP")]), ("￡４．３５", [("4.35", "GBP")]),
    ("4.35 pounds", [("4.35", "GBP")]), ("每张4.35英镑", [("4.35", "GBP")]),
    ("Four pounds thirty five.", [("4.35", "GBP")]), ("four pounds and thirty-five pence", [("4.35", "GBP")]),
    ("£4 and 35p", [("4.35", "GBP")]), ("435p", [("4.35", "GBP")]), ("435 pence", [("4.35", "GBP")]),
    ("4.35", [("4.35", "")]), ("US$ 12", [("12", "USD")]),
    ("$12 and £3", [("12", "AUD/CAD/HKD/NZD/SGD/TWD/USD"), ("3", "GBP")]), ("12 euros", [("12", "EUR")]),
    ("1173元", [("1173", "CNY")]), ("一千一百七十三元整", [("1173", "CNY")]), ("1,173 yuan", [("1173", "CNY")]),
    ("人民币1173", [("1173", "CNY")]), ("1173美元", [("1173", "USD")]), ("4块3毛5", [("4.35", "CNY")]),
    ("4元3角5分", [("4.35", "CNY")]), ("两块五", [("2.5", "CNY")]), ("¥100", [("100", "CNY/JPY")]),
    ("£2746.00", [("2746", "GBP")]), ("£4·35", [("4.35", "GBP")]), ("A$4.35", [("4.35", "AUD")]),
    ("4.35澳元", [("4.35", "AUD")]), ("4 pounds for 35 people", [("4", "GBP"), ("35", "")]), ("", []),
])  # fmt: skip
def test_sums_are_read_in_all_usual_spellings(text: str, sums: list[tuple[str, str]]) -> None:
    assert read(text) == sums


@each("text", ["4.35", "417", "£4.35 each", "", "pounds"])
def test_a_keyword_is_a_sum_only_with_its_currency_and_nothing_else(text: str) -> None:
    assert amount_of(fold(text)) is None


@examples(100)
@given(pence=st.integers(1, 10**7))
def test_every_sum_is_read_in_signs_codes_and_pence(pence: int) -> None:
    value = Decimal(pence) / 100
    for text in (f"£{value:,.2f}", f"{value:.2f} GBP", f"{pence}p", f"{value:.2f}英镑"):
        assert [reading.value.value for reading in amounts_in(fold(text))] == [value]
