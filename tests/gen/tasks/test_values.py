"""Values: how a needle's keyword group is read, spelt and told from wrong ones, or refused with the reason."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from datetime import date, time
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from properties import examples

from niah_gen.tasks.values import Fact, read_fact
from niah_score.text import fold, group_of, voiding
from niah_score.text.language import language_codes, rules_code
from niah_score.text.money import CODES
from niah_score.text.values import parsed, values_in

# Currencies that are read in answers only by their own name or sign.
UNREAD = {"AUD", "CAD", "NZD", "SGD"}
LANGUAGES = st.sampled_from(language_codes())


def read(source: str, *needles: str, language: str = "en") -> Fact:
    """The fact that a keyword group in TOML states."""
    return read_fact(tomllib.loads(f"keyword = {source}")["keyword"], language, needles)


def states(fact: Fact, answer: str) -> bool:
    return voiding.states(fold(answer), group_of(fact.spellings, fact.kind, fact.rejects))


def test_a_table_accepts_spellings_of_its_value_and_no_other_value() -> None:
    misjudged = []
    for source, kind, right, wrong in (
        ("{number = 283}", "number", ["283", "two hundred and eighty-three", "贰佰捌拾叁"], ["1283", "28.3"]),
        ('{number = 1318, unit = "feet"}', "number", ["1,318 ft", "1318英尺"], ["1318 metres", "1318 sq ft"]),
        ('{number = 12, unit = "days"}', "number", ["12天", "12 feet"], ["12 hours", "12小时", "twelve years"]),
        ('{time = "19:52"}', "time", ["7:52 in the evening", "晚上7点52分"], ["7:52 am", "19:25"]),
        ('{time = "7.05"}', "time", ["7:05", "seven oh five", "7:05 a.m."], ["7:05 pm", "19:05"]),
        ('{date = "02-23"}', "date", ["23rd of February", "2月23日", "23.02."], ["22 February", "23 March"]),
        ('{date = "1931-02-23"}', "date", ["23 February 1931", "23 February"], ["23 February 1932"]),
        ('{lunar_date = "12-17"}', "lunar_date", ["腊月十七", "農曆十二月十七"], ["12月17日", "腊月十六"]),
        ('{amount = 4.35, unit = "GBP"}', "amount:GBP", ["£4.35", "435p", "4.35"], ["$4.35", "4.35 shillings"]),
        ('{text = "lambswool", rejects = ["gloves"]}', "text", ["lambswool socks"], ["lambswool gloves"]),
        ('{time = "19:52", spellings = ["the 1952"]}', "time", ["The 1952.", "19:52"], ["In 1952"]),
    ):
        fact = read(source)
        misjudged += [source] if fact.kind != kind else []
        misjudged += [f"{source}: {answer}" for answer in right if not states(fact, answer)]
        misjudged += [f"{source}: {answer}" for answer in wrong if states(fact, answer)]
    assert misjudged == []


def test_plain_spellings_get_their_kind_and_take_their_unit_from_the_needle() -> None:
    misread = []
    for source, needle, kind, wrong in (
        ('["1,318"]', "It came to 1,318 feet.", "number", "1318 metres"),
        ('"4.35"', "Tickets cost £4.35 each.", "amount:GBP", "$4.35"),
        ('"£4.35"', "", "amount:GBP", "€4.35"),
        ('"12"', "It weighs twelve pounds of flour.", "number", "12 kg"),
        ('"19:52"', "the 19:52 train", "time", "19:52 a.m."),
        ('["bog oak", "bogwood"]', "a slab of bog oak", "text", "oak"),
        ('"TH4406K"', "", "text", "TH4406"),
    ):
        fact = read(source, needle)
        if fact.kind != kind or not states(fact, fact.spellings[0]) or states(fact, wrong):
            misread.append((source, needle, fact))
    assert misread == []


def test_an_invalid_group_is_refused_with_the_reason() -> None:
    cases: list[tuple[object, str]] = [
        *((item, "expected a text, a list of texts or a table") for item in (5, [], ["a", ""], "\ud800")),
        ({}, "expected one of text, number"),
        ({"number": 5, "text": "a"}, "found number, text"),
        *(({"number": value}, "number: expected a number of at least 0") for value in ("5", True, -1, float("nan"))),
        ({"number": 12345678901234567}, "too many digits to be read as a value"),
        *(({"number": 5, "unit": unit}, "is unknown") for unit in ("drawer", "", "Feets", "号", ["feet"])),
        *(({"amount": 5, **unit}, "as its unit, one of AUD") for unit in ({}, {"unit": "feet"})),
        *(({"time": value}, "time: expected a 24-hour time") for value in ("25:00", "7pm", 19.52)),
        *(({"date": value}, "date: expected month and day") for value in ("02-30", "23-02", "February")),
        *(({"text": value}, "text: expected texts, none empty") for value in ("", [], ["a", 5])),
        *(({"text": "a", "of": value}, "of: expected the owner of a text") for value in ("", "b|c")),
        *(({"text": "a", "rejects": value}, "rejects: expected a list of texts") for value in ("b", [""])),
    ]
    for item, message in cases:
        with pytest.raises(ValueError, match=re.escape(message)):
            read_fact(item, "en", ())


_SCALARS: Any = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.dates() | st.times()
_KEYS = st.sampled_from(
    ["text", "number", "time", "date", "lunar_date", "amount", "unit", "rejects", "spellings", "of"]
)
_VALUES: Any = _SCALARS | st.lists(_SCALARS, max_size=3) | st.sampled_from(["GBP", "feet", "19:52", "02-23"])


@examples(100)
@given(item=st.dictionaries(_KEYS, _VALUES, max_size=4) | _VALUES, language=LANGUAGES)
def test_any_value_is_read_or_refused(item: object, language: str) -> None:
    try:
        fact = read_fact(item, language, ["The needle says 12 feet."])
    except ValueError:
        return
    assert all(fact.spellings)
    typed = group_of(fact.spellings, fact.kind, (), rules_code(language))
    assert fact.kind == "text" or fact.kind.startswith("pair:") or typed.values


def test_the_groups_in_the_docs_accept_and_reject_what_their_comments_say() -> None:
    page = (Path(__file__).parents[3] / "docs" / "needles.md").read_text("utf-8")
    (block,) = (text for text in re.findall(r"```toml\n(.*?)```", page, re.DOTALL) if text.startswith("keywords = ["))
    facts = [read_fact(item, "en", ()) for item in tomllib.loads(block)["keywords"]]
    assert [fact.kind for fact in facts] == [
        *("number", "number", "time", "date", "date", "lunar_date", "amount:GBP", "text", "text", "pair:upper", "time"),
    ]
    # "283, the 283rd, 第二百八十三号; not 1283": what is right, and what is wrong.
    for comment, fact in zip(re.findall(r"# (.*)", block)[:7], facts, strict=False):
        right, _, wrong = comment.removeprefix("also ").partition("; not ")
        for answer in re.split(r", | and (?=\d)", right.partition(";")[0]):
            assert states(fact, answer), answer
        assert not wrong or not states(fact, wrong), wrong


# Spellings ------------------------------------------------------------------------------------------------------------


def check_spellings(table: dict[str, Any], language: str, is_it: Callable[[Any], bool]) -> None:
    """Check that a value has at most a dozen spellings, all different, and that each can mean it."""
    fact = read_fact(table, language, ())
    assert 1 <= len(set(fact.spellings)) == len(fact.spellings) <= 12
    for spelling in fact.spellings:
        code = rules_code(language)
        found = (value.value for value in values_in(fold(spelling), fact.kind, code))
        values = parsed(fold(spelling), fact.kind, code) or {*found}
        assert any(map(is_it, values)) or table.get("unit") in UNREAD, (spelling, values)


@examples(100)
@given(
    value=st.integers(0, 10**12 + 5) | st.integers(0, 20_000), minutes=st.integers(0, 1439), language=LANGUAGES,
    day=st.dates(date(2000, 1, 1), date(2000, 12, 31)), cents=st.integers(0, 10**9),
    currency=st.sampled_from(sorted(CODES)),
)  # fmt: skip
def test_every_spelling_of_a_value_states_it(
    value: int, minutes: int, day: date, cents: int, currency: str, language: str
) -> None:
    amount = {"amount": cents // 100 if cents % 100 == 0 else cents / 100, "unit": currency}
    check_spellings({"number": value}, language, lambda read: read == value)
    check_spellings({"time": time(*divmod(minutes, 60))}, language, lambda read: read == minutes)
    check_spellings({"date": f"{day:%m-%d}"}, language, lambda read: read[:2] == (day.month, day.day))
    lunar = {"lunar_date": f"{day:%m}-{min(day.day, 30):02}"}
    check_spellings(lunar, language, lambda read: read[:2] == (day.month, min(day.day, 30)))
    check_spellings(amount, language, lambda read: read.value == Decimal(cents) / 100)
