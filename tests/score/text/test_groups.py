"""Keywords in answers: a fact counts in every spelling, and not where it is denied, guessed at or somebody else's."""

from __future__ import annotations

import re

from each import each
from hypothesis import given
from hypothesis import strategies as st
from properties import examples

from niah_score.text import finds, fold, group_of, holds, holds_group, stated, states
from niah_score.text.numerals import SMALL, TENS

steady = examples(200)


@each(("text", "keyword", "expected"), [
    ("the heart of it", "art", False), ("modern art is", "art", True), ("art", "art", True),
    ("state-of-the-art!", "art", True), ("arts", "art", False), ("a heart, then art", "art", True),
    ("It is 417.", "417", True), ("It is 1417.", "417", False), ("It is 4170", "417", False),
    ("It is 1,417.", "417", False), ("It is 1,417.", "1417", True), ("It is 1417.", "1,417", True),
    ("Room 417b", "417", True), ("Room b12", "b1", False), ("a sneeze wort", "sneeze-wort", True),
    ("a sneeze\u2013wort", "sneeze wort", True), ("靛蓝色", "靛蓝", True), ("在上海AI实验室", "AI", True),
    ("第283号", "283", True), ("住DOLORES\nPARK旁", "Dolores Park", True), ("C++ is", "c++", True),
    ("C++11", "c++", True), ("use .net here", ".NET", True), ("use x.net here", ".NET", True), ("a b", "a.b", False),
    ("axb", "a.b", False), ("café", "caf", False), ("anything", "", False), ("anything", "  ", False), ("", "a", False),
    ("", "", False),
])  # fmt: skip
def test_a_keyword_is_found_only_as_whole_words(text: str, keyword: str, expected: bool) -> None:
    assert holds(fold(text), keyword) == expected


@steady
@given(text=st.text("abx中. ,", max_size=20), keyword=st.text("abx中. ,", min_size=1, max_size=4))
def test_holds_agrees_with_a_slow_search_at_every_position(text: str, keyword: str) -> None:
    folded, folded_keyword = fold(text), fold(keyword)

    def is_whole_word(at: int) -> bool:
        before, after = folded[:at][-1:], folded[at + len(folded_keyword) :][:1]
        left = not (re.match("[a-z0-9]", folded_keyword[0]) and re.match("[a-z0-9]", before))
        right = not (re.match("[a-z0-9]", folded_keyword[-1]) and re.match("[a-z0-9]", after))
        return left and right

    places = [at for at in range(len(folded)) if folded_keyword and folded.startswith(folded_keyword, at)]
    assert holds(folded, keyword) == any(map(is_whole_word, places))


@each(("keywords", "kind"), [
    (("417", "four hundred and seventeen"), "number"), (("二百八十三",), "number"), (("1,318",), "number"),
    (("19:52", "7:52 pm"), "time"), (("17点43分",), "time"), (("23 February",), "date"), (("2月23日",), "date"),
    (("腊月十七",), "lunar_date"), (("£4.35",), "amount:GBP"), (("1173元",), "amount:CNY"), (("$12",), "amount:USD"),
    (("TH4406K",), "text"), (("007",), "text"), (("02-23",), "text"), (("Room 417",), "text"),
    (("turquoise", "417"), "text"), (("4929817263548172",), "text"),
])  # fmt: skip
def test_the_first_spelling_decides_the_kind_of_a_group(keywords: tuple[str, ...], kind: str) -> None:
    assert group_of(keywords).kind == kind


def test_spellings_of_another_value_are_searched_for_literally() -> None:
    group = group_of(("19:52", "7:52 pm", "the 7:52", "1952 train"))
    assert list(group.words) == ["the 7:52", "1952 train"]
    assert list(finds(fold("At 7:52."), group)) == []
    assert list(finds(fold("the 7:52"), group)) != []


def test_an_explicit_kind_overrides_the_one_that_the_spelling_suggests() -> None:
    assert not holds_group(fold("nineteen eighty-four"), ("1984",), "text")
    assert holds_group(fold("nineteen eighty-four"), ("1984",), "number")
    assert holds_group(fold("23.02."), ("02-23",), "date")
    assert group_of(("blue",), "number").kind == "text"


def test_a_text_states_each_value_once_however_many_spellings_it_has() -> None:
    text = fold("In drawer 417 lay a turquoise shell.")
    keywords = [["417", "four hundred and seventeen"], ["turquoise", "teal"], ["512"]]
    assert stated(lambda word: holds(text, word), keywords) == ["417", "turquoise"]


def test_a_fact_is_found_as_answers_write_it() -> None:
    """After a colon, in numbered lists, with marks of footnotes and accents, and a day in two fields."""
    sums = "1. £1,486\n2. £2,035\n3. 673 pounds\n4. 14 pounds"
    cases = [
        *(("time", "17:43", text) for text in ("最晚的一趟是：17:43。", "Departure:17:43", "为:5:43pm", "at:1743 hrs")),
        ("time", "6:17", "时刻为：6:17、12:38和19:46"),
        *(("time", "6:17", text) for text in ("19:52²: no; 6:17¹", "开放:6点17分", "6:17[2]")),
        ("time", "3 o'clock", "Answer:3 o'clock"),
        ("time", "19:52", "L'heure:19h52", "fr"),
        *(("date", "23 February", text) for text in ("日期：23 February", "date:23/2", "Late February – the 23rd")),
        *(("date", "23 February", text) for text in ("In February, on the 23rd.", "月份：2月\n日期：23日")),
        *(("date", "23 February", text) for text in ("Day: 23\nMonth: February", "- Month: February\n- Day: 23")),
        ("date", "23 février", "23 fevrier¹", "fr"),
        ("number", "1318", "Total:1 318"),
        ("number", "1234,5", "Total:1 234,5", "fr"),
        *(("amount:GBP", fact, sums) for fact in ("£1,486", "£2,035", "£673", "£14")),
        ("amount:GBP", "£14", "9. 14 pounds\n10. 20 pounds"),
        ("amount:GBP", "£4.35", "It costs 4 pounds 35. Nothing else does."),
        ("amount:CNY", "1173元", "答案：1173元\n\n1. 依据"),
        ("amount:CNY", "1173元", "答案：1173元\n\n10. 依据"),
        ("amount:CNY", "4.35元", "4块3毛5"),
        *(("number", "417", text) for text in ("417¹", "417[2]", "①417 ②283", "⒈417")),
        ("text", "turquoise", "Turquoise¹"),
        ("text", "Quynh Trieu", "Quỳnh Triệu"),
        ("text", "Đặng Wenbo", "Dang Wénbó"),
    ]  # fmt: skip
    for kind, fact, text, *language in cases:
        group = group_of((fact,), kind, (), *language)
        assert states(fold(text), group), f"{fact!r} is not found in {text!r}"
    for kind, fact, text in (
        ("time", "17:43", "3:17:43"),
        ("date", "2 March", "1:2/3"),
        ("amount:GBP", "£14.20", sums),
    ):
        assert not states(fold(text), group_of((fact,), kind)), f"{fact!r} is found in {text!r}"


FACTS = {"上街|Shangjie": ("藕荷", "lilac"), "下街|Xiajie": ("蟹壳青", "green"), "外河|Waihe": ("秋香", "olive")}


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
    ("It is not drawer 417 of the upper row. It is drawer 417 of the lower row.", DRAWER),
    ("Hallorane", NAME), ("上街队藕荷色，下街队蟹壳青，外河队秋香色。", LILAC),
    ("藕荷色（上街队）、蟹壳青（下街队）", LILAC),
])  # fmt: skip
def test_a_denial_of_something_else_states_the_fact(
    text: str, fact: tuple[tuple[str, ...], str | None, tuple[str, ...]]
) -> None:
    assert is_stated(text, fact)


def test_a_spelling_that_contains_a_reject_is_not_voided_by_it() -> None:
    pupil = (("Hallorane", "Hallorane's pupil"), None, ("'s",))
    assert is_stated("She was Piet Hallorane's pupil.", pupil)
    assert not is_stated("She was the pupil of Hallorane's rival.", pupil)


@each("word", [*sorted({*SMALL, *TENS} - {"three"}), "512", "第512", "五百一十二"])
def test_a_number_joined_to_another_one_by_or_is_a_guess(word: str) -> None:
    three = (("3",), "number", ())
    assert not is_stated(f"three or {word}", three)
    assert not is_stated(f"Drawer {word} or drawer three", three)
