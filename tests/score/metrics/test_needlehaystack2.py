"""nh2_match and nh2_chain: needlehaystack 2's exact_match and chain_match, in percent."""

from __future__ import annotations

from itertools import pairwise

import pytest
from each import each
from hypothesis import given
from hypothesis import strategies as st
from judged import judged, value
from properties import examples

CHAIN = ("one maps to two.", "two maps to three.", "three maps to four.")
PIZZA = (("figs",), ("prosciutto",), ("goat cheese",))


@each(
    ("text", "expected"),
    [("Figs, Prosciutto and GOAT CHEESE.", 100), ("goat  cheese", 0), ("fig, prosciuttos", 100 / 3), ("", 0)],
)
def test_match_is_the_share_of_fragments_in_the_answer(text: str, expected: float) -> None:
    assert value("nh2_match", text, "figs, prosciutto and goat cheese", keywords=PIZZA) == pytest.approx(expected)


def test_match_strips_fragments_and_counts_them() -> None:
    assert judged("nh2_match", "x FIGS", "-", keywords=((" figs ",), ("y",))).parts == {"found": 1, "fragments": 2}


def test_match_without_keywords_looks_only_for_the_reference() -> None:
    assert value("nh2_match", "It is 42.", "42", "forty-two") == 100
    assert value("nh2_match", "forty-two", "42", "forty-two") == 0


@each(
    ("text", "expected"),
    [("FOUR", 100), ("one", 25), ("one, then three", 75), ("four, no: one", 100), ("five", 0), ("", 0)],
)
def test_chain_is_the_position_of_the_farthest_member_named(text: str, expected: float) -> None:
    assert value("nh2_chain", text, "four", needles=CHAIN) == expected


def test_chain_reports_the_member_reached_and_the_number_of_members() -> None:
    assert judged("nh2_chain", "two", "four", needles=CHAIN).parts == {"reached": 2, "members": 4}


@each("needles", [(), ("It is green.",), (*CHAIN, "It is green."), (CHAIN[0], CHAIN[2])])
def test_chain_is_null_where_the_needles_form_no_chain(needles: tuple[str, ...]) -> None:
    assert judged("nh2_chain", "one", "four", needles=needles).value is None


@examples(100)
@given(text=st.text("abcd AB,", max_size=12), count=st.integers(2, 4))
def test_chain_agrees_with_a_search_from_the_end(text: str, count: int) -> None:
    members = "abcd"[:count]
    needles = tuple(f"{one} maps to {next_}." for one, next_ in pairwise(members))
    expected = 0.0
    for place in range(count - 1, -1, -1):
        if members[place] in text.lower():
            expected = 100 * (place + 1) / count
            break
    assert value("nh2_chain", text, members[-1], needles=needles) == expected
