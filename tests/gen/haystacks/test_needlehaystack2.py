"""needlehaystack 2's haystacks and places, checked against a slow version of the published steps."""

from __future__ import annotations

import random

import pytest
from filler import TEXTS, OddText, corpus_of, token_list
from hypothesis import given
from hypothesis import strategies as st
from properties import examples
from rendering import request

from niah_gen.errors import FitError
from niah_gen.haystacks.haystack import Haystack
from niah_gen.haystacks.needlehaystack2 import CyclingFiller, place
from niah_gen.haystacks.placement import DepthTargets, Laid
from niah_gen.tokenizers.counted import edited
from niah_gen.tokenizers.find import BytePairTokenizer


def slow_tokens(tokenizer: BytePairTokenizer, texts: list[str], length: int) -> list[int]:
    """The haystack by the published steps."""
    text, reached, number = "", 0, 0
    while reached < length:
        text += texts[number % len(texts)]
        reached += len(token_list(tokenizer, texts[number % len(texts)]))
        number += 1
    return token_list(tokenizer, text)[:length]


def slow_place(tokenizer: BytePairTokenizer, tokens: list[int], needles: list[str], depth: float) -> list[int]:
    """A context's tokens by the published steps: every place first, then the needles in their order."""
    (period,) = token_list(tokenizer, ".")
    places = []
    for number in range(len(needles)):
        target = depth + number * (100 - depth) / len(needles)
        at = len(tokens) if target >= 100 else int(len(tokens) * (target / 100))
        if 0 < target < 100:
            for _ in range(100):
                if at == 0 or tokens[at - 1] == period:
                    break
                at -= 1
        places.append(at)
    context = list(tokens)
    shift = 0
    for at, needle in zip(places, needles, strict=True):
        added = token_list(tokenizer, needle)
        context[at + shift : at + shift] = added
        shift += len(added)
    return context


def text_with(haystack: Haystack, laid: Laid) -> str:
    return edited(haystack.source, laid.edits, haystack.end)


def test_the_length_includes_the_reserve_but_not_the_needle(cl100k: BytePairTokenizer) -> None:
    filler = CyclingFiller(corpus_of(TEXTS), cl100k)
    assert filler.fill(request(cl100k, 300, needle="A needle of several words.")).tokens == 300
    assert filler.fill(request(cl100k, 300, reserve=50)).tokens == 250
    with pytest.raises(FitError, match="length 300 leaves no room"):
        filler.fill(request(cl100k, 300, reserve=300))


@examples(60)
@given(seed=st.integers(0, 2**32 - 1))
def test_haystacks_of_any_files_equal_those_of_the_published_steps(
    tokenizer: BytePairTokenizer, odd_text: OddText, seed: int
) -> None:
    """Including files that merge tokens at their seams, and whatever longer lengths the recipe asks for."""
    rng = random.Random(seed)
    texts = [odd_text(rng, rng.randint(1, 12)) or "x" for _ in range(rng.randint(1, 4))]
    lengths = [rng.randint(1, 400) for _ in range(3)]
    filler = CyclingFiller(corpus_of(texts), tokenizer)
    for length in lengths:
        haystack = filler.fill(request(tokenizer, length, longest=max(lengths)))
        expected = slow_tokens(tokenizer, texts, length)
        assert haystack.source.ids[: haystack.tokens].tolist() == expected
        assert haystack.tokens == len(expected)


@examples(80)
@given(seed=st.integers(0, 2**32 - 1), depth=st.sampled_from([0, 0.5, 7, 33.3, 50, 61.7, 99, 100]))
def test_needles_go_where_the_published_steps_put_them(
    tokenizer: BytePairTokenizer, odd_text: OddText, seed: int, depth: float
) -> None:
    rng = random.Random(seed)
    texts = [odd_text(rng, 30) + rng.choice([".", "", "word " * 120]) for _ in range(3)]
    needles = [f"Needle {number} is here." for number in range(rng.randint(1, 4))]
    filler = CyclingFiller(corpus_of(texts), tokenizer)
    haystack = filler.fill(request(tokenizer, rng.randint(1, 600)))
    spliced = place(haystack, needles, DepthTargets(depth, 25.0), tokenizer)
    tokens = haystack.source.ids[: haystack.tokens].tolist()
    expected = tokenizer.encoding.decode_bytes(slow_place(tokenizer, tokens, needles, depth))
    # Where a character is cut, the text around a needle has a mark of its own for each part.
    shown = text_with(haystack, spliced)
    assert shown == expected.decode(errors="replace") or "\ufffd" in shown
