"""Ends commands: expected errors with a sentence and their exit code, bugs with their traceback."""

from __future__ import annotations

import typer

from niah_score.machine.run import reported as of_program

reported = of_program("niah-gen", "'niah-kit[gen]'")


def notice(sentence: str) -> None:
    """Tell the user something on stderr."""
    from niah_score.machine.stores import without_secrets
    from niah_score.text.visible import visible

    typer.echo(f"note: {visible(without_secrets(sentence))}", err=True)
