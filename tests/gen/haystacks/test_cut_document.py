"""Cutting documents: between sentences, never inside a passage, and keeping as much as fits."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st
from properties import examples

from niah_gen.haystacks.boundaries import sentence_ends
from niah_gen.haystacks.cut_document import CUTS, CutText, Stretch, unit_edges
from niah_gen.tokenizers.counted import count, counted, edited
from niah_gen.tokenizers.find import BytePairTokenizer

SENTENCES = (
    "The boat left. ", "Ida lit the lamp!\n", "It rained.\n\n", "天黑了。", "灯塔亮了。\n", "No end here\n", " ",
    "Why? ",
)  # fmt: skip


def laid(text: str, stretches: Sequence[Stretch]) -> str:
    return "\n".join(text[start:end] for start, end in stretches)


def kept(text: str, passages: Sequence[Stretch], part: str, budget: int, tokenizer: BytePairTokenizer) -> str | None:
    """The text that is kept, after checking how its pieces and its edits say it."""
    cut = CutText(counted(text, tokenizer), passages)
    stretches = cut.cut(part, lambda tried: tokenizer.count(laid(text, tried)) <= budget)
    if stretches is None:
        return None
    said = laid(text, stretches)
    assert "".join(piece for piece, _ in cut.pieces(stretches)) == said
    numbers = [number for _, number in cut.pieces(stretches) if number >= 0]
    assert numbers == [number for number, (start, end) in enumerate(passages) if text[start:end].strip()]
    edits = cut.edits(stretches, "Before: ", "After.")
    assert edited(cut.source, edits, len(text)) == f"Before: {said}After."
    assert count(cut.source, edits, len(text), tokenizer) == tokenizer.count(f"Before: {said}After.")
    return said


@examples(150)
@given(
    text=st.lists(st.sampled_from(SENTENCES), min_size=1, max_size=30).map("".join),
    cuts=st.sets(st.integers(0, 300), max_size=4), part=st.sampled_from(CUTS), budget=st.integers(1, 120),
)  # fmt: skip
def test_documents_are_cut_between_units_and_every_passage_is_kept(
    cl100k: BytePairTokenizer, text: str, cuts: set[int], part: str, budget: int
) -> None:
    places = sorted({cut % (len(text) + 1) for cut in cuts})
    passages = [
        Stretch(*pair)
        for pair in list(pairwise(places))[::2]
        if not text[pair[0]].isspace() and not text[pair[1] - 1].isspace()
    ]
    edges = unit_edges(text, passages)
    assert edges == sorted({0, len(text), *edges})
    assert all(edge in (0, len(text), *sentence_ends(text)) or text[edge - 1] == "\n" for edge in edges)
    assert not any(start < edge < end for edge in edges for start, end in passages)
    said = kept(text, passages, part, budget, cl100k)
    if said is not None:
        assert cl100k.count(said) <= budget
        assert all(text[start:end] in said for start, end in passages)


def test_long_units_are_cut_at_white_space_or_a_comma() -> None:
    for text, least in (("word " * 1000, 1000), ("一二三，" * 900, 1000)):
        edges = unit_edges(text)
        assert max(end - start for start, end in pairwise(edges)) == least
        assert all(text[edge - 1] in " ，" for edge in edges[1:])
    assert unit_edges("x" * 2500) == [0, 1000, 2000, 2500]
    assert unit_edges("x" * 2500, [Stretch(900, 1100)]) == [0, 2000, 2500]
