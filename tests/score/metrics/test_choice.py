"""choice: which option a free-form answer chooses, by stated rules."""

from __future__ import annotations

from each import each
from judged import judged, value

from niah_score.metrics import Score

DECOYS = (("A", "Calder"), ("B", "Ness"), ("D", "North Merrow"))


def points(answer: str) -> float:
    return float(value("choice", answer, "C", "Merrow", decoys=DECOYS))


@each(
    "answer",
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
def test_the_right_option_is_recognised_however_it_is_worded(answer: str) -> None:
    assert points(answer) == 100


@each(
    "answer",
    [
        "A", "a", "D", "B or C", "C and D", "C, D", "CD", "C?D", "North Merrow", "The answer is A or C", "答案是A或C",
        "The answer is D. I am sure", "It is not C but A", "I do not know", "", "A town", "not stated", "选D", "E",
        "To answer a question, see Calder", "\\boxed{A} or C", "A. Calder\nB. Ness\nC. Merrow\nD. North Merrow",
        "Calder or Merrow", "cc", "C3", "vitamin-C3", "B项正确",
    ],
)  # fmt: skip
def test_naming_another_option_several_options_or_none_is_wrong(answer: str) -> None:
    assert points(answer) == 0


@each("answer", ["AC", "CA", "A, C", "A and C", "(A)(C)", "A、C", "A和C", "答案是AC", "The answers are A and C."])
def test_if_several_letters_are_right_exactly_those_must_be_named(answer: str) -> None:
    assert value("choice", answer, "AC", decoys=(("B", "x"), ("D", "y"))) == 100
    for wrong in ("A", "ABC", "AB", "all"):
        assert value("choice", wrong, "AC", decoys=(("B", "x"), ("D", "y"))) == 0


def test_the_number_of_chosen_options_is_reported() -> None:
    assert judged("choice", "B or C", "C", "Merrow", decoys=DECOYS) == Score(0.0, {"chosen": 2})
    assert judged("choice", "Nobody knows", "C", "Merrow", decoys=DECOYS) == Score(0.0, {"chosen": 0})


def test_without_options_the_letters_are_a_to_d() -> None:
    assert value("choice", "The answer is C.", "C") == 100
    assert value("choice", "A or C", "C") == 0
    assert value("choice", "E", "E") == 100


def test_choice_is_null_unless_the_accepted_answer_is_in_capital_letters() -> None:
    assert judged("choice", "Merrow", "Merrow") == Score(None, {"chosen": None})
    assert value("choice", "c", "c") is None
