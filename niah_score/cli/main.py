"""Starts the command `niah-score`, and ends it cleanly whatever happens, even during its first imports."""

from __future__ import annotations


def main() -> None:
    """Entry point of `niah-score`."""
    from niah_score.machine.run import run_command, watch_interrupts

    watch_interrupts("niah-score")
    run_command("niah-score", "niah_score.cli.commands")
