"""Ancestral trace: kinship facts lead to the answer, hidden in text or among the facts of other families."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from properties import examples
from traced import problems_of_item

import niah_gen
from niah_gen.recipe.read import load_recipe
from niah_gen.tasks.ancestral_trace import ANCESTRAL_TRACE, KINDS, KinshipOptions
from niah_score import Judge
from niah_score.contract import needle_kind


def test_a_distance_is_accepted_in_digits_and_in_words(tmp_path: Path) -> None:
    recipe = load_recipe(
        "ancestral-facts",
        {"lengths": [2000], "depths": [0, 50], "options": {"kinds": ["distance"], "facts": [2, 16]}, "controls": []},
    )
    dataset = niah_gen.build(recipe, tmp_path)
    judge = Judge(dataset)
    for row in niah_gen.iter_rows(recipe):
        total, words = row["answers"][:2]
        facts = int(needle_kind(str(row["needle_id"])).removeprefix("distance-"))
        assert facts <= int(total) <= 2 * facts
        replies = [f"\\boxed{{{total}}}", f"So it is \\boxed{{{words}}}.", f"First 1, then 2.\n\\boxed{{{total}}}"]
        assert [judge(row["id"], text).score for text in replies] == [100, 100, 100]
        assert judge(row["id"], f"\\boxed{{{int(total) + 1}}}").score == 0


@examples(30)
@given(
    seed=st.integers(0, 2**32), kind=st.sampled_from(KINDS), facts=st.integers(2, 40), families=st.integers(0, 2),
    beyond=st.integers(0, 3), language=st.sampled_from(["en", "zh"]), control=st.sampled_from([None, "absent"]),
)  # fmt: skip
def test_any_item_and_its_twin_have_the_answer_that_their_facts_imply(
    seed: int, kind: str, facts: int, families: int, beyond: int, language: str, control: str | None
) -> None:
    options = KinshipOptions((kind,), (facts,), families, beyond)
    assert problems_of_item(ANCESTRAL_TRACE, options, f"{kind}-{facts}", language, seed, control) == []
