"""Our own metrics against slow, plain references, and what they call the same."""

from __future__ import annotations

import builtins
import random
import time
import unicodedata
from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from properties import examples

from niah_score.errors import ScoreError
from niah_score.metrics import METRICS, SCORE, Chunk, Columns, Target
from niah_score.text import fold

steady = examples(300)
SYMMETRIC = ("exact", "char_f1", "word_f1")

# Punctuation, digits, white space, width, case, combining marks, emoji.
odd = st.text("abAB1,5-% .“”。，！（中文ａ\u3000\n\u0301é😀", max_size=16)


def columns(metric: str, text: str, answers: tuple[str, ...], *keywords: tuple[str, ...], **more: Any) -> Columns:
    return METRICS[metric].of(Chunk([text], [Target(answers, keywords, **more)]))


def score(metric: str, text: str, *answers: str, **more: Any) -> Any:
    return columns(metric, text, answers, **more)[SCORE][0]


def found(text: str, *keywords: tuple[str, ...], metric: str = "keyword", **more: Any) -> Any:
    return columns(metric, text, ("-",), *keywords, **more)[SCORE][0]


# keyword -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "word", "wanted"),
    [
        ("It is DOLORES\nPARK.", "Dolores Park", 100),
        ("Ｄｏｌｏｒｅｓ　Ｐａｒｋ", "Dolores Park", 100),
        ("Dolores", "Dolores Park", 0),
        ("a sum of 1,024", "1024", 100),
        ("a sum of １０２４", "1,024", 100),
        ("a sum of 11024", "1024", 0),
        ("a sum of 1024.5", "1024", 100),
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
    assert columns("keyword", "red gate", ("-",), *groups)["found"] == [2]
    assert columns("keyword", "red gate", ("-",), *groups)["groups"] == [3]


@pytest.mark.parametrize("metric", ["keyword", "keyword_regex"])
def test_without_keywords_there_is_no_score_and_no_part(metric: str) -> None:
    for text in ("", "anything"):
        assert columns(metric, text, ("-",), needles=("a",)) == {
            SCORE: [None], "found": [None], "groups": [None], "needles": [None],
        }  # fmt: skip


@pytest.mark.parametrize("metric", ["keyword", "keyword_regex"])
def test_of_a_list_every_needle_is_told_apart(metric: str) -> None:
    needles = ("Figs go on it.", "Prosciutto goes on it.", "Goat cheese goes on it.")
    groups = ("figs",), ("prosciutto", "ham"), ("goat cheese",)
    parts = columns(metric, "ham and figs", ("-",), *groups, needles=needles)
    assert parts["needles"] == [[True, True, False]]
    assert parts[SCORE] == [pytest.approx(200 / 3)]


@pytest.mark.parametrize("metric", ["keyword", "keyword_regex"])
def test_of_a_chain_only_the_link_that_holds_the_answer_can_be_found(metric: str) -> None:
    needles = ("Jack lives in Rome.", "The owner of the red house is Jack.", "Rome is in Italy.")
    for text, told in (("Italy", True), ("Rome", False)):
        assert columns(metric, text, ("-",), ("italy",), needles=needles)["needles"] == [[None, None, told]]


@pytest.mark.parametrize("metric", ["keyword", "keyword_regex"])
def test_a_needle_of_two_facts_is_found_when_both_are(metric: str) -> None:
    needles = ("A sandwich in the park.", "Nothing.")
    for text, told in (("sandwich", False), ("park, sandwich", True)):
        parts = columns(metric, text, ("-",), ("sandwich",), ("park",), needles=needles)
        assert parts["needles"] == [[told, None]]
    assert columns(metric, "park", ("-",), ("park",), needles=needles[:1])["needles"] == [None]


def test_a_needle_holds_a_keyword_only_as_whole_words() -> None:
    parts = columns("keyword", "art", ("-",), ("ART",), needles=("A heart.", "Modern art."))
    assert parts["needles"] == [[None, True]]


# keyword_regex -------------------------------------------------------------------------------------------------------


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
    parts = columns("keyword_regex", "two gates", ("-",), (r"\b2\b", "two"), ("gates?",), ("red|blue",))
    assert (parts["found"], parts["groups"]) == ([2], [3])
    one, other = Target(("-",), (("a+b",),)), Target(("-",), (("c",), ("d",)))
    assert METRICS["keyword_regex"].of(Chunk(["aab", "d", "c"], [one, other, one]))[SCORE] == [100, 50, 0]


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
def test_no_pattern_takes_longer_than_the_text_allows(pattern: str, text: str) -> None:
    start = time.process_time()  # a busy machine costs nothing; a pattern that went back and forth would take hours
    assert found(text, (pattern,), metric="keyword_regex") == 0
    assert time.process_time() - start < 10


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        ("(", "'(' is no regex of linear time (Rust's syntax): unclosed group"),
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


# exact ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "answer", "wanted"),
    [
        (" Dolores  Park.\n", "dolores park", 100),
        ("“上海”。", "上海", 100),
        ("**Paris**", "Paris", 100),
        ("`Paris`", "Paris", 100),
        ("- Paris", "Paris", 100),
        ("Paris", "Paris.", 100),
        ("Paris is it", "Paris", 0),
        ("Pari", "Paris", 0),
        ("1,024", "1024", 100),
        ("10.24", "1024", 0),
        ("-5", "5", 0),
        ("-5", "-5.", 100),
        ("- 5", "5", 100),
        ("5%", "5", 0),
        ("5 %", "5 %", 100),
        ("C++", "C", 0),
        ("?", "?", 100),
        ("!", "?", 0),
        ("", "?", 0),
        ("", "Paris", 0),
        ("...", "Paris", 0),
        ("", " ", 100),
    ],
)
def test_exact_forgives_width_case_space_and_punctuation_around(text: str, answer: str, wanted: float) -> None:
    assert score("exact", text, answer) == wanted


@steady
@given(text=odd, answer=odd)
def test_exact_is_equality_of_what_is_left_between_the_punctuation(text: str, answer: str) -> None:
    def bare(folded: str) -> str:
        around = [c in " `" or (c not in "%‰" and unicodedata.category(c)[0] == "P") for c in folded]
        start = next((k for k, is_around in enumerate(around) if not is_around), None)
        if start is None:
            # A minus before a digit cannot be among them: digits are no punctuation.
            return folded
        end = max(k for k, is_around in enumerate(around) if not is_around) + 1
        if folded[start - 1 : start] == "-" and folded[start].isdecimal() and start:
            start -= 1
        return folded[start:end]

    assert score("exact", text, answer) == 100 * (bare(fold(text)) == bare(fold(answer)))


# edit ----------------------------------------------------------------------------------------------------------------


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
    """The most characters that both have in the same order, by the textbook's table."""
    above = [0] * (len(other) + 1)
    for char in one:
        row = [0]
        for place, wanted in enumerate(other):
            row.append(above[place] + 1 if char == wanted else max(above[place + 1], row[place]))
        above = row
    return above[-1]


plain = st.text("ab 中é😀", min_size=1, max_size=12).filter(lambda text: text == fold(text) and text[0] > "!")


@steady
@given(reference=plain, text=st.text("ab 中é😀", max_size=40).map(fold))
def test_edit_is_the_share_of_the_reference_in_the_best_stretch(reference: str, text: str) -> None:
    assert score("edit", text, reference) == pytest.approx(best_window(reference, text), abs=1e-9)


@pytest.mark.parametrize("size", [64, 65, 90, 129])
@pytest.mark.parametrize("alphabet", ["ab", "中文字词a"])
def test_edit_finds_the_best_stretch_of_long_references_too(size: int, alphabet: str) -> None:
    """Beyond 64 characters rapidfuzz works by blocks; the stretch it finds is still the best."""
    chance = random.Random(size)
    for spoilt in (0.1, 0.5, 1):
        reference = "".join(chance.choices(alphabet, k=size))
        said = "".join(chance.choice(alphabet) if chance.random() < spoilt else char for char in reference)
        text = "".join(chance.choices(alphabet, k=20)) + said[: size - 9] + "".join(chance.choices(alphabet, k=30))
        assert score("edit", text, reference) == pytest.approx(best_window(reference, text), abs=1e-9)


def test_edit_looks_past_what_stands_before_and_after() -> None:
    reference = "小明最喜欢的实习的地点就是上海人工智能实验室。"
    for text in (reference, f"<p>答案如下：{reference}", f"{reference}如果还有其他问题请随时告诉我"):
        assert score("edit", text, reference) == 100
    assert 80 < score("edit", f"答案：{reference.replace('地点', '公司')}完", reference) < 100


def test_edit_is_no_more_than_what_the_answer_holds_of_the_reference() -> None:
    assert score("edit", "", "abc") == 0
    assert score("edit", "a", "abcd") == 25
    assert score("edit", "cd", "abcd") == 50
    assert score("edit", "xyz" * 9, "abcd") == 0
    assert score("edit", "", "?") == 0
    assert score("edit", "!", "?") == 0
    assert score("edit", "what?", "?") == 100
    assert score("edit", "", " ") == 100
    assert score("edit", "a", " ") == 0


def test_edit_compares_with_the_first_answer() -> None:
    assert score("edit", "xyz", "abc", "xyz") == 0


# char_f1 and word_f1 -------------------------------------------------------------------------------------------------


def overlap(one: list[str], other: list[str]) -> float:
    left = other.copy()
    shared = 0
    for item in one:
        if item in left:
            left.remove(item)
            shared += 1
    return 200 * shared / (len(one) + len(other)) if one or other else 100.0


@steady
@given(text=odd, answers=st.lists(odd, min_size=1, max_size=3))
def test_char_f1_counts_each_shared_character_once_and_takes_the_best_answer(text: str, answers: list[str]) -> None:
    wanted = max(overlap([*fold(text).replace(" ", "")], [*fold(answer).replace(" ", "")]) for answer in answers)
    assert score("char_f1", text, *answers) == pytest.approx(wanted)


@steady
@given(
    text=st.text("ab Ab.,'", max_size=20), answers=st.lists(st.text("ab Ab.,'", max_size=20), min_size=1, max_size=3)
)
def test_word_f1_counts_each_shared_word_once_and_takes_the_best_answer(text: str, answers: list[str]) -> None:
    def words(text: str) -> list[str]:
        return "".join(char if char.isalnum() else " " for char in fold(text)).split()

    assert score("word_f1", text, *answers) == pytest.approx(max(overlap(words(text), words(a)) for a in answers))


def test_char_f1_and_word_f1_of_a_few_texts() -> None:
    assert score("char_f1", "aab", "ab b") == pytest.approx(200 * 2 / 6)
    assert score("char_f1", "ＡＢ", "a b") == 100
    assert score("word_f1", "The red, red gate!", "red gate") == pytest.approx(200 * 2 / 6)
    assert score("word_f1", "", "red") == 0
    assert score("word_f1", "?!", "...") == 100


def test_words_of_chinese_are_those_of_jieba() -> None:
    pytest.importorskip("jieba")
    assert score("word_f1", "上海，实习！", "实习上海", language="zh") == 100
    assert score("word_f1", "海上", "上海", language="zh") == 0
    assert score("char_f1", "海上", "上海", language="zh") == 100
    assert score("word_f1", "上海实习", "实习上海", language="en") == 0


def test_word_f1_of_chinese_without_jieba_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def refuse(name: str, *rest: Any) -> Any:
        if name == "jieba":
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(ScoreError, match=r"pip install 'niah-kit\[gen\]'"):
        score("word_f1", "上海", "上海", language="zh")
    assert score("word_f1", "Rome", "Rome") == 100


# All of them ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("metric", SYMMETRIC)
@steady
@given(one=odd, other=odd)
def test_answer_and_reference_may_change_places(metric: str, one: str, other: str) -> None:
    assert score(metric, one, other) == score(metric, other, one)


@pytest.mark.parametrize("metric", ["exact", "edit", "char_f1", "word_f1"])
@steady
@given(text=odd)
def test_a_text_is_worth_100_against_itself_in_any_case_and_spacing(metric: str, text: str) -> None:
    for spelling in (text, text.upper(), f" {text}\n", unicodedata.normalize("NFD", text)):
        assert score(metric, spelling, text) == 100


@pytest.mark.parametrize("metric", ["exact", "char_f1", "word_f1"])
@steady
@given(text=odd, answers=st.lists(odd, min_size=1, max_size=4))
def test_the_best_of_the_accepted_answers_counts(metric: str, text: str, answers: list[str]) -> None:
    assert score(metric, text, *answers) == max(score(metric, text, answer) for answer in answers)


@pytest.mark.parametrize("metric", ["exact", "edit", "char_f1", "word_f1"])
def test_accepted_answers_that_begin_with_the_prefix_count_without_it(metric: str) -> None:
    """As MRCR's do; an extracted answer does not say the prefix again."""
    assert score(metric, "A poem of snow", "aYooSG8CQgA poem of snow", prefix="aYooSG8CQg") == 100
    assert score(metric, "aYooSG8CQgA poem of snow", "aYooSG8CQgA poem of snow", prefix="aYooSG8CQg") == 100
    assert score(metric, "A poem of snow", "aYooSG8CQgA poem of snow") < 100


def test_none_but_keyword_needs_keywords_and_none_but_it_looks_at_them() -> None:
    for metric in ("exact", "edit", "char_f1", "word_f1"):
        assert columns(metric, "a b", ("a b",)) == columns(metric, "a b", ("a b",), ("zzz",)) == {SCORE: [100]}


def test_emoji_and_combining_marks_are_characters_like_others() -> None:
    assert score("char_f1", "😀😀", "😀") == pytest.approx(200 / 3)
    assert Counter(fold("e\u0301")) == {"é": 1}
    assert score("edit", "I say 👩‍👩‍👧 here", "👩‍👩‍👧") == 100


def test_a_run_away_answer_or_a_long_reference_delays_no_alignment() -> None:
    """Both bounds are seen in the value, not in the time: what lies beyond them is not aligned."""
    far = "x" * 200_000 + "the key is under the mat by the door"
    reference = "the key is under the mat by the dour" + "z" * 264  # 300 characters: 55,555 of the answer are aligned
    (score,) = METRICS["edit"].of(Chunk([far], [Target((reference,))]))[SCORE]
    assert score < 5
    (near,) = METRICS["edit"].of(Chunk([far[-50_000:]], [Target((reference,))]))[SCORE]
    assert near == pytest.approx(100 * 35 / 300)
    long = "abcdefghij" * 60
    (whole,) = METRICS["edit"].of(Chunk(["q" * 600 + long[:-1]], [Target((long,))]))[SCORE]
    assert whole == pytest.approx(100 * 2 * 599 / (600 + 1199))
