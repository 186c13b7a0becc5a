"""Scores answers: finds every metric by name. Each has a function that judges one answer, and a record.

    METRICS["edit"].judge("It is blue.", Target(("blue",)))

docs/metrics.md has the formulas, sources and quirks. May import contract, text, machine, formats and join.
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

# The record of a metric has its name, in capitals.
METRICS: dict[str, Metric] = {name: getattr(import_module(home), name.upper()) for name, home in METRIC_HOMES.items()}


def default_metrics() -> list[str]:
    """The metrics computed in addition to the row's own if none are asked for."""
    return [name for name, metric in METRICS.items() if metric.default]


def check_metrics(names: Iterable[str]) -> None:
    """Raise ScoreError for a name that is no metric's."""
    for name in names:
        if name not in METRICS:
            raise ScoreError(unknown_metric(name))
