"""Ends commands: expected errors with a sentence and their exit code, bugs with their traceback."""

from __future__ import annotations

from niah_score.machine.run import reported as of_program
from niah_score.machine.run import say

reported = of_program("niah-gen", "'niah-kit[gen]'")


def notice(sentence: str) -> None:
    """Tell the user something on stderr."""
    say("note", sentence)
