"""nolima_contains: NoLiMa's search for an answer as it is written."""

from __future__ import annotations

from each import each
from hypothesis import given
from hypothesis import strategies as st
from judged import value
from properties import examples


@each(
    ("text", "expected"), [("Yuki", 100), (" It is Yuki!\n", 100), ("Yukiko", 100), ("yuki", 0), ("Ｙuki", 0), ("", 0)]
)
def test_nolima_finds_an_answer_only_as_it_is_written(text: str, expected: float) -> None:
    assert value("nolima_contains", text, "Yuki", "Stuart") == expected


def test_nolima_looks_for_whole_answers_and_not_for_their_letters() -> None:
    assert value("nolima_contains", "Y, u, k, i", "Yuki") == 0


def test_nolima_keeps_the_white_space_around_answers() -> None:
    assert value("nolima_contains", "x\n", "x\n") == 100
    assert value("nolima_contains", "x\n", "x\n\n") == 0
    assert value("nolima_contains", " x", "y", " x") == 100


@examples(100)
@given(text=st.text("ab \n\t。", max_size=8), golds=st.lists(st.text("ab \n\t。", max_size=3), min_size=1, max_size=3))
def test_nolima_agrees_with_a_slow_search_on_any_texts(text: str, golds: list[str]) -> None:
    def holds(gold: str) -> bool:
        return any(text[place : place + len(gold)] == gold for place in range(len(text) + 1))

    assert value("nolima_contains", text, *golds) == 100 * any(map(holds, golds))
