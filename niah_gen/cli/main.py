"""Starts the command `niah-gen`, and ends it whatever happens, from its first import on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from niah_score.machine.command import run_command

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
    run_command("niah-gen", "niah_gen.cli.commands", "run the same command again to go on")
