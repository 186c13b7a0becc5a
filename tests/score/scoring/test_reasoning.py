"""Reasoning is removed by channels and the tags of all model families, with the special tokens around an answer."""

from __future__ import annotations

from each import each

from niah_score.scoring.extract_answer import Extracted, extract_answer
from niah_score.scoring.reasoning import (
    REASONING_TAGS,
    without_end_marks,
    without_leading_tokens,
    without_next_turn,
    without_reasoning,
)


@each(("opening", "closing"), REASONING_TAGS)
def test_reasoning_is_not_part_of_an_answer_that_may_mention_its_tags(opening: str, closing: str) -> None:
    for raw, answer in (
        (f"{opening}\nIs it red? No.{closing}\n\nIt is blue.", "It is blue."),
        (f"\n {opening}red{closing}It is blue. ", "It is blue."),
        (f"It must be red, or not.\n{closing}\nIt is blue.", "It is blue."),
        (f"{opening}red{closing} hm {opening}red{closing}It is blue.", "It is blue."),
        (f"{opening}red {opening}red{closing} red{closing}It is blue.", "It is blue."),
        # Reasoning that never ends leaves no answer, and nothing after it an empty one.
        (f"{opening}red, I think", None), (f" \n{opening}", None), (f"{opening}red{closing}\n{opening}or blue", None),
        (f"{opening}red{closing}", ""), (f"{opening}a {opening}b{closing} c{closing}", ""),
        (f"Write {opening} before what you think.", f"Write {opening} before what you think."),
        (f"{opening}hm{closing}Write {opening} first.", f"Write {opening} first."),
        # A closing tag at the end does not remove the answer before it.
        (f"It is blue.\n{closing}", "It is blue."), (f"It is blue.{closing}\n\n{closing}\n", "It is blue."),
        (f"{opening}red{closing}It is blue.{closing}", "It is blue."),
        (f"it is red{closing}It is blue.{closing}</s>", "It is blue."),
        (f"It is blue.\n{opening}sure of it{closing}", "It is blue."),
    ):  # fmt: skip
        assert without_reasoning(raw) == answer, raw


def test_tags_of_different_kinds_may_be_mixed() -> None:
    assert without_reasoning("<think>a</think><reasoning>b</reasoning>c") == "c"
    assert without_reasoning("<think>a [/THINK] b</think>c") == "c"
    assert without_reasoning("</think><thinking>a") is None


ANALYSIS = "<|channel|>analysis<|message|>red or blue?<|end|>"
START = "<|start|>assistant"


@each(
    "raw",
    [
        "<THINK>red</THINK>Blue.", "<Think>red</Think>Blue.", "< think >red</ think >Blue.",
        "<think\n>red< / think>Blue.", "[think]red[/think]Blue.", "<|think|>red<|/think|>Blue.",
        "<START_THINKING>red<END_THINKING><START_RESPONSE>Blue.<END_RESPONSE>",
        "HERE IS MY THOUGHT PROCESS:\nred\nhere is\nmy response: Blue.",
        # As models really write it.
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
        f"{ANALYSIS}{START}<|channel|>final<|message|>Blue.<|return|>",
        f"{START}{ANALYSIS}{START}<|channel|>final<|message|>Blue.",
        f"{ANALYSIS}{START}{ANALYSIS}{START}<|channel|>final<|message|>Blue.<|end|>",
        f"{ANALYSIS}{START}<|channel|>final <|constrain|>text<|message|>Blue.<|return|>",
        f"{ANALYSIS}<|channel|>final<|message|>Blue.",
        f"{ANALYSIS}assistant<|channel|>final<|message|>Blue.",
        f"red or blue?<|end|>{START}<|channel|>final<|message|>Blue.",
        f"{START}<|message|>Blue.<|return|>",
        f"{ANALYSIS}{START}<|channel|>commentary<|message|>Blue.<|end|>",
        f"{START}<|channel|>commentary to=functions.look <|constrain|>json<|message|>{{}}<|call|>"
        f"{START}<|channel|>final<|message|>Blue.<|return|>",
        f"{START}<|channel|>commentary<|message|>I look.<|end|>{START}<|channel|>final<|message|>Blue.<|return|>",
        f"{ANALYSIS}{START}<|channel|>final<|message|>Blue.<|end|><|start|>user<|message|>And the gate?<|end|>",
        f"{ANALYSIS}{START}<|channel|>final<|message|>Blue.<|end|>{START}<|channel|>analysis<|message|>but",
        f"{ANALYSIS}{START}<|channel|>final<|message|>Red?<|end|>{START}<|channel|>final<|message|>Blue.<|return|>",
        f"{ANALYSIS}{START}<|channel|>final<|message|>Blue.<|end|>{START}<|channel|>fin",
        "analysisWe look.assistantanalysisOnce more.assistantfinalBlue.",
        'analysisWe look.assistantcommentary to=functions.look json{"a": 1}assistantfinalBlue.',
        f"{ANALYSIS}Blue.", "final<|message|>Blue.", "analysisred or blue?assistantfinalBlue.", "assistantfinalBlue.",
        "analysisWe look.assistantcommentaryBlue.", "We look, as the prompt began.assistantfinalBlue.", "finalBlue.",
    ],
)  # fmt: skip
def test_tags_and_channels_are_recognised_in_any_case_with_any_white_space_and_special_tokens(raw: str) -> None:
    for cut in (False, True):
        assert extract_answer(raw, cut=cut) == Extracted("Blue.")


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


@each(("text", "expected"), [
    # The name of a constraint is not part of the answer.
    (f'{ANALYSIS}{START}<|channel|>final <|constrain|>json<|message|>{{"a": 1}}<|return|>', '{"a": 1}'),
    ('analysisWe look.assistantfinal json{"a": 1}', '{"a": 1}'),
    ('analysisWe look.assistantfinaljson {"a": 1}', ' {"a": 1}'),
    ("analysisWe look.assistantfinaljson is a format", "json is a format"),
    # A missing answer after finished messages is empty.
    (ANALYSIS, ""), (f"{ANALYSIS}{START}", ""), (f"{ANALYSIS}{START}<|channel|>final<|message|>", ""),
    ("<|channel|>commentary to=functions.look <|constrain|>json<|message|>{}<|call|>", ""),
    ("analysisWe look.assistantfinal", ""),
])  # fmt: skip
def test_only_the_words_of_the_final_message_are_the_answer(text: str, expected: str) -> None:
    assert extract_answer(text) == Extracted(expected.strip())


@each("text", [
    "<|channel|>analysis<|message|>red or", f"{START}<|channel|>analysis<|message|>red or",
    f"{ANALYSIS}{START}<|channel|>analysis<|message|>red or", f"{START}<|channel|>analysis", START, "<|channel|>",
    "analysisWe need the gate. Red or", "analysisWe need the gate.assistantanalysisRed or", "analysisRed?",
    "<think>red", "<think>so it is <answer>red", "<think>\\boxed{red}",
    "<seed:think>red <seed:cot_budget_reflect>I have used 129 tokens.</seed:cot_budget_reflect> or blue",
])  # fmt: skip
def test_reasoning_that_never_ends_leaves_no_answer(text: str) -> None:
    for cut in (False, True):
        assert extract_answer(text, cut=cut) == Extracted("", unclosed=True)


@each("text", [
    "Analysis of the text shows that it is blue.", "analysis of the text shows that it is blue.", "analysis: blue",
    "analysis", "Analyses differ.", "finally, blue", "The assistant finally says blue.",
    "Write <|channel|>analysis before what you think.", "A header ends in <|message|>, then comes the text.", "",
])  # fmt: skip
def test_an_answer_may_begin_with_a_channels_name_or_mention_channels(text: str) -> None:
    assert extract_answer(text) == Extracted(text)


def test_what_may_be_analysis_counts_as_analysis_only_in_a_cut_text() -> None:
    for text in ("analysis The user asks for", "analysis\nWe need", "analysis用户问的是", 'analysis"The gate'):
        assert extract_answer(text) == Extracted(text)
        assert extract_answer(text, cut=True) == Extracted("", unclosed=True)
    for text in ("analysis of the text shows", "Analysis The user"):
        assert extract_answer(text, cut=True) == Extracted(text)


END_MARKS = [
    "<|endoftext|>", "<|im_end|>", "<|eot_id|>", "<|eom_id|>", "<|end|>", "<|return|>", "</s>", "<end_of_turn>",
    "<turn|>", "<|end_of_text|>", "<｜end▁of▁sentence｜>", "<eos>", "<EOS>", "[EOS]", "<|END_OF_TURN_TOKEN|>",
    "<|endofturn|>", "[|endofturn|]", "<seed:eos>", "<|user|>", "<|END_RESPONSE|>", "END_RESPONSE", "<END_TEXT>",
    "<|end_of_role|>", "<eot>", "<pad>", "[PAD]", "[e~[", "<|eot|>", "<|hy_place▁holder▁no▁2|>",
]  # fmt: skip
LEADING = [
    "\ufeff", "<s>", "<bos>", "<|begin_of_text|>", "<｜begin▁of▁sentence｜>", "<|startoftext|>", "<BOS_TOKEN>", "[BOS]",
    "<seed:bos>", "[gMASK]<sop>", "<|im_start|>assistant\n", "<|start_header_id|>assistant<|end_header_id|>\n\n",
    "<|header_start|>assistant<|header_end|>\n\n", "<start_of_turn>model\n", "<|turn>model\n", "<｜Assistant｜>",
    "<|assistant|>", "[|assistant|]", "<|start_of_role|>assistant<|end_of_role|>", "<|CHATBOT_TOKEN|>",
    "<|START_RESPONSE|>", "<|START_TEXT|>",
]  # fmt: skip


@each("mark", END_MARKS)
def test_end_marks_are_removed_with_the_space_around_them(mark: str) -> None:
    for text in (f"blue{mark}", f"blue \n{mark} {mark}\n", f"blue{mark}</s>", "blue \u200b"):
        assert without_end_marks(text) == "blue"
    assert without_end_marks(f"red{mark}blue") == f"red{mark}blue"
    assert without_end_marks(mark) == ""


@each("text", ["a <b", "[1]", "x|>", "<blue>", "<|end_of_box|>", "[x]", "a [|", "END_", "<|a b|>"])
def test_text_that_only_looks_like_an_end_mark_is_unchanged(text: str) -> None:
    assert without_end_marks(text) == text


@each("token", LEADING)
def test_special_tokens_before_the_first_word_are_removed(token: str) -> None:
    assert without_leading_tokens(f"{token}blue") == "blue"
    assert without_leading_tokens(f" <s>{token} blue") == "blue"
    assert without_leading_tokens(f"red {token}blue") == f"red {token}blue"


@each(
    "opening", ["<|im_start|>user\n", "<|start_header_id|>user<|end_header_id|>", "<start_of_turn>user", "<｜User｜>",
                "<|user|>", "[|user|]", "<|START_OF_TURN_TOKEN|><|USER_TOKEN|>"],
)  # fmt: skip
def test_a_next_turn_that_the_model_wrote_is_not_part_of_its_answer(opening: str) -> None:
    assert without_next_turn(f"Blue.{opening}And the gate?") == "Blue."
    assert without_next_turn(f" {opening}And the gate?") == f" {opening}And the gate?"
