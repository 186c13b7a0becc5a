"""Units: which unit names next to a right number make it wrong."""

from __future__ import annotations

from each import each

from niah_gen.tasks.units import is_measure, leading_unit, names_of, other_half, other_units, unit_named
from niah_score.text import fold
from niah_score.text.money import CODES


@each(
    ("unit", "own", "wrong"),
    [
        ("feet", ("foot", "ft", "英尺"), ("metres", "m", "米", "yards", "miles", "inches", "paces", "square")),
        ("days", ("day", "天", "日"), ("hours", "weeks", "小时", "years", "年", "minutes")),
        ("步", ("steps", "paces"), ("feet", "米", "公里", "里")),
        ("kg", ("kilograms", "公斤"), ("grams", "tonnes", "斤", "lb")),
        ("GBP", ("£", "pounds", "英镑"), ("$", "dollars", "€", "yuan", "元", "shillings", "guineas")),
        ("元", ("yuan", "块", "cny"), ("美元", "$", "£", "日元")),
        ("¥", ("yuan", "yen"), ("$", "£")),
        ("pounds", ("lb", "£"), ("kg", "dollars", "euros")),
    ],
)
def test_a_unit_rejects_other_units_of_the_same_quantity(
    unit: str, own: tuple[str, ...], wrong: tuple[str, ...]
) -> None:
    rejected = other_units(unit)
    assert not {*own, unit} & set(rejected)
    assert set(wrong) <= set(rejected)
    assert len(set(rejected)) == len(rejected)


def test_feet_and_days_reject_no_unit_in_common() -> None:
    assert not set(other_units("feet")) & set(other_units("days"))


@each("unit", ["drawer", "", "Feets", "号"])
def test_a_word_that_is_not_a_unit_rejects_nothing(unit: str) -> None:
    assert not unit_named(unit)
    assert other_units(unit) == names_of(unit) == ()


@each("unit", ["Feet", "FT", "\u2033", "\u00b0C", "gbp", "GBP", "\uff04", "英里"])
def test_units_are_recognised_in_any_case_and_width(unit: str) -> None:
    assert unit_named(unit)
    assert fold(unit) in names_of(unit)


@each("code", sorted(CODES))
def test_every_known_currency_is_a_unit_but_not_a_measure(code: str) -> None:
    assert unit_named(code)
    assert not is_measure(code)


@each(
    ("following", "unit"),
    [
        (" feet from door to door.", "feet"),
        ("-foot shed", "foot"),
        ("ft.", "ft"),
        ("\u2032 long", "\u2032"),
        ("\u2033 wide", "\u2032\u2032"),  # folded, two primes
        (" days on birch planks", "days"),
        ("步。", "步"),
        ("公里外", "公里"),
        ("元", "元"),
        (" square feet", "square feet"),
        (" m", "m"),
        (" men came", None),
        ("号铁柜里", None),
        (", feet first", None),
        ("", None),
    ],
)
def test_the_unit_of_a_number_directly_follows_it(following: str, unit: str | None) -> None:
    assert leading_unit(fold(following) if following[:1] != " " else " " + fold(following)) == unit


def test_pounds_are_a_measure_but_the_pound_sign_is_not() -> None:
    assert is_measure("pounds")
    assert is_measure("feet")
    assert not is_measure("£")
    assert not is_measure("drawer")


@each(
    ("minutes", "wrong", "right"),
    [(0, "pm", "am"), (719, "下午", "上午"), (720, "a.m", "p.m"), (1192, "in the morning", "in the evening")],
)
def test_a_time_rejects_the_other_half_of_the_day(minutes: int, wrong: str, right: str) -> None:
    assert wrong in other_half(minutes)
    assert right not in other_half(minutes)
