"""Starts the command `niah-gen`, and ends it whatever happens, from its first import on."""

from __future__ import annotations

import gc

# As typing has it, which takes long to import.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from niah_gen.cli.commands import app as app


def __getattr__(name: str) -> object:
    """`app`, the typer application: loaded when it is asked for, as Ctrl-C may come before."""
    if name != "app":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from niah_gen.cli import commands

    return commands.app


def main() -> None:
    """Entry point of `niah-gen`."""
    # Imports make many objects and no garbage; looking for it every 700 objects takes a tenth of the start-up.
    gc.set_threshold(50_000)
    from niah_score.machine.interrupts import watch_interrupts

    watch_interrupts("niah-gen", "run the same command again to go on")
    from niah_score.machine.command import run_command

    run_command("niah-gen", "niah_gen.cli.commands")
