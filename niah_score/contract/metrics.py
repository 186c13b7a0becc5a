"""Lists all metrics: their names and their modules, so that a build can refuse a metric that the scorer does not know.

Each metric has its name here, a function in that module and a section of docs/metrics.md.
"""

from __future__ import annotations

from niah_score.errors import suggestion

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
    ("longbench", "longbench_code_sim longbench_v2"),
    ("published", "babilong nolima_contains mrcr mrcr_v2 graphwalks"),
)
METRIC_HOMES = {name: f"niah_score.metrics.{home}" for home, names in _IN_MODULES for name in names.split()}
METRIC_NAMES = tuple(METRIC_HOMES)
_SHOWN = 80  # characters of a name in a message


def unknown_metric(name: str) -> str:
    """Says that a metric is unknown, with the closest name, or with all names if none is close."""
    return f"metric {name[:_SHOWN]!r} is unknown; {suggestion(name[:_SHOWN], METRIC_NAMES)}"
