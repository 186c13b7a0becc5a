"""Ends commands: expected errors with a sentence and an exit code, bugs with a traceback."""

from __future__ import annotations

from niah_score.machine import command
from niah_score.machine.command import Ending


def _expected(error: BaseException) -> Ending | None:
    from niah_score.contract import ContractError
    from niah_score.errors import ScoreError

    if isinstance(error, ScoreError):
        return Ending(str(error), error.exit_code)
    if isinstance(error, ContractError):
        return Ending(str(error), 4)
    return None


reported = command.reported("niah-score", _expected)
