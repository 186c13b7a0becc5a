"""The scores of RULER, BABILong, NoLiMa, needlehaystack 2, the MRCRs and GraphWalks, with what shows their quirks."""

from __future__ import annotations

import json
import random
from difflib import SequenceMatcher
from itertools import pairwise
from pathlib import Path
from typing import Any

import published_answers as published
import pytest
from each import each
from hypothesis import given
from hypothesis import strategies as st
from judged import judged, value
from properties import examples

GOLDENS = Path(__file__).parents[4] / "shared" / "golden" / "mrcr_scores.jsonl"


def groups(*words: str) -> tuple[tuple[str, ...], ...]:
    return tuple((word,) for word in words)


# ruler_all, ruler_part ------------------------------------------------------------------------------------------------


@each(
    ("text", "expected"),
    [("7654321", 100), ("I could not find 7654321", 100), ("976543210", 100), ("7,654,321", 0), ("７６５４３２１", 0),
     ("1111111 2222222 7654321 9999999", 100), ("", 0)],
)  # fmt: skip
def test_ruler_finds_the_exact_digits_anywhere_whatever_they_mean(text: str, expected: float) -> None:
    assert value("ruler_all", text, "7654321") == value("ruler_part", text, "7654321") == expected


def test_ruler_all_is_the_share_of_values_found_ignoring_case_even_inside_words() -> None:
    assert value("ruler_all", "a heart in the particle", keywords=groups("ear", "art")) == 100
    assert value("ruler_all", "ONE, two", keywords=groups("one", "TWO", "three", "four")) == 50
    assert value("ruler_all", "one", "One", "two") == 50
    assert value("ruler_all", "uno", keywords=(("one", "uno"),)) == 0


def test_ruler_part_accepts_any_answer_and_ignores_keywords() -> None:
    assert value("ruler_part", "it was Uno", "one", "UNO", "eins", keywords=groups("zzz")) == 100
    assert value("ruler_part", "zwei", "one", "uno", "eins") == 0


def test_ruler_treats_control_characters_as_line_feeds_and_strips_before_and_after() -> None:
    for char in map(chr, range(0x20)):
        assert value("ruler_part", f"a{char}b", "a\nb") == 100
    for text, answer in (("a b", "a\nb"), ("a\x7fb", "a\nb"), ("x\n", "x\n"), ("x\x00", "x\n"), ("x\x00\n", "x\n")):
        assert value("ruler_part", text, answer) == 0


# babilong -------------------------------------------------------------------------------------------------------------

PLACES = ("bathroom", "bedroom", "garden", "hallway", "kitchen", "office")


def babilong(answer: str, target: str, *others: str) -> float:
    return float(value("babilong", answer, target, decoys=groups(*others)))


@examples(200)
@given(
    answer=st.lists(
        st.sampled_from([*PLACES, "Garden", ".", "<context>", "the", "Question", "<example>", ","]), max_size=8
    ).map(" ".join),
    target=st.sampled_from([*PLACES, "garden,office", "a,b"]),
    question=st.sampled_from(["Where is Mary?", "Where was it before the kitchen?"]),
)
def test_babilong_agrees_with_the_published_formula(answer: str, target: str, question: str) -> None:
    if target in question:
        return  # refused when a dataset is built
    own = set(target.split(","))
    others = [name for name in PLACES if name not in own | {target} and name not in question]
    labels = [*PLACES, *own]
    assert babilong(answer, target, *others) == 100 * published.babilong(answer, target, question, labels)


# nolima_contains ------------------------------------------------------------------------------------------------------


@each(
    ("text", "golds", "expected"),
    [("Yuki", ("Yuki", "Stuart"), 100), (" It is Yuki!\n", ("Yuki",), 100), ("Yukiko", ("Yuki",), 100),
     ("yuki", ("Yuki",), 0), ("Ｙuki", ("Yuki",), 0), ("", ("Yuki",), 0), ("Y, u, k, i", ("Yuki",), 0),
     ("x\n", ("x\n",), 100), ("x\n", ("x\n\n",), 0), (" x", ("y", " x"), 100)],
)  # fmt: skip
def test_nolima_finds_an_answer_only_as_it_is_written(text: str, golds: tuple[str, ...], expected: float) -> None:
    assert value("nolima_contains", text, *golds) == expected


# nh2_match, nh2_chain -------------------------------------------------------------------------------------------------

CHAIN = ("one maps to two.", "two maps to three.", "three maps to four.")
PIZZA = groups("figs", "prosciutto", "goat cheese")


@each(
    ("text", "expected"),
    [("Figs, Prosciutto and GOAT CHEESE.", 100), ("goat  cheese", 0), ("fig, prosciuttos", 100 / 3), ("", 0)],
)
def test_match_is_the_share_of_fragments_in_the_answer(text: str, expected: float) -> None:
    assert value("nh2_match", text, "-", keywords=PIZZA) == pytest.approx(expected)


def test_match_strips_and_counts_fragments_and_without_keywords_looks_only_for_the_reference() -> None:
    found = judged("nh2_match", "x FIGS", "-", keywords=groups(" figs ", "y"))
    assert found == (50, {"found": 1, "fragments": 2})
    assert value("nh2_match", "It is 42.", "42", "forty-two") == 100
    assert value("nh2_match", "forty-two", "42", "forty-two") == 0


def test_chain_is_null_where_the_needles_form_no_chain() -> None:
    for needles in ((), ("It is green.",), (*CHAIN, "It is green."), (CHAIN[0], CHAIN[2])):
        assert value("nh2_chain", "one", "four", needles=needles) is None


@examples(100)
@given(text=st.text("abcd AB,", max_size=12), count=st.integers(2, 4))
def test_chain_agrees_with_a_search_from_the_end(text: str, count: int) -> None:
    members = "abcd"[:count]
    needles = tuple(f"{one} maps to {next_}." for one, next_ in pairwise(members))
    reached = next((place for place in range(count, 0, -1) if members[place - 1] in text.lower()), 0)
    score = judged("nh2_chain", text, members[-1], needles=needles)
    assert score == (100 * reached / count, {"reached": reached, "members": count})


# mrcr, mrcr_v2 --------------------------------------------------------------------------------------------------------

PREFIX = "aYooSG8CQg"
V2_PREFIX = "b6Yath1qpbUa"


def mrcr(text: str, reference: str, prefix: str | None = PREFIX) -> Any:
    return value("mrcr", text, reference, prefix=prefix)


def mrcr_v2(text: str, reference: str) -> Any:
    return value("mrcr_v2", text, reference)


def test_scores_equal_those_of_the_published_graders_on_every_golden_line() -> None:
    if not GOLDENS.is_file():
        pytest.skip(f"needs {GOLDENS}: scores of the published graders, not part of the repository")
    lines = [json.loads(line) for line in GOLDENS.read_text("utf-8").splitlines()]
    assert len(lines) == 12
    for line in lines:
        said, answer = line["prediction"], line["answer"]
        assert mrcr_v2(said, answer) == pytest.approx(100 * line["mrcr_v2"], abs=1e-9)
        assert mrcr(said, answer, line["prefix"]) == pytest.approx(100 * line["openai_mrcr"], abs=1e-9)


def test_mrcr_compares_what_follows_the_prefix_and_is_0_if_anything_comes_before_it() -> None:
    for before in ("\n", '"', " ", "<think></think>", "Here it is: "):
        assert mrcr(f"{before}{PREFIX}A poem", f"{PREFIX}A poem") == 0
    assert mrcr(f"{PREFIX}abcd", f"{PREFIX}bcde") == 75
    assert mrcr(PREFIX, PREFIX) == 100
    assert mrcr(PREFIX, f"{PREFIX}x") == mrcr(f"{PREFIX}{PREFIX}", f"{PREFIX}x") == mrcr("abc", "abc") == 0
    assert mrcr("abc", "abc", None) is mrcr("abc", "abc", "") is None


def test_guess_is_the_mean_score_of_all_replies() -> None:
    score = judged("mrcr", "x", f"{PREFIX}bcde", prefix=PREFIX, decoys=groups("abcd", "xyz"))
    assert score == (0, {"guess": pytest.approx((100 + 75 + 0) / 3)})


def test_one_extra_character_drops_mrcr_from_100_to_almost_0() -> None:
    """With difflib's autojunk, no match begins at a character that is common in the reference."""
    poem = "a" * 10 + "".join("bcdefghijklmnopqrstuvwxyz"[n * n % 23] for n in range(2490))
    assert mrcr(PREFIX + poem, PREFIX + poem) == 100
    assert mrcr(f"{PREFIX}a{poem}", PREFIX + poem) == pytest.approx(0.4, abs=0.05)
    assert 100 * SequenceMatcher(None, f"a{poem}", poem, autojunk=False).ratio() == pytest.approx(99.98, abs=0.005)


@examples(100)
@given(text=st.text("abc 中\n", max_size=20), reference=st.text("abc 中\n", max_size=20))
def test_mrcr_is_the_ratio_of_difflib_with_the_answer_first(text: str, reference: str) -> None:
    assert mrcr(PREFIX + text, PREFIX + reference) == 100 * SequenceMatcher(None, text, reference).ratio()


def test_mrcr_v2_compares_what_follows_the_last_occurrence_of_the_prefix() -> None:
    for before in ("", "\n", "<think>it is b6Yath1qpbUaB</think>", "Here it is: "):
        assert mrcr_v2(f"{before}{V2_PREFIX} A poem\n", f"{V2_PREFIX}A poem") == 100
    assert mrcr_v2(f"{V2_PREFIX}abcd", f" {V2_PREFIX} bcde ") == 75
    for text in (f"{V2_PREFIX}A poem, {V2_PREFIX}", "A poem", "b6Yath1qpbU A poem"):
        assert mrcr_v2(text, f"{V2_PREFIX}A poem") == 0
    assert mrcr_v2("b6Yath1qpbU", "b6Yath1qpbU") == mrcr_v2("", "") == 0  # shorter than a prefix


def test_autojunk_affects_the_answer_in_mrcr_v2_and_the_reference_in_mrcr() -> None:
    """difflib's autojunk acts only on its second text, and only if that has 200 characters or more."""
    short, long = "ab" * 60, "ba" * 150
    assert mrcr_v2(V2_PREFIX + long, V2_PREFIX + short) == mrcr(V2_PREFIX + short, V2_PREFIX + long, V2_PREFIX)
    assert mrcr_v2(V2_PREFIX + long, V2_PREFIX + short) != mrcr(V2_PREFIX + long, V2_PREFIX + short, V2_PREFIX)


# graphwalks -----------------------------------------------------------------------------------------------------------

NODES = ("a5027b241c", "c5b3cf74c7", "dd5548caa2", "0123456789", "c9f0f895fb")


@each(
    ("text", "expected"),
    [("Final Answer: [ab, cd]", 100), ("So.\nFinal Answer: [cd,ab]", 100), ("Final Answer: [ab]", 200 / 3),
     ("Final Answer: [ab, cd, ef, gh]", 200 / 3), ("Final Answer: [ab, ab, cd]", 100),
     ("x [ab, cd] Final Answer:", 100),
     ("**Final Answer: [ab, cd]**", 100), ("Final Answer: [[ab, cd]]", 100), ("Final Answer: [ab,, cd ,]", 100),
     ("Final Answer: ['ab', 'cd']", 0), ("Final Answer: [`ab`, cd]", 50), ("Final Answer: [AB, cd]", 50),
     ("Final Answer: [ab] and [cd]", 0), ("[ab] Final Answer: [cd]", 0), ("Final Answer: [ab, cd]\n", 0),
     ("Final Answer: [ab, cd]\r", 100), ("Final Answer: [ab, cd]\n```", 0), ("Final Answer:\n[ab, cd]", 0),
     ("final answer: [ab, cd]", 0), ("Final Answer: ab, cd", 0), ("Final Answer: []", 0), ("[ab, cd]", 0), ("", 0)],
)  # fmt: skip
def test_graphwalks_reads_a_list_on_the_very_last_line(text: str, expected: float) -> None:
    assert value("graphwalks", text, "Final Answer: [ab, cd]") == pytest.approx(expected)


def test_graphwalks_gives_full_marks_for_an_empty_list_only_if_it_is_right() -> None:
    empty = "Final Answer: []"
    assert judged("graphwalks", "Final Answer: [ , ]", empty) == (100, {"parsed": True})
    assert judged("graphwalks", "Final Answer: none", empty) == (0, {"parsed": False})
    assert judged("graphwalks", "Final Answer: [ab]", empty) == (0, {"parsed": True})
    assert judged("graphwalks", "Final Answer: " + "[" * 200_000, empty) == (0, {"parsed": False})


def test_graphwalks_gives_two_thousand_answers_the_published_score() -> None:
    draw = random.Random(11)
    marks = ("Final Answer:", "Final Answer: ", "[", "]", ",", ", ", " ", "\t", "\n", "\r", "\u2028", "'", "[]", "]]")
    scores = []
    for number in range(2000):
        right = draw.sample(NODES, draw.randint(0, 4))
        said = draw.choice((", ", ",", " ,", ",,")).join(draw.sample(NODES, draw.randint(0, 5)))
        before, opening = draw.choice(("", "So:\n", "[x]\n", "[x] ")), draw.choice(("[", "[", "[ ", "[["))
        answer = f"{before}Final Answer: {opening}{said}{draw.choice((']', ']', '] ', ']].', '] [x]', ''))}"
        if number % 3 == 0:
            answer = "".join(draw.choices((*marks, *NODES), k=draw.randint(0, 12)))
        scores.append(value("graphwalks", answer, f"Final Answer: [{', '.join(right)}]"))
        assert scores[-1] == pytest.approx(100 * published.graphwalks(answer, right), abs=1e-9), answer
    assert min(sum(score == 0 for score in scores), sum(score > 0 for score in scores)) > 500
