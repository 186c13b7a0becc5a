"""The table of metric names leads to every metric, and a wrong name is answered with the nearest ones."""

from __future__ import annotations

from each import each

from niah_score.contract import METRIC_HOMES, METRIC_NAMES, unknown_metric
from niah_score.metrics import METRICS


def test_the_table_of_names_matches_the_registry_of_metrics() -> None:
    assert {name: metric.function.__module__ for name, metric in METRICS.items()} == METRIC_HOMES
    assert list(METRICS) == list(METRIC_NAMES)


@each(
    ("name", "message"),
    [
        ("keywrod", "metric 'keywrod' is unknown; did you mean 'keyword', 'keyword_f1' or 'keyword_all'?"),
        ("needlebench", "metric 'needlebench' is unknown; did you mean 'needlebench_v2', 'needlebench_v1' or "),
        ("nonsense!", "metric 'nonsense!' is unknown; expected one of correct, keyword, keyword_all, keyword_f1, "),
        ("", "metric '' is unknown; expected one of correct, "),
    ],
)
def test_an_unknown_name_is_answered_with_the_nearest_names_or_all(name: str, message: str) -> None:
    assert unknown_metric(name).startswith(message)


def test_a_long_unknown_name_makes_no_long_message() -> None:
    assert len(unknown_metric("x" * 100_000)) < 500
