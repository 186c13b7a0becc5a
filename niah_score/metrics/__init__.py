"""Scores answers: finds every metric by name. Each has a function that judges one answer, `judge_` and its name.

    METRICS["edit"].judge("It is blue.", Target(("blue",)))

A module's PARTS are the components of its metrics' values, with their types. docs/metrics.md has the formulas, sources
and quirks. May import contract, text, machine, formats and join.
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module

from niah_score.contract import METRIC_HOMES, unknown_metric
from niah_score.errors import ScoreError
from niah_score.metrics.base import Metric as Metric
from niah_score.metrics.base import PartType as PartType
from niah_score.metrics.base import Score as Score
from niah_score.metrics.base import Target as Target
from niah_score.metrics.base import target_of as target_of

# The modules of published metrics.
_COMPAT = ("opencompass", "published", "longbench")
# The metrics that are computed in addition to the row's own if none are asked for.
_DEFAULT = ("keyword", "exact", "edit", "char_f1", "cdme", "cdme_trim", "cdme_multi")


def _metric(name: str, home: str) -> Metric:
    module = import_module(home)
    judge, parts = getattr(module, f"judge_{name}"), getattr(module, "PARTS", {})
    return Metric(name, "compat" if home.endswith(_COMPAT) else "strict", judge, parts.get(name, {}))


METRICS = {name: _metric(name, home) for name, home in METRIC_HOMES.items()}


def default_metrics() -> list[str]:
    """The metrics computed in addition to the row's own if none are asked for."""
    return list(_DEFAULT)


def check_metrics(names: Iterable[str]) -> None:
    """Raise ScoreError for a name that is no metric's."""
    for name in names:
        if name not in METRICS:
            raise ScoreError(unknown_metric(name))
