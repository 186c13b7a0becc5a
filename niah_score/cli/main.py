"""Starts the command `niah-score`, and ends it whatever happens, from its first import on."""

from __future__ import annotations

# As typing has it, which takes long to import.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from niah_score.cli.commands import app as app


def __getattr__(name: str) -> object:
    """`app`, the typer application: loaded when it is asked for, as Ctrl-C may come before."""
    if name != "app":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from niah_score.cli import commands

    return commands.app


def main() -> None:
    """Entry point of `niah-score`."""
    from niah_score.machine.interrupts import watch_interrupts

    watch_interrupts("niah-score")
    from niah_score.machine.command import run_command

    run_command("niah-score", "niah_score.cli.commands")
