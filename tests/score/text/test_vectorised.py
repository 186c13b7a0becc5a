"""A column of texts is treated as each of its texts would be on its own."""

from __future__ import annotations

import unicodedata

from each import each
from hypothesis import given
from hypothesis import strategies as st
from properties import examples
from rapidfuzz.distance import Levenshtein

from niah_score.text import fold, without_spaces
from niah_score.text.vectorised import WORTH, counted, fold_all, in_letters, without_spaces_all

steady = examples(100)


def is_given(char: str) -> bool:
    """Whether Unicode has assigned this character, private use aside."""
    return unicodedata.category(char) not in ("Cn", "Co")


# What folding acts on, alone and beside others: cases, widths, combining marks, white space, digit groups, lone
# surrogates, characters of two UTF-16 units, NUL, and the character that the tables use for "not here".
TRICKY = (
    "aA1, \n\t\x0b\x1c\x85\xa0\u2028\u3000\u200b0123éÉßİıŉﬁ½²٣ΣςК’“，：％（１Ａ"
    "\x00\u0301\u3099が中文字🙂한글\ud800\uffff\U0001d7d8"
)
texts = st.lists(
    st.lists(st.one_of(st.sampled_from(TRICKY), st.sampled_from(("1,024", "1,0245", " ,123", "  "))), max_size=12).map(
        "".join
    ),
    max_size=8,
)


@steady
@given(texts=texts)
def test_a_column_is_folded_like_each_of_its_texts(texts: list[str]) -> None:
    assert fold_all(texts) == [fold(text) for text in texts]


@steady
@given(texts=texts)
def test_a_column_loses_its_white_space_like_each_of_its_texts(texts: list[str]) -> None:
    assert without_spaces_all(texts) == [without_spaces(text) for text in texts]


def test_every_character_folds_in_a_column_as_it_does_alone() -> None:
    # Most code points have no character yet and fold to themselves; one in a hundred represents them.
    every = [char for point, char in enumerate(map(chr, range(0x110000))) if point % 100 == 0 or is_given(char)]
    assert fold_all(every) == [fold(char) for char in every]
    assert without_spaces_all(every) == [without_spaces(char) for char in every]


def test_long_columns_keep_their_order() -> None:
    many = [f"Row {number:,}{'，' if number % 3 else ''}  x " for number in range(3000)]
    assert fold_all(many) == [fold(text) for text in many]
    assert without_spaces_all(many) == [without_spaces(text) for text in many]


@steady
@given(
    reference=st.text("ab中文字é", min_size=1, max_size=10),
    texts=st.lists(st.text("ab中文字é😀x", max_size=12), min_size=WORTH, max_size=WORTH + 4),
)
def test_spelling_in_letters_preserves_which_characters_are_equal(reference: str, texts: list[str]) -> None:
    spelt_reference, spelt = in_letters(reference, texts)
    assert [len(text) for text in spelt] == [len(text) for text in texts]
    assert [spelt_reference in text for text in spelt] == [reference in text for text in texts]
    assert [Levenshtein.distance(spelt_reference, text) for text in spelt] == [
        Levenshtein.distance(reference, text) for text in texts
    ]


@each("reference", ["Latin only", "中" + "".join(map(chr, range(0x4E00, 0x4F00))), "中😀", "中\uffff", ""])
def test_texts_that_letters_cannot_spell_or_speed_up_are_unchanged(reference: str) -> None:
    texts = ["中文 text"] * WORTH
    assert in_letters(reference, texts) == (reference, texts)
    assert in_letters("中文", texts[1:]) == ("中文", texts[1:])


@steady
@given(chars=st.text("ab 中é", max_size=5), texts=st.lists(st.text("ab 中é文😀", max_size=12), max_size=6))
def test_characters_are_counted_in_each_text(chars: str, texts: list[str]) -> None:
    different = "".join(dict.fromkeys(chars))
    counts = counted(different, texts)
    assert counts is not None
    assert counts.tolist() == [[text.count(char) for char in different] for text in texts]


def test_too_many_characters_or_characters_beyond_16_bits_are_not_counted() -> None:
    assert counted("".join(map(chr, range(0x4E00, 0x4F00))), ["中"]) is None
    assert counted("😀", ["中"]) is None
