"""char_f1 and word_f1: shared characters and words, each counted once."""

from __future__ import annotations

import builtins
from typing import Any

import pytest
from each import each
from hypothesis import given
from hypothesis import strategies as st
from judged import odd, value
from properties import examples

from niah_score.errors import ScoreError
from niah_score.text import fold


def overlap(one: list[str], other: list[str]) -> float:
    left = other.copy()
    shared = 0
    for item in one:
        if item in left:
            left.remove(item)
            shared += 1
    return 200 * shared / (len(one) + len(other)) if one or other else 100.0


@examples(150)
@given(text=odd, answers=st.lists(odd, min_size=1, max_size=3))
def test_char_f1_counts_each_shared_character_once_and_takes_the_best_answer(text: str, answers: list[str]) -> None:
    expected = max(overlap([*fold(text).replace(" ", "")], [*fold(answer).replace(" ", "")]) for answer in answers)
    assert value("char_f1", text, *answers) == pytest.approx(expected)


@examples(150)
@given(
    text=st.text("ab Ab.,'", max_size=20), answers=st.lists(st.text("ab Ab.,'", max_size=20), min_size=1, max_size=3)
)
def test_word_f1_counts_each_shared_word_once_and_takes_the_best_answer(text: str, answers: list[str]) -> None:
    def words(text: str) -> list[str]:
        return "".join(char if char.isalnum() else " " for char in fold(text)).split()

    assert value("word_f1", text, *answers) == pytest.approx(max(overlap(words(text), words(a)) for a in answers))


def test_char_f1_and_word_f1_match_values_by_hand() -> None:
    assert value("char_f1", "aab", "ab b") == pytest.approx(200 * 2 / 6)
    assert value("char_f1", "ＡＢ", "a b") == 100
    assert value("word_f1", "The red, red gate!", "red gate") == pytest.approx(200 * 2 / 6)
    assert value("word_f1", "", "red") == 0
    assert value("word_f1", "?!", "...") == 100


def test_chinese_words_are_those_of_jieba() -> None:
    assert value("word_f1", "上海，实习！", "实习上海", language="zh") == 100
    assert value("word_f1", "海上", "上海", language="zh") == 0
    assert value("char_f1", "海上", "上海", language="zh") == 100
    assert value("word_f1", "上海实习", "实习上海", language="en") == 0


def test_word_f1_of_chinese_without_jieba_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def refuse(name: str, *rest: Any) -> Any:
        if name == "jieba":
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(ScoreError, match=r"pip install 'niah-kit\[gen\]'"):
        value("word_f1", "上海", "上海", language="zh")
    assert value("word_f1", "Rome", "Rome") == 100


@each(
    ("language", "answer", "reference", "expected"),
    [
        ("fr", "Le 23 février", "23 février", 80.0),
        ("es", "¿En el cajón?", "el cajón", 80.0),
        ("ar", "في الدرجِ ٤١٧", "الدرج 417", 80.0),
        ("ja", "群青色です", "群青色", 75.0),
        ("ja", "ABC丸と言う", "ABC丸", 200 * 2 / (5 + 2)),
        ("ko", "문은 녹색", "녹색", 200 / 3),
    ],
)
def test_words_are_split_by_the_rules_of_the_language(
    language: str, answer: str, reference: str, expected: float
) -> None:
    assert value("word_f1", answer, reference, language=language) == pytest.approx(expected)
