"""RULER's, LongBench's, NoLiMa's and MRCR's scores, with their quirks and the numbers that show them."""

from __future__ import annotations

from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from properties import examples

from niah_score.metrics import METRICS, SCORE, Chunk, Target

steady = examples(200)
ESSAYS = Path(__file__).parents[4] / "shared" / "corpora" / "paul_graham"


def score(metric: str, text: str, *answers: str, keywords: tuple[tuple[str, ...], ...] = (), **more: Any) -> Any:
    return METRICS[metric].of(Chunk([text], [Target(answers or ("-",), keywords, **more)]))[SCORE][0]


def groups(*words: str) -> tuple[tuple[str, ...], ...]:
    return tuple((word,) for word in words)


# RULER ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("7654321", 100),
        ("I could not find 7654321", 100),
        ("976543210", 100),
        ("7,654,321", 0),
        ("７６５４３２１", 0),
        ("1111111 2222222 7654321 9999999", 100),
        ("", 0),
    ],
)
def test_ruler_finds_a_value_anywhere_however_it_is_meant(text: str, wanted: float) -> None:
    assert score("ruler_all", text, "7654321") == wanted
    assert score("ruler_part", text, "7654321") == wanted


def test_ruler_finds_words_inside_other_words() -> None:
    assert score("ruler_all", "a heart in the particle", keywords=groups("ear", "art")) == 100


def test_ruler_all_is_the_share_of_the_values_found_in_any_case() -> None:
    assert score("ruler_all", "ONE, two", keywords=groups("one", "TWO", "three", "four")) == 50
    assert score("ruler_all", "one", "One", "two") == 50
    assert score("ruler_all", "uno", keywords=(("one", "uno"),)) == 0


def test_ruler_part_asks_for_any_answer_and_looks_at_no_keyword() -> None:
    assert score("ruler_part", "it was Uno", "one", "UNO", "eins", keywords=groups("zzz")) == 100
    assert score("ruler_part", "zwei", "one", "uno", "eins") == 0


def test_ruler_takes_control_characters_for_ends_of_lines() -> None:
    for char in map(chr, range(0x20)):
        assert score("ruler_part", f"a{char}b", "a\nb") == 100
    assert score("ruler_part", "a b", "a\nb") == 0
    assert score("ruler_part", "a\x7fb", "a\nb") == 0
    # And strips before and after that.
    for text in ("x\n", "x\x00", "x\x00\n"):
        assert score("ruler_part", text, "x\n") == 0


# LongBench -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "answer", "wanted"),
    [
        ("Paragraph 15", "Paragraph 15", 100),
        ("15", "Paragraph 15", 100),
        ("Paragraph 15 of the 30", "Paragraph 15", 50),
        ("15.0", "Paragraph 15", 50),
        ("15, 15, 3", "Paragraph 15", 200 / 3),
        ("Paragraph 015", "Paragraph 15", 0),
        ("Paragraph fifteen", "Paragraph 15", 0),
        ("段落15", "段落15", 100),
        ("段落十五", "段落15", 0),
        ("段落１５", "段落15", 0),
        ("1,024", "Paragraph 1024", 0),
        ("", "Paragraph 15", 0),
        ("15", "the fifteenth", None),
        ("15", "paragraph 15", None),
    ],
)
def test_longbench_retrieval_is_the_share_of_numbers_that_are_the_paragraph(
    text: str, answer: str, wanted: float | None
) -> None:
    assert score("longbench_retrieval", text, answer) == (None if wanted is None else pytest.approx(wanted))


@pytest.mark.parametrize(
    ("text", "wanted"), [("17", 100), ("There are 17 of 20", 50), ("17.0", 50), ("017", 0), ("", 0), ("seventeen", 0)]
)
def test_longbench_count_is_the_share_of_numbers_that_are_the_count(text: str, wanted: float) -> None:
    assert score("longbench_count", text, "17") == wanted


def test_longbench_takes_the_best_of_several_answers() -> None:
    assert score("longbench_count", "3 3 3 4", "4", "3") == 75
    assert score("longbench_retrieval", "3 3 3 4", "Paragraph 4", "Paragraph 3") == 75
    assert score("longbench_retrieval", "3 3 3 4", "none", "Paragraph 4") == 25
    assert score("longbench_retrieval", "3 3 3 4", "Paragraph 4, not Paragraph 3") == 25


# NoLiMa --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "wanted"), [("Yuki", 100), (" It is Yuki!\n", 100), ("Yukiko", 100), ("yuki", 0), ("Ｙuki", 0), ("", 0)]
)
def test_nolima_finds_an_answer_as_it_is_written(text: str, wanted: float) -> None:
    assert score("nolima_contains", text, "Yuki", "Stuart") == wanted


def test_nolima_looks_for_whole_answers_and_not_for_their_letters() -> None:
    assert score("nolima_contains", "Y, u, k, i", "Yuki") == 0


def test_nolima_strips_the_answer_first() -> None:
    assert score("nolima_contains", "x\n", "x\n") == 0


# MRCR ----------------------------------------------------------------------------------------------------------------

PREFIX = "aYooSG8CQg"


def mrcr(text: str, reference: str, prefix: str | None = PREFIX) -> Any:
    return score("mrcr", text, reference, prefix=prefix)


@pytest.mark.parametrize("before", ["\n", '"', " ", "<think></think>", "Here it is: "])
def test_mrcr_gives_nothing_where_anything_stands_before_the_prefix(before: str) -> None:
    assert mrcr(f"{PREFIX}A poem", f"{PREFIX}A poem") == 100
    assert mrcr(f"{before}{PREFIX}A poem", f"{PREFIX}A poem") == 0


def test_mrcr_compares_what_stands_after_the_prefix() -> None:
    assert mrcr(f"{PREFIX}abcd", f"{PREFIX}bcde") == 75
    assert mrcr(PREFIX, f"{PREFIX}x") == 0
    assert mrcr(PREFIX, PREFIX) == 100
    assert mrcr(f"{PREFIX}{PREFIX}", f"{PREFIX}x") == 0
    assert mrcr("abc", "abc") == 0


def test_mrcr_is_null_without_a_prefix() -> None:
    assert mrcr("abc", "abc", None) is None
    assert mrcr("abc", "abc", "") is None


def test_one_character_too_many_takes_mrcr_from_100_to_almost_0() -> None:
    """difflib's autojunk: characters that are common in the reference are never where a match begins."""
    poem = "a" * 10 + "".join("bcdefghijklmnopqrstuvwxyz"[n * n % 23] for n in range(2490))
    assert mrcr(PREFIX + poem, PREFIX + poem) == 100
    assert mrcr(f"{PREFIX}a{poem}", PREFIX + poem) == pytest.approx(0.4, abs=0.05)
    assert 100 * SequenceMatcher(None, f"a{poem}", poem, autojunk=False).ratio() == pytest.approx(99.98, abs=0.005)


def test_mrcr_of_two_unrelated_essays_is_lower_than_chance_explains() -> None:
    files = sorted(ESSAYS.glob("*.txt"))
    if len(files) < 2:
        pytest.skip(f"needs {ESSAYS}: essays that are not part of the repository")
    one, other = (file.read_text("utf-8")[1000:4000] for file in files[:2])
    plain = 100 * SequenceMatcher(None, one, other, autojunk=False).ratio()
    assert mrcr(PREFIX + one, PREFIX + other) < plain / 2


@steady
@given(text=st.text("abc 中\n", max_size=20), reference=st.text("abc 中\n", max_size=20))
def test_mrcr_is_the_ratio_of_difflib_answer_first(text: str, reference: str) -> None:
    assert mrcr(PREFIX + text, PREFIX + reference) == 100 * SequenceMatcher(None, text, reference).ratio()


def test_the_order_in_which_mrcr_compares_matters() -> None:
    one, other = "ab" * 60, "ba" * 150
    assert mrcr(PREFIX + one, PREFIX + other) != mrcr(PREFIX + other, PREFIX + one)
