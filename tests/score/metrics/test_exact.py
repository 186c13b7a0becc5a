"""exact: it forgives what surrounds an answer, and nothing inside it."""

from __future__ import annotations

import unicodedata

from each import each
from hypothesis import given
from judged import odd, value
from properties import examples

from niah_score.text import fold


@each(
    ("text", "answer", "expected"),
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
def test_exact_forgives_width_case_space_and_surrounding_punctuation(text: str, answer: str, expected: float) -> None:
    assert value("exact", text, answer) == expected


@examples(150)
@given(text=odd, answer=odd)
def test_exact_compares_what_remains_without_surrounding_punctuation(text: str, answer: str) -> None:
    def bare(folded: str) -> str:
        around = [c in " `" or (c not in "%‰" and unicodedata.category(c)[0] == "P") for c in folded]
        start = next((k for k, is_around in enumerate(around) if not is_around), None)
        if start is None:
            # No minus before a digit is among them: digits are not punctuation.
            return folded
        end = max(k for k, is_around in enumerate(around) if not is_around) + 1
        if folded[start - 1 : start] == "-" and folded[start].isdecimal() and start:
            start -= 1
        return folded[start:end]

    assert value("exact", text, answer) == 100 * (bare(fold(text)) == bare(fold(answer)))
