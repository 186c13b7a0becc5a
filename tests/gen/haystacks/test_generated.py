"""Units and noise: as many whole ones as fit, whatever was filled before, and none that gives a needle away."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from properties import examples
from rendering import assert_counted, below_at_all_depths, request_for

from niah_gen.errors import FitError
from niah_gen.haystacks.generated import NOISE, NoiseFiller, UnitsFiller
from niah_gen.haystacks.haystack import Filler
from niah_gen.haystacks.lines import Line, LinesFiller
from niah_gen.haystacks.slots import Digits
from niah_gen.tokenizers.find import BytePairTokenizer, Tokenizer

NEEDLE = "The pass key is 71234."


def unit(draw: random.Random) -> str:
    return f"{draw.choice(('Ferry', '船'))} {draw.randrange(100)} leaves{draw.choice(('.', '…”', '', ' on time'))}"


def fillers(tokenizer: Tokenizer) -> tuple[Filler, ...]:
    line = Line(("a ", Digits(5)))
    return NoiseFiller(NOISE["en"], tokenizer), UnitsFiller("t", unit, tokenizer), LinesFiller("t", line, tokenizer)


@given(length=st.integers(250, 900), seed=st.integers(0, 99), hide=st.lists(st.just(NEEDLE), max_size=2))
@examples(20)
def test_as_many_whole_units_as_fit_are_made(
    tokenizer: BytePairTokenizer, length: int, seed: int, hide: list[str]
) -> None:
    asked = request_for(hide, length, tokenizer, seed=seed, keywords=(("17",),))
    haystack = UnitsFiller("t", unit, tokenizer).fill(asked)
    assert_counted(haystack, tokenizer)
    assert " 17 " not in haystack.data.decode()
    assert all(0 <= left < 30 for left in below_at_all_depths(asked, haystack, tokenizer))


@pytest.mark.parametrize("language", NOISE)
@given(length=st.integers(250, 2500), hide=st.lists(st.just(NEEDLE), max_size=2))
@examples(20)
def test_noise_ends_after_the_last_sentence_that_fits(
    tokenizer: BytePairTokenizer, language: str, length: int, hide: list[str]
) -> None:
    asked = request_for(hide, length, tokenizer)
    haystack = NoiseFiller(NOISE[language], tokenizer).fill(asked)
    assert_counted(haystack, tokenizer)
    beginnings = ["".join(NOISE[language][:number]) for number in range(1, 6)]
    *lines, last = haystack.data.decode().split("\n")
    assert set(lines) <= {beginnings[-1]}
    assert last in beginnings
    assert all(0 <= left < 20 for left in below_at_all_depths(asked, haystack, tokenizer))


def test_what_units_and_lengths_cannot_be_is_reported(cl100k: BytePairTokenizer) -> None:
    asked = request_for([NEEDLE], 400, cl100k, keywords=(("71234",),))
    for made, problem in (("two\nlines", "expected one line"), (" ", "not empty"), (NEEDLE, "hold a keyword")):
        with pytest.raises(FitError, match=problem):
            UnitsFiller("t", lambda draw, made=made: made, cl100k).fill(asked)  # type: ignore[misc]
    for length in (0, 118):
        short = request_for([NEEDLE], length, cl100k)
        for filler in fillers(cl100k):
            with pytest.raises(FitError, match="leaves no room"):
                filler.fill(short)
