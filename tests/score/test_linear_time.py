"""Judging takes time linear in the answer: what models write that loop delays no run.

Processor time is measured, and whatever takes too much of it is stopped.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable

import pytest
from each import each
from repetitions import at_most, repeated, rows_of_every_kind, seconds_to_judge

from niah_score.judge import Judge
from niah_score.metrics import METRICS, Target
from niah_score.scoring.absence import asserted, said_instead
from niah_score.text import fold, group_of, states
from niah_score.text.money import amounts_in
from niah_score.text.numerals import numbers_in
from niah_score.text.times import dates_in, lunar_dates_in, times_in
from niah_score.text.visible import in_markdown

# Where other programs use the processor, too, the clock of the wall says nothing.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

SIZE = 20_000
MOST = 1.0  # seconds for SIZE characters
# A quadratic reader takes a hundred times as long; a linear one on a busy machine was seen to take thirteen.
TIMES_AS_LONG, TIMES_THE_TIME = 10, 20
NOTICED = 0.05  # shorter times are not compared, as noise decides them

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
    ("text/en", "the text does not mention it. ", "-", " x 1"), ("text/en", "i cannot answer that. ", "- ", " x 1"),
    ("text/en", "文中未提及。", "'", " x 1"),
]  # fmt: skip


@pytest.fixture(scope="module")
def judge(tmp_path_factory: pytest.TempPathFactory) -> Judge:
    made = rows_of_every_kind(tmp_path_factory.mktemp("linear"))
    for row, *_ in LOOPS:
        made(row, "celadon 417 19:52 or é 一")  # patterns are compiled when they are first used
    return made


def too_slow(judge: Judge, row: str, head: str, pattern: str, tail: str) -> str | None:
    """What is wrong with the time that a repetition takes; None if nothing is.

    What is slow is measured up to three times beside a tenth of it, each time with other letters at the end, as what
    was just read is remembered; the least of each counts, as other programs only add to it.
    """
    longs, shorts = [], []
    for again in ("", "z", "zz"):
        longs.append(seconds_to_judge(judge, row, repeated(pattern, SIZE, tail + again, head), 3 * MOST))
        if min(longs) <= NOTICED:
            return None
        shorts.append(seconds_to_judge(judge, row, repeated(pattern, SIZE // TIMES_AS_LONG, tail + again, head), MOST))
        if min(longs) < min(3 * MOST, TIMES_THE_TIME * min(shorts)):
            return None
    said = f"{row}: {head!r} + {pattern!r} ... + {tail!r}"
    return f"{said} takes {min(longs):.2f} s, a tenth of it {min(shorts):.3f} s"


def test_a_loop_is_judged_in_time_that_grows_with_its_length(judge: Judge) -> None:
    slow = [problem for loop in LOOPS if (problem := too_slow(judge, *loop))]
    assert not slow, "\n".join(slow)


def deny(text: str) -> None:
    """Read what denies and what is claimed beside a denial."""
    said_instead(text + " not", text + " not", lambda _: 0)
    asserted(text + " not")


# Readers of folded texts, the repeated parts of which they are tried with, and how long the shorter text is.
READERS: list[tuple[Callable[[str], object], str, int]] = [
    (numbers_in, "1 |1,|one |one-|and |一|百|零|1百|1.|hundred |oh |1 234 ", 500),
    (times_in, "19:52 |7:52,|点|5点|half past |seven |am |差|12|1952 hours ", 1_500),
    (dates_in, "23/2 |2月|腊月|feb |23 |the 23rd day of |-1-2|12th of the ", 500),
    (lunar_dates_in, "23/2 |2月|腊月|feb |23 |the 23rd day of |-1-2|12th of the ", 500),
    (amounts_in, "£4 |4元|4元3角|pounds |£|4 and |4p", 500),
    (lambda text: states(text, group_of(("417",))), "not |417 or |417, |不是417|n't 417 |but that 417 ", 500),
    (
        deny,
        "does not |not a a a a |not a-a'a-|与一|没有|no |is not is |i cannot |,|. |but |although a, |as an ai ",
        500,
    ),
    (in_markdown, "unbroken|词|a@|a`", 1_500),
    (deny, f'没说|says no |\x02|leaves |-|?|perhaps |eded|not \'s |"|“|{"a" * 50}|"{"a" * 30}', 500),
]


def least_seconds(read: Callable[[str], object], text: str) -> float:
    """The processor time of reading a text, in seconds: the least of three times, or the first that is not noticed."""
    taken = [math.inf]
    while len(taken) < 4 and min(taken) >= 0.02:
        begun = time.process_time()
        read(text)
        taken.append(time.process_time() - begun)
    return min(taken)


@each(("read", "parts", "size"), READERS)
def test_a_reader_takes_time_that_grows_with_the_text(read: Callable[[str], object], parts: str, size: int) -> None:
    """Linear readers take 16 times as long for 16 times the text, quadratic ones 256 times and more than is noticed."""
    for part in parts.split("|"):
        short, long = (fold(part * (length // len(part))) for length in (size, 16 * size))
        after = least_seconds(read, long)
        assert after < 0.02 or after < 64 * least_seconds(read, short), f"{part!r} takes {after:.4f} s"


@each(
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


def test_metrics_that_split_words_take_linear_time_too() -> None:
    target = Target(("C", "青瓷"), (), (), None, "zh", (), (), decoys=(("A", "赭"), ("B", "褐")))
    for name, head, pattern in (
        ("word_f1", "", "选"),
        ("choice", "\\boxed{", " "), ("choice", "answer: A", " "),
    ):  # fmt: skip
        with at_most(5):
            METRICS[name].judge(repeated(pattern, SIZE, "x", head), target)
