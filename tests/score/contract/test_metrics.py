"""The table of metric names leads to every metric, and a wrong name is answered with the nearest ones."""

from __future__ import annotations

from niah_score.contract import METRIC_HOMES, METRIC_NAMES
from niah_score.metrics import METRICS


def test_the_table_of_names_matches_the_registry_of_metrics() -> None:
    assert {name: metric.function.__module__ for name, metric in METRICS.items()} == METRIC_HOMES
    assert list(METRICS) == list(METRIC_NAMES)
