"""What an answer is taken to mean: what is judged of it, what came back, and how it failed."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from properties import examples

from niah_score.metrics import Target
from niah_score.scoring.extract import DENIALS, LONGEST, REASONING_TAGS, Meant, denies, meant, refuses
from niah_score.scoring.score import FINDINGS, STATUSES, Judging, OtherNeedle, judge
from niah_score.text import as_word, fold

steady = examples(300)
MILLION = 1_000_000
MARKS = [
    "<|endoftext|>", "<|im_end|>", "<|eot_id|>", "<|eom_id|>", "<|end|>", "<|return|>", "</s>", "<end_of_turn>",
    "<turn|>",
]  # fmt: skip

# Reasoning -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("opening", "closing"), REASONING_TAGS)
def test_reasoning_is_no_part_of_an_answer(opening: str, closing: str) -> None:
    for raw in (
        f"{opening}\nIs it red? No.{closing}\n\nIt is blue.",
        f"\n {opening}red{closing}It is blue. ",
        f"It must be red, or not.\n{closing}\nIt is blue.",
        f"{opening}red{closing} hm {opening}red{closing}It is blue.",
        f"{opening}red {opening}red{closing} red{closing}It is blue.",
    ):
        assert meant(raw) == Meant("It is blue.")


@pytest.mark.parametrize(("opening", "closing"), REASONING_TAGS)
def test_reasoning_that_never_ends_leaves_no_answer(opening: str, closing: str) -> None:
    assert meant(f"{opening}red, I think") == Meant("", unclosed=True)
    assert meant(f" \n{opening}") == Meant("", unclosed=True)
    assert meant(f"{opening}red{closing}\n{opening}or blue") == Meant("", unclosed=True)
    assert meant(f"{opening}red{closing}") == Meant("")


@pytest.mark.parametrize(("opening", "closing"), REASONING_TAGS)
def test_an_answer_may_speak_of_a_tag(opening: str, closing: str) -> None:
    raw = f"Write {opening} before what you think."
    assert meant(raw) == Meant(raw)
    assert meant(f"{opening}hm{closing}Write {opening} first.") == Meant(f"Write {opening} first.")


def test_tags_of_different_kinds_may_mix() -> None:
    assert meant("<think>a</think><reasoning>b</reasoning>c") == Meant("c")
    assert meant("<think>a [/THINK] b</think>c") == Meant("c")
    assert meant("</think><thinking>a") == Meant("", unclosed=True)


def test_what_reasoning_models_really_write_is_read() -> None:
    harmony = "<|channel|>analysis<|message|>red?<|end|><|start|>assistant<|channel|>final<|message|>Blue.<|return|>"
    assert meant(harmony) == Meant("Blue.")
    assert meant("<|channel>thought\nred?\n<channel|>Blue.<turn|>") == Meant("Blue.")
    assert meant("<|channel>thought\nred?").unclosed
    assert meant(harmony[:40]).unclosed


def test_tags_of_ones_own_replace_ours() -> None:
    tags = (("((", "))"),)
    assert meant("((red))blue", tags=tags) == Meant("blue")
    assert meant("((red", tags=tags) == Meant("", unclosed=True)
    assert meant("<think>red</think>blue", tags=tags) == Meant("<think>red</think>blue")


def test_tags_are_told_by_their_case() -> None:
    assert meant("<THINK>red</THINK>blue") == Meant("<THINK>red</THINK>blue")


# Boxes ---------------------------------------------------------------------------------------------------------------


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
    assert meant(raw) == Meant(wanted)


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


@steady
@given(parts=st.lists(st.sampled_from(["\\boxed{", "\\text{}", "{", "}", "}", "a", " ", "\\"]), max_size=14))
def test_boxes_are_found_as_counting_braces_finds_them(parts: list[str]) -> None:
    raw = "".join(parts)
    wanted = slow_boxed(raw)
    assert meant(raw).text == (wanted if wanted == raw else wanted.replace("\\text{}", "")).strip()


# Marks, prefix, and all of it ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("mark", MARKS)
def test_marks_of_the_end_are_no_part_of_an_answer(mark: str) -> None:
    for raw in (f"blue{mark}", f"blue \n{mark} {mark}\n", f"blue{mark}</s>"):
        assert meant(raw) == Meant("blue")
    assert meant(f"red{mark}blue") == Meant(f"red{mark}blue")
    assert meant(mark) == Meant("")


def test_the_prefix_that_the_prompt_ended_with_is_not_said_again() -> None:
    assert meant("The colour is: blue", "The colour is:") == Meant("blue")
    assert meant("<think>hm</think> The colour is: blue", " The colour is:\n") == Meant("blue")
    assert meant("The colour is:", "The colour is:") == Meant("")
    assert meant("答案是上海", "答案是") == Meant("上海")
    assert meant("I say: The colour is: blue", "The colour is:") == Meant("I say: The colour is: blue")
    for prefix in (None, "", "  "):
        assert meant(" blue ", prefix) == Meant("blue")


def test_a_prefix_that_ends_within_a_word_was_not_said() -> None:
    assert meant("It isn't said.", "It is") == Meant("It isn't said.")
    assert meant("It is blue.", "It is") == Meant("blue.")


words = st.text("ab 。blue上海{}\n", max_size=12)


@steady
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
    once = meant(raw + mark)
    assert meant(once.text) == once
    if not boxed:
        assert once == Meant(answer.strip())


@steady
@given(raw=st.text(max_size=30), prefix=st.none() | st.text(max_size=4))
def test_any_text_means_a_stripped_text(raw: str, prefix: str | None) -> None:
    found = meant(raw, prefix).text
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
def test_a_million_characters_are_read_within_seconds(name: str, raw: str) -> None:
    start = time.process_time()  # a busy machine costs nothing; reading anything twice a character would take hours
    meant(raw, "x")
    assert time.process_time() - start < 10, name


# Denials and refusals ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "The context does not mention it.",
        "The text doesn’t say.",
        "It isn't clearly stated.",
        "There is no information about San Francisco.",
        "Unfortunately, I have to guess.",
        "I cannot determine the answer.",
        "I can’t find it.",
        "I don’t know.",
        "I am not sure.",
        "The sentence seems unrelated.",
        "文中没有提到这一点。",
        "文章并未明确说明。",
        "无法确定。",
        "我不知道。",
        "没有相关信息。",
        "这句话与上下文无关。",
    ],
)
def test_a_denial_is_told_in_both_languages(text: str) -> None:
    assert denies(fold(text), [])
    assert pl.Series([fold(text)]).str.contains(DENIALS).to_list() == [True]


@pytest.mark.parametrize(
    "text", ["It is blue.", "Eat a sandwich, no doubt.", "他在上海实习。", "It is known as the gate.", "无人机", ""]
)
def test_a_plain_answer_denies_nothing(text: str) -> None:
    assert not denies(fold(text), [])


def test_only_what_comes_before_the_fact_denies_it() -> None:
    assert denies("the text does not say, perhaps blue", ["blue"])
    assert not denies("it is blue. nothing else is not mentioned", ["blue"])
    assert denies("it is not mentioned: blue, and red", ["red", "blue"])
    assert not denies("blue. not mentioned: red", ["red", "blue"])


def test_the_fact_begins_where_it_stands_as_a_word() -> None:
    assert denies("the heart of it does not mention any art", ["art"])


@pytest.mark.parametrize(
    "text",
    [
        "I'm sorry, but I can't assist with that.",
        "I’m sorry, but I can’t help with that.",
        "I apologize, but I am unable to provide this.",
        "Sorry, I cannot discuss it.",
        "**I can't help with that request.**",
        "I cannot comply.",
        "很抱歉，我无法提供帮助。",
        "非常抱歉，我不能回答。",
        "对不起，我无法协助。",
    ],
)
def test_a_refusal_is_told_in_both_languages(text: str) -> None:
    assert refuses(fold(text))


@pytest.mark.parametrize(
    "text",
    [
        "It is blue. I'm sorry, but I can't help with more.",
        "Sorry for the delay: it is blue.",
        "I cannot find the answer in the text.",
        "抱歉，是蓝色的。",
        "I'm sorry. " + "x" * 100 + " can't help",
        "",
    ],
)
def test_an_answer_that_only_sounds_like_a_refusal_is_none(text: str) -> None:
    assert not refuses(fold(text))


def test_hints_are_looked_for_in_a_million_characters_within_seconds() -> None:
    start = time.process_time()
    for part in ("does not ", "not a a a a ", "与一", "没有", "no ", "sorry ", "is not is ", "a" * 50):
        text = part * (MILLION // len(part) // 4)
        refuses(text)
        denies(text, [])
    assert time.process_time() - start < 10


# Statuses and findings -----------------------------------------------------------------------------------------------

OTHERS = tuple(
    OtherNeedle(name, language, tuple(tuple(map(as_word, group)) for group in groups))
    for name, language, groups in (
        ("gate", "en", [["blue", "azure"], ["gate"]]),
        ("lamp", "en", [["red"], ["lamp"]]),
        ("灯", "zh", [["绿灯"]]),
    )
)
# The row of the needle `gate`, answered in one piece.
ROW: dict[str, Any] = {
    "sample": 0, "text": "The gate is blue.", "reasoning": None, "finish": None, "error": None, "metric": "keyword",
    "needle_id": "gate",
}  # fmt: skip
TARGET: dict[str, Any] = {
    "answers": ("The gate is blue.",), "keywords": (("blue", "azure"), ("gate",)), "needles": ("The gate is blue.",),
    "prefix": None, "language": "en",
}  # fmt: skip
SCHEMA: dict[str, Any] = {**dict.fromkeys(ROW, pl.String), "sample": pl.Int64}
UNANSWERED = {"sample": None, "text": None}


def all_judged(rows: Sequence[dict[str, Any]], **how: Any) -> list[dict[str, Any]]:
    frame = pl.DataFrame([{name: row.get(name, ROW[name]) for name in ROW} for row in rows], schema=SCHEMA)
    targets = [Target(**{name: row.get(name, TARGET[name]) for name in TARGET}) for row in rows]
    judging = Judging(**{"metrics": ("keyword",), "others": OTHERS, **how})
    codes = pl.Series(range(len(targets)), dtype=pl.UInt32)
    return judge(frame, codes, targets, judging).to_dicts()


def judged(how: dict[str, Any] | None = None, **row: Any) -> dict[str, Any]:
    (found,) = all_judged([row], **how or {})
    return found


@pytest.mark.parametrize(
    ("row", "status", "finding"),
    [
        ({}, "ok", "found"),
        ({"text": "AZURE, the gate"}, "ok", "found"),
        ({"text": "The text does not say. Perhaps the gate is blue."}, "ok", "hedged"),
        ({"text": "The gate is blue. The text does not say why."}, "ok", "found"),
        ({"text": "The gate is green."}, "ok", "partly"),
        ({"text": "It does not mention a gate."}, "ok", "partly"),
        ({"text": "The lamp is red."}, "ok", "wrong_needle"),
        ({"text": "The lamp at the gate is red."}, "ok", "partly"),
        ({"text": "The lamp."}, "ok", "nothing"),
        ({"text": "绿灯"}, "ok", "nothing"),
        ({"text": "绿灯", "language": "zh"}, "ok", "wrong_needle"),
        ({"text": "The lamp is red.", "needle_id": "lamp"}, "ok", "nothing"),
        ({"text": "A coredlamp"}, "ok", "nothing"),
        ({"text": "The lamp is red, the gate is blue."}, "ok", "found"),
        ({"text": "I don't know."}, "ok", "nothing"),
        ({"text": "I'm sorry, but I can't assist with that."}, "ok", "refused"),
        ({"text": "", "finish": "refused"}, "refused", "refused"),
        ({"text": "The gate is blue.", "finish": "refused"}, "refused", "refused"),
        ({"finish": "truncated"}, "truncated", "found"),
        ({"text": "The gate is gr", "finish": "truncated"}, "truncated", "truncated"),
        ({"text": "I'm sorry, I can't help", "finish": "truncated"}, "truncated", "truncated"),
        ({"text": "<think>The gate is blue"}, "think_unclosed", "truncated"),
        ({"text": "<think>The gate is blue", "finish": "truncated"}, "think_unclosed", "truncated"),
        ({"text": "", "finish": "truncated", "reasoning": "The gate"}, "think_unclosed", "truncated"),
        ({"text": "", "finish": "truncated"}, "truncated", "truncated"),
        ({"text": " \n"}, "empty", "no_answer"),
        ({"text": None}, "empty", "no_answer"),
        ({"text": None, "error": "rate limit"}, "error", "no_answer"),
        ({"error": "rate limit"}, "error", "no_answer"),
        (UNANSWERED, "missing", "no_answer"),
        ({"text": "<think>blue gate</think>It is red."}, "ok", "nothing"),
        ({"keywords": ()}, "ok", None),
        ({"keywords": (), "text": ""}, "empty", "no_answer"),
    ],
)
def test_a_row_has_a_status_and_a_finding(row: dict[str, Any], status: str, finding: str | None) -> None:
    found = judged(**row)
    assert (found["status"], found["finding"]) == (status, finding)
    assert status in STATUSES
    assert finding is None or finding in FINDINGS


def test_every_status_and_finding_is_shown_by_an_example() -> None:
    cases = test_a_row_has_a_status_and_a_finding.pytestmark[0].args[1]
    assert {status for _, status, _ in cases} == set(STATUSES)
    assert {finding for _, _, finding in cases} - {None} == set(FINDINGS)


def test_what_there_is_of_a_text_is_scored_whatever_the_status() -> None:
    rows: list[dict[str, Any]] = [
        {"error": "rate limit"},
        {"finish": "truncated"},
        {"finish": "refused"},
        {"text": "<think>blue gate"},
    ]
    assert [row["score"] for row in all_judged(rows)] == [100, 100, 100, 0]


def test_a_missing_row_counts_as_0_or_not_at_all() -> None:
    metrics = ("keyword", "edit", "cdme")
    for missing, wanted in (("zero", 0.0), ("exclude", None)):
        found, there = all_judged([UNANSWERED, {}], metrics=metrics, missing=missing)
        assert [found[name] for name in (*metrics, "score")] == [wanted] * 4
        assert found["keyword.found"] is found["cdme.edit_distance"] is None
        assert (there["score"], there["keyword.found"], there["cdme.edit_distance"]) == (100, 2, 0)


def test_excluding_missing_rows_excludes_no_other_failure() -> None:
    rows: list[dict[str, Any]] = [{"text": ""}, {"text": None, "error": "x"}, {"text": "<think>x"}]
    assert [row["score"] for row in all_judged(rows, missing="exclude")] == [0, 0, 0]


def test_an_answer_is_judged_up_to_a_limit_and_said_to_be_cut() -> None:
    fitting = "x" * (LONGEST - 10) + " blue gate"
    for text, score, capped in ((fitting, 100, False), (f"x{fitting}", 50, True)):
        found = judged(text=text)
        assert (found["score"], found["capped"]) == (score, capped)
    assert judged(**UNANSWERED)["capped"] is False


def test_a_metric_that_this_release_does_not_know_gives_no_score() -> None:
    unknown, known = all_judged([{"metric": "of_next_year"}, {}])
    assert unknown["score"] is None
    assert unknown["keyword"] == known["score"] == 100
    assert "of_next_year" not in unknown


def test_every_row_has_the_score_of_its_own_metric() -> None:
    rows = [{"metric": "keyword"}, {"metric": "ruler_part", "text": "x the gate is blue. x"}, {"metric": "exact"}]
    found = all_judged(rows)
    assert [row["score"] for row in found] == [100, 100, 100]
    assert [row["ruler_part"] for row in found] == [None, 100, None]
    assert [row["exact"] for row in found] == [None, None, 100]
    assert [row["keyword"] for row in found] == [100, 100, 100]


def test_published_metrics_judge_the_raw_answer_and_ours_the_extracted_one() -> None:
    row = {"text": "<think>The gate is blue.</think>It is red.", "metric": "ruler_part"}
    scores = {
        text: (found["keyword"], found["ruler_part"], found["extracted"])
        for text in ("own", "raw", "extracted")
        for found in [judged({"text": text}, **row)]
    }
    assert scores == {
        "own": (0, 100, "It is red."), "raw": (100, 100, "It is red."), "extracted": (0, 0, "It is red."),
    }  # fmt: skip


def test_what_is_extracted_is_only_written_where_it_differs() -> None:
    assert judged()["extracted"] is None
    assert judged(text=" The gate")["extracted"] == "The gate"
    assert judged(text="<think>")["extracted"] == ""


def test_own_tags_and_prefixes_reach_the_answer() -> None:
    assert judged({"tags": (("((", "))"),)}, text="((red))blue gate")["extracted"] == "blue gate"
    assert judged(text="Answer: blue gate", prefix="Answer:")["extracted"] == "blue gate"


def test_rows_that_differ_in_what_is_wanted_are_judged_apart() -> None:
    rows: list[dict[str, Any]] = [
        {}, {"keywords": (("blue",), ("azure",), ("gate",))}, {"keywords": (("blue", "azure", "gate"),)},
        {"keywords": (("red",),)}, {"answers": ("The gate", "is blue.")},
    ]  # fmt: skip
    found = all_judged(rows, metrics=("keyword", "exact"))
    assert [row["keyword"] for row in found] == pytest.approx([100, 200 / 3, 100, 0, 100])
    assert [row["exact"] for row in found] == [100, 100, 100, 100, 0]
