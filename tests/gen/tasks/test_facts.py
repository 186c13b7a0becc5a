"""Facts: how a needle's keyword group is read, or refused with the reason."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

from each import each
from hypothesis import given
from hypothesis import strategies as st
from properties import examples

from niah_gen.tasks.facts import Fact, read_fact, told_apart
from niah_score.text import first_standing, fold, group_of


def read(source: str, *needles: str, language: str = "en") -> Fact:
    """The fact that a keyword group in TOML states."""
    fact = read_fact(tomllib.loads(f"keyword = {source}")["keyword"], language, needles)
    assert isinstance(fact, Fact), fact
    return fact


def states(fact: Fact, answer: str) -> bool:
    return first_standing(fold(answer), group_of(fact.spellings, fact.kind, fact.rejects)) is not None


@each(
    ("source", "kind", "right", "wrong"),
    [
        ("{number = 283}", "number", ["283", "two hundred and eighty-three", "贰佰捌拾叁"], ["1283", "28.3"]),
        ('{number = 1318, unit = "feet"}', "number", ["1,318 ft", "1318英尺"], ["1318 metres", "1318 sq ft"]),
        ('{number = 2918, unit = "步"}', "number", ["2918 steps", "两千九百一十八步"], ["2918米"]),
        ('{number = 12, unit = "pounds"}', "number", ["12 lb", "twelve pounds"], ["12 kg", "12 dollars"]),
        ("{number = 4.5}", "number", ["4.5", "4.50"], ["45", "4,5,6", "5"]),
        ('{time = "19:52"}', "time", ["7:52 in the evening", "晚上7点52分"], ["7:52 am", "19:25"]),
        ('{time = "7.05"}', "time", ["7:05", "seven oh five", "7:05 a.m."], ["7:05 pm", "19:05"]),
        ("{time = 19:52:00}", "time", ["19.52"], ["19:53"]),
        ('{time = "19:00"}', "time", ["7 pm", "19:00", "晚上七点"], ["7 am", "19:30"]),
        ('{date = "02-23"}', "date", ["23rd of February", "2月23日", "23.02."], ["22 February", "23 March"]),
        ('{date = "1931-02-23"}', "date", ["23 February 1931", "23 February"], ["23 February 1932"]),
        ("{date = 1931-02-23}", "date", ["1931-02-23"], ["1913-02-23"]),
        ('{lunar_date = "12-17"}', "lunar_date", ["腊月十七", "農曆十二月十七"], ["12月17日", "腊月十六"]),
        ('{amount = 4.35, unit = "GBP"}', "amount:GBP", ["£4.35", "435p", "4.35"], ["$4.35", "4.35 shillings"]),
        ('{amount = 20, unit = "AUD"}', "amount:AUD", ["$20", "twenty dollars"], ["£20", "20 euros"]),
        ('{text = "lambswool", rejects = ["gloves"]}', "text", ["lambswool socks"], ["lambswool gloves"]),
        (
            '{text = ["Hallorane", "Hallorane\'s pupil"], rejects = ["\'s"]}',
            "text",
            ["Hallorane", "She was Hallorane's pupil."],
            ["Hallorane's rival"],
        ),
        ('{time = "19:52", spellings = ["the 1952"]}', "time", ["The 1952.", "19:52"], ["In 1952"]),
    ],
)
def test_a_table_accepts_spellings_of_its_value_and_no_other_value(
    source: str, kind: str, right: list[str], wrong: list[str]
) -> None:
    fact = read(source)
    assert fact.kind == kind
    assert [answer for answer in right if not states(fact, answer)] == []
    assert [answer for answer in wrong if states(fact, answer)] == []


@each(
    ("source", "needle", "kind", "wrong"),
    [
        ('"417"', "It is in drawer 417.", "number", "1417"),
        ('["1,318"]', "It came to 1,318 feet.", "number", "1318 metres"),
        ('["1043", "1 043"]', "for 1,043 days on planks", "number", "1043 hours"),
        ('"4.35"', "Tickets cost £4.35 each.", "amount:GBP", "$4.35"),
        ('"1173"', "一晚要付1173元。", "amount:CNY", "1173美元"),
        ('"£4.35"', "", "amount:GBP", "€4.35"),
        ('"12"', "It weighs 12 pounds.", "number", "12 kg"),
        ('"12"', "It weighs twelve pounds of flour.", "number", "12 kg"),
        ('"19:52"', "the 19:52 train", "time", "19:52 a.m."),
        ('"23 February"', "", "date", "23 March"),
        ('"腊月十七"', "", "lunar_date", "腊月十六"),
        ('["bog oak", "bogwood"]', "a slab of bog oak", "text", "oak"),
        ('"TH4406K"', "", "text", "TH4406"),
        ('"02-23"', "", "text", "23 February"),
    ],
)
def test_plain_spellings_get_their_kind_and_take_their_unit_from_the_needle(
    source: str, needle: str, kind: str, wrong: str
) -> None:
    fact = read(source, needle)
    assert fact.kind == kind
    assert states(fact, fact.spellings[0])
    assert not states(fact, wrong)


def test_the_needles_own_spelling_comes_first() -> None:
    assert read("{number = 1318}", "It came to 1,318 feet.").spellings[0] == "1,318"
    assert read('{time = "17:43"}', "渡轮17点43分离岸", language="zh").spellings[0] == "17点43分"
    assert read('{amount = 2746, unit = "GBP"}', "Then £2,746 was paid.").spellings[0] == "£2,746"
    assert read('{date = "02-23"}', "on February 23, they").spellings[0] == "February 23"


@each("needle", ["店门六点二十三分开。", "店门6点23分开。", "店门清早6点23分开。"])
def test_a_morning_time_rejects_the_evening_however_the_needle_spells_it(needle: str) -> None:
    fact = read('{time = "6:23"}', needle, language="zh")
    for answer in ("6:23", "六点二十三分", "清早6点23分", "6:23 a.m."):
        assert states(fact, answer)
    for answer in ("18:23", "下午6点23分", "傍晚六点二十三分", "6:23 p.m."):
        assert not states(fact, answer)


def test_extra_spellings_never_hide_the_value() -> None:
    fact = read(
        '{time = "19:52", spellings = ["the 19:52, which carries the mail"]}', "the 19:52, which carries the mail"
    )
    assert fact.spellings[-1] == "the 19:52, which carries the mail"
    assert states(fact, "7:52 pm")


def test_each_fact_of_a_pair_rejects_the_other_owners() -> None:
    facts = told_apart(
        [
            read('{text = "lilac", of = ["upper", "上街"], rejects = ["deep"]}'),
            read('{text = "green", of = "lower"}'),
            read('"plum"'),
        ]
    )
    assert [fact.kind for fact in facts] == ["pair:upper|上街", "pair:lower", "text"]
    assert [fact.rejects for fact in facts] == [("deep", "lower"), ("upper", "上街"), ()]
    assert [states(fact, "The upper team wears lilac, the lower green.") for fact in facts[:2]] == [True, True]
    assert [states(fact, "The upper team wears green, the lower lilac.") for fact in facts[:2]] == [False, False]
    assert states(facts[0], "上街队：lilac")


@each(
    ("item", "message"),
    [
        (5, "expected a text, a list of texts or a table"),
        ([], "expected a text, a list of texts or a table"),
        (["a", ""], "expected a text, a list of texts or a table"),
        ("\ud800", "expected a text, a list of texts or a table"),
        ({}, "expected one of text, number"),
        ({"numbr": 5}, "found numbr"),
        ({"number": 5, "text": "a"}, "found number, text"),
        ({"number": 5, "value": 6}, "found number, value"),
        ({"number": "5"}, "number: expected a number of at least 0"),
        ({"number": True}, "number: expected a number of at least 0"),
        ({"number": -1}, "number: expected a number of at least 0"),
        ({"number": float("nan")}, "number: expected a number of at least 0"),
        ({"number": 12345678901234567}, "too many digits to be read as a value"),
        ({"number": 5, "unit": "drawer"}, "unit: 'drawer' is unknown"),
        ({"number": 5, "unit": ["feet"]}, "is unknown"),
        ({"number": 5, "of": "team"}, "of: expected the owner of a text"),
        ({"amount": 5}, "amount: expected a currency as its unit, one of AUD"),
        ({"amount": 5, "unit": "feet"}, "amount: expected a currency as its unit, one of AUD"),
        ({"time": "25:00"}, "time: expected a 24-hour time"),
        ({"time": "7pm"}, "time: expected a 24-hour time"),
        ({"time": 19.52}, "time: expected a 24-hour time"),
        ({"time": "7:52", "unit": "pm"}, "unit: time takes no unit"),
        ({"date": "02-30"}, "date: expected month and day"),
        ({"date": "23-02"}, "date: expected month and day"),
        ({"date": "February"}, "date: expected month and day"),
        ({"lunar_date": "12-31"}, "lunar_date: expected month and day"),
        ({"text": ""}, "text: expected texts, none empty"),
        ({"text": []}, "text: expected texts, none empty"),
        ({"text": ["a", 5]}, "text: expected texts, none empty"),
        ({"text": "a", "of": ""}, "of: expected the owner of a text"),
        ({"text": "a", "of": "b|c"}, "without |"),
        ({"text": "a", "rejects": "b"}, "rejects: expected a list of texts"),
        ({"text": "a", "rejects": [""]}, "rejects: expected a list of texts"),
        ({"text": "a", "spellings": [5]}, "spellings: expected a list of texts"),
    ],
)
def test_an_invalid_group_is_refused_with_the_reason(item: object, message: str) -> None:
    problem = read_fact(item, "en", ())
    assert isinstance(problem, str)
    assert message in problem


_SCALARS: Any = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.dates() | st.times()


@examples(100)
@given(
    item=st.dictionaries(
        st.sampled_from(
            ["text", "number", "time", "date", "lunar_date", "amount", "unit", "rejects", "spellings", "of"]
        ),
        _SCALARS | st.lists(_SCALARS, max_size=3) | st.sampled_from(["GBP", "feet", "19:52", "02-23"]),
        max_size=4,
    )
    | _SCALARS
    | st.lists(_SCALARS, max_size=3),
    language=st.sampled_from(["en", "zh"]),
)
def test_any_value_is_read_or_refused_with_a_message(item: object, language: str) -> None:
    result = read_fact(item, language, ["The needle says 12 feet."])
    assert result
    if isinstance(result, Fact):
        assert all(result.spellings)
        assert (
            result.kind == "text" or result.kind.startswith("pair:") or group_of(result.spellings, result.kind).values
        )


def test_the_groups_in_the_docs_accept_and_reject_what_their_comments_say() -> None:
    page = (Path(__file__).parents[3] / "docs" / "needles.md").read_text("utf-8")
    (block,) = (text for text in re.findall(r"```toml\n(.*?)```", page, re.DOTALL) if text.startswith("keywords = ["))
    facts = [read_fact(item, "en", ()) for item in tomllib.loads(block)["keywords"]]
    assert [fact.kind for fact in facts if isinstance(fact, Fact)] == [
        *("number", "number", "time", "date", "date", "lunar_date", "amount:GBP", "text", "text", "pair:upper", "time"),
    ]
    # "283, the 283rd, 第二百八十三号; not 1283": what is right, and what is wrong.
    for comment, fact in zip(re.findall(r"# (.*)", block)[:7], facts, strict=False):
        assert isinstance(fact, Fact)
        right, _, wrong = comment.removeprefix("also ").partition("; not ")
        for answer in re.split(r", | and (?=\d)", right.partition(";")[0]):
            assert states(fact, answer), answer
        assert not wrong or not states(fact, wrong), wrong
