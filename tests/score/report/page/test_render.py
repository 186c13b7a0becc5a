"""The page: inert whatever it shows, the same for the same report, and never too large."""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import replace

import polars as pl
import pytest
from made import WriteLines
from made_pages import large, shown_by

import niah_score
from niah_score.report.page.render import page_of
from niah_score.report.report import Report


@pytest.mark.slow
@pytest.mark.parametrize("largest", [2_000_000, 300_000, 150_000, 130_000])
def test_the_page_stays_below_its_limit_and_states_what_it_left_out(largest: int, write_lines: WriteLines) -> None:
    rows, answers = large(400)
    for number, row in enumerate(rows):
        row["length"], row["depth_percent"] = 1000 * (number % 4), 25.0 * (number // 4 % 5)
    for answer in answers:
        answer["prediction"] += " And so on, 以此类推。" * 300
    report = niah_score.evaluate(write_lines("r.jsonl", rows), write_lines("a.jsonl", answers), missing="zero")
    page = page_of(report, largest=largest)
    assert len(page) <= largest
    examples = shown_by(page)["examples"]
    counts = [examples["columns"]["cell"].count(cell) for cell in range(20)]
    assert max(counts) <= examples["most"] <= examples["asked"] == 20
    if examples["most"] == 20:
        assert counts == [20] * 20
    longest = max(
        sum(len(piece) for piece in text if isinstance(piece, str))
        for text in examples["columns"]["prediction"] if isinstance(text, list)
    )  # fmt: skip
    assert examples["cut"]
    assert longest <= examples["characters"]


def test_texts_are_cut_before_examples_are_left_out(report: Report) -> None:
    scores = report.scores.with_columns(pl.col("prediction") + "x" * 3000)
    long = replace(report, scores=scores)
    whole = page_of(long)
    assert (shown_by(whole)["examples"]["most"], shown_by(whole)["examples"]["characters"]) == (20, 4000)
    less = shown_by(page_of(long, largest=len(whole) - 1))["examples"]
    assert (less["most"], less["characters"]) == (20, 2000)


def test_the_file_is_self_contained_and_its_policy_allows_only_its_script_and_style(report: Report) -> None:
    text = page_of(report).decode()
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text)
    assert policy
    rules = dict(rule.split(" ", 1) for rule in policy[1].split("; "))
    assert rules["default-src"] == "'none'"
    assert set(rules) == {
        "default-src", "script-src", "style-src", "base-uri", "form-action", "require-trusted-types-for",
        "trusted-types",
    }  # fmt: skip
    for name, element in (("script-src", "script"), ("style-src", "style")):
        (inside,) = re.findall(rf"<{element}>(.*?)</{element}>", text, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(inside.encode()).digest()).decode()
        assert rules[name] == f"'sha256-{digest}'"
    assert re.findall(r"<(\w+)", re.sub(r"<script.*?</script>|<style>.*?</style>", "", text, flags=re.DOTALL)) == [
        "html", "head", "meta", "meta", "meta", "meta", "meta", "title", "body", "div", "noscript", "p",
    ]  # fmt: skip
