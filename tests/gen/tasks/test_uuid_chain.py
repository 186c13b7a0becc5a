"""UUID chains: the links lead from the asked member to the last one, in any order in the text."""

from __future__ import annotations

from itertools import pairwise

from each import each
from hypothesis import given
from hypothesis import strategies as st
from properties import examples
from traced import in_prompt, problems_of, problems_of_item, replacing, rows_of_preset

from niah_gen.tasks.uuid_chain import UUID_CHAIN, ChainOptions
from niah_score.contract import needle_kind


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
