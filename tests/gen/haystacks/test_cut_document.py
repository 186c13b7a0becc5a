"""Cutting documents: between sentences, never inside a passage, and as much as fits."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from properties import examples

from niah_gen.haystacks.boundaries import sentence_ends
from niah_gen.haystacks.cut_document import CUTS, CutText, Stretch, stretches_of, unit_edges
from niah_gen.tokenizers.find import BytePairTokenizer, find_tokenizer
from niah_gen.tokenizers.spliced import encode

SENTENCES = (
    "The boat left. ",
    "Ida lit the lamp!\n",
    "It rained.\n\n",
    "天黑了。",
    "灯塔亮了。\n",
    "No end here\n",
    " ",
    "Why? ",
)
documents = st.lists(st.sampled_from(SENTENCES), min_size=1, max_size=30).map("".join)


def passages_in(text: str, cuts: Sequence[int]) -> list[Stretch]:
    """Stretches between every second pair of some places of a text."""
    places = sorted({cut % (len(text) + 1) for cut in cuts})
    return [Stretch(start, end) for start, end in list(pairwise(places))[::2] if text[start:end].strip()]


def cut_of(text: str, passages: Sequence[Stretch], tokenizer: BytePairTokenizer) -> CutText:
    return CutText(text, encode(text, tokenizer), passages)


def laid(text: str, stretches: Sequence[Stretch]) -> str:
    return "\n".join(text[start:end] for start, end in stretches)


@examples(150)
@given(text=documents, cuts=st.lists(st.integers(0, 300), max_size=5))
def test_edges_are_sentence_and_line_ends_and_none_is_inside_a_passage(text: str, cuts: list[int]) -> None:
    passages = passages_in(text, cuts)
    edges = unit_edges(text, passages)
    assert edges == sorted(set(edges))
    assert (edges[0], edges[-1]) == (0, len(text))
    ends = {0, len(text), *sentence_ends(text)}
    assert all(edge in ends or text[edge - 1] == "\n" for edge in edges)
    assert not any(passage.start < edge < passage.end for edge in edges for passage in passages)


def test_long_units_are_cut_at_white_space_or_a_comma() -> None:
    words = unit_edges("word " * 1000)
    assert max(end - start for start, end in pairwise(words)) == 1000
    assert all(edge % 5 == 0 for edge in words)
    assert max(end - start for start, end in pairwise(unit_edges("一二三，" * 900))) == 1000
    assert unit_edges("x" * 2500) == [0, 1000, 2000, 2500]
    assert unit_edges("x" * 2500, [Stretch(900, 1100)]) == [0, 2000, 2500]


@examples(150)
@given(
    text=documents,
    cuts=st.lists(st.integers(0, 300), max_size=3),
    way=st.sampled_from(CUTS),
    budget=st.integers(1, 120),
)
def test_as_many_units_are_kept_as_fit_and_every_passage_is(text: str, cuts: list[int], way: str, budget: int) -> None:
    tokenizer = find_tokenizer("cl100k_base")
    assert isinstance(tokenizer, BytePairTokenizer)
    passages = passages_in(text, cuts)

    def fits(stretches: Sequence[Stretch]) -> bool:
        return tokenizer.count(laid(text, stretches)) <= budget

    found = cut_of(text, passages, tokenizer).cut(way, fits)
    if found is None:
        return
    edges = unit_edges(text, passages)
    ends = {place for edge in edges for place in (edge, len(text[:edge].rstrip()))}
    starts = {place for edge in edges for place in (edge, len(text) - len(text[edge:].lstrip()))}
    assert fits(found)
    assert found == sorted(found)
    for start, end in found:
        assert start in starts
        assert end in ends
    for passage in passages:
        bare = text[passage.start : passage.end].strip()
        assert any(bare in text[start:end] for start, end in found)
    if not passages and found != [Stretch(0, len(text))]:
        if way == "head":
            following = next((edge for edge in edges if edge > found[-1].end), None)
            assert following is None or not fits([Stretch(0, following)]) or not text[found[-1].end : following].strip()
        assert len(found) <= (2 if way == "middle" else 1)


@pytest.mark.parametrize(
    ("way", "kept"),
    [
        ("head", "One is 1. Two is 2. Three is 3."),
        ("tail", "Six is 6. Seven is 7. Eight is 8."),
        ("middle", "One is 1. Two is 2.\nEight is 8."),
    ],
)
def test_each_way_keeps_its_end(way: str, kept: str, cl100k: BytePairTokenizer) -> None:
    text = "One is 1. Two is 2. Three is 3. Four is 4. Five is 5. Six is 6. Seven is 7. Eight is 8."
    budget = cl100k.count(kept)
    found = cut_of(text, [], cl100k).cut(way, lambda stretches: cl100k.count(laid(text, stretches)) <= budget)
    assert found is not None
    assert laid(text, found) == kept


def test_a_passage_is_kept_with_its_sentence_and_the_rest_goes_to_the_end(cl100k: BytePairTokenizer) -> None:
    text = "One is 1. Two is 2. Three is 3. Four is 4. Five is 5. Six is 6. Seven is 7. Eight is 8."
    start = text.index("is 5")
    wanted = "One is 1. Two is 2.\nFive is 5."
    cut = cut_of(text, [Stretch(start, start + 4)], cl100k)
    found = cut.cut("head", lambda stretches: cl100k.count(laid(text, stretches)) <= cl100k.count(wanted))
    assert found is not None
    assert laid(text, found) == wanted
    marked = [(slice_.source.text(slice_.start, slice_.end), number) for slice_, number in cut.slices(found)]
    assert marked == [("One is 1. Two is 2.", -1), ("Five ", -1), ("is 5", 0), (".", -1)]


def test_what_does_not_fit_is_said(cl100k: BytePairTokenizer) -> None:
    cut = cut_of("One is 1. Two is 2.", [Stretch(0, 9)], cl100k)
    assert cut.cut("head", lambda stretches: False) is None
    assert cut_of("One is 1.", [], cl100k).cut("tail", lambda stretches: False) is None


def test_gaps_have_no_white_space_beside_them() -> None:
    assert stretches_of("a. b. c.\n", [0, 2, 5, 9], [0, 2]) == [Stretch(0, 2), Stretch(6, 9)]
