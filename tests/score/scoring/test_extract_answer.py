"""What counts as the answer in a raw text: reasoning, boxes, end marks and prefixes."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from properties import examples

from niah_score.scoring.extract_answer import REASONING_TAGS, Extracted, extract_answer, extract_answers

MILLION = 1_000_000
MARKS = [
    "<|endoftext|>", "<|im_end|>", "<|eot_id|>", "<|eom_id|>", "<|end|>", "<|return|>", "</s>", "<end_of_turn>",
    "<turn|>",
]  # fmt: skip

# Reasoning ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("opening", "closing"), REASONING_TAGS)
def test_reasoning_is_no_part_of_an_answer(opening: str, closing: str) -> None:
    for raw in (
        f"{opening}\nIs it red? No.{closing}\n\nIt is blue.",
        f"\n {opening}red{closing}It is blue. ",
        f"It must be red, or not.\n{closing}\nIt is blue.",
        f"{opening}red{closing} hm {opening}red{closing}It is blue.",
        f"{opening}red {opening}red{closing} red{closing}It is blue.",
    ):
        assert extract_answer(raw) == Extracted("It is blue.")


@pytest.mark.parametrize(("opening", "closing"), REASONING_TAGS)
def test_reasoning_that_never_ends_leaves_no_answer(opening: str, closing: str) -> None:
    assert extract_answer(f"{opening}red, I think") == Extracted("", unclosed=True)
    assert extract_answer(f" \n{opening}") == Extracted("", unclosed=True)
    assert extract_answer(f"{opening}red{closing}\n{opening}or blue") == Extracted("", unclosed=True)
    assert extract_answer(f"{opening}red{closing}") == Extracted("")


@pytest.mark.parametrize(("opening", "closing"), REASONING_TAGS)
def test_an_answer_may_speak_of_a_tag(opening: str, closing: str) -> None:
    raw = f"Write {opening} before what you think."
    assert extract_answer(raw) == Extracted(raw)
    assert extract_answer(f"{opening}hm{closing}Write {opening} first.") == Extracted(f"Write {opening} first.")


def test_tags_of_different_kinds_may_mix() -> None:
    assert extract_answer("<think>a</think><reasoning>b</reasoning>c") == Extracted("c")
    assert extract_answer("<think>a [/THINK] b</think>c") == Extracted("c")
    assert extract_answer("</think><thinking>a") == Extracted("", unclosed=True)


def test_what_reasoning_models_really_write_is_read() -> None:
    harmony = "<|channel|>analysis<|message|>red?<|end|><|start|>assistant<|channel|>final<|message|>Blue.<|return|>"
    assert extract_answer(harmony) == Extracted("Blue.")
    assert extract_answer("<|channel>thought\nred?\n<channel|>Blue.<turn|>") == Extracted("Blue.")
    assert extract_answer("<|channel>thought\nred?").unclosed
    assert extract_answer(harmony[:40]).unclosed


def test_tags_of_ones_own_replace_ours() -> None:
    tags = (("((", "))"),)
    assert extract_answer("((red))blue", tags=tags) == Extracted("blue")
    assert extract_answer("((red", tags=tags) == Extracted("", unclosed=True)
    assert extract_answer("<think>red</think>blue", tags=tags) == Extracted("<think>red</think>blue")


def test_tags_are_told_by_their_case() -> None:
    assert extract_answer("<THINK>red</THINK>blue") == Extracted("<THINK>red</THINK>blue")


# Boxes ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("raw", "wanted"),
    [
        (r"It is \boxed{blue}.", "blue"),
        (r"$\boxed{\text{blue gate}}$", "blue gate"),
        (r"\boxed{\mathrm{blue} \textbf{gate}}", "blue gate"),
        (r"\boxed{\text{\mathbf{blue}}}", "blue"),
        (r"\boxed{\text{a {b} c}}", "a {b} c"),
        (r"\boxed{x^{2}}", "x^{2}"),
        (r"\boxed{\frac{1}{2}} or so", r"\frac{1}{2}"),
        (r"\boxed{red}, no: \boxed{blue}", "blue"),
        (r"\boxed{\boxed{blue}}", "blue"),
        (r"\boxed{red \boxed{blue} red}", "blue"),
        (r"\boxed{blue} \boxed{}", "blue"),
        (r"\boxed{blue} \boxed{ \text{ } }", "blue"),
        (r"\boxed{blue} \boxed{red", "blue"),
        (r"}} \boxed{blue} }", "blue"),
        (r"{ \boxed{blue}", "blue"),
        (r"\boxed{}", r"\boxed{}"),
        (r"\boxed{blue", r"\boxed{blue"),
        (r"\boxed blue", r"\boxed blue"),
        (r"\text{blue}", r"\text{blue}"),
        (r"\boxed{ 上海 }", "上海"),
        (r"<think>\boxed{red}</think>blue", "blue"),
        (r"<think>\boxed{red}</think>\boxed{blue}</s>", "blue"),
    ],
)
def test_of_a_boxed_answer_the_last_box_that_holds_something_counts(raw: str, wanted: str) -> None:
    assert extract_answer(raw) == Extracted(wanted)


def slow_boxed(text: str) -> str:
    """The last closed box by counting braces from each, last first; what it holds without plain \\text."""
    start = len(text)
    while (start := text.rfind("\\boxed{", 0, start)) >= 0:
        depth = 1
        for place in range(start + 7, len(text)):
            depth += (text[place] == "{") - (text[place] == "}")
            if not depth:
                if text[start + 7 : place].replace("\\text{}", "").strip():
                    return text[start + 7 : place]
                break
    return text


@examples(300)
@given(parts=st.lists(st.sampled_from(["\\boxed{", "\\text{}", "{", "}", "}", "a", " ", "\\"]), max_size=14))
def test_boxes_are_found_as_counting_braces_finds_them(parts: list[str]) -> None:
    raw = "".join(parts)
    wanted = slow_boxed(raw)
    assert extract_answer(raw).text == (wanted if wanted == raw else wanted.replace("\\text{}", "")).strip()


# Marks, prefix, and all of it -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("mark", MARKS)
def test_marks_of_the_end_are_no_part_of_an_answer(mark: str) -> None:
    for raw in (f"blue{mark}", f"blue \n{mark} {mark}\n", f"blue{mark}</s>"):
        assert extract_answer(raw) == Extracted("blue")
    assert extract_answer(f"red{mark}blue") == Extracted(f"red{mark}blue")
    assert extract_answer(mark) == Extracted("")


def test_the_prefix_that_the_prompt_ended_with_is_not_said_again() -> None:
    assert extract_answer("The colour is: blue", "The colour is:") == Extracted("blue")
    assert extract_answer("<think>hm</think> The colour is: blue", " The colour is:\n") == Extracted("blue")
    assert extract_answer("The colour is:", "The colour is:") == Extracted("")
    assert extract_answer("答案是上海", "答案是") == Extracted("上海")
    assert extract_answer("I say: The colour is: blue", "The colour is:") == Extracted("I say: The colour is: blue")
    for prefix in (None, "", "  "):
        assert extract_answer(" blue ", prefix) == Extracted("blue")


def test_a_prefix_that_ends_within_a_word_was_not_said() -> None:
    assert extract_answer("It isn't said.", "It is") == Extracted("It isn't said.")
    assert extract_answer("It is blue.", "It is") == Extracted("blue.")


words = st.text("ab 。blue上海{}\n", max_size=12)


@examples(300)
@given(
    thought=st.none() | words,
    tags=st.sampled_from(REASONING_TAGS),
    answer=words,
    boxed=st.booleans(),
    mark=st.sampled_from(["", *MARKS]),
)
def test_what_was_meant_means_itself(
    thought: str | None, tags: tuple[str, str], answer: str, boxed: bool, mark: str
) -> None:
    raw = "" if thought is None else f"{tags[0]}{thought}{tags[1]}"
    raw += f"so \\boxed{{{answer}}}" if boxed else answer
    once = extract_answer(raw + mark)
    assert extract_answer(once.text) == once
    if not boxed:
        assert once == Extracted(answer.strip())


@examples(300)
@given(raw=st.text(max_size=30), prefix=st.none() | st.text(max_size=4))
def test_any_text_means_a_stripped_text(raw: str, prefix: str | None) -> None:
    found = extract_answer(raw, prefix).text
    assert found == found.strip()


@pytest.mark.parametrize(
    ("name", "raw"),
    [
        ("boxes never closed", "\\boxed{" * (MILLION // 7)),
        ("boxes closed once", "\\boxed{" * (MILLION // 7) + "}"),
        ("boxes in boxes", "\\boxed{" * (MILLION // 8) + "}" * (MILLION // 8)),
        ("empty boxes", "\\boxed{}" * (MILLION // 8)),
        ("boxed spaces", "\\boxed{" + " " * MILLION + "}"),
        ("boxed texts", "\\boxed{" + "\\text{a}" * (MILLION // 8) + "}"),
        ("texts in texts", "\\boxed{" + "\\text{" * (MILLION // 7) + "}" * (MILLION // 7) + "}"),
        ("spaces and no end", "<" + " " * MILLION + "x"),
        ("lines and marks", "<" + ("\n" * 1000 + "</s>") * (MILLION // 1004) + "x"),
        ("marks and no end", "</s>" * (MILLION // 4) + "x"),
        ("marks", "</s> " * (MILLION // 5)),
        ("closing tags", "</think>" * (MILLION // 8)),
        ("opening tags", "x<think>" * (MILLION // 8)),
        ("pairs of tags", "<think></think>" * (MILLION // 15)),
        ("half a tag", "<think" * (MILLION // 6)),
        ("braces", "\\boxed{" + "{}" * (MILLION // 2)),
    ],
)
def test_a_million_characters_of_anything_are_read(name: str, raw: str) -> None:
    """In one pass: work that grows with their square would not end in an hour."""
    found = extract_answer(raw, "x")
    assert found.text == found.text.strip(), name


@examples(200)
@given(
    raw=st.lists(
        st.lists(
            st.sampled_from(["<think>", "</think>", "</s>", "\\boxed{", "}", "[", " ", "Answer:", "blue"]), max_size=5
        ).map("".join),
        max_size=4,
    ),
    prefix=st.none() | st.just("Answer:"),
    tags=st.sampled_from([REASONING_TAGS, [*REASONING_TAGS], (("[", " "),)]),
)
def test_answers_of_many_texts_are_those_of_each_alone(
    raw: list[str], prefix: str | None, tags: Sequence[tuple[str, str]]
) -> None:
    texts, unclosed = extract_answers(raw, [prefix] * len(raw), tags)
    assert list(zip(texts, unclosed, strict=True)) == [tuple(extract_answer(text, prefix, tags)) for text in raw]
