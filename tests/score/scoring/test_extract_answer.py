"""The answer is extracted from a whole output, whatever its length and shape, by tags and words that mark it."""

from __future__ import annotations

from each import each
from hypothesis import given
from hypothesis import strategies as st
from properties import examples

from niah_score.join.reading import LONGEST
from niah_score.scoring.extract_answer import (
    REASONING_TAGS,
    Extracted,
    after_answer_words,
    ends_in_answer_tags,
    extract_answer,
    in_answer_tags,
)


@each(
    ("raw", "expected"),
    [
        ("It is blue.", "It is blue."), (" blue \n", "blue"), ("<s> blue</s>", "blue"), ("\ufeffblue\u200b", "blue"),
        ("<think>\nred\n</think>\n<answer>\nblue\n</answer>", "blue"), ("<think>red, so <answer>blue</answer>", "blue"),
        ("<think>red</think>\\boxed{blue}</s>", "blue"), ("<think>\\boxed{red}</think>blue", "blue"),
        ("<think>red</think>```json\n{\"answer\": \"blue\"}\n```<|im_end|>", "blue"),
        ("<think>red</think>\n<|begin_of_box|>blue<|end_of_box|>", "blue"),
        ('<|channel|>final <|constrain|>json<|message|>{"answer": "blue"}<|return|>', "blue"),
        ("Red? No.\n\nFinal answer: $\\boxed{\\text{blue}}$.", "blue"), ('Final answer: ["blue", "red"]', "blue, red"),
        ("**Final answer:** **blue**", "blue"), ("<answer><b>blue</b> gate</answer>", "blue gate"),
        ('{"answer": "\\\\boxed{blue}"}', "blue"),
        ('{"reasoning": "\\\\boxed{5} is a step", "answer": "blue"}', "blue"), ("blue\n</think>", "blue"),
        ("\\boxed{}", "\\boxed{}"), ("<answer></answer>", "<answer></answer>"), ("", ""),
    ],
)  # fmt: skip
def test_the_answer_is_extracted_from_a_whole_output(raw: str, expected: str) -> None:
    assert extract_answer(raw) == Extracted(expected)


@each("raw", ["<think>red", "<think>so it is <answer>red", "analysisRed?", "<think>\\boxed{red}"])
def test_unfinished_reasoning_has_no_answer(raw: str) -> None:
    assert extract_answer(raw) == Extracted("", unclosed=True)


@each(
    "raw",
    [
        "analysisRed?assistantfinalblue", "analysisRed?", "finalBlue", "final蓝色", "We look.assistantfinalblue",
        "START_THINKING red", "here is my thought process: red", "Here is my response: blue", "Answer: blue",
        "so\nANSWER: blue", "# answer\nblue", "the final answer is blue", "答：蓝色", "最终的答案是蓝色", '"blue"',
        '["blue"]', '{"answer": 7}', "\ufeffblue", "blue\u200b", "**blue**", "*blue*", "`blue`", "~~red~~ blue",
        "> blue", "R&amp;D", "$7$", "blue END_TEXT", "\\u0041",
    ],
)  # fmt: skip
def test_what_is_marked_or_marked_up_is_not_its_own_answer(raw: str) -> None:
    assert extract_answer(raw) != Extracted(raw)


def test_finished_reasoning_with_nothing_after_it_leaves_an_empty_answer() -> None:
    assert extract_answer("<think>red</think></s>") == Extracted("")


def test_own_tags_and_truncation_decide_what_counts_as_reasoning() -> None:
    assert extract_answer("((red))blue", tags=(("((", "))"),)) == Extracted("blue")
    assert extract_answer("analysis The user asks", cut=True) == Extracted("", unclosed=True)


def test_the_answer_prefix_of_a_prompt_is_removed_where_the_answer_begins_with_it() -> None:
    assert extract_answer("The colour is: blue", "The colour is:") == Extracted("blue")
    assert extract_answer("<think>hm</think> The colour is: blue", " The colour is:\n") == Extracted("blue")
    assert extract_answer("The colour is:", "The colour is:") == Extracted("")
    assert extract_answer("答案是上海", "答案是") == Extracted("上海")
    assert extract_answer("Answer: blue", "Answer:") == Extracted("blue")
    assert extract_answer("I say: The colour is: blue", "The colour is:") == Extracted("I say: The colour is: blue")
    for prefix in (None, "", "  "):
        assert extract_answer(" blue ", prefix) == Extracted("blue")


def test_a_prefix_that_ends_within_a_word_is_not_removed() -> None:
    assert extract_answer("It isn't said.", "It is") == Extracted("It isn't said.")
    assert extract_answer("It is blue.", "It is") == Extracted("blue.")


words = st.text("ab 。blue上海\n", max_size=12)


@examples(150)
@given(
    thought=st.none() | words,
    tags=st.sampled_from(REASONING_TAGS),
    answer=words,
    form=st.sampled_from(["{}", "<answer>{}</answer>", "so \\boxed{{{}}}", "Final answer: {}"]),
    mark=st.sampled_from(["", "</s>", "<|im_end|>", "<eos>"]),
)
def test_extracting_an_extracted_answer_changes_nothing(
    thought: str | None, tags: tuple[str, str], answer: str, form: str, mark: str
) -> None:
    raw = "" if thought is None else f"{tags[0]}{thought}{tags[1]}"
    once = extract_answer(raw + form.format(answer) + mark)
    assert extract_answer(once.text) == once
    if answer.strip():
        assert once == Extracted(answer.strip())


@examples(150)
@given(raw=st.text(max_size=30), prefix=st.none() | st.text(max_size=4))
def test_the_answer_of_any_text_is_stripped(raw: str, prefix: str | None) -> None:
    answer = extract_answer(raw, prefix).text
    assert answer == answer.strip()


HOSTILE = [
    "<think>", "</think>", "<think></think>", "x<think>", "<think", "< ", "<" + " " * 999, "<|", "<|channel|>",
    "<|start|>", "<|message|>", "<|start|>assistant<|channel|>analysis<|message|>x<|end|>", "assistantfinal",
    "analysisa", "START_THINKING ", "Here is my ", "<seed:cot_budget_reflect>", "</s>", "</s> ", "\n" * 999 + "</s>",
    "[", "[|a", "\\boxed{", "\\boxed{}", "\\boxed{a} ", "\\boxed{a}" + " " * 999, "\\text{", "\\text{a}", "{}", "}",
    "\\", "\\\\", "\\,", "$", "$$", "a$", "1{,}", "{", '"', '{"a":', '{"answer":', '[{"answer":1},', '\\"', "{\n",
    "```", "```json{", "`a", "``", "**", "*a", "~~a", "[a](", "&a", "<a ", "<p ", "> ", "\n>", "<answer>", "</answer>",
    "<answer>x", "Answer:", "\nAnswer: x", "Final answer: ", "final answer is ", "the ", "最终答案：", "。答案：", "# ",
    "*_#:", "\\u975b", "\\ud800", " ", "\n",
]  # fmt: skip


AROUND = [("", ""), ("<think>", "x"), ("\\boxed{", "}"), ('"', '"'), ("Answer:", "")]


@each("number", range(len(HOSTILE)))
def test_a_long_text_of_any_marks_is_read_in_linear_time(number: int) -> None:
    """Work that grows with the square of the length would take minutes."""
    before, after = AROUND[number % len(AROUND)]
    raw = before + HOSTILE[number] * (LONGEST // 12 // len(HOSTILE[number])) + after
    answer = extract_answer(raw, "x", cut=True)
    assert answer.text == answer.text.strip()


EXPLANATION = (
    " The text says so in its third chapter, where the keeper paints the gallery railing, and nowhere else at all."
)


@each(
    ("text", "expected"),
    [
        ("So <answer>blue</answer>", "blue"), ("<Answer>\nblue\n</Answer>", "blue"),
        ("< answer >blue</ answer >", "blue"), ("<final_answer>blue</final_answer>", "blue"),
        ("<response>blue</response>", "blue"), ("<答案>蓝色</答案>", "蓝色"),
        ("<answer>red</answer>, no: <answer>blue</answer>", "blue"),
        ("<answer>blue</answer> <answer></answer>", "blue"), ("<answer>blue</answer> I hope that helps!", "blue"),
        ("<answer>blue", "blue"), ("I look.\n<answer>blue", "blue"), ("blue</answer>", "blue"),
        ("It stands in <answer></answer> tags: blue.", "It stands in <answer></answer> tags: blue."),
        ("Put it in <answer> and blue it is.", "Put it in <answer> and blue it is."),
        (f"It is <answer>blue</answer>.{EXPLANATION}", f"It is  blue .{EXPLANATION}"), ("blue", "blue"),
    ],
)  # fmt: skip
def test_the_text_in_answer_tags_is_the_answer(text: str, expected: str) -> None:
    assert in_answer_tags(text).strip() == expected


def test_only_a_closed_answer_at_the_end_counts_as_ending_in_answer_tags() -> None:
    assert ends_in_answer_tags("<think>so <answer>blue</answer>\n")
    for text in ("<answer>blue", "blue</answer>", "<answer>blue</answer> so", "</answer><answer>", ""):
        assert not ends_in_answer_tags(text)


@each(
    ("text", "expected"),
    [
        ("Red, but that is another town's. Final answer: blue", "blue"),
        ("Is it red? No.\n\nFinal answer: **blue**", "**blue**"), ("**Final Answer:** blue", "blue"),
        ("**Final answer**: blue", "blue"), ("### Final Answer\nblue", "blue"), ("FINAL ANSWER： blue", "blue"),
        ("So the final answer is blue.", "blue."), ("My final answer is: blue", "blue"),
        ("Final answer: red? Final answer: blue", "blue"), ("是红色吗？\n最终答案：蓝色", "蓝色"),
        ("**最终答案**：蓝色", "蓝色"), ("最終答案是藍色", "藍色"), ("最后的答案为：蓝色", "蓝色"),
        ("Answer: blue", "blue"), ("**Answer:** blue", "blue"), ("# Answer\nblue", "blue"),
        ("I look.\n\nAnswer: blue", "blue"), ("答：蓝色", "蓝色"), ("先看第一段。答案：蓝色", "蓝色"),
        ("Answer: blue\n\nThe text says so.", "blue\n\nThe text says so."),
    ],
)  # fmt: skip
def test_the_text_after_words_such_as_final_answer_is_the_answer(text: str, expected: str) -> None:
    assert after_answer_words(text) == expected


@each(
    "text",
    [
        "It is blue, and that is the final answer.", "The final answer is not red.", "blue\nFinal answer:",
        "blue\n\nAnswer: ", 'It asks for a "final answer: ..." line. Blue.', "It answers: blue", "The answer is blue.",
        "The answer is limited to what is stated: blue", "blue\n\nAnswer: red\n\nAnother paragraph.",
        "Answer: blue\nAnswer: red", "semifinal answer: red", "",
    ],
)  # fmt: skip
def test_a_text_without_answer_words_is_unchanged(text: str) -> None:
    assert after_answer_words(text) == text


def test_a_further_question_or_context_ends_the_answer() -> None:
    for text in (
        "blue\n\nQuestion: And the gate?\nAnswer: red",
        "blue\nQ: And the gate?\nA: red",
        "blue\n**Context:** The gate is red.",
        "blue\n###\nred",
        "blue\nHuman: And the gate?",
    ):
        assert extract_answer(text).text == "blue", text
    assert extract_answer("蓝色\n\n问题：门呢？\n答案：红色").text == "蓝色"
    assert extract_answer("Question: Which colour?\nAnswer: blue\nQuestion: And the gate?\nAnswer: red").text == "blue"
    assert extract_answer("题目：什么颜色？\n答案：蓝色\n题目：门呢？\n答案：红色").text == "蓝色"


def test_what_words_or_a_bold_last_line_mark_as_the_answer_is_the_answer() -> None:
    for text in (
        "The gate is red. The correct answer is blue",
        "The gate is red. The answer is: blue",
        "The gate is red.\n\n**blue**",
        "The gate is red.\nConclusion: blue",
        "The gate is red.\n## Conclusion\nblue",
        "门是红的。答案是blue",
        "门是红的。故答案为blue",
        "门是红的。正确答案：blue",
        "门是红的。\n结论：blue",
        "门是红的。综上，blue",
    ):
        assert extract_answer(text).text == "blue", text
