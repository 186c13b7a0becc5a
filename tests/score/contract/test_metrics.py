"""The table of metric names leads to every metric, and a wrong name is answered with the nearest ones."""

from __future__ import annotations

from niah_score.contract import METRIC_HOMES, METRIC_NAMES, unknown_metric
from niah_score.metrics import METRICS


def test_the_table_of_names_matches_the_registry_of_metrics() -> None:
    assert {name: metric.function.__module__ for name, metric in METRICS.items()} == METRIC_HOMES
    assert list(METRICS) == list(METRIC_NAMES)


def test_an_unknown_name_is_answered_with_the_nearest_one_or_all() -> None:
    for name, message in (
        ("keywrod", "metric 'keywrod' is unknown; did you mean 'keyword'?"),
        ("needlebench", "metric 'needlebench' is unknown; did you mean 'needlebench_v2'?"),
        ("nonsense!", f"metric 'nonsense!' is unknown; expected one of {', '.join(METRIC_NAMES)}"),
        ("x" * 100_000, f"metric '{'x' * 80}' is unknown; expected one of {', '.join(METRIC_NAMES)}"),
    ):
        assert unknown_metric(name) == message
