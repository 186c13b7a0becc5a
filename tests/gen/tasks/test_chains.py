"""Chains of UUIDs and of variables: links lead from the asked member to the answer, and nothing else does."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from each import each
from hypothesis import given
from hypothesis import strategies as st
from properties import examples
from traced import problems_of_item, rows_of_preset

from niah_gen.tasks.chains import UUID_CHAIN, VARIABLE_PROSE, VARIABLE_TRACKING, ChainOptions, VariableOptions


@each(("order", "step"), [("forward", 1), ("backward", -1)])
def test_links_appear_in_the_requested_order(order: str, step: int) -> None:
    options = {"links": [4], "chains": 1, "order": order}
    for row in rows_of_preset("uuid-chain", options=options, controls=[], spread="even"):
        starts = [span["start"] for span in row["needle_spans"]]
        assert starts == sorted(starts)
        joint = " maps to " if row["language"] == "en" else "对应"
        links = [text.rstrip(".。").split(joint) for text in row["needles"]][::step]
        assert all(one[1] == other[0] for one, other in pairwise(links))
        assert links[0][0] in row["question"]
        assert row["answers"] == [links[-1][1]]


@examples(40)
@given(
    seed=st.integers(0, 2**32), links=st.integers(1, 40), chains=st.integers(1, 5),
    order=st.sampled_from(["forward", "backward", "shuffled"]), language=st.sampled_from(["en", "zh"]),
    control=st.sampled_from([None, "absent"]),
)  # fmt: skip
def test_any_item_and_its_twin_have_the_answer_that_their_links_imply(
    seed: int, links: int, chains: int, order: str, language: str, control: str | None
) -> None:
    options = ChainOptions((links,), chains, order)
    assert problems_of_item(UUID_CHAIN, options, f"links-{links}", language, seed, control) == []


@examples(40)
@given(
    seed=st.integers(0, 2**32), hops=st.integers(1, 40), chains=st.integers(1, 8),
    language=st.sampled_from(["en", "zh"]), control=st.sampled_from([None, "absent"]),
    task=st.sampled_from([VARIABLE_TRACKING, VARIABLE_PROSE]),
)  # fmt: skip
def test_any_item_and_its_twin_have_the_answer_that_their_assignments_imply(
    seed: int, hops: int, chains: int, language: str, control: str | None, task: Any
) -> None:
    options = VariableOptions((hops,), chains)
    if control is None or chains > 1:
        assert problems_of_item(task, options, f"hops-{hops}", language, seed, control) == []
