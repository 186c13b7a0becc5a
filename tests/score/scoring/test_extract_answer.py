"""The final answer in what a model wrote: after its reasoning, without markup, tags, JSON and introductions."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from each import each
from hypothesis import given
from hypothesis import strategies as st
from made import written
from properties import examples

from niah_score.judge import Judge
from niah_score.scoring.extract_answer import (
    REASONING_TAGS,
    Extracted,
    extract_answer,
    json_answer,
)
from niah_score.scoring.markup import without_latex

EXPLANATION = (
    " The text says so in its third chapter, where the keeper paints the gallery railing, and nowhere else at all."
)


@each(("text", "expected"), [
    # Whole outputs.
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
    # The last answer in tags that is closed and not empty.
    ("So <answer>blue</answer>", "blue"), ("<Answer>\nblue\n</Answer>", "blue"),
    ("< answer >blue</ answer >", "blue"), ("<final_answer>blue</final_answer>", "blue"),
    ("<response>blue</response>", "blue"), ("<答案>蓝色</答案>", "蓝色"),
    ("<answer>red</answer>, no: <answer>blue</answer>", "blue"),
    ("<answer>blue</answer> <answer></answer>", "blue"), ("<answer>blue</answer> I hope that helps!", "blue"),
    ("<answer>blue", "blue"), ("I look.\n<answer>blue", "blue"), ("blue</answer>", "blue"),
    ("It stands in <answer></answer> tags: blue.", "It stands in <answer></answer> tags: blue."),
    ("Put it in <answer> and blue it is.", "Put it in <answer> and blue it is."),
    (f"It is <answer>blue</answer>.{EXPLANATION}", f"It is  blue .{EXPLANATION}"), ("blue", "blue"),
    # What follows words such as "Final answer:".
    ("Red, but that is another town's. Final answer: blue", "blue"),
    ("Is it red? No.\n\nFinal answer: **blue**", "blue"), ("**Final Answer:** blue", "blue"),
    ("**Final answer**: blue", "blue"), ("### Final Answer\nblue", "blue"), ("FINAL ANSWER： blue", "blue"),
    ("So the final answer is blue.", "blue."), ("My final answer is: blue", "blue"),
    ("Final answer: red? Final answer: blue", "blue"), ("是红色吗？\n最终答案：蓝色", "蓝色"),
    ("**最终答案**：蓝色", "蓝色"), ("最終答案是藍色", "藍色"), ("最后的答案为：蓝色", "蓝色"),
    ("Answer: blue", "blue"), ("**Answer:** blue", "blue"), ("# Answer\nblue", "blue"),
    ("I look.\n\nAnswer: blue", "blue"), ("答：蓝色", "蓝色"), ("先看第一段。答案：蓝色", "蓝色"),
    ("Answer: blue\n\nThe text says so.", "blue\n\nThe text says so."),
    # JSON.
    ('{"answer": "blue"}', "blue"), ('{"Answer": "blue", "confidence": 0.9}', "blue"),
    ('{"reasoning": "red?", "final_answer": "blue", "answer": "red"}', "blue"),
    ('{"final answer": "blue"}', "blue"), ('{"value": 417}', "417"), ('{"value": 4.350}', "4.350"),
    ('{"result": 1e400}', "1e400"), ('{"response": {"answer": "blue"}}', "blue"),
    ('{"answer": {"gate": "blue", "lamps": ["red", 7]}}', "blue, red, 7"),
    ('{"answers": ["blue", "red"]}', "blue, red"), ('{"answer_1": "blue", "answer_2": "red"}', "blue, red"),
    ('{"答案": "\\u975b\\u84dd\\u8272"}', "靛蓝色"), ('{"answer": null}', "null"), ('{"answer": true}', "true"),
    ('{"answer": "two\nlines"}', "two\nlines"), ('["blue", 7, "red"]', "blue, 7, red"),
    ('[["blue"], ["red"]]', "blue, red"), ('[{"answer": "blue"}, {"answer": "red"}]', "blue, red"),
    ('"blue \\"gate\\""', 'blue "gate"'), ('"{\\"answer\\": \\"blue\\"}"', "blue"),
    ('```json\n{"answer": "blue"}\n```', "blue"), ('```\n{"answer": "blue"}\n```', "blue"),
    ('```json\n["blue", "red"]\n```', "blue, red"),
    ('Here it is:\n```json\n{"answer": "blue"}\n```\nI hope that helps.', "blue"),
    ('Here it is: ```json {"answer": "blue"}``` as you asked.', "blue"), ('Sure! {"answer": "blue"}', "blue"),
    ('{"answer": "blue"}\n\nThe text says so.', "blue"), ('{"answer": "red"}\nNo:\n{"answer": "blue"}', "blue"),
    ('{"a": {"a": 1}}\n{"answer": "blue"}', "blue"), ('{"answer": "\\ud83d\\ude00 \\ud83d"}', "😀 \ufffd"),
    # Markup is removed.
    ("<p>Drawer <b>417</b></p>", "Drawer 417"), ('<div class="x">Drawer<br/>417</div>', "Drawer\n417"),
    ("<STRONG>Dolores</STRONG> <span style='x'>Park</span>", "Dolores Park"),
    ("Tom &amp; Jerry&#39;s, &pound;4.35", "Tom & Jerry's, £4.35"),
    ("It is in drawer **417**.", "It is in drawer 417."), ("***Drawer*** *417*", "Drawer 417"),
    ("Dolores **Park**", "Dolores Park"), ("靛**蓝**色", "靛蓝色"), ("Drawer `417`", "Drawer 417"),
    ("```\nDrawer 417\n```", "Drawer 417"), ("```text\nDrawer 417\n```", "Drawer 417"),
    ("~~Drawer 512~~ Drawer 417", "Drawer 417"), ("> Drawer 417", "Drawer 417"), ("> Drawer\n> 417", "Drawer\n417"),
    ("[Drawer 417](https://example.org/a)", "Drawer 417"),
    # The content of a box at the end is the answer.
    (r"It is \boxed{blue}.", "blue"), (r"$\boxed{\text{blue gate}}$", "blue gate"),
    (r"$$\boxed{\textrm{blue}}$$", "blue"), (r"\[ \boxed{\mathrm{blue} \textbf{gate}} \]", "blue gate"),
    (r"\boxed{\text{\mathbf{blue}}}", "blue"), (r"\boxed{\text{a {b} c}}", "a {b} c"), (r"\boxed{x^{2}}", "x^{2}"),
    (r"\boxed{\boxed{blue}}", "blue"), (r"\boxed{red \boxed{blue} red}", "red blue red"), (r"\fbox{blue}", "blue"),
    (r"\boxed {blue}", "blue"), (r"\boxed{blue} \boxed{}", "blue"), (r"\boxed{blue} \boxed{ \text{ } }", "blue"),
    (r"}} \boxed{blue} }", "blue"), (r"{ \boxed{blue}", "blue"), (r"\boxed{ 上海 }", "上海"),
    ("<|begin_of_box|>blue<|end_of_box|>", "blue"), ("It is <|begin_of_box|>blue<|end_of_box|>.", "blue"),
    # Several boxes are several values, unless a later one corrects them.
    (r"The cars are \boxed{3174}, \boxed{8662} and \boxed{7391}.", "3174, 8662, 7391"),
    ("1. Gate: \\boxed{blue}\n2. Lamp: \\boxed{red}", "blue, red"),
    (r"\boxed{blue}. Once more: \boxed{blue}", "blue"), (r"\boxed{red}, no: \boxed{blue}", "blue"),
    (r"\boxed{5} tokens in step 1. Therefore \boxed{417}", "417"), (r"先得\boxed{5}，所以\boxed{417}", "417"),
    (r"\boxed{red} \boxed{green}, but rather \boxed{blue}, \boxed{gold}", "blue, gold"),
    # A sentence after a box is kept.
    (r"\boxed{5} is the step... The drawer is 417", "5 is the step... The drawer is 417"),
    (r"First \boxed{5}. It stands in drawer 417.", "First 5. It stands in drawer 417."),
    (r"\boxed{5} is 4 more, so it is drawer 417.", "5 is 4 more, so it is drawer 417."),
    (r"第一步\boxed{5}，抽屉是第417号。", "第一步5，抽屉是第417号。"),
    # A unit beside a box stays with it.
    (r"It is \boxed{1318} feet.", "1318 feet"), (r"\boxed{\frac{1}{2}} or so", r"\frac{1}{2} or so"),
    (r"第\boxed{283}号铁柜。", "283 号铁柜"), (r"\boxed{417}. Hope this helps!", "417"),
    ("\\boxed{417}\n\nHope this helps!", "417"), (r"It costs \$\boxed{4.35}.", "$4.35"),
    (r"It costs £\boxed{4.35}.", "£4.35"),
    # Signs that only typeset words are removed, and money is kept.
    (r"\text{blue}", "blue"), (r"Dolores\text{ Park}", "Dolores Park"), (r"$417$", "417"),
    (r"It is $417$, of $x$ drawers.", "It is 417, of x drawers."), (r"\(417\)", "417"),
    (r"\boxed{1{,}318\text{ feet}}", "1318 feet"), (r"\boxed{1\,318}", "1318"), (r"\boxed{19{:}52}", "19:52"),
    (r"\boxed{50\%}", "50%"), (r"\boxed{\pounds 4.35}", "£4.35"), (r"\boxed{\text{a}~\text{b}}", "a~b"),
    (r"\boxed{12^\circ}", "12°"), (r"a\_b \& c\#", "a_b & c#"), (r"\boxed{blue", "blue"),
    ("It costs $4.35 and $5.", "It costs $4.35 and $5."), ("$4.35", "$4.35"), ("from $4–$5", "from $4–$5"),
    (r"\boxed blue", r"\boxed blue"), ("{blue}", "{blue}"), ("blue", "blue"), ("", ""),
    # A further question or context ends the answer.
    ("blue\n\nQuestion: And the gate?\nAnswer: red", "blue"), ("blue\nQ: And the gate?\nA: red", "blue"),
    ("blue\n**Context:** The gate is red.", "blue"), ("blue\n###\nred", "blue"), ("blue\nHuman: And the gate?", "blue"),
    ("蓝色\n\n问题：门呢？\n答案：红色", "蓝色"),
    ("Question: Which colour?\nAnswer: blue\nQuestion: And the gate?\nAnswer: red", "blue"),
    ("题目：什么颜色？\n答案：蓝色\n题目：门呢？\n答案：红色", "蓝色"),
    # Words or a bold last line mark the answer.
    ("The gate is red. The correct answer is blue", "blue"), ("The gate is red. The answer is: blue", "blue"),
    ("The gate is red.\n\n**blue**", "blue"), ("The gate is red.\nConclusion: blue", "blue"),
    ("The gate is red.\n## Conclusion\nblue", "blue"), ("门是红的。答案是blue", "blue"),
    ("门是红的。故答案为blue", "blue"),
    ("门是红的。正确答案：blue", "blue"), ("门是红的。\n结论：blue", "blue"), ("门是红的。综上，blue", "blue"),
    # Escapes are read wherever they occur.
    ("It is \\u975b\\u84dd.", "It is 靛蓝."), ('{"颜色": "\\u975b\\u84dd"}', '{"颜色": "靛蓝"}'),
    ('{"answer": "\\u975b\\u84dd', '{"answer": "靛蓝'), ("\\ud83d\\ude00 \\ud83d \\u12", "😀 \ufffd \\u12"),
    # Nothing comes after the reasoning.
    ("<think>red</think></s>", ""),
])  # fmt: skip
def test_the_answer_is_extracted(text: str, expected: str) -> None:
    assert extract_answer(text) == Extracted(expected.strip())


@each("text", [
    "It is blue, and that is the final answer.", "The final answer is not red.", "blue\nFinal answer:",
    "blue\n\nAnswer: ", 'It asks for a "final answer: ..." line. Blue.', "It answers: blue", "The answer is blue.",
    "The answer is limited to what is stated: blue", "blue\n\nAnswer: red\n\nAnother paragraph.",
    "Answer: blue\nAnswer: red", "semifinal answer: red", "",
    '{"drawer": 417}', '{"answer": ""}', '{"answers": []}', "{}", "[]", '[{"gate": "blue"}]',
    '[{"answer": "blue"}, {"gate": "red"}]', '{"answer": "blue"', "{answer: blue}", "[1] says blue", '"Blue" it is',
    'It sets {"value": 5}, but the gate is blue.', "{" * 2000, "[" * 2000, '{"answer":' * 2000, "7", "blue", "",
    "2**3**4", "5 * 3 * 2", "2*3*4", "a ** b", "**", "****", "* item\n* item", "<blue>", "a < b and c > d",
    "a<b and c>d", "<img src=x>", "x & y; z", "&unknown;", "[1] blue", "[a] (b)", "~ 5", "a_b_c", "__init__", "`",
    "a > b", "```\na\n```\nb\n```\nc\n```", "",
])  # fmt: skip
def test_an_answer_without_such_marks_is_unchanged(text: str) -> None:
    assert extract_answer(text).text == text.strip()


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


@examples(100)
@given(
    answer=st.text(min_size=1).filter(lambda text: text.strip() == text and text[:1] not in '{["`'),
    other=st.text(),
    escaped=st.booleans(),
)
def test_any_text_survives_being_an_answer_in_json(answer: str, other: str, escaped: bool) -> None:
    text = json.dumps({"note": other, "answer": answer}, ensure_ascii=escaped)
    assert json_answer(text) == answer


balanced = st.recursive(
    st.text("ab ", max_size=4), lambda inner: inner.map("{{{}}}".format) | st.lists(inner, max_size=3).map("".join)
)


@examples(100)
@given(before=st.text("ab ", max_size=6), inside=balanced, after=st.sampled_from(["", ".", " $", "}", " !\n"]))
def test_the_content_of_a_box_is_the_text_between_its_braces(before: str, inside: str, after: str) -> None:
    answer = without_latex(f"{before}\\boxed{{{inside}}}{after}")
    assert answer == (inside.strip() if inside.strip() else f"{before}{inside}{after}")


@examples(150)
@given(parts=st.lists(st.sampled_from(["\\boxed{", "\\text{", "{", "}", "}", "a", "b", " "]), max_size=14))
def test_any_combination_of_braces_leaves_the_words_in_order(parts: list[str]) -> None:
    text = "".join(parts)
    answer = without_latex(text)
    assert "\\" not in answer
    letters = iter(text.replace("\\boxed", "").replace("\\text", ""))
    assert all(letter in letters for letter in answer.replace(",", "").replace(" ", ""))


OUTPUTS = Path(__file__).parents[4] / "shared" / "real_results" / "hard_outputs.jsonl"


def test_19_of_20_hard_outputs_score_as_a_person_judged_them(tmp_path: Path) -> None:
    """Whether a text names the fact is up to the metric; the finding follows from that."""
    if not OUTPUTS.is_file():
        pytest.skip(f"needs {OUTPUTS}: outputs with a person's verdicts that are not part of the repository")
    outputs = [json.loads(line) for line in OUTPUTS.read_text("utf-8").splitlines()]
    rows = [{"id": f"row-{number:03}", **output["row"]} for number, output in enumerate(outputs)]
    judge = Judge(written(tmp_path / "rows.jsonl", rows), metrics=["keyword", "exact"])
    differ: dict[str, list[str]] = {"status": [], "finding": [], "exact": []}
    for row, output in zip(rows, outputs, strict=True):
        judged = judge(row["id"], output["answer"])
        said = {"status": judged.status, "finding": judged.finding, **judged.metrics}
        if output["keyword"] not in (None, said["keyword"]):
            said["finding"] = output["finding"]
        for name, cases in differ.items():
            accepted = output[name] if isinstance(output[name], list) else [output[name]]
            if output[name] is not None and said[name] not in accepted:
                cases.append(f"{output['case']}: {said[name]}, accepted {accepted}")
    assert {name: cases for name, cases in differ.items() if len(cases) > 0.05 * len(outputs)} == {}
