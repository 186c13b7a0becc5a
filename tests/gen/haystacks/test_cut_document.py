"""Cutting documents: between sentences, never inside a passage, and keeping as much as fits."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from each import each
from hypothesis import given
from hypothesis import strategies as st
from properties import examples

from niah_gen.haystacks.boundaries import sentence_ends
from niah_gen.haystacks.cut_document import CUTS, CutText, Stretch, stretches_of, unit_edges
from niah_gen.tokenizers.counted import count, counted, edited
from niah_gen.tokenizers.find import BytePairTokenizer, find_tokenizer

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
    """The stretches between every other pair of neighbouring cuts in a text."""
    places = sorted({cut % (len(text) + 1) for cut in cuts})
    return [Stretch(start, end) for start, end in list(pairwise(places))[::2] if text[start:end].strip()]


def cut_of(text: str, passages: Sequence[Stretch], tokenizer: BytePairTokenizer) -> CutText:
    return CutText(counted(text, tokenizer), passages)


def laid(text: str, stretches: Sequence[Stretch]) -> str:
    return "\n".join(text[start:end] for start, end in stretches)


@examples(150)
@given(text=documents, cuts=st.lists(st.integers(0, 300), max_size=5))
def test_edges_are_sentence_or_line_ends_and_never_inside_a_passage(text: str, cuts: list[int]) -> None:
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
    part=st.sampled_from(CUTS),
    budget=st.integers(1, 120),
)
def test_every_passage_is_kept_with_as_many_units_as_fit(text: str, cuts: list[int], part: str, budget: int) -> None:
    tokenizer = find_tokenizer("cl100k_base")
    assert isinstance(tokenizer, BytePairTokenizer)
    passages = passages_in(text, cuts)

    def fits(stretches: Sequence[Stretch]) -> bool:
        return tokenizer.count(laid(text, stretches)) <= budget

    kept = cut_of(text, passages, tokenizer).cut(part, fits)
    if kept is None:
        return
    edges = unit_edges(text, passages)
    ends = {place for edge in edges for place in (edge, len(text[:edge].rstrip()))}
    starts = {place for edge in edges for place in (edge, len(text) - len(text[edge:].lstrip()))}
    assert fits(kept)
    assert kept == sorted(kept)
    for start, end in kept:
        assert start in starts
        assert end in ends
    for passage in passages:
        bare = text[passage.start : passage.end].strip()
        assert any(bare in text[start:end] for start, end in kept)
    if not passages and kept != [Stretch(0, len(text))]:
        if part == "head":
            following = next((edge for edge in edges if edge > kept[-1].end), None)
            assert following is None or not fits([Stretch(0, following)]) or not text[kept[-1].end : following].strip()
        assert len(kept) <= (2 if part == "middle" else 1)


@each(
    ("part", "kept"),
    [
        ("head", "One is 1. Two is 2. Three is 3."),
        ("tail", "Six is 6. Seven is 7. Eight is 8."),
        ("middle", "One is 1. Two is 2.\nEight is 8."),
    ],
)
def test_head_and_tail_cuts_keep_that_end_and_middle_cuts_keep_both_ends(
    part: str, kept: str, cl100k: BytePairTokenizer
) -> None:
    text = "One is 1. Two is 2. Three is 3. Four is 4. Five is 5. Six is 6. Seven is 7. Eight is 8."
    budget = cl100k.count(kept)
    result = cut_of(text, [], cl100k).cut(part, lambda stretches: cl100k.count(laid(text, stretches)) <= budget)
    assert result is not None
    assert laid(text, result) == kept


def test_a_passage_keeps_its_sentence_and_the_head_gets_the_rest_of_the_budget(cl100k: BytePairTokenizer) -> None:
    text = "One is 1. Two is 2. Three is 3. Four is 4. Five is 5. Six is 6. Seven is 7. Eight is 8."
    start = text.index("is 5")
    expected = "One is 1. Two is 2.\nFive is 5."
    cut = cut_of(text, [Stretch(start, start + 4)], cl100k)
    kept = cut.cut("head", lambda stretches: cl100k.count(laid(text, stretches)) <= cl100k.count(expected))
    assert kept is not None
    assert laid(text, kept) == expected
    assert cut.pieces(kept) == [("One is 1. Two is 2.", -1), ("\n", -1), ("Five ", -1), ("is 5", 0), (".", -1)]
    edits = cut.edits(kept, "Before: ", "After.")
    assert edited(cut.source, edits, len(text)) == f"Before: {expected}After."
    assert count(cut.source, edits, len(text), cl100k) == cl100k.count(f"Before: {expected}After.")


def test_a_cut_that_cannot_fit_returns_none(cl100k: BytePairTokenizer) -> None:
    cut = cut_of("One is 1. Two is 2.", [Stretch(0, 9)], cl100k)
    assert cut.cut("head", lambda stretches: False) is None
    assert cut_of("One is 1.", [], cl100k).cut("tail", lambda stretches: False) is None


def test_there_is_no_white_space_beside_a_gap() -> None:
    assert stretches_of("a. b. c.\n", [0, 2, 5, 9], [0, 2]) == [Stretch(0, 2), Stretch(6, 9)]
