"""Finds the text of a row's prompt that holds its facts."""

from __future__ import annotations

from niah_score.contract import Row


def context_of(row: Row) -> str:
    """The prompt, or the text of its message that holds the context."""
    prompt = row["prompt"]
    return prompt if isinstance(prompt, str) else prompt[row["context_message"]]["content"]
