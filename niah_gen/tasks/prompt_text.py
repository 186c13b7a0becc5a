"""Reads the text that a row's facts stand in."""

from __future__ import annotations

from niah_score.contract import Row


def context_of(row: Row) -> str:
    """The prompt, or the message of it that holds the context."""
    prompt = row["prompt"]
    return prompt if isinstance(prompt, str) else prompt[row["context_message"]]["content"]
