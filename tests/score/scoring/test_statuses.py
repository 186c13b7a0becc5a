"""The status of a row is the most serious of those that apply."""

from __future__ import annotations

from niah_score.scoring.statuses import STATUSES, status_of


def status(text: str = "blue", answer: str | None = None, finish: str | None = None, **more: bool) -> str:
    """The status of a text, of which `answer` is left without its reasoning; by default all of it."""
    said = dict.fromkeys(("missing", "failed", "thought", "unclosed"), False)
    return status_of(text, text.strip() if answer is None else answer, finish, **{**said, **more})


def test_the_most_serious_status_that_applies_is_reported() -> None:
    assert status("", finish="refused", missing=True, failed=True, unclosed=True) == "missing"
    assert status("", finish="refused", failed=True, unclosed=True) == "error"
    assert status("", finish="refused", unclosed=True) == "refused"
    assert status("", finish="truncated", unclosed=True) == "think_unclosed"
    assert status("", finish="truncated") == "truncated"
    assert status("") == "empty"
    assert status() == "ok"


def test_a_truncated_row_without_text_is_unclosed_thinking_if_it_has_reasoning() -> None:
    assert status(" ", finish="truncated", thought=True) == "think_unclosed"
    assert status(" ", finish="truncated") == "truncated"
    assert status(" ", finish="stop", thought=True) == "empty"


def test_a_text_of_only_reasoning_is_unclosed_if_truncated_and_empty_if_not() -> None:
    assert status("<think>red</think>", "", finish="truncated") == "think_unclosed"
    for finish in (None, "stop"):
        assert status("<think>red</think>", "", finish=finish) == "empty"
    assert status("<think>red</think>blue", "blue", finish="truncated") == "truncated"


def test_any_other_finish_reason_is_ok() -> None:
    assert {status(finish=finish) for finish in (None, "stop", "tool_calls", "")} == {"ok"}
    assert set(STATUSES) >= {"ok", "missing"}
