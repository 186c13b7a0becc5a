"""Groups: a fact is found in any spelling of its text or value, as whole words, in any script or form."""

from __future__ import annotations

import re

from each import each
from hypothesis import given
from hypothesis import strategies as st
from properties import examples

from niah_score.text import finds, fold, group_of, holds, holds_group, stated, states

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


@steady
@given(keyword=st.text(min_size=1, max_size=10))
def test_a_keyword_is_found_in_itself_and_between_spaces(keyword: str) -> None:
    if fold(keyword):
        assert holds(fold(keyword), keyword)
        assert holds(fold(f"x {keyword} x"), keyword)


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
