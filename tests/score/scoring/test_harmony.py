"""The last final message of gpt-oss is the answer, with its special tokens or without them."""

from __future__ import annotations

from each import each

from niah_score.scoring.harmony import final_text

ANALYSIS = "<|channel|>analysis<|message|>red or blue?<|end|>"
START = "<|start|>assistant"


@each(
    "text",
    [
        f"{ANALYSIS}{START}<|channel|>final<|message|>Blue.<|return|>",
        f"{START}{ANALYSIS}{START}<|channel|>final<|message|>Blue.",
        f"{ANALYSIS}{START}{ANALYSIS}{START}<|channel|>final<|message|>Blue.<|end|>",
        f"{ANALYSIS}{START}<|channel|>final <|constrain|>text<|message|>Blue.<|return|>",
        f"{ANALYSIS}<|channel|>final<|message|>Blue.",
        f"{ANALYSIS}assistant<|channel|>final<|message|>Blue.",
        f"{ANALYSIS}Blue.",
        f"red or blue?<|end|>{START}<|channel|>final<|message|>Blue.",
        "final<|message|>Blue.",
        f"{START}<|message|>Blue.<|return|>",
        f"{ANALYSIS}{START}<|channel|>commentary<|message|>Blue.<|end|>",
        f"{START}<|channel|>commentary to=functions.look <|constrain|>json<|message|>{{}}<|call|>"
        f"{START}<|channel|>final<|message|>Blue.<|return|>",
        f"{START}<|channel|>commentary<|message|>I look.<|end|>{START}<|channel|>final<|message|>Blue.<|return|>",
        f"{ANALYSIS}{START}<|channel|>final<|message|>Blue.<|end|><|start|>user<|message|>And the gate?<|end|>",
        f"{ANALYSIS}{START}<|channel|>final<|message|>Blue.<|end|>{START}<|channel|>analysis<|message|>but",
        f"{ANALYSIS}{START}<|channel|>final<|message|>Red?<|end|>{START}<|channel|>final<|message|>Blue.<|return|>",
        f"{ANALYSIS}{START}<|channel|>final<|message|>Blue.<|end|>{START}<|channel|>fin",
        "analysisred or blue?assistantfinalBlue.",
        "analysisWe look.assistantanalysisOnce more.assistantfinalBlue.",
        'analysisWe look.assistantcommentary to=functions.look json{"a": 1}assistantfinalBlue.',
        "analysisWe look.assistantcommentaryBlue.",
        "We look, as the prompt began.assistantfinalBlue.",
        "assistantfinalBlue.",
        "finalBlue.",
    ],
)
def test_the_final_message_is_the_answer(text: str) -> None:
    for cut in (False, True):
        assert (final_text(text, cut) or "").strip() == "Blue."


@each(
    "text",
    [
        f'{ANALYSIS}{START}<|channel|>final <|constrain|>json<|message|>{{"a": 1}}<|return|>',
        'analysisWe look.assistantfinal json{"a": 1}',
        'analysisWe look.assistantfinaljson {"a": 1}',
    ],
)
def test_the_name_of_a_constraint_is_not_part_of_the_answer(text: str) -> None:
    assert (final_text(text, False) or "").strip() == '{"a": 1}'
    assert final_text("analysisWe look.assistantfinaljson is a format", False) == "json is a format"


@each(
    "text",
    [
        "<|channel|>analysis<|message|>red or",
        f"{START}<|channel|>analysis<|message|>red or",
        f"{ANALYSIS}{START}<|channel|>analysis<|message|>red or",
        f"{START}<|channel|>analysis",
        START,
        "<|channel|>",
        "analysisWe need the gate. Red or",
        "analysisWe need the gate.assistantanalysisRed or",
    ],
)
def test_analysis_that_never_ends_leaves_no_answer(text: str) -> None:
    assert final_text(text, False) is final_text(text, True) is None


@each(
    "text",
    [
        ANALYSIS,
        f"{ANALYSIS}{START}",
        f"{ANALYSIS}{START}<|channel|>final<|message|>",
        "<|channel|>commentary to=functions.look <|constrain|>json<|message|>{}<|call|>",
        "analysisWe look.assistantfinal",
    ],
)
def test_a_missing_answer_after_finished_messages_is_empty(text: str) -> None:
    assert final_text(text, False) == ""


@each(
    "text",
    [
        "Analysis of the text shows that it is blue.",
        "analysis of the text shows that it is blue.",
        "analysis: blue",
        "analysis",
        "Analyses differ.",
        "finally, blue",
        "final answer: blue",
        "The assistant finally says blue.",
        "Write <|channel|>analysis before what you think.",
        "A header ends in <|message|>, then comes the text.",
        "",
    ],
)
def test_an_answer_may_begin_with_a_channels_name_or_mention_channels(text: str) -> None:
    assert final_text(text, False) == text


def test_what_may_be_analysis_counts_as_analysis_only_in_a_cut_text() -> None:
    for text in ("analysis The user asks for", "analysis\nWe need", "analysis用户问的是", 'analysis"The gate'):
        assert final_text(text, False) == text
        assert final_text(text, True) is None
    for text in ("analysis of the text shows", "Analysis The user"):
        assert final_text(text, True) == text
