"""Ends commands: expected errors with a sentence and their exit code, bugs with their traceback."""

from __future__ import annotations

import typer

from niah_score.machine import command
from niah_score.machine.command import Ending

_GENERATOR_PACKAGES = (
    "numpy", "tiktoken", "tomli_w", "tokenizers", "regex", "requests", "datasets", "jieba", "zstandard",
    "huggingface_hub",
)  # fmt: skip


def _expected(error: BaseException) -> Ending | None:
    from niah_gen.errors import NiahError
    from niah_score.contract import ContractError
    from niah_score.errors import ScoreError

    if isinstance(error, NiahError | ScoreError | ContractError):
        return Ending(str(error), getattr(error, "exit_code", 4))
    if isinstance(error, ModuleNotFoundError) and error.name in _GENERATOR_PACKAGES:
        return Ending(f"{error.name} is not installed; the generator needs `pip install 'niah-kit[gen]'`", 2)
    return None


reported = command.reported("niah-gen", _expected, "run the same command again to go on")


def notice(sentence: str) -> None:
    """Tell the user something on stderr."""
    from niah_score.machine.addresses import without_secrets
    from niah_score.text.visible import visible

    typer.echo(f"note: {visible(without_secrets(sentence))}", err=True)
