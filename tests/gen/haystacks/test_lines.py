"""Lines of generated haystacks, counted by their parts, checked against the tokens of the whole text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from properties import examples
from rendering import assert_counted, below_at_all_depths, request_for

from niah_gen.errors import FitError
from niah_gen.haystacks.lines import Line, LinesFiller
from niah_gen.haystacks.slots import Digits, Uuids, Words, texts
from niah_gen.tokenizers.find import BytePairTokenizer

MANY_WORDS = Words(tuple(f"w{number}{'unfathomable' * (number % 4)}" for number in range(90)), ("oat", "ell"), "-")
CHINESE = Words(tuple(f"{one}{other}" for one in "翠碧雪漆金" for other in "绿蓝白黑色"), tuple("灯塔港口码头渔船山谷"))
VARIABLES = Words(tuple(f"{one}QZ{other}{end}" for one in "ABCDEFGHI" for other in "VWXYZ" for end in "KLMN"))
FORMS = {
    "words": Line(("One of the numbers for ", MANY_WORDS, " is: ", Digits(7), ".")),
    "uuids": Line(("One of the uuids for ", Uuids(), " is: ", Uuids(), "."), alike=3),
    "chinese": Line(("与“", CHINESE, "”对应的魔法数字是：", Digits(10), "。")),
    "json": Line(('"', Uuids(), '": "', Uuids(), '"'), joiner=",\n"),
    "slot first": Line((Digits(4), ". ", Uuids())),
    "no slot after": Line(("VAR ", VARIABLES, " = ", Digits(5))),
    "no cuts": Line(("no cut in 😀", Digits(9), "😀")),
}  # fmt: skip


@pytest.mark.parametrize("name", FORMS)
@given(length=st.integers(500, 1200), seed=st.integers(0, 99), own=st.integers(0, 2), other=st.booleans())
@examples(5)
def test_as_many_different_lines_as_fit_are_drawn_and_counted_exactly(
    tokenizer: BytePairTokenizer, name: str, length: int, seed: int, own: int, other: bool
) -> None:
    line = FORMS[name]
    drawn = zip(
        *(texts(slot, own) for slot, own in zip(line.slots, line.draw(3, f"n{seed}"), strict=True)), strict=True
    )
    hide = [line.text(*values) for values in drawn][:own] + ["The pass key is 71234."] * other
    asked = request_for(hide, length, tokenizer, line.joiner, seed)
    haystack = LinesFiller("t", line, tokenizer).fill(asked)
    assert_counted(haystack, tokenizer)
    lines = [line.values_in(each) for each in haystack.data.decode().split(line.joiner)]
    assert haystack.places is not None
    assert len(lines) == len(haystack.places) - 1
    hidden = [line.values_in(each) for each in hide]
    assert all(len(values) == len(line.slots) for values in lines)
    for place in range(len(line.slots)):
        values = [values[place] for values in lines]
        assert len(set(values)) >= len(values) / (1 if place else line.alike)
        assert not {values[place] for values in hidden if values}.intersection(values)
    most = 2 * haystack.tokens / len(lines) + 2 * (len(hide) + 1) + 4
    assert all(0 <= left < most for left in below_at_all_depths(asked, haystack, tokenizer))


def test_no_line_contains_a_value_of_a_needle_or_a_keyword(cl100k: BytePairTokenizer) -> None:
    line = Line(("a ", Digits(2), " b ", Digits(3), "."))
    for seed in range(20):
        asked = request_for(["a 55 b 555."], 200, cl100k, "\n", seed, (("77",), ("778",)))
        haystack = LinesFiller("t", line, cl100k).fill(asked)
        said = [value for each in haystack.data.decode().split("\n") for value in line.values_in(each)]
        assert not {"55", "555", "77", "778"} & set(said)
        assert haystack.cleared == {"77", "778"}


def test_what_lines_cannot_hold_is_reported(cl100k: BytePairTokenizer) -> None:
    few = Line(("a ", Digits(1), " b ", Digits(3), "."))
    with pytest.raises(FitError, match=r"take \d+ lines, but there are different values for only"):
        LinesFiller("t", few, cl100k).fill(request_for(["A needle."], 700, cl100k))
    with pytest.raises(FitError, match="every line holds 'b'"):
        LinesFiller("t", few, cl100k).fill(request_for(["A needle."], 200, cl100k, keywords=(("b",),)))
    assert Line(("a ", Digits(1), " b ", Digits(1))).most == 4
