"""ruler_all and ruler_part: RULER's scores with their quirks and the numbers that show them."""

from __future__ import annotations

import pytest
from judged import value


def groups(*words: str) -> tuple[tuple[str, ...], ...]:
    return tuple((word,) for word in words)


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
    assert value("ruler_all", text, "7654321") == wanted
    assert value("ruler_part", text, "7654321") == wanted


def test_ruler_finds_words_inside_other_words() -> None:
    assert value("ruler_all", "a heart in the particle", keywords=groups("ear", "art")) == 100


def test_ruler_all_is_the_share_of_the_values_found_in_any_case() -> None:
    assert value("ruler_all", "ONE, two", keywords=groups("one", "TWO", "three", "four")) == 50
    assert value("ruler_all", "one", "One", "two") == 50
    assert value("ruler_all", "uno", keywords=(("one", "uno"),)) == 0


def test_ruler_part_asks_for_any_answer_and_looks_at_no_keyword() -> None:
    assert value("ruler_part", "it was Uno", "one", "UNO", "eins", keywords=groups("zzz")) == 100
    assert value("ruler_part", "zwei", "one", "uno", "eins") == 0


def test_ruler_takes_control_characters_for_ends_of_lines() -> None:
    for char in map(chr, range(0x20)):
        assert value("ruler_part", f"a{char}b", "a\nb") == 100
    assert value("ruler_part", "a b", "a\nb") == 0
    assert value("ruler_part", "a\x7fb", "a\nb") == 0
    # And strips before and after that.
    for text in ("x\n", "x\x00", "x\x00\n"):
        assert value("ruler_part", text, "x\n") == 0
