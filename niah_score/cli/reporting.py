"""Ends commands: expected errors with a sentence and an exit code, bugs with a traceback."""

from __future__ import annotations

from niah_score.machine import command
from niah_score.machine.command import Ending

_PACKAGES = ("loky", "matplotlib", "numpy", "opencc", "orjson", "polars", "pyarrow", "rapidfuzz", "zstandard")


def _expected(error: BaseException) -> Ending | None:
    from niah_score.contract import ContractError
    from niah_score.errors import ScoreError

    if isinstance(error, ScoreError):
        return Ending(str(error), error.exit_code)
    if isinstance(error, ContractError):
        return Ending(str(error), 4)
    if isinstance(error, ModuleNotFoundError) and error.name in _PACKAGES:
        return Ending(f"{error.name} is not installed; `pip install niah-kit` installs all that niah-score needs", 2)
    return None


reported = command.reported("niah-score", _expected)
