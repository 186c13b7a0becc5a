"""longbench_retrieval and longbench_count: LongBench's shares of numbers, compared as texts."""

from __future__ import annotations

import pytest
from each import each
from judged import value


@each(
    ("text", "answer", "expected"),
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
def test_longbench_retrieval_is_the_share_of_numbers_that_name_the_paragraph(
    text: str, answer: str, expected: float | None
) -> None:
    assert value("longbench_retrieval", text, answer) == (None if expected is None else pytest.approx(expected))


@each(
    ("text", "expected"), [("17", 100), ("There are 17 of 20", 50), ("17.0", 50), ("017", 0), ("", 0), ("seventeen", 0)]
)
def test_longbench_count_is_the_share_of_numbers_that_equal_the_count(text: str, expected: float) -> None:
    assert value("longbench_count", text, "17") == expected


def test_longbench_takes_the_best_of_several_answers() -> None:
    assert value("longbench_count", "3 3 3 4", "4", "3") == 75
    assert value("longbench_retrieval", "3 3 3 4", "Paragraph 4", "Paragraph 3") == 75
    assert value("longbench_retrieval", "3 3 3 4", "none", "Paragraph 4") == 25
    assert value("longbench_retrieval", "3 3 3 4", "Paragraph 4, not Paragraph 3") == 25
