"""exact, edit, char_f1, word_f1 and rouge_l: what they forgive, which accepted answer counts, and slow formulas."""

from __future__ import annotations

import builtins
import random
import unicodedata
from typing import Any

import published_answers as published
import pytest
from each import each
from hypothesis import given
from hypothesis import strategies as st
from judged import odd, value
from properties import examples

from niah_score.errors import ScoreError
from niah_score.text import fold

ALL = ("exact", "edit", "char_f1", "word_f1", "rouge_l")


@examples(150)
@given(text=odd)
def test_a_text_scores_100_against_itself_in_any_case_and_spacing(text: str) -> None:
    for metric in ALL:
        for spelling in (text, text.upper(), f" {text}\n", unicodedata.normalize("NFD", text)):
            assert value(metric, spelling, text) == 100, metric


@examples(150)
@given(text=odd, answers=st.lists(odd, min_size=1, max_size=4))
def test_the_best_of_the_accepted_answers_counts_but_for_edit_the_first(text: str, answers: list[str]) -> None:
    for metric in ("exact", "char_f1", "word_f1", "rouge_l"):
        assert value(metric, text, *answers) == max(value(metric, text, answer) for answer in answers), metric
    assert value("edit", text, *answers) == value("edit", text, answers[0])


def test_accepted_answers_that_begin_with_the_prefix_also_count_without_it() -> None:
    """MRCR's accepted answers begin with it; an extracted answer does not repeat it."""
    for metric in ALL:
        assert value(metric, "A poem of snow", "aYooSG8CQgA poem of snow", prefix="aYooSG8CQg") == 100
        assert value(metric, "aYooSG8CQgA poem of snow", "aYooSG8CQgA poem of snow", prefix="aYooSG8CQg") == 100
        assert value(metric, "A poem of snow", "aYooSG8CQgA poem of snow") < 100


# exact ----------------------------------------------------------------------------------------------------------------


@each(
    ("text", "answer", "expected"),
    [
        (" Dolores  Park.\n", "dolores park", 100), ("“上海”。", "上海", 100), ("**Paris**", "Paris", 100),
        ("`Paris`", "Paris", 100), ("- Paris", "Paris", 100), ("Paris", "Paris.", 100), ("Paris is it", "Paris", 0),
        ("Pari", "Paris", 0), ("1,024", "1024", 100), ("10.24", "1024", 0), ("-5", "5", 0), ("-5", "-5.", 100),
        ("- 5", "5", 100), ("5%", "5", 0), ("5 %", "5 %", 100), ("C++", "C", 0), ("?", "?", 100), ("!", "?", 0),
        ("", "?", 0), ("", "Paris", 0), ("...", "Paris", 0), ("", " ", 100),
    ],
)  # fmt: skip
def test_exact_forgives_width_case_space_and_surrounding_punctuation(text: str, answer: str, expected: float) -> None:
    assert value("exact", text, answer) == expected


# edit -----------------------------------------------------------------------------------------------------------------


def in_order(one: str, other: str) -> int:
    """The most characters that both have in the same order, by the textbook's table of prefixes."""
    above = [0] * (len(other) + 1)
    for char in one:
        row = [0]
        for place, facing in enumerate(other):
            row.append(above[place] + 1 if char == facing else max(above[place + 1], row[place]))
        above = row
    return above[-1]


def best_window(reference: str, text: str) -> float:
    """The best of all stretches as long as the reference, and of those that an end of the text cuts off."""
    size = len(reference)
    windows = {text[max(0, start) : max(0, start + size)] for start in range(1 - size, len(text) + 1)}
    return max(100 * in_order(window, reference) / size for window in windows)


plain = st.text("ab 中é😀", min_size=1, max_size=12).filter(lambda text: text == fold(text) and text[0] > "!")


@examples(150)
@given(reference=plain, text=st.text("ab 中é😀", max_size=40).map(fold))
def test_edit_is_the_share_of_the_reference_in_the_best_stretch(reference: str, text: str) -> None:
    assert value("edit", text, reference) == pytest.approx(best_window(reference, text), abs=1e-9)


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
        assert value("edit", text, reference) == pytest.approx(best_window(reference, text), abs=1e-9)


@each(
    ("text", "reference", "expected"),
    [("", "abc", 0), ("a", "abcd", 25), ("cd", "abcd", 50), ("xyz" * 9, "abcd", 0), ("", "?", 0), ("!", "?", 0),
     ("what?", "?", 100), ("", " ", 100), ("a", " ", 0)],
)  # fmt: skip
def test_a_piece_of_the_reference_is_worth_its_share(text: str, reference: str, expected: float) -> None:
    assert value("edit", text, reference) == expected


@pytest.mark.slow
def test_alignment_is_bounded_for_runaway_answers_and_long_references() -> None:
    """Both bounds show in the value, not in the time: text beyond them is not aligned."""
    far = "x" * 200_000 + "the key is under the mat by the door"
    reference = "the key is under the mat by the dour" + "z" * 264  # 300 characters: 55,555 of the answer are aligned
    assert value("edit", far, reference) < 5
    assert value("edit", far[-50_000:], reference) == pytest.approx(100 * 35 / 300)
    long = "abcdefghij" * 60
    assert value("edit", "q" * 600 + long[:-1], long) == pytest.approx(100 * 2 * 599 / (600 + 1199))


# char_f1, word_f1, rouge_l --------------------------------------------------------------------------------------------


def words(text: str) -> list[str]:
    return "".join(char if char.isalnum() else " " for char in fold(text)).split()


@examples(150)
@given(text=odd, answer=odd, worded=st.tuples(st.text("ab Ab.,'", max_size=20), st.text("ab Ab.,'", max_size=20)))
def test_f1_counts_each_shared_character_or_word_once(text: str, answer: str, worded: tuple[str, str]) -> None:
    characters = [*fold(text).replace(" ", "")], [*fold(answer).replace(" ", "")]
    for metric, texts, (one, other) in (
        ("char_f1", (text, answer), characters),
        ("word_f1", worded, map(words, worded)),
    ):
        expected = 100 * published.overlap(one, other) if one or other else 100
        assert value(metric, *texts) == pytest.approx(expected), metric


@each(
    ("metric", "language", "answer", "reference", "expected"),
    [
        ("word_f1", "zh", "上海，实习！", "实习上海", 100),
        ("word_f1", "zh", "海上", "上海", 0), ("char_f1", "zh", "海上", "上海", 100),
        ("word_f1", "en", "上海实习", "实习上海", 0), ("word_f1", "fr", "Le 23 février", "23 février", 80),
        ("word_f1", "es", "¿En el cajón?", "el cajón", 80), ("word_f1", "ar", "في الدرجِ ٤١٧", "الدرج 417", 80),
        ("word_f1", "ja", "群青色です", "群青色", 75), ("word_f1", "ja", "ABC丸と言う", "ABC丸", 200 * 2 / 7),
        ("word_f1", "ko", "문은 녹색", "녹색", 200 / 3),
        ("rouge_l", "en", "Ida lit the lamp.", "ida LIT the lamp", 100),
        ("rouge_l", "en", "the lamp Ida lit", "Ida lit the lamp", 50),
        ("rouge_l", "en", "the boat", "Ida lit the lamp", 100 / 3), ("rouge_l", "en", "", "Ida", 0),
        ("rouge_l", "zh", "灯塔在港口。", "灯塔在港口", 100), ("rouge_l", "zh", "港口在灯塔", "灯塔在港口", 100 / 3),
    ],
)  # fmt: skip
def test_words_are_split_by_the_rules_of_the_language(
    metric: str, language: str, answer: str, reference: str, expected: float
) -> None:
    assert value(metric, answer, reference, language=language) == pytest.approx(expected)


worded = st.lists(st.sampled_from(["a", "the", "boat", "lamp", "Ship", "left", ".", "1"]), max_size=12).map(" ".join)


@examples(150)
@given(answer=worded, gold=worded)
def test_rouge_l_is_the_f1_of_a_longest_common_subsequence(answer: str, gold: str) -> None:
    one, other = words(answer), words(gold)
    size = len(one) + len(other)
    expected = 200 * len(published.longest_common(tuple(one), tuple(other))) / size if size else 100
    assert value("rouge_l", answer, gold) == pytest.approx(expected)


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
