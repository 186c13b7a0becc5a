"""UUID chains: the links lead from the asked member to the last one, in any order in the text."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from each import each
from hypothesis import given
from hypothesis import strategies as st
from properties import examples
from traced import assert_proved, in_prompt, problems_of, problems_of_item, replacing, rows_of_preset

from niah_gen.errors import RecipeError
from niah_gen.recipe.read import load_recipe
from niah_gen.tasks.uuid_chain import UUID_CHAIN, ChainOptions
from niah_score.contract import needle_kind


@pytest.mark.slow
def test_rows_are_proved_and_only_their_own_answers_are_right(tmp_path: Path) -> None:
    assert_proved(tmp_path, "uuid-chain", form="text")


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


def test_all_members_but_the_asked_one_and_the_answer_are_decoys() -> None:
    for row in rows_of_preset("uuid-chain", controls=["absent"]):
        links = int(needle_kind(row["needle_id"]).removeprefix("links-"))
        decoys = {word for group in row["decoys"] for word in group}
        assert len(decoys) == links - 1 + links + 1
        assert not any(word in row["question"] for word in decoys)
        assert len(row["needles"]) == 2 * links - (row["control"] == "absent")


def test_a_prompt_with_changed_links_is_refused() -> None:
    row = next(row for row in rows_of_preset("uuid-chain", controls=[]) if needle_kind(row["needle_id"]) == "links-4")
    assert problems_of(row) == []
    for text in row["needles"][:4]:
        (problem,) = problems_of(row, prompt=in_prompt(row, replacing(text, "")))
        assert "the links of the prompt lead to" in problem
    again = row["needles"][0].replace(row["answers"][0], row["answers"][0][::-1])
    other = again.split(" maps to ")[0] + " maps to 00000000-0000-4000-8000-000000000000."
    twice = problems_of(row, prompt=in_prompt(row, lambda text: f"{other} {text}"))
    assert "a member of the prompt's chains maps to two others" in twice
    assert "decoys lack" in problems_of(row, decoys=[])[0]


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


@each(
    ("options", "message"),
    [
        ({"links": [0]}, "links are \\[0\\]; expected numbers from 1 to 100"),
        ({"links": [2, 2]}, "name each number once"),
        ({"chains": 21}, "chains is 21; expected 1 to 20"),
        ({"order": "sideways"}, "order is 'sideways'; expected one of forward, backward, shuffled"),
    ],
)
def test_invalid_options_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(RecipeError, match=message):
        load_recipe({"name": "u", "task": "uuid-chain", "options": options})
