"""Tags and words that mark the part of a text that is the answer."""

from __future__ import annotations

from each import each

from niah_score.scoring.answer_marks import after_answer_words, ends_in_answer_tags, in_answer_tags
from niah_score.scoring.extract_answer import extract_answer

EXPLANATION = (
    " The text says so in its third chapter, where the keeper paints the gallery railing, and nowhere else at all."
)


@each(
    ("text", "expected"),
    [
        ("So <answer>blue</answer>", "blue"),
        ("<Answer>\nblue\n</Answer>", "blue"),
        ("< answer >blue</ answer >", "blue"),
        ("<final_answer>blue</final_answer>", "blue"),
        ("<response>blue</response>", "blue"),
        ("<答案>蓝色</答案>", "蓝色"),
        ("<answer>red</answer>, no: <answer>blue</answer>", "blue"),
        ("<answer>blue</answer> <answer></answer>", "blue"),
        ("<answer>blue</answer> I hope that helps!", "blue"),
        ("<answer>blue", "blue"),
        ("I look.\n<answer>blue", "blue"),
        ("blue</answer>", "blue"),
        ("It stands in <answer></answer> tags: blue.", "It stands in <answer></answer> tags: blue."),
        ("Put it in <answer> and blue it is.", "Put it in <answer> and blue it is."),
        (f"It is <answer>blue</answer>.{EXPLANATION}", f"It is  blue .{EXPLANATION}"),
        ("blue", "blue"),
    ],
)
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
        ("Is it red? No.\n\nFinal answer: **blue**", "**blue**"),
        ("**Final Answer:** blue", "blue"),
        ("**Final answer**: blue", "blue"),
        ("### Final Answer\nblue", "blue"),
        ("FINAL ANSWER： blue", "blue"),
        ("So the final answer is blue.", "blue."),
        ("My final answer is: blue", "blue"),
        ("Final answer: red? Final answer: blue", "blue"),
        ("是红色吗？\n最终答案：蓝色", "蓝色"),
        ("**最终答案**：蓝色", "蓝色"),
        ("最終答案是藍色", "藍色"),
        ("最后的答案为：蓝色", "蓝色"),
        ("Answer: blue", "blue"),
        ("**Answer:** blue", "blue"),
        ("# Answer\nblue", "blue"),
        ("I look.\n\nAnswer: blue", "blue"),
        ("答：蓝色", "蓝色"),
        ("先看第一段。答案：蓝色", "蓝色"),
        ("Answer: blue\n\nThe text says so.", "blue\n\nThe text says so."),
    ],
)
def test_the_text_after_words_such_as_final_answer_is_the_answer(text: str, expected: str) -> None:
    assert after_answer_words(text) == expected


@each(
    "text",
    [
        "It is blue, and that is the final answer.",
        "The final answer is not red.",
        "blue\nFinal answer:",
        "blue\n\nAnswer: ",
        'It asks for a "final answer: ..." line. Blue.',
        "It answers: blue",
        "The answer is blue.",
        "The answer is limited to what is stated: blue",
        "blue\n\nAnswer: red\n\nAnother paragraph.",
        "Answer: blue\nAnswer: red",
        "semifinal answer: red",
        "",
    ],
)
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
