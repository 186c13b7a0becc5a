"""Graph walks: parents and the nodes of a breadth-first search, among edges that lead elsewhere."""

from __future__ import annotations

from typing import cast

from hypothesis import given
from hypothesis import strategies as st
from prompt_text import context_of
from properties import examples
from traced import in_prompt, problems_of, problems_of_item, replacing, rows_of_preset

from niah_gen.tasks.graph_walks import GRAPH_WALKS, GraphOptions
from niah_score.contract import Row


def test_every_context_line_is_an_edge_and_the_first_needed_one_is_at_the_depth() -> None:
    for row in rows_of_preset("graph-walks", controls=[]):
        lines = context_of(cast(Row, row)).split("\n\n")[1].splitlines()
        assert all(len(line.split(" -> ")) == 2 for line in lines)
        assert len(set(lines)) == len(lines) > 80
        assert abs(row["needle_depths"][0] - row["depth_percent"]) < 2


def test_a_prompt_with_changed_edges_is_refused() -> None:
    rows = rows_of_preset("graph-walks", controls=[], needles_per_cell=0, languages=["en"])
    for row in rows:
        assert problems_of(row) == []
        edge = row["needles"][0]
        lost = problems_of(row, prompt=in_prompt(row, replacing(f"{edge}\n", "")))
        twice = problems_of(row, prompt=in_prompt(row, replacing(edge, f"{edge}\n{edge}")))
        assert twice == ["an edge occurs twice in the prompt"]
        if row["depth_percent"] < 100:
            assert "the graph of the prompt gives" in lost[0]


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
