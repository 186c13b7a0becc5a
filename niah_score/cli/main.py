"""Starts the command `niah-score`, and ends it cleanly whatever happens, even during its first imports."""

from __future__ import annotations


def main() -> None:
    """Entry point of `niah-score`."""
    from niah_score.machine.interrupts import watch_interrupts

    watch_interrupts("niah-score")
    from niah_score.machine.command import run_command

    run_command("niah-score", "niah_score.cli.commands")
