"""Lists all metrics: their names and their modules, so that a build can refuse a metric that the scorer does not know.

Each metric has its name here, a function in that module and a section of docs/metrics.md.
"""

from __future__ import annotations

# The names in each module of niah_score.metrics, in the order in which metrics are listed.
_IN_MODULES = (
    ("correct", "correct"),
    ("keyword", "keyword keyword_all"),
    ("correct", "keyword_f1"),
    ("keyword", "keyword_regex"),
    ("similarity", "exact edit char_f1 word_f1 rouge_l"),
    ("choice", "choice"),
    ("opencompass", "cdme cdme_trim cdme_multi needlebench_v1 needlebench_v1_trim needlebench_v2 needlebench_multi"),
    ("opencompass", "needlebench_parallel needlebench_boxed"),
    ("published", "nh2_match nh2_chain ruler_all ruler_part"),
    ("longbench", "longbench_retrieval longbench_count longbench_qa_f1 longbench_qa_f1_line longbench_qa_f1_zh"),
    ("longbench", "longbench_rouge longbench_rouge_line longbench_rouge_zh longbench_classification"),
    ("longbench", "longbench_code_sim"),
    ("published", "babilong nolima_contains mrcr mrcr_v2"),
)
METRIC_HOMES = {name: f"niah_score.metrics.{home}" for home, names in _IN_MODULES for name in names.split()}
METRIC_NAMES = tuple(METRIC_HOMES)
_SHOWN = 80  # characters of a name in a message
_LISTED = 20


def unknown_metric(name: str) -> str:
    """Says that a metric is unknown, with the closest names, or with the first ones if none is close."""
    from difflib import get_close_matches

    close = get_close_matches(name[:_SHOWN], METRIC_NAMES, n=3)
    first = ", ".join(METRIC_NAMES[:_LISTED])
    expected = f"expected one of {first}, or one of {len(METRIC_NAMES) - _LISTED} more in docs/metrics.md"
    advice = f"did you mean {_either(close)}?" if close else expected
    return f"metric {name[:_SHOWN]!r} is unknown; {advice}"


def _either(names: list[str]) -> str:
    *most, last = map(repr, names)
    return f"{', '.join(most)} or {last}" if most else last
