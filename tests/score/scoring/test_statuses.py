"""The status of a row is the most serious of those that apply."""

from __future__ import annotations

from typing import Any

import polars as pl
from each import each

from niah_score.scoring.statuses import STATUSES, statuses_of

SCHEMA = {"sample": pl.Int64, "finish": pl.String, "error": pl.String, "reasoning": pl.String}


def status(text: str = "blue", answer: str | None = None, *, unclosed: bool = False, **row: Any) -> str:
    """The status of a text, of which `answer` is left without its reasoning; by default all of it."""
    frame = pl.DataFrame([{"sample": 0, "finish": None, "error": None, "reasoning": None, **row}], schema=SCHEMA)
    (result,) = statuses_of(frame, [text], [text.strip() if answer is None else answer], [unclosed])
    return result


def test_the_most_serious_status_that_applies_is_reported() -> None:
    everything: dict[str, Any] = {"sample": None, "error": "x", "finish": "refused"}
    assert status("", unclosed=True, **everything) == "missing"
    assert status("", unclosed=True, **{**everything, "sample": 0}) == "error"
    assert status("", unclosed=True, finish="refused") == "refused"
    assert status("", unclosed=True, finish="truncated") == "think_unclosed"
    assert status("", finish="truncated") == "truncated"
    assert status("") == "empty"
    assert status() == "ok"


@each("reasoning", [None, ""])
def test_a_truncated_row_without_text_is_unclosed_thinking_if_it_has_reasoning(reasoning: str | None) -> None:
    assert status(" ", finish="truncated", reasoning="Is it red?") == "think_unclosed"
    assert status(" ", finish="truncated", reasoning=reasoning) == "truncated"
    assert status(" ", finish="stop", reasoning="Is it red?") == "empty"


def test_a_text_of_only_reasoning_is_unclosed_if_truncated_and_empty_if_not() -> None:
    assert status("<think>red</think>", "", finish="truncated") == "think_unclosed"
    for finish in (None, "stop"):
        assert status("<think>red</think>", "", finish=finish) == "empty"
    assert status("<think>red</think>blue", "blue", finish="truncated") == "truncated"


def test_any_other_finish_reason_is_ok() -> None:
    assert {status(finish=finish) for finish in (None, "stop", "tool_calls", "")} == {"ok"}
    assert set(STATUSES) >= {"ok", "missing"}
