"""choice: which option a free answer chooses, by stated rules."""

from __future__ import annotations

import published_answers as published
import pytest
from hypothesis import given
from hypothesis import strategies as st
from judged import judged, odd, value
from properties import examples

from niah_score.metrics import Score

DECOYS = (("A", "Calder"), ("B", "Ness"), ("D", "North Merrow"))


def points(said: str) -> float:
    return float(value("choice", said, "C", "Merrow", decoys=DECOYS))


@pytest.mark.parametrize(
    "said",
    [
        "C", "c", "(C)", "(c)", "C.", "c)", " C\n", "**C**", "\\boxed{C}", "$\\boxed{\\text{C}}$", "Ｃ", "（C）",
        "C) Merrow", "C: Merrow", "Merrow", "merrow.", '"Merrow"', "The town is called Merrow", "The answer is C.",
        "The answer is (c)", "The answer is Merrow", "The correct option is C because A is wrong.", "C is correct",
        "(C) is the right answer", "Option A is wrong, B is odd. So the answer is C", "I would choose C",
        "First I thought the answer is A. No: the answer is C.", "I choose option C.", "C, since a boat came",
        "Answer: C. Merrow", "**Answer:** C", "Final answer: C", "C. Because B did not", "C\n\nA and B are wrong.",
        "A and B are wrong.\n\nC", "A boat left for Merrow", "I think it is option C",
        "A. Calder\nB. Ness\nC. Merrow\nD. North Merrow\nThe answer: C",
        "答案是C", "答案：C", "正确答案为 C。", "选C", "故选：C", "应该选择C。", "C项正确", "C正确，A错误",
        "正确选项是C", "答案是Ｃ。A公司不对",
    ],
)  # fmt: skip
def test_the_right_option_is_read_however_it_is_said(said: str) -> None:
    assert points(said) == 100


@pytest.mark.parametrize(
    "said",
    [
        "A", "a", "D", "B or C", "C and D", "C, D", "CD", "C?D", "North Merrow", "The answer is A or C", "答案是A或C",
        "The answer is D. I am sure", "It is not C but A", "I do not know", "", "A town", "not stated", "选D", "E",
        "To answer a question, see Calder", "\\boxed{A} or C", "A. Calder\nB. Ness\nC. Merrow\nD. North Merrow",
        "Calder or Merrow", "cc", "C3", "vitamin-C3", "B项正确",
    ],
)  # fmt: skip
def test_other_options_several_and_none_are_wrong(said: str) -> None:
    assert points(said) == 0


@pytest.mark.parametrize(
    "said", ["AC", "CA", "A, C", "A and C", "(A)(C)", "A、C", "A和C", "答案是AC", "The answers are A and C."]
)
def test_several_right_letters_have_to_be_named_all_and_alone(said: str) -> None:
    assert value("choice", said, "AC", decoys=(("B", "x"), ("D", "y"))) == 100
    for wrong in ("A", "ABC", "AB", "all"):
        assert value("choice", wrong, "AC", decoys=(("B", "x"), ("D", "y"))) == 0


def test_how_many_options_are_chosen_is_told() -> None:
    assert judged("choice", "B or C", "C", "Merrow", decoys=DECOYS) == Score(0.0, {"chosen": 2})
    assert judged("choice", "Nobody knows", "C", "Merrow", decoys=DECOYS) == Score(0.0, {"chosen": 0})


def test_without_options_the_letters_are_a_to_d() -> None:
    assert value("choice", "The answer is C.", "C") == 100
    assert value("choice", "A or C", "C") == 0
    assert value("choice", "E", "E") == 100


def test_answers_that_are_no_letters_are_not_applicable() -> None:
    assert judged("choice", "Merrow", "Merrow") == Score(None, {"chosen": None})
    assert value("choice", "c", "c") is None


@examples(100)
@given(said=odd)
def test_any_text_is_judged_alike_whatever_white_space_is_around(said: str) -> None:
    assert points(said) == points(f"\n {said} \n")


@examples(100)
@given(
    letter=st.sampled_from("ABCD"),
    frame=st.sampled_from(
        ["{}", "({})", "{}.", "{}) because", "The answer is {}.", "answer: {}", "The best option is {}", "I pick {}"]
    ),
)
def test_plain_answers_are_judged_as_infinite_bench_judges_them(letter: str, frame: str) -> None:
    said = frame.format(letter)
    assert points(said) == 100 * published.infinite_choice(said, "C", "Merrow")


@pytest.mark.parametrize(
    ("said", "ours", "theirs"),
    [
        ("The answer is A or C", 0, True),
        ("C\n\nA and B are wrong.", 100, True),
        ("Not A, not B: c", 0, False),
        ("The town is called Merrow", 100, False),
        ("Clearly D", 0, True),  # its first character is a C
        ("Certainly not", 0, True),
    ],
)
def test_where_infinite_bench_judges_otherwise_it_is_known(said: str, ours: float, theirs: bool) -> None:
    assert (points(said), published.infinite_choice(said, "C", "Merrow")) == (ours, theirs)
