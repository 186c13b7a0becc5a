"""Graph walks: parents and the nodes of a breadth-first search, among edges that lead elsewhere."""

from __future__ import annotations

from typing import cast

from contexts import context_of
from hypothesis import given
from hypothesis import strategies as st
from properties import examples
from traced import problems_of_item, rows_of_preset

from niah_gen.tasks.graph_walks import GRAPH_WALKS, GraphOptions
from niah_score.contract import Row


def test_every_context_line_is_an_edge_and_the_first_needed_one_is_at_the_depth() -> None:
    for row in rows_of_preset("graph-walks", controls=[]):
        lines = context_of(cast(Row, row)).split("\n\n")[1].splitlines()
        assert all(len(line.split(" -> ")) == 2 for line in lines)
        assert len(set(lines)) == len(lines) > 80
        assert abs(row["needle_depths"][0] - row["depth_percent"]) < 2


@examples(60)
@given(
    seed=st.integers(0, 2**32), kind=st.sampled_from(["parents", "depth"]), count=st.integers(1, 4),
    branches=st.integers(1, 2), language=st.sampled_from(["en", "zh"]), control=st.sampled_from([None, "absent"]),
)  # fmt: skip
def test_any_item_and_its_twin_have_the_answer_that_their_edges_imply(
    seed: int, kind: str, count: int, branches: int, language: str, control: str | None
) -> None:
    options = GraphOptions((count,), (count,), branches)
    assert problems_of_item(GRAPH_WALKS, options, f"{kind}-{count}", language, seed, control) == []
