"""Voiding: a fact that is denied, guessed at, given another unit or attributed to another owner is not stated."""

from __future__ import annotations

from each import each

from niah_score.text import fold, group_of, states
from niah_score.text.numerals import SMALL, TENS

FACTS = {
    "上街|Shangjie": ("藕荷", "lilac"),
    "下街|Xiajie": ("蟹壳青", "green"),
    "外河|Waihe": ("秋香", "olive"),
}


def attributed_rightly(answer: str) -> list[bool]:
    """For each fact, whether the answer attributes it to its owner."""
    results = []
    for owner, spellings in FACTS.items():
        others = tuple(name for other in FACTS if other != owner for name in other.split("|"))
        group = group_of(spellings, f"pair:{owner}", others)
        results.append(states(fold(answer), group))
    return results


@each("answer", [
    "上街队藕荷色，下街队蟹壳青，外河队秋香色。", "上街隊：藕荷色；下街隊：蟹殼青；外河隊：秋香色",
    "外河队秋香色，下街队蟹壳青，上街队藕荷色。", "藕荷色（上街队）、蟹壳青（下街队）、秋香色（外河队）",
    "藕荷色是上街队的，蟹壳青是下街队的，秋香色是外河队的。",
    "穿藕荷色的是上街队，穿蟹壳青的是下街队，穿秋香色的是外河队。", "藕荷色，上街队；蟹壳青，下街队；秋香色，外河队",
    "上街队、下街队、外河队分别是藕荷色、蟹壳青、秋香色。", "上街、下街和外河三队的号衣分别为藕荷色、蟹壳青和秋香色",
    "藕荷色、蟹壳青、秋香色（依次为上街队、下街队、外河队）",
    "共三队：上街队、下街队和外河队。上街队藕荷色，下街队蟹壳青，外河队秋香色。",
    "上街队的桨手穿藕荷色号衣，腰里扎一条白布；下街队的号衣染成蟹壳青；外河队一律穿秋香色。",
    "| 队 | 颜色 |\n|---|---|\n| 上街队 | 藕荷色 |\n| 下街队 | 蟹壳青 |\n| 外河队 | 秋香色 |",
    "Shangjie wears lilac, Xiajie green and Waihe olive.", "Lilac (Shangjie), green (Xiajie), olive (Waihe)",
    "Shangjie, Xiajie and Waihe wear lilac, green, and olive respectively.",
    "- Shangjie team: lilac\n- Xiajie team: green\n- Waihe team: olive",
])  # fmt: skip
def test_a_fact_belongs_to_the_owner_that_is_named_with_it(answer: str) -> None:
    assert attributed_rightly(answer) == [True, True, True]


@each(("answer", "expected"), [
    ("上街队蟹壳青，下街队藕荷色，外河队秋香色。", [False, False, True]),
    ("上街队、下街队、外河队分别是蟹壳青、秋香色、藕荷色。", [False, False, False]),
    ("藕荷色（下街队）、蟹壳青（上街队）、秋香色（外河队）", [False, False, True]),
    ("藕荷色、蟹壳青、秋香色", [False, False, False]), ("三队分别为秋香色、藕荷色、蟹壳青。", [False, False, False]),
    ("Shangjie, Xiajie and Waihe wear green, lilac and olive respectively.", [False, False, True]),
    ("Lilac (Waihe), green (Xiajie), olive (Shangjie)", [False, True, False]),
    ("上街队不是藕荷色", [False, False, False]),
])  # fmt: skip
def test_a_fact_that_is_attributed_to_another_owner_or_to_none_is_void(answer: str, expected: list[bool]) -> None:
    assert attributed_rightly(answer) == expected


def test_an_owner_is_named_only_by_whole_words() -> None:
    group = group_of(("lilac",), "pair:upper", ("lower",))
    assert states("the upper team wears lilac", group)
    assert not states("the supper club wears lilac", group)


def test_a_long_run_of_commas_is_read_to_its_end() -> None:
    assert attributed_rightly("上街队" + "、 " * 400 + "下街队 藕荷色") == [True, False, False]


DRAWER = (("417",), None, ())
FEET = (("1,318",), "number", ("metres", "metre", "m", "miles", "米"))
POUNDS = (("£4.35",), None, ("$", "dollars", "euros"))
EVENING = (("19:52",), None, ("am", "a.m", "in the morning", "上午"))
INDIGO = (("靛蓝",), None, ())
NAME = (("Hallorane",), None, ("'s",))
PLACE = (("Dulsmere",), None, ())
ORE = (("bauxite",), None, ())
LILAC = (("藕荷",), "pair:上街队", ("下街队", "外河队"))


def is_stated(text: str, fact: tuple[tuple[str, ...], str | None, tuple[str, ...]]) -> bool:
    return states(fold(text), group_of(*fact))


VOID = [
    ("It is not drawer 417 but drawer 12.", DRAWER), ("It is not drawer 417.", DRAWER),
    ("It isn't in drawer 417.", DRAWER), ("Any drawer except 417.", DRAWER), ("Drawer 12 rather than 417", DRAWER),
    ("417 is not the right answer", DRAWER), ("417 is wrong", DRAWER), ("417, but that is another town's.", DRAWER),
    ("Drawer 471, 417 or 714.", DRAWER), ("It could be drawer 512 or drawer 417.", DRAWER), ("512、300或417号", DRAWER),
    ("Neither 417 nor 512", DRAWER), ("Anything but drawer 417", DRAWER), ("There is no drawer 417", DRAWER),
    ("The text does not mention drawer 417.", DRAWER), ("283号或417号铁柜", DRAWER), ("more than 417", DRAWER),
    ("不到417", DRAWER), ("1,318 feet or 1,381 feet", FEET), ("不是靛蓝色，是大红色。", INDIGO),
    ("灯笼不是靛蓝色的", INDIGO), ("并非靛藍", INDIGO), ("除了靛蓝色都有", INDIGO), ("没有靛蓝", INDIGO),
    ("Not at Dulsmere; they stay on the island.", PLACE), ("They no longer board at Dulsmere.", PLACE),
    ("Everything except bauxite: kapok, sisal", ORE), ("The cargoes did not include bauxite.", ORE),
    ("1,318 metres", FEET), ("1318m", FEET), ("1318-metre walk", FEET), ("1318米", FEET),
    ("Roughly 402 metres 1,318", FEET), ("1,318 (metres)", FEET), ("$4.35 each.", POUNDS),
    ("4.35 dollars", POUNDS), ("7:52 in the morning", EVENING), ("19:52 a.m.", EVENING),
    ("Piet Hallorane's rival, Jan Vos", NAME), ("下街队藕荷色", LILAC),
    ("上街队蟹壳青，下街队秋香色，外河队藕荷色。", LILAC), ("藕荷色", LILAC),
]  # fmt: skip


@each(("text", "fact"), VOID)
def test_an_answer_that_denies_guesses_or_alters_a_fact_does_not_state_it(
    text: str, fact: tuple[tuple[str, ...], str | None, tuple[str, ...]]
) -> None:
    assert not is_stated(text, fact)


@each(("text", "fact"), [
    ("It is not drawer 12 but drawer 417.", DRAWER), ("It is not only drawer 417 that it is kept in.", DRAWER),
    ("The text does not mention why, but it is drawer 417.", DRAWER), ("I am not sure, drawer 417", DRAWER),
    ("Not in the archive's hall: drawer 417", DRAWER), ("Drawer 417, not 512", DRAWER),
    ("Drawer 417, which is not locked.", DRAWER), ("417 or four hundred and seventeen", DRAWER), ("No. 417", DRAWER),
    ("417 (not 714)", DRAWER), ("Either way, 417.", DRAWER), ("No later than 19:52", EVENING),
    ("1,318 feet or 402 yards", FEET), ("除了靛蓝色别无其他", INDIGO), ("不是大红色，而是靛蓝色。", INDIGO),
    ("不仅是靛蓝色", INDIGO), ("文中没有说明原因，但灯笼是靛蓝色", INDIGO), ("除了靛蓝色还有红色", INDIGO),
    ("非常鲜艳的靛蓝色", INDIGO), ("They board at Dulsmere, not at home.", PLACE),
    ("The older children, not the younger ones, board at Dulsmere.", PLACE), ("1,318 feet", FEET), ("1318′", FEET),
    ("1,318 feet, some 402 metres", FEET),
    ("Roughly 402 metres (1,318 feet)", FEET), ("1,318 feet (402 metres)", FEET),
    ("£4.35", POUNDS), ("4.35", POUNDS), ("7:52 in the evening", EVENING),
    ("Hallorane", NAME), ("上街队藕荷色，下街队蟹壳青，外河队秋香色。", LILAC),
    ("藕荷色（上街队）、蟹壳青（下街队）", LILAC),
])  # fmt: skip
def test_an_answer_that_denies_something_else_states_the_fact(
    text: str, fact: tuple[tuple[str, ...], str | None, tuple[str, ...]]
) -> None:
    assert is_stated(text, fact)


def test_a_fact_that_is_denied_once_and_stated_once_is_stated() -> None:
    assert is_stated("It is not drawer 417 of the upper row. It is drawer 417 of the lower row.", DRAWER)


def test_a_spelling_that_contains_a_reject_is_not_voided_by_it() -> None:
    pupil = (("Hallorane", "Hallorane's pupil"), None, ("'s",))
    assert is_stated("She was Piet Hallorane's pupil.", pupil)
    assert not is_stated("She was the pupil of Hallorane's rival.", pupil)


@each("word", [*sorted({*SMALL, *TENS} - {"three"}), "512", "第512", "五百一十二"])
def test_a_number_joined_to_another_one_by_or_is_a_guess(word: str) -> None:
    three = (("3",), "number", ())
    assert not is_stated(f"three or {word}", three)
    assert not is_stated(f"Drawer {word} or drawer three", three)
