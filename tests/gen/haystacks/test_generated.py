"""Lines, units and noise: none gives a needle away, and what they cannot be or hold is said."""

from __future__ import annotations

import pytest
from rendering import request_for

from niah_gen.errors import FitError
from niah_gen.haystacks.generated import NOISE, NoiseFiller, UnitsFiller
from niah_gen.haystacks.lines import Line, LinesFiller
from niah_gen.haystacks.slots import Digits
from niah_gen.tokenizers.find import BytePairTokenizer

NEEDLE = "The pass key is 71234."


def test_no_line_contains_a_value_of_a_needle_or_a_keyword(cl100k: BytePairTokenizer) -> None:
    line = Line(("a ", Digits(2), " b ", Digits(3), "."))
    for seed in range(20):
        asked = request_for(["a 55 b 555."], 200, cl100k, "\n", seed, (("77",), ("778",)))
        haystack = LinesFiller("t", line, cl100k).fill(asked)
        said = [value for each in haystack.data.decode().split("\n") for value in line.values_in(each)]
        assert not {"55", "555", "77", "778"} & set(said)
        assert haystack.cleared == {"77", "778"}


def test_what_lines_units_and_lengths_cannot_be_is_reported(cl100k: BytePairTokenizer) -> None:
    asked = request_for([NEEDLE], 400, cl100k, keywords=(("71234",),))
    for made, problem in (("two\nlines", "expected one line"), (" ", "not empty"), (NEEDLE, "hold a keyword")):
        with pytest.raises(FitError, match=problem):
            UnitsFiller("t", lambda draw, made=made: made, cl100k).fill(asked)  # type: ignore[misc]
    few = LinesFiller("t", Line(("a ", Digits(1), " b ", Digits(3), ".")), cl100k)
    with pytest.raises(FitError, match=r"take \d+ lines, but there are different values for only"):
        few.fill(request_for(["A needle."], 700, cl100k))
    with pytest.raises(FitError, match="every line holds 'b'"):
        few.fill(request_for(["A needle."], 200, cl100k, keywords=(("b",),)))
    for length in (0, 118):
        short = request_for([NEEDLE], length, cl100k)
        for filler in (few, NoiseFiller(NOISE["en"], cl100k), UnitsFiller("t", lambda draw: "It leaves.", cl100k)):
            with pytest.raises(FitError, match="leaves no room"):
                filler.fill(short)
