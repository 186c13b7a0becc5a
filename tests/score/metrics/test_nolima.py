"""nolima_contains: NoLiMa's search for an answer as it is written."""

from __future__ import annotations

import pytest
from judged import value


@pytest.mark.parametrize(
    ("text", "wanted"), [("Yuki", 100), (" It is Yuki!\n", 100), ("Yukiko", 100), ("yuki", 0), ("Ｙuki", 0), ("", 0)]
)
def test_nolima_finds_an_answer_as_it_is_written(text: str, wanted: float) -> None:
    assert value("nolima_contains", text, "Yuki", "Stuart") == wanted


def test_nolima_looks_for_whole_answers_and_not_for_their_letters() -> None:
    assert value("nolima_contains", "Y, u, k, i", "Yuki") == 0


def test_nolima_strips_the_answer_first() -> None:
    assert value("nolima_contains", "x\n", "x\n") == 0
