"""`--body` and `--max-tokens` set the fields of every request."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from niah_gen.errors import NiahError
from niah_gen.export.base import ExportOptions
from niah_gen.export.export import export
from niah_gen.export.requests import read_fields


def first(folder: Path, to: str, out: Path, words: list[str], **options: Any) -> dict[str, Any]:
    """What the model is sent for the first row."""
    model = None if to in ("gemini", "vertex") else "m"
    export(folder, to, out, ExportOptions(model=model, fields=read_fields(words), **options))
    data = next(iter(sorted(out.iterdir()))).read_bytes()
    request = json.loads(data)["requests"][0] if to == "anthropic" else json.loads(data.splitlines()[0])
    sent: dict[str, Any] = request.get("body") or request.get("params") or request["request"]
    return sent


def test_values_are_json_or_else_text_and_dots_in_names_nest_them() -> None:
    words = ["temperature=0.7", "reasoning_effort=high", "thinking.type=enabled", "thinking.budget_tokens=2000"]
    words += ['stop=["\\n"]', "seed=null", "user=a=b", "empty="]
    assert read_fields(words) == {
        "temperature": 0.7, "reasoning_effort": "high", "thinking": {"type": "enabled", "budget_tokens": 2000},
        "stop": ["\n"], "seed": None, "user": "a=b", "empty": "",
    }  # fmt: skip


def test_incomplete_and_contradictory_fields_are_refused() -> None:
    for words in (["temperature"], ["=1"], ["a..b=1"], ["a=1", "a=2"], ["a=1", "a.b=2"], ["a.b=1", "a=2"]):
        with pytest.raises(NiahError, match=r"^--body "):
            read_fields(words)


def test_a_request_holds_the_prompt_its_limit_and_nothing_else_that_was_not_asked_for(
    grid: Path, tmp_path: Path
) -> None:
    held = {
        "openai-batch": {"model", "messages", "max_completion_tokens"}, "vllm": {"model", "messages", "max_tokens"},
        "anthropic": {"model", "messages", "max_tokens"}, "gemini": {"contents", "generationConfig"},
        "vertex": {"contents", "generationConfig"},
    }  # fmt: skip
    for to, fields in held.items():
        assert set(first(grid, to, tmp_path / to, [])) == fields, to
    sent = first(grid, "openai-batch", tmp_path / "responses", [], api="responses")
    assert set(sent) == {"model", "input", "max_output_tokens"}
    assert first(grid, "openai-batch", tmp_path / "greedy", ["temperature=0"])["temperature"] == 0
    sent = first(grid, "gemini", tmp_path / "level", ["generationConfig.thinkingConfig.thinkingLevel=low"])
    assert sent["generationConfig"] == {"maxOutputTokens": 200, "thinkingConfig": {"thinkingLevel": "low"}}


def test_thinking_settings_that_anthropic_would_refuse_are_refused_at_once(grid: Path, tmp_path: Path) -> None:
    thinking = ["thinking.type=enabled", "thinking.budget_tokens=2000"]
    with pytest.raises(NiahError, match=r"may have 200 tokens in total.*add --max-tokens \+2000"):
        first(grid, "anthropic", tmp_path / "a", thinking)
    with pytest.raises(NiahError, match=r"refuses temperature 0 with it; leave --body temperature out"):
        first(grid, "anthropic", tmp_path / "b", [*thinking, "temperature=0"], more_tokens=2000)
    assert first(grid, "vllm", tmp_path / "set", [], max_tokens=7)["max_tokens"] == 7
    sent = first(grid, "anthropic", tmp_path / "c", thinking, more_tokens=2000)
    assert (sent["max_tokens"], sent["thinking"]) == (2200, {"type": "enabled", "budget_tokens": 2000})
