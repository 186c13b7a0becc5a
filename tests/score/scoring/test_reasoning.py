"""Reasoning is removed from an answer, by the tags of all model families; a text that only mentions a tag stays."""

from __future__ import annotations

from each import each

from niah_score.scoring.reasoning import REASONING_TAGS, without_reasoning


@each(("opening", "closing"), REASONING_TAGS)
def test_reasoning_is_not_part_of_an_answer(opening: str, closing: str) -> None:
    for raw in (
        f"{opening}\nIs it red? No.{closing}\n\nIt is blue.",
        f"\n {opening}red{closing}It is blue. ",
        f"It must be red, or not.\n{closing}\nIt is blue.",
        f"{opening}red{closing} hm {opening}red{closing}It is blue.",
        f"{opening}red {opening}red{closing} red{closing}It is blue.",
    ):
        assert without_reasoning(raw) == "It is blue."


@each(("opening", "closing"), REASONING_TAGS)
def test_reasoning_that_never_ends_leaves_no_answer(opening: str, closing: str) -> None:
    for raw in (f"{opening}red, I think", f" \n{opening}", f"{opening}red{closing}\n{opening}or blue"):
        assert without_reasoning(raw) is None
    assert without_reasoning(f"{opening}red{closing}") == ""


@each(("opening", "closing"), REASONING_TAGS)
def test_an_answer_may_mention_a_tag(opening: str, closing: str) -> None:
    raw = f"Write {opening} before what you think."
    assert without_reasoning(raw) == raw
    assert without_reasoning(f"{opening}hm{closing}Write {opening} first.") == f"Write {opening} first."


@each(("opening", "closing"), REASONING_TAGS)
def test_a_closing_tag_at_the_end_does_not_remove_the_answer_before_it(opening: str, closing: str) -> None:
    for raw in (
        f"It is blue.\n{closing}",
        f"It is blue.{closing}\n\n{closing}\n",
        f"{opening}red{closing}It is blue.{closing}",
        f"it is red{closing}It is blue.{closing}</s>",
        f"It is blue.\n{opening}sure of it{closing}",
    ):
        assert without_reasoning(raw) == "It is blue."
    assert without_reasoning(f"{opening}a {opening}b{closing} c{closing}") == ""


def test_tags_of_different_kinds_may_be_mixed() -> None:
    assert without_reasoning("<think>a</think><reasoning>b</reasoning>c") == "c"
    assert without_reasoning("<think>a [/THINK] b</think>c") == "c"
    assert without_reasoning("</think><thinking>a") is None


@each(
    "raw",
    [
        "<THINK>red</THINK>Blue.",
        "<Think>red</Think>Blue.",
        "< think >red</ think >Blue.",
        "<think\n>red< / think>Blue.",
        "[think]red[/think]Blue.",
        "<|think|>red<|/think|>Blue.",
        "<START_THINKING>red<END_THINKING><START_RESPONSE>Blue.<END_RESPONSE>",
        "HERE IS MY THOUGHT PROCESS:\nred\nhere is\nmy response: Blue.",
    ],
)
def test_tags_are_recognised_in_any_case_and_with_any_white_space(raw: str) -> None:
    assert without_reasoning(raw) == "Blue."


@each(
    "raw",
    [
        "<|START_THINKING|>red<|END_THINKING|><|START_RESPONSE|>Blue.<|END_RESPONSE|><|END_OF_TURN_TOKEN|>",
        "<|START_THINKING|>red<|END_THINKING|><|START_TEXT|>Blue.<|END_TEXT|>",
        "START_THINKING red END_THINKING START_RESPONSE Blue. END_RESPONSE",
        "<seed:think>red <seed:cot_budget_reflect>I used 129 tokens.</seed:cot_budget_reflect> or</seed:think>Blue.",
        "<seed:think>red</seed:think><seed:cot_budget_reflect>I have used 129 tokens.</seed:cot_budget_reflect>Blue.",
        "<seed:think><seed:cot_budget_reflect>My budget is 0.</seed:cot_budget_reflect>\n</seed:think>Blue.<seed:eos>",
        "<|im_start|>assistant\n<think>\nred\n</think>\n\nBlue.<|im_end|>",
        "<|channel>thought\nred?\n<channel|>Blue.<turn|>",
        "<think>red</think>Blue.<|im_end|>\n<|im_start|>user\nWhat?<|im_end|>\n<|im_start|>assistant\n<think>x</think>Red.",
        "<|channel|>analysis<|message|>red?<|end|><|start|>assistant<|channel|>final<|message|>Blue.<|return|>",
        "analysisRed?assistantfinalBlue.",
    ],
)
def test_outputs_as_reasoning_models_really_write_them_are_read(raw: str) -> None:
    assert without_reasoning(raw) == "Blue."


def test_a_budget_reflection_does_not_end_the_thinking() -> None:
    raw = "<seed:think>red <seed:cot_budget_reflect>I have used 129 tokens.</seed:cot_budget_reflect> or blue"
    assert without_reasoning(raw) is None


def test_text_that_may_be_analysis_is_no_answer_if_it_was_cut() -> None:
    assert without_reasoning("analysis The user asks", cut=True) is None
    assert without_reasoning("analysis The user asks") == "analysis The user asks"


def test_own_tags_replace_the_built_in_ones() -> None:
    tags = (("((", "))"),)
    assert without_reasoning("((red))blue", tags) == "blue"
    assert without_reasoning("((red", tags) is None
    for raw in ("<think>red</think>blue", "analysisRed?assistantfinalblue"):
        assert without_reasoning(raw, tags) == raw
    assert without_reasoning("Red. Now I answer: blue", (("Let me think.", "Now I answer:"),)) == "blue"
    assert without_reasoning("[red] or so]blue", (("[", "]"),)) == "blue"
    assert without_reasoning("<note>red</note>blue", [("<note>", "</note>")]) == "blue"
    assert without_reasoning("<think>red</think>blue", ()) == "<think>red</think>blue"
