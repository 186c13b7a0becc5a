"""ruler_all and ruler_part: RULER's scores with their quirks and the numbers that show them."""

from __future__ import annotations

from each import each
from judged import value


def groups(*words: str) -> tuple[tuple[str, ...], ...]:
    return tuple((word,) for word in words)


@each(
    ("text", "expected"),
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
def test_ruler_finds_the_exact_digits_anywhere_whatever_they_mean(text: str, expected: float) -> None:
    assert value("ruler_all", text, "7654321") == expected
    assert value("ruler_part", text, "7654321") == expected


def test_ruler_finds_words_inside_other_words() -> None:
    assert value("ruler_all", "a heart in the particle", keywords=groups("ear", "art")) == 100


def test_ruler_all_is_the_share_of_values_found_ignoring_case() -> None:
    assert value("ruler_all", "ONE, two", keywords=groups("one", "TWO", "three", "four")) == 50
    assert value("ruler_all", "one", "One", "two") == 50
    assert value("ruler_all", "uno", keywords=(("one", "uno"),)) == 0


def test_ruler_part_accepts_any_answer_and_ignores_keywords() -> None:
    assert value("ruler_part", "it was Uno", "one", "UNO", "eins", keywords=groups("zzz")) == 100
    assert value("ruler_part", "zwei", "one", "uno", "eins") == 0


def test_ruler_treats_control_characters_as_line_feeds() -> None:
    for char in map(chr, range(0x20)):
        assert value("ruler_part", f"a{char}b", "a\nb") == 100
    assert value("ruler_part", "a b", "a\nb") == 0
    assert value("ruler_part", "a\x7fb", "a\nb") == 0
    # It also strips the answer before and after that.
    for text in ("x\n", "x\x00", "x\x00\n"):
        assert value("ruler_part", text, "x\n") == 0
