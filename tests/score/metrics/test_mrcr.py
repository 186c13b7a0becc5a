"""mrcr and mrcr_v2: difflib's ratio after the prefix, bug for bug, with the numbers that show their quirks."""

from __future__ import annotations

import json
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

import pytest
from each import each
from hypothesis import given
from hypothesis import strategies as st
from judged import value
from properties import examples

ESSAYS = Path(__file__).parents[4] / "shared" / "corpora" / "paul_graham"
GOLDENS = Path(__file__).parents[4] / "shared" / "golden" / "mrcr_scores.jsonl"


PREFIX = "aYooSG8CQg"


def mrcr(text: str, reference: str, prefix: str | None = PREFIX) -> Any:
    return value("mrcr", text, reference, prefix=prefix)


@each("before", ["\n", '"', " ", "<think></think>", "Here it is: "])
def test_mrcr_is_0_if_anything_comes_before_the_prefix(before: str) -> None:
    assert mrcr(f"{PREFIX}A poem", f"{PREFIX}A poem") == 100
    assert mrcr(f"{before}{PREFIX}A poem", f"{PREFIX}A poem") == 0


def test_mrcr_compares_what_follows_the_prefix() -> None:
    assert mrcr(f"{PREFIX}abcd", f"{PREFIX}bcde") == 75
    assert mrcr(PREFIX, f"{PREFIX}x") == 0
    assert mrcr(PREFIX, PREFIX) == 100
    assert mrcr(f"{PREFIX}{PREFIX}", f"{PREFIX}x") == 0
    assert mrcr("abc", "abc") == 0


def test_mrcr_is_null_without_a_prefix() -> None:
    assert mrcr("abc", "abc", None) is None
    assert mrcr("abc", "abc", "") is None


def test_one_extra_character_drops_mrcr_from_100_to_almost_0() -> None:
    """With difflib's autojunk, no match begins at a character that is common in the reference."""
    poem = "a" * 10 + "".join("bcdefghijklmnopqrstuvwxyz"[n * n % 23] for n in range(2490))
    assert mrcr(PREFIX + poem, PREFIX + poem) == 100
    assert mrcr(f"{PREFIX}a{poem}", PREFIX + poem) == pytest.approx(0.4, abs=0.05)
    assert 100 * SequenceMatcher(None, f"a{poem}", poem, autojunk=False).ratio() == pytest.approx(99.98, abs=0.005)


def test_autojunk_more_than_halves_mrcr_of_two_unrelated_essays() -> None:
    files = sorted(ESSAYS.glob("*.txt"))
    if len(files) < 2:
        pytest.skip(f"needs {ESSAYS}: essays that are not part of the repository")
    one, other = (file.read_text("utf-8")[1000:4000] for file in files[:2])
    plain = 100 * SequenceMatcher(None, one, other, autojunk=False).ratio()
    assert mrcr(PREFIX + one, PREFIX + other) < plain / 2


@examples(100)
@given(text=st.text("abc 中\n", max_size=20), reference=st.text("abc 中\n", max_size=20))
def test_mrcr_is_the_ratio_of_difflib_with_the_answer_first(text: str, reference: str) -> None:
    assert mrcr(PREFIX + text, PREFIX + reference) == 100 * SequenceMatcher(None, text, reference).ratio()


def test_mrcr_changes_if_answer_and_reference_are_swapped() -> None:
    one, other = "ab" * 60, "ba" * 150
    assert mrcr(PREFIX + one, PREFIX + other) != mrcr(PREFIX + other, PREFIX + one)


def mrcr_v2(text: str, reference: str) -> Any:
    return value("mrcr_v2", text, reference)


def test_mrcr_v2_compares_what_follows_the_last_occurrence_of_the_prefix() -> None:
    prefix = "b6Yath1qpbUa"
    for before in ("", "\n", "<think>it is b6Yath1qpbUaB</think>", "Here it is: "):
        assert mrcr_v2(f"{before}{prefix} A poem\n", f"{prefix}A poem") == 100
    assert mrcr_v2(f"{prefix}A poem, {prefix}", f"{prefix}A poem") == 0
    assert mrcr_v2("A poem", f"{prefix}A poem") == 0
    assert mrcr_v2("b6Yath1qpbU A poem", f"{prefix}A poem") == 0
    assert mrcr_v2(f"{prefix}abcd", f" {prefix} bcde ") == 75


def test_mrcr_v2_is_0_if_the_reference_is_shorter_than_a_prefix() -> None:
    assert mrcr_v2("b6Yath1qpbU", "b6Yath1qpbU") == 0
    assert mrcr_v2("", "") == 0


def test_autojunk_affects_the_answer_in_mrcr_v2_and_the_reference_in_mrcr() -> None:
    """difflib's autojunk acts only on its second text, and only if that has 200 characters or more."""
    prefix, short, long = "b6Yath1qpbUa", "ab" * 60, "ba" * 150
    assert mrcr_v2(prefix + long, prefix + short) == mrcr(prefix + short, prefix + long, prefix)
    assert mrcr_v2(prefix + long, prefix + short) != mrcr(prefix + long, prefix + short, prefix)


@pytest.mark.parametrize("grader", ["openai_mrcr", "mrcr_v2"])
def test_scores_equal_those_of_the_published_graders_on_every_golden_line(grader: str) -> None:
    if not GOLDENS.is_file():
        pytest.skip(f"needs {GOLDENS}: scores of the published graders, not part of the repository")
    lines = [json.loads(line) for line in GOLDENS.read_text("utf-8").splitlines()]
    scores = [
        mrcr_v2(line["prediction"], line["answer"])
        if grader == "mrcr_v2"
        else mrcr(line["prediction"], line["answer"], line["prefix"])
        for line in lines
    ]
    assert scores == pytest.approx([100 * line[grader] for line in lines], abs=1e-9)
    assert len(lines) == 12
