"""Folding and finding: two spellings of one fact compare equal, and nothing else does."""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from properties import examples

from niah_score.text import fold, holds

steady = examples(200)


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        ("Dolores Park", "dolores park"),
        ("ＤＯＬＯＲＥＳ　Ｐａｒｋ", "dolores park"),
        ("  two \t\n words\u3000here ", "two words here"),
        ("a\u00a0b\u2028c", "a b c"),
        ("Straße STRASSE", "strasse strasse"),
        ("ΣΊΣΥΦΟΣ σίσυφος", "σίσυφοσ σίσυφοσ"),
        ("ﬁne №5 ½ ①", "fine no5 1⁄2 1"),
        ("cafe\u0301", "café"),
        ("１，０２４", "1024"),
        ("上海，实验室。", "上海,实验室。"),
        ("", ""),
        (" \n ", ""),
    ],
)
def test_width_case_composition_and_white_space_are_folded(text: str, folded: str) -> None:
    assert fold(text) == folded


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        ("1,024", "1024"),
        ("1,234,567", "1234567"),
        ("12,345,678.9", "12345678.9"),
        ("$1,000!", "$1000!"),
        ("1,024,5", "1024,5"),
        ("1,0245", "1,0245"),
        ("1,02", "1,02"),
        ("1, 024", "1, 024"),
        ("a,024", "a,024"),
        (",024", ",024"),
        ("1,024a", "1024a"),
        ("0,000,000", "0000000"),
        ("1,,024", "1,,024"),
    ],
)
def test_commas_that_group_digits_are_dropped_and_no_others(text: str, folded: str) -> None:
    assert fold(text) == folded


@steady
@given(text=st.text(max_size=30) | st.text("0123456789,. ａＡß中\u0301\n", max_size=30))
def test_folding_again_changes_nothing(text: str) -> None:
    assert fold(fold(text)) == fold(text)


@steady
@given(text=st.text("，：；！？（）％、。“”—…aＡ中é\u0301\u0338\u3099=か１,2 \n", max_size=30) | st.text(max_size=30))
def test_shortcuts_for_common_text_fold_as_the_rule_says(text: str) -> None:
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    folded = re.sub(r"(?<=\d),(?=\d{3}(?!\d))", "", " ".join(folded.split()))
    assert fold(text) == folded


@steady
@given(text=st.text(max_size=30))
def test_case_width_and_composition_never_tell_two_texts_apart(text: str) -> None:
    for spelling in (unicodedata.normalize("NFD", text), unicodedata.normalize("NFC", text), f" {text}\n"):
        assert fold(spelling) == fold(text)


def test_case_folding_that_takes_a_letter_apart_is_composed_again() -> None:
    """Greek \u0390 has no capital of its own: upper case spells it with a combining accent."""
    assert fold("ταΐζω".upper()) == fold("ταΐζω")


@steady
@given(text=st.text("abcxyz ABCXYZ中文0123456789", max_size=30))
def test_upper_lower_and_full_width_fold_to_one(text: str) -> None:
    wide = "".join(chr(ord(char) + 0xFEE0) if char.isascii() and char != " " else char for char in text)
    assert fold(text.upper()) == fold(text.lower()) == fold(wide)


@pytest.mark.parametrize(
    ("text", "keyword", "found"),
    [
        ("the heart of it", "art", False),
        ("modern art is", "art", True),
        ("art", "art", True),
        ("state-of-the-art!", "art", True),
        ("arts", "art", False),
        ("a heart, then art", "art", True),
        ("It is 417.", "417", True),
        ("It is 1417.", "417", False),
        ("It is 4170", "417", False),
        ("It is 1,417.", "417", False),
        ("It is 1,417.", "1417", True),
        ("It is 1417.", "1,417", True),
        ("Room 417b", "417", False),
        ("靛蓝色", "靛蓝", True),
        ("在上海AI实验室", "AI", True),
        ("第283号", "283", True),
        ("住DOLORES\nPARK旁", "Dolores Park", True),
        ("C++ is", "c++", True),
        ("C++11", "c++", True),
        ("use .net here", ".NET", True),
        ("use x.net here", ".NET", True),
        ("a b", "a.b", False),
        ("axb", "a.b", False),
        ("café", "caf", True),
        ("anything", "", False),
        ("anything", "  ", False),
        ("", "a", False),
        ("", "", False),
    ],
)
def test_a_keyword_is_found_as_whole_words(text: str, keyword: str, found: bool) -> None:
    assert holds(fold(text), keyword) == found


@steady
@given(text=st.text("ab1中. ,", max_size=20), keyword=st.text("ab1中. ,", min_size=1, max_size=4))
def test_holds_is_looking_at_every_place_in_turn(text: str, keyword: str) -> None:
    folded, wanted = fold(text), fold(keyword)

    def stands_alone(at: int) -> bool:
        before, after = folded[:at][-1:], folded[at + len(wanted) :][:1]
        left = not (re.match("[a-z0-9]", wanted[0]) and re.match("[a-z0-9]", before))
        right = not (re.match("[a-z0-9]", wanted[-1]) and re.match("[a-z0-9]", after))
        return left and right

    places = [at for at in range(len(folded)) if wanted and folded.startswith(wanted, at)]
    assert holds(folded, keyword) == any(map(stands_alone, places))


@steady
@given(keyword=st.text(min_size=1, max_size=10))
def test_a_keyword_is_found_in_itself_and_between_spaces(keyword: str) -> None:
    if fold(keyword):
        assert holds(fold(keyword), keyword)
        assert holds(fold(f"x {keyword} x"), keyword)
