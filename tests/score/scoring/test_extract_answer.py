"""The answer is extracted from a whole output, whatever its length and shape."""

from __future__ import annotations

from each import each
from hypothesis import given
from hypothesis import strategies as st
from properties import examples

from niah_score.scoring.extract_answer import LONGEST, REASONING_TAGS, Extracted, extract_answer


@each(
    ("raw", "expected"),
    [
        ("It is blue.", "It is blue."),
        (" blue \n", "blue"),
        ("<s> blue</s>", "blue"),
        ("\ufeffblue\u200b", "blue"),
        ("<think>\nred\n</think>\n<answer>\nblue\n</answer>", "blue"),
        ("<think>red, so <answer>blue</answer>", "blue"),
        ("<think>red</think>\\boxed{blue}</s>", "blue"),
        ("<think>\\boxed{red}</think>blue", "blue"),
        ("<think>red</think>```json\n{\"answer\": \"blue\"}\n```<|im_end|>", "blue"),
        ("<think>red</think>\n<|begin_of_box|>blue<|end_of_box|>", "blue"),
        ('<|channel|>final <|constrain|>json<|message|>{"answer": "blue"}<|return|>', "blue"),
        ("Red? No.\n\nFinal answer: $\\boxed{\\text{blue}}$.", "blue"),
        ('Final answer: ["blue", "red"]', "blue, red"),
        ("**Final answer:** **blue**", "blue"),
        ("<answer><b>blue</b> gate</answer>", "blue gate"),
        ('{"answer": "\\\\boxed{blue}"}', "blue"),
        ('{"reasoning": "\\\\boxed{5} is a step", "answer": "blue"}', "blue"),
        ("blue\n</think>", "blue"),
        ("\\boxed{}", "\\boxed{}"),
        ("<answer></answer>", "<answer></answer>"),
        ("", ""),
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
    "<think>",
    "</think>",
    "<think></think>",
    "x<think>",
    "<think",
    "< ",
    "<" + " " * 999,
    "<|",
    "<|channel|>",
    "<|start|>",
    "<|message|>",
    "<|start|>assistant<|channel|>analysis<|message|>x<|end|>",
    "assistantfinal",
    "analysisa",
    "START_THINKING ",
    "Here is my ",
    "<seed:cot_budget_reflect>",
    "</s>",
    "</s> ",
    "\n" * 999 + "</s>",
    "[",
    "[|a",
    "\\boxed{",
    "\\boxed{}",
    "\\boxed{a} ",
    "\\boxed{a}" + " " * 999,
    "\\text{",
    "\\text{a}",
    "{}",
    "}",
    "\\",
    "\\\\",
    "\\,",
    "$",
    "$$",
    "a$",
    "1{,}",
    "{",
    '"',
    '{"a":',
    '{"answer":',
    '[{"answer":1},',
    '\\"',
    "{\n",
    "```",
    "```json{",
    "`a",
    "``",
    "**",
    "*a",
    "~~a",
    "[a](",
    "&a",
    "<a ",
    "<p ",
    "> ",
    "\n>",
    "<answer>",
    "</answer>",
    "<answer>x",
    "Answer:",
    "\nAnswer: x",
    "Final answer: ",
    "final answer is ",
    "the ",
    "最终答案：",
    "。答案：",
    "# ",
    "*_#:",
    "\\u975b",
    "\\ud800",
    " ",
    "\n",
]


AROUND = [("", ""), ("<think>", "x"), ("\\boxed{", "}"), ('"', '"'), ("Answer:", "")]


@each("number", range(len(HOSTILE)))
def test_a_long_text_of_any_marks_is_read_in_linear_time(number: int) -> None:
    """Work that grows with the square of the length would not end within an hour."""
    before, after = AROUND[number % len(AROUND)]
    raw = before + HOSTILE[number] * (LONGEST // 3 // len(HOSTILE[number])) + after
    answer = extract_answer(raw, "x", cut=True)
    assert answer.text == answer.text.strip()
