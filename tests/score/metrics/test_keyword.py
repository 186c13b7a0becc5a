"""keyword and keyword_regex: what they match, which spellings are equal, and which needle is credited."""

from __future__ import annotations

from typing import Any

import pytest
from each import each
from judged import judged, value

from niah_score.errors import ScoreError


def points(text: str, *keywords: tuple[str, ...], metric: str = "keyword", **more: Any) -> Any:
    return value(metric, text, keywords=keywords, **more)


def parts(text: str, *keywords: tuple[str, ...], metric: str = "keyword", **more: Any) -> Any:
    return judged(metric, text, keywords=keywords, **more).parts


def test_any_spelling_of_a_group_counts_and_every_group_is_needed() -> None:
    groups = ("two", "2"), ("red", "crimson"), ("gate",)
    assert points("2 crimson gates, a gate", *groups) == 100
    assert points("2 two 2", *groups) == pytest.approx(100 / 3)
    assert parts("red gate", *groups) == {"found": 2, "groups": 3, "needles": None}


@each("metric", ["keyword", "keyword_regex"])
def test_without_keywords_the_score_and_its_parts_are_null(metric: str) -> None:
    for text in ("", "anything"):
        assert judged(metric, text, needles=("a",)) == (None, {"found": None, "groups": None, "needles": None})
        assert judged(metric, text, needles=("a", "b")).parts["needles"] == [None, None]


@each("metric", ["keyword", "keyword_regex"])
def test_each_needle_of_a_list_is_credited_separately(metric: str) -> None:
    needles = ("Figs go on it.", "Prosciutto goes on it.", "Goat cheese goes on it.")
    groups = ("figs",), ("prosciutto", "ham"), ("goat cheese",)
    score = judged(metric, "ham and figs", keywords=groups, needles=needles)
    assert score.parts["needles"] == [True, True, False]
    assert score.value == pytest.approx(200 / 3)


@each("metric", ["keyword", "keyword_regex"])
def test_only_the_link_with_the_answer_is_credited_in_a_chain(metric: str) -> None:
    needles = ("Jack lives in Rome.", "The owner of the red house is Jack.", "Rome is in Italy.")
    for text, expected in (("Italy", True), ("Rome", False)):
        assert parts(text, ("italy",), metric=metric, needles=needles)["needles"] == [None, None, expected]


@each("metric", ["keyword", "keyword_regex"])
def test_a_needle_with_two_facts_is_credited_only_if_both_are_found(metric: str) -> None:
    needles = ("A sandwich in the park.", "Nothing.")
    for text, expected in (("sandwich", False), ("park, sandwich", True)):
        actual = parts(text, ("sandwich",), ("park",), metric=metric, needles=needles)
        assert actual["needles"] == [expected, None]
    assert parts("park", ("park",), metric=metric, needles=needles[:1])["needles"] is None


def test_a_needle_contains_a_keyword_only_as_whole_words() -> None:
    assert parts("art", ("ART",), needles=("A heart.", "Modern art."))["needles"] == [None, True]


# keyword_regex ------------------------------------------------------------------------------------------------------


@each(
    ("text", "pattern", "expected"),
    [
        ("Room 417", r"room \d{3}", 100), ("ROOM  417", r"Room 417", 100), ("room 41", r"room \d{3}", 0),
        ("heart", "art", 100), ("heart", r"\bart\b", 0), ("１，０２４", "^1024$", 100), ("colour", "a|colou?r", 100),
        ("在上海实习", "北京|上海", 100), ("a.b", r"a\.b", 100), ("axb", r"a\.b", 0), ("", "a", 0),
    ],
)  # fmt: skip
def test_a_pattern_is_searched_in_the_folded_text_ignoring_case(text: str, pattern: str, expected: float) -> None:
    assert points(text, (pattern,), metric="keyword_regex") == expected


@each(
    ("pattern", "text"),
    [
        ("(a+)+$", "a" * 262_143 + "!"), ("(.*)(.*)(.*)z", "a" * 262_144), (r"(\w+ ?)+q", "ab " * 87_000),
        ("(a|aa)+$", "a" * 262_143 + "!"), ("x.*y.*x.*y.*z", "xy" * 131_072),
    ],
)  # fmt: skip
def test_patterns_that_would_backtrack_forever_end_without_a_match(pattern: str, text: str) -> None:
    assert points(text, (pattern,), metric="keyword_regex") == 0


@each(
    ("pattern", "message"),
    [
        ("(", "'(' is not a regex that Rust's linear-time engine accepts: unclosed group"), ("a)", "unopened group"),
        (r"(a)\1", "backreferences are not supported"), ("(?=x)y", "look-around"),
        ("((?:.{1000}){1000})", "exceeds size limit"), ("(" * 5000, "'((((((((((((((((((((((((("),
        ("a*", "'a*' matches an empty text"), ("", "'' matches an empty text"),
        ("gate|", "'gate|' matches an empty text"),
    ],
)  # fmt: skip
def test_an_unusable_pattern_is_refused_and_quoted(pattern: str, message: str) -> None:
    with pytest.raises(ScoreError) as caught:
        points("anything", ("fine", pattern), metric="keyword_regex")
    assert message in str(caught.value)
    assert "keyword_regex: " in str(caught.value)
    assert len(str(caught.value)) < 300
