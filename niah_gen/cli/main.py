"""Starts the command `niah-gen`, and ends it cleanly whatever happens from its first import on."""

from __future__ import annotations

import gc


def main() -> None:
    """Entry point of `niah-gen`."""
    # Imports make many objects and no garbage; looking for it every 700 objects takes a tenth of the start-up.
    gc.set_threshold(50_000)
    from niah_score.machine.run import run_command, watch_interrupts

    watch_interrupts("niah-gen", "run the same command again to go on")
    run_command("niah-gen", "niah_gen.cli.commands")
