"""Scores answers to needle-in-a-haystack prompts. Needs a dataset's files only, never its generator.

niah_score.evaluate("build/default/...", "answers.jsonl")     a Report, as `niah-score score` writes it
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from niah_score.contract import VERSION

if TYPE_CHECKING:
    from niah_score.contract import ContractError as ContractError
    from niah_score.errors import ScoreError as ScoreError
    from niah_score.evaluation import evaluate as evaluate
    from niah_score.evaluation import with_verdicts as with_verdicts
    from niah_score.report.results import Report as Report
    from niah_score.report.results import read as read

__version__ = VERSION

_HOMES = {
    "ContractError": "contract",
    "Report": "report.results",
    "ScoreError": "errors",
    "evaluate": "evaluation",
    "read": "report.results",
    "with_verdicts": "evaluation",
}
__all__ = sorted(_HOMES)


def __getattr__(name: str) -> object:
    """Public names are loaded when they are first used, so that importing the package costs nothing."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
