"""Ancestral trace: kinship facts lead to the answer, hidden in text or among the facts of other families."""

from __future__ import annotations

from pathlib import Path

from each import each
from hypothesis import given
from hypothesis import strategies as st
from properties import examples
from traced import in_prompt, problems_of, problems_of_item, replacing, rows_of_preset

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


def test_512_facts_can_be_hidden_in_corpus_text() -> None:
    options = {"kinds": ["eldest"], "facts": [512], "families": 0}
    (row,) = rows_of_preset(
        "ancestral-trace", lengths=[32000], depths=[10], options=options, controls=[], languages=["en"]
    )
    assert len(row["needles"]) == 512
    assert row["needle_depths"] == sorted(row["needle_depths"])
    assert row["prompt_tokens"] <= 31800
    assert len(row["decoys"]) == 511


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


@each("preset", ["ancestral-trace", "ancestral-facts"])
def test_a_prompt_that_lacks_a_needed_fact_is_refused(preset: str) -> None:
    rows = rows_of_preset(preset, controls=[], depths=[40], needles_per_cell=0, options={"facts": [4], "families": 0})
    assert {row["needle_id"].partition("-")[0] for row in rows} == {"eldest", "ancestor", "descendant", "distance"}
    for row in rows:
        assert problems_of(row) == []
        for fact in row["needles"][:4]:
            (problem,) = problems_of(row, prompt=in_prompt(row, replacing(fact, "")))
            assert "the facts of the prompt lead to" in problem


def test_a_second_parent_a_wrong_ordinal_and_an_unknown_question_are_refused() -> None:
    rows = rows_of_preset("ancestral-facts", controls=[], languages=["en"], options={"facts": [4]})
    row = next(row for row in rows if needle_kind(row["needle_id"] or "") == "ancestor-4")
    person = row["question"].removesuffix("?").partition("ancestor of ")[2]
    problems = problems_of(row, prompt=in_prompt(row, lambda text: f"Zelda Upwick is {person}'s father.\n{text}"))
    assert "lead from" in problems[0]
    question = row["question"].replace("th generation", "rd generation")
    assert any("which is not an ordinal" in problem for problem in problems_of(row, question=question))
    (problem,) = problems_of(row, question="Who is it?")
    assert "is not a question of the kind 'ancestor'" in problem
