"""keyword and keyword_regex: what they find, what they call the same, and which needle is credited."""

from __future__ import annotations

from typing import Any

import pytest
from judged import judged, value

from niah_score.errors import ScoreError
from niah_score.metrics import METRICS, Chunk, Target, judge_all


def found(text: str, *keywords: tuple[str, ...], metric: str = "keyword", **more: Any) -> Any:
    return value(metric, text, keywords=keywords, **more)


def parts(text: str, *keywords: tuple[str, ...], metric: str = "keyword", **more: Any) -> Any:
    return judged(metric, text, keywords=keywords, **more).parts


@pytest.mark.parametrize(
    ("text", "word", "wanted"),
    [
        ("It is DOLORES\nPARK.", "Dolores Park", 100),
        ("Ｄｏｌｏｒｅｓ　Ｐａｒｋ", "Dolores Park", 100),
        ("Dolores", "Dolores Park", 0),
        ("a sum of 1,024", "1024", 100),
        ("a sum of １０２４", "1,024", 100),
        ("a sum of 11024", "1024", 0),
        ("a sum of 1024.5", "1024", 0),
        ("the heart of it", "art", 0),
        ("在上海人工智能实验室实习", "上海人工智能实验室", 100),
        ("用AI做的", "AI", 100),
        ("cafe\u0301", "café", 100),
        ("", "a", 0),
    ],
)
def test_a_keyword_is_found_whatever_its_width_case_and_grouping_and_only_as_whole_words(
    text: str, word: str, wanted: float
) -> None:
    assert found(text, (word,)) == wanted


def test_any_spelling_of_a_group_counts_and_every_group_is_wanted() -> None:
    groups = ("two", "2"), ("red", "crimson"), ("gate",)
    assert found("2 crimson gates, a gate", *groups) == 100
    assert found("2 two 2", *groups) == pytest.approx(100 / 3)
    assert parts("red gate", *groups) == {"found": 2, "groups": 3, "needles": None}


@pytest.mark.parametrize("metric", ["keyword", "keyword_regex"])
def test_without_keywords_there_is_no_score_and_no_part(metric: str) -> None:
    for text in ("", "anything"):
        assert judged(metric, text, needles=("a",)) == (None, {"found": None, "groups": None, "needles": None})
        assert judged(metric, text, needles=("a", "b")).parts["needles"] == [None, None]


@pytest.mark.parametrize("metric", ["keyword", "keyword_regex"])
def test_of_a_list_every_needle_is_told_apart(metric: str) -> None:
    needles = ("Figs go on it.", "Prosciutto goes on it.", "Goat cheese goes on it.")
    groups = ("figs",), ("prosciutto", "ham"), ("goat cheese",)
    score = judged(metric, "ham and figs", keywords=groups, needles=needles)
    assert score.parts["needles"] == [True, True, False]
    assert score.value == pytest.approx(200 / 3)


@pytest.mark.parametrize("metric", ["keyword", "keyword_regex"])
def test_of_a_chain_only_the_link_that_holds_the_answer_can_be_found(metric: str) -> None:
    needles = ("Jack lives in Rome.", "The owner of the red house is Jack.", "Rome is in Italy.")
    for text, told in (("Italy", True), ("Rome", False)):
        assert parts(text, ("italy",), metric=metric, needles=needles)["needles"] == [None, None, told]


@pytest.mark.parametrize("metric", ["keyword", "keyword_regex"])
def test_a_needle_of_two_facts_is_found_when_both_are(metric: str) -> None:
    needles = ("A sandwich in the park.", "Nothing.")
    for text, told in (("sandwich", False), ("park, sandwich", True)):
        found = parts(text, ("sandwich",), ("park",), metric=metric, needles=needles)
        assert found["needles"] == [told, None]
    assert parts("park", ("park",), metric=metric, needles=needles[:1])["needles"] is None


def test_a_needle_holds_a_keyword_only_as_whole_words() -> None:
    assert parts("art", ("ART",), needles=("A heart.", "Modern art."))["needles"] == [None, True]


# keyword_regex ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "pattern", "wanted"),
    [
        ("Room 417", r"room \d{3}", 100),
        ("ROOM  417", r"Room 417", 100),
        ("room 41", r"room \d{3}", 0),
        ("heart", "art", 100),
        ("heart", r"\bart\b", 0),
        ("１，０２４", "^1024$", 100),
        ("colour", "a|colou?r", 100),
        ("在上海实习", "北京|上海", 100),
        ("a.b", r"a\.b", 100),
        ("axb", r"a\.b", 0),
        ("", "a", 0),
    ],
)
def test_a_pattern_is_searched_in_the_folded_text_in_any_case(text: str, pattern: str, wanted: float) -> None:
    assert found(text, (pattern,), metric="keyword_regex") == wanted


def test_patterns_form_groups_as_keywords_do() -> None:
    found = parts("two gates", (r"\b2\b", "two"), ("gates?",), ("red|blue",), metric="keyword_regex")
    assert (found["found"], found["groups"]) == (2, 3)
    one, other = Target(("-",), (("a+b",),)), Target(("-",), (("c",), ("d",)))
    assert judge_all(METRICS["keyword_regex"], Chunk(["aab", "d", "c"], [one, other, one])).values == [100, 50, 0]


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("(a+)+$", "a" * 262_143 + "!"),
        ("(.*)(.*)(.*)z", "a" * 262_144),
        (r"(\w+ ?)+q", "ab " * 87_000),
        ("(a|aa)+$", "a" * 262_143 + "!"),
        ("x.*y.*x.*y.*z", "xy" * 131_072),
    ],
)
def test_patterns_that_backtracking_never_ends_find_nothing(pattern: str, text: str) -> None:
    assert found(text, (pattern,), metric="keyword_regex") == 0


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        ("(", "'(' is not a regex that Rust's linear-time engine accepts: unclosed group"),
        ("a)", "unopened group"),
        (r"(a)\1", "backreferences are not supported"),
        ("(?=x)y", "look-around"),
        ("((?:.{1000}){1000})", "exceeds size limit"),
        ("(" * 5000, "'((((((((((((((((((((((((("),
        ("a*", "'a*' matches an empty answer"),
        ("", "'' matches an empty answer"),
        ("gate|", "'gate|' matches an empty answer"),
    ],
)
def test_a_pattern_that_cannot_be_used_is_refused_by_its_text(pattern: str, said: str) -> None:
    with pytest.raises(ScoreError) as caught:
        found("anything", ("fine", pattern), metric="keyword_regex")
    assert said in str(caught.value)
    assert "keyword_regex: " in str(caught.value)
    assert len(str(caught.value)) < 300
