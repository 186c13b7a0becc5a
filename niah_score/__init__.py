"""Scores answers to needle-in-a-haystack prompts, from a dataset's files alone, without its generator.

report = niah_score.evaluate("build/default/...", "answers.jsonl")      scores answers, as `niah-score score` does
niah_score.write(report, "scores/mine")                                 writes its tables, pictures and page
niah_score.read("scores/mine")                                          reads them back as a Report
niah_score.compare(report, "scores/other")                              compares runs row by row
judge = niah_score.Judge("build/default/..."); judge(id, text)          scores one answer, for harnesses
niah_score.plot(report, "scores/other", out="both.png")                 draws heatmaps side by side
"""

from __future__ import annotations

# A copy of typing's: importing typing takes longer than everything else here and would delay the handling of Ctrl-C.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from niah_score.contract import ContractError as ContractError
    from niah_score.errors import ScoreError as ScoreError
    from niah_score.evaluation import evaluate as evaluate
    from niah_score.evaluation import with_verdicts as with_verdicts
    from niah_score.judge import Judge as Judge
    from niah_score.judge import Judgement as Judgement
    from niah_score.report.compare import compare as compare
    from niah_score.report.read import read as read
    from niah_score.report.report import Report as Report
    from niah_score.report.write import plot as plot
    from niah_score.report.write import write as write

_HOMES = {
    "ContractError": "contract",
    "Judge": "judge",
    "Judgement": "judge",
    "Report": "report.report",
    "ScoreError": "errors",
    "compare": "report.compare",
    "evaluate": "evaluation",
    "plot": "report.write",
    "read": "report.read",
    "with_verdicts": "evaluation",
    "write": "report.write",
}
__all__ = sorted(_HOMES)


def __getattr__(name: str) -> object:
    """Load public names on first use, so that importing the package costs nothing."""
    if name == "__version__":
        from niah_score.contract import VERSION

        return VERSION
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
