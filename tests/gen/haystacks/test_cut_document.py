"""Cutting documents: units too long for one are cut at white space or a comma, and never inside a passage."""

from __future__ import annotations

from itertools import pairwise

from niah_gen.haystacks.cut_document import Stretch, unit_edges


def test_long_units_are_cut_at_white_space_or_a_comma() -> None:
    for text, least in (("word " * 1000, 1000), ("一二三，" * 900, 1000)):
        edges = unit_edges(text)
        assert max(end - start for start, end in pairwise(edges)) == least
        assert all(text[edge - 1] in " ，" for edge in edges[1:])
    assert unit_edges("x" * 2500) == [0, 1000, 2000, 2500]
    assert unit_edges("x" * 2500, [Stretch(900, 1100)]) == [0, 2000, 2500]
