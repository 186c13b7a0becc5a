"""edit: the share of the reference in the best stretch of the answer, against a slow search."""

from __future__ import annotations

import random
from typing import Any

import pytest
from each import each
from hypothesis import given
from hypothesis import strategies as st
from judged import value
from properties import examples

from niah_score.metrics import METRICS, Chunk, Target, judge_all
from niah_score.text import fold


def aligned(text: str, reference: str) -> Any:
    """The score by the fast version, which agrees with `judge` for the text alone and among many."""
    target = Target((reference,))
    (score,) = judge_all(METRICS["edit"], Chunk([text], [target])).values
    assert judge_all(METRICS["edit"], Chunk([text] * 16, [target] * 16)).values == [score] * 16
    assert value("edit", text, reference) == score
    return score


def common(one: str, other: str) -> int:
    """Length of the longest common subsequence."""
    row = [0] * (len(other) + 1)
    for char in one:
        above, row = row, [0]
        for place, facing in enumerate(other):
            row.append(above[place] + 1 if char == facing else max(above[place + 1], row[place]))
    return row[-1]


def best_window(reference: str, text: str) -> float:
    """The best of all stretches as long as the reference, and of those that an end of the text cuts off."""
    size = len(reference)
    windows = {text[max(0, start) : max(0, start + size)] for start in range(1 - size, len(text) + 1)}
    return max(100 * in_order(window, reference) / size for window in windows)


def in_order(one: str, other: str) -> int:
    """The most characters that both have in the same order, by the textbook's table of prefixes."""
    above = [0] * (len(other) + 1)
    for char in one:
        row = [0]
        for place, facing in enumerate(other):
            row.append(above[place] + 1 if char == facing else max(above[place + 1], row[place]))
        above = row
    return above[-1]


plain = st.text("ab 中é😀", min_size=1, max_size=12).filter(lambda text: text == fold(text) and text[0] > "!")


@examples(150)
@given(reference=plain, text=st.text("ab 中é😀", max_size=40).map(fold))
def test_edit_is_the_share_of_the_reference_in_the_best_stretch(reference: str, text: str) -> None:
    assert aligned(text, reference) == pytest.approx(best_window(reference, text), abs=1e-9)


@pytest.mark.slow
@each("size", [64, 65, 90, 129])
@each("alphabet", ["ab", "中文字词a"])
def test_edit_finds_the_best_stretch_of_long_references_too(size: int, alphabet: str) -> None:
    """Beyond 64 characters rapidfuzz works by blocks; the stretch it finds is still the best."""
    chance = random.Random(size)
    for spoilt in (0.1, 0.5, 1):
        reference = "".join(chance.choices(alphabet, k=size))
        answer = "".join(chance.choice(alphabet) if chance.random() < spoilt else char for char in reference)
        text = "".join(chance.choices(alphabet, k=20)) + answer[: size - 9] + "".join(chance.choices(alphabet, k=30))
        assert aligned(text, reference) == pytest.approx(best_window(reference, text), abs=1e-9)


def test_edit_ignores_text_before_and_after_the_reference() -> None:
    reference = "小明最喜欢的实习的地点就是上海人工智能实验室。"
    for text in (reference, f"<p>答案如下：{reference}", f"{reference}如果还有其他问题请随时告诉我"):
        assert value("edit", text, reference) == 100
    assert 80 < value("edit", f"答案：{reference.replace('地点', '公司')}完", reference) < 100


def test_edit_is_the_share_of_the_reference_that_the_answer_contains() -> None:
    assert value("edit", "", "abc") == 0
    assert value("edit", "a", "abcd") == 25
    assert value("edit", "cd", "abcd") == 50
    assert value("edit", "xyz" * 9, "abcd") == 0
    assert value("edit", "", "?") == 0
    assert value("edit", "!", "?") == 0
    assert value("edit", "what?", "?") == 100
    assert value("edit", "", " ") == 100
    assert value("edit", "a", " ") == 0


def test_edit_compares_only_with_the_first_accepted_answer() -> None:
    assert value("edit", "xyz", "abc", "xyz") == 0


@pytest.mark.slow
def test_alignment_is_bounded_for_runaway_answers_and_long_references() -> None:
    """Both bounds show in the value, not in the time: text beyond them is not aligned."""
    far = "x" * 200_000 + "the key is under the mat by the door"
    reference = "the key is under the mat by the dour" + "z" * 264  # 300 characters: 55,555 of the answer are aligned
    assert aligned(far, reference) < 5
    assert aligned(far[-50_000:], reference) == pytest.approx(100 * 35 / 300)
    long = "abcdefghij" * 60
    assert aligned("q" * 600 + long[:-1], long) == pytest.approx(100 * 2 * 599 / (600 + 1199))
