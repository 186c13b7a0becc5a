"""Judging takes time linear in the answer: what models write that loop delays no run.

Processor time is measured, and whatever takes too much of it is stopped.
"""

from __future__ import annotations

import random

import pytest
from properties import FACTOR
from repetitions import FACTS, TAILS, at_most, repeated, rows_of_every_kind, seconds_to_judge, tokens

from niah_score.judge import Judge
from niah_score.metrics import METRICS, Target
from niah_score.scoring.json_answers import json_answer
from niah_score.text.language import language_codes

SIZE = 100_000
MOST = 1.0  # seconds for SIZE characters
TIMES_AS_LONG, TIMES_THE_TIME = 10, 12
NOTICED = 0.2  # shorter times are not compared, as noise decides them

# A row, what comes before a repetition, what is repeated, and what follows.
LOOPS = [
    ("number/en", "I counted 5 ", "and ", "the 6 of them"), ("number/en", "5", ", ", "x 6"),
    ("number/en", "5 ", "-and ", "x 6"), ("number/en", "", "1", "é"), ("number/zh", "", "1", "一 x"),
    ("number/zh", "答案是", "1", "。"), ("number/en", "", "1 ", "12"), ("number/en", "", "1-", "12"),
    ("number/en", "drawer ", "417 or ", "x"), ("number/en", "", "twenty-", "x"),
    ("number/fr", "", "quatre-vingt-", "x"), ("number/zh", "417", "或者", "x"), ("number/ja", "", "一千", " x"),
    ("number/ar", "", "ألفان ", " x"), ("time/en", "", "19:52 ", "x"), ("time/zh", "", "点", "差"),
    ("time/es", "", "9:52 ", "x"), ("date/en", "", "may ", "x"), ("date/zh", "", "月", "x"),
    ("date/fr", "", "23 mai ", "x"), ("lunar_date/zh", "", "十二月", "x"), ("amount:GBP/en", "", "£4.35 ", "x"),
    ("amount:GBP/fr", "", "4 livres ", "x"), ("amount:GBP/ar", "", "四 ", "x"),
    ("text/fr", "ce n'est pas ", "'", " celadon"), ("text/fr", "", "je ne peux pas repondre ", "x"),
    ("text/en", "it is not ", "-", " celadon"), ("text/en", "it is not ", "'", " celadon"),
    ("text/en", "", "| --- ", "| not celadon"), ("text/en", "$$", " ", "x"), ("text/en", "", "$$ ", "x"),
    ("text/en", "<|channel|>final<|message|>", " ", "x<|end|>"),
    ("text/en", "<|start|>assistant<|message|>x<|end|>", " ", "assistant x"), ("text/en", "", "- celadon\n", "x"),
    ("text/en", "", "1. maroon, \n", "x"), ("text/en", "", "celadon, maroon, ", "ochre"),
    ("text/en", "", '["x", ', "x"),
    ("text/en", "", "[", "celadon"), ("text/en", "", '{"answer":', "1"), ("text/en", "", "\\boxed{", "celadon}"),
    ("text/en", "\\boxed{", " ", "celadon}}"), ("text/en", "", "<think>", "celadon"),
    ("text/en", "", "<answer>", "celadon"), ("text/en", "<", " ", "think>"),
    ("text/en", "a", "\u0301\u0323", "celadon"),
    ("pair/en", "lilac ", "the upper team and ", "lilac"), ("pair/zh", "", "上街、", "lilac"),
]  # fmt: skip


@pytest.fixture(scope="module")
def judge(tmp_path_factory: pytest.TempPathFactory) -> Judge:
    made = rows_of_every_kind(tmp_path_factory.mktemp("linear"))
    for kind in FACTS:
        for language in language_codes():
            made(f"{kind}/{language}", "celadon 417 19:52 or é 一")  # patterns are compiled when they are first used
    return made


def too_slow(judge: Judge, row: str, head: str, pattern: str, tail: str) -> str | None:
    """What is wrong with the time that a repetition takes; None if nothing is.

    What is slow is measured twice, with another letter at the end, as what was just read is remembered.
    """
    taken = seconds_to_judge(judge, row, repeated(pattern, SIZE, tail, head), 3 * MOST)
    if taken > NOTICED:
        taken = min(taken, seconds_to_judge(judge, row, repeated(pattern, SIZE, tail + "z", head), 3 * MOST))
    said = f"{row}: {head!r} + {pattern!r} ... + {tail!r}"
    if taken > MOST:
        return f"{said} takes {taken:.2f} s or more"
    if taken > NOTICED:
        short = repeated(pattern, SIZE // TIMES_AS_LONG, tail, head)
        before = seconds_to_judge(judge, row, short, MOST)
        if taken > TIMES_THE_TIME * before:
            return f"{said} takes {taken:.2f} s, a tenth of it {before:.3f} s"
    return None


def test_a_loop_is_judged_in_time_that_grows_with_its_length(judge: Judge) -> None:
    slow = [problem for loop in LOOPS if (problem := too_slow(judge, *loop))]
    assert not slow, "\n".join(slow)


def test_a_denial_before_a_row_of_marks_is_judged_in_linear_time(judge: Judge) -> None:
    loops = [("the text does not mention it. ", "-"), ("i cannot answer that. ", "- "), ("文中未提及。", "'")]
    slow = [problem for loop in loops if (problem := too_slow(judge, "text/en", *loop, " x 1"))]
    assert not slow, "\n".join(slow)


@pytest.mark.parametrize(
    ("opening", "inside", "closing"),
    [
        ('{"answer":', "[]", "}"), ('{"answer":', "1", ""), ('{"a":', '"celadon"', "}"), ("[", "1", "]"),
        ('{"answer":[', "{}", "]}"), ("\\boxed{", "x", "}"), ("<answer>", "x", "</answer>"),
        ("<think>", "x", "</think>"),
        ("```\n", "x", "\n```"), ("(", "x", ")"), ("**", "x", "**"), ("「", "x", "」"), ("$", "x", "$"),
    ],
)  # fmt: skip
def test_nesting_is_read_once_at_each_depth(judge: Judge, opening: str, inside: str, closing: str) -> None:
    for depth in (24, 40, 400, 10_000):
        text = opening * depth + inside + closing * depth
        assert seconds_to_judge(judge, "text/en", text, 3 * MOST) < MOST, f"{opening!r} {depth} deep"


def test_json_as_deep_as_models_write_it_is_read_and_deeper_json_is_plain_text() -> None:
    for depth, is_read in ((1, True), (40, True), (200, False), (10_000, False)):
        answer = '{"answer":' * depth + '"celadon"' + "}" * depth
        assert json_answer(answer) == ("celadon" if is_read else answer)


def test_metrics_that_split_words_take_linear_time_too() -> None:
    target = Target(("C", "青瓷"), (), (), None, "zh", (), (), decoys=(("A", "赭"), ("B", "褐")))
    for name, head, pattern in (
        ("word_f1", "", "选"),
        ("choice", "\\boxed{", " "), ("choice", "answer: A", " "),
    ):  # fmt: skip
        with at_most(5):
            METRICS[name].judge(repeated(pattern, SIZE, "x", head), target)


@pytest.mark.soak
def test_every_token_of_every_reader_is_judged_in_linear_time(judge: Judge) -> None:
    """All tokens alone, for a drawn kind and language each, and as many pairs; NIAH_EXAMPLES times as many."""
    draw = random.Random(FACTOR)
    known = tokens()
    rows = [f"{kind}/{language}" for kind in FACTS for language in language_codes()]
    slow = []
    for _ in range(FACTOR):
        for token in known:
            other = draw.choice(known)
            loops = [("", token), ("", token + other), ("", token + token + other), (token, other)]
            for head, pattern in loops:
                problem = too_slow(judge, draw.choice(rows), head, pattern, draw.choice(TAILS))
                slow += [problem] if problem else []
            assert len(slow) < 20, "\n".join(slow)
    assert not slow, "\n".join(slow)
