"""Voiding: a fact that is denied, guessed at, given another unit or attributed to another owner is not stated."""

from __future__ import annotations

from each import each
from growth import not_linear

from niah_score.text import Find, doubtful, finds, first_standing, fold, group_of
from niah_score.text.numerals import SMALL, TENS

DRAWER = (("417",), None, ())
FEET = (("1,318",), "number", ("metres", "metre", "m", "miles", "米"))
POUNDS = (("£4.35",), None, ("$", "dollars", "euros"))
EVENING = (("19:52",), None, ("am", "a.m", "in the morning", "上午"))
INDIGO = (("靛蓝",), None, ())
NAME = (("Hallorane",), None, ("'s",))
PLACE = (("Dulsmere",), None, ())
ORE = (("bauxite",), None, ())
LILAC = (("藕荷",), "pair:上街队", ("下街队", "外河队"))


def states(text: str, fact: tuple[tuple[str, ...], str | None, tuple[str, ...]]) -> bool:
    return first_standing(fold(text), group_of(*fact)) is not None


VOID = [
    ("It is not drawer 417 but drawer 12.", DRAWER),
    ("It is not drawer 417.", DRAWER),
    ("It isn't in drawer 417.", DRAWER),
    ("Any drawer except 417.", DRAWER),
    ("Drawer 12 rather than 417", DRAWER),
    ("417 is not the right answer", DRAWER),
    ("417 is wrong", DRAWER),
    ("417, but that is another town's.", DRAWER),
    ("Drawer 471, 417 or 714.", DRAWER),
    ("It could be drawer 512 or drawer 417.", DRAWER),
    ("512、300或417号", DRAWER),
    ("Neither 417 nor 512", DRAWER),
    ("Anything but drawer 417", DRAWER),
    ("There is no drawer 417", DRAWER),
    ("The text does not mention drawer 417.", DRAWER),
    ("283号或417号铁柜", DRAWER),
    ("more than 417", DRAWER),
    ("不到417", DRAWER),
    ("1,318 feet or 1,381 feet", FEET),
    ("不是靛蓝色，是大红色。", INDIGO),
    ("灯笼不是靛蓝色的", INDIGO),
    ("并非靛藍", INDIGO),
    ("除了靛蓝色都有", INDIGO),
    ("没有靛蓝", INDIGO),
    ("Not at Dulsmere; they stay on the island.", PLACE),
    ("They no longer board at Dulsmere.", PLACE),
    ("Everything except bauxite: kapok, sisal", ORE),
    ("The cargoes did not include bauxite.", ORE),
    ("1,318 metres", FEET),
    ("1318m", FEET),
    ("1318-metre walk", FEET),
    ("1318米", FEET),
    ("$4.35 each.", POUNDS),
    ("4.35 dollars", POUNDS),
    ("7:52 in the morning", EVENING),
    ("19:52 a.m.", EVENING),
    ("Piet Hallorane's rival, Jan Vos", NAME),
    ("下街队藕荷色", LILAC),
    ("上街队蟹壳青，下街队秋香色，外河队藕荷色。", LILAC),
    ("藕荷色", LILAC),
]


@each(("text", "fact"), VOID)
def test_an_answer_that_denies_guesses_or_alters_a_fact_does_not_state_it(
    text: str, fact: tuple[tuple[str, ...], str | None, tuple[str, ...]]
) -> None:
    assert not states(text, fact)


@each(
    ("text", "fact"),
    [
        ("It is not drawer 12 but drawer 417.", DRAWER),
        ("It is not only drawer 417 that it is kept in.", DRAWER),
        ("The text does not mention why, but it is drawer 417.", DRAWER),
        ("I am not sure, drawer 417", DRAWER),
        ("Not in the archive's hall: drawer 417", DRAWER),
        ("Drawer 417, not 512", DRAWER),
        ("Drawer 417, which is not locked.", DRAWER),
        ("417 or four hundred and seventeen", DRAWER),
        ("No. 417", DRAWER),
        ("417 (not 714)", DRAWER),
        ("Either way, 417.", DRAWER),
        ("No later than 19:52", EVENING),
        ("1,318 feet or 402 yards", FEET),
        ("除了靛蓝色别无其他", INDIGO),
        ("不是大红色，而是靛蓝色。", INDIGO),
        ("不仅是靛蓝色", INDIGO),
        ("文中没有说明原因，但灯笼是靛蓝色", INDIGO),
        ("除了靛蓝色还有红色", INDIGO),
        ("非常鲜艳的靛蓝色", INDIGO),
        ("They board at Dulsmere, not at home.", PLACE),
        ("The older children, not the younger ones, board at Dulsmere.", PLACE),
        ("1,318 feet", FEET),
        ("1318′", FEET),
        ("1,318 feet, some 402 metres", FEET),
        ("£4.35", POUNDS),
        ("4.35", POUNDS),
        ("7:52 in the evening", EVENING),
        ("Hallorane", NAME),
        ("上街队藕荷色，下街队蟹壳青，外河队秋香色。", LILAC),
        ("藕荷色（上街队）、蟹壳青（下街队）", LILAC),
    ],
)
def test_an_answer_that_denies_something_else_states_the_fact(
    text: str, fact: tuple[tuple[str, ...], str | None, tuple[str, ...]]
) -> None:
    assert states(text, fact)


def test_a_fact_that_is_denied_once_and_stated_once_is_stated() -> None:
    assert states("It is not drawer 417 of the upper row. It is drawer 417 of the lower row.", DRAWER)


def test_every_find_that_is_voided_is_doubtful() -> None:
    for text, fact in VOID:
        folded, group = fold(text), group_of(*fact)
        spans = list(finds(folded, group))
        assert all(doubtful([(folded, find, group) for find in spans])), text
    assert doubtful([("drawer 417", Find(7, 10), group_of(*DRAWER))]) == [False]


def test_searching_takes_linear_time() -> None:
    parts = ("not ", "417 or ", "417, ", "不是417", "n't 417 ", "but that 417 ")
    assert not_linear(lambda text: states(text, DRAWER), parts) == []


@each(
    ("text", "is_stated"),
    [
        ("Roughly 402 metres (1,318 feet)", True),
        ("Roughly 402 metres 1,318", False),
        ("1,318 (metres)", False),
        ("1,318 feet (402 metres)", True),
    ],
)
def test_a_unit_in_brackets_after_a_value_counts_and_one_outside_its_brackets_does_not(
    text: str, is_stated: bool
) -> None:
    assert states(text, FEET) is is_stated


def test_a_spelling_that_contains_a_reject_is_not_voided_by_it() -> None:
    pupil = (("Hallorane", "Hallorane's pupil"), None, ("'s",))
    assert states("She was Piet Hallorane's pupil.", pupil)
    assert not states("She was the pupil of Hallorane's rival.", pupil)


@each("word", [*sorted({*SMALL, *TENS} - {"three"}), "512", "第512", "五百一十二"])
def test_a_number_joined_to_another_one_by_or_is_a_guess(word: str) -> None:
    three = (("3",), "number", ())
    assert not states(f"three or {word}", three)
    assert not states(f"Drawer {word} or drawer three", three)
