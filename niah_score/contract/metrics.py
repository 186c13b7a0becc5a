"""Lists the names of all metrics, so that a build can refuse a metric that the scorer does not know.

Each metric has a line here, a line in `niah_score.metrics.METRICS`, a file there and a section of docs/metrics.md.
"""

from __future__ import annotations

# The module of each metric, in the order in which metrics are listed.
METRIC_HOMES: dict[str, str] = {
    "correct": "niah_score.metrics.correct",
    "keyword": "niah_score.metrics.keyword",
    "keyword_all": "niah_score.metrics.keyword",
    "keyword_f1": "niah_score.metrics.keyword_f1",
    "keyword_regex": "niah_score.metrics.keyword",
    "exact": "niah_score.metrics.exact",
    "edit": "niah_score.metrics.edit",
    "char_f1": "niah_score.metrics.f1",
    "word_f1": "niah_score.metrics.f1",
    "rouge_l": "niah_score.metrics.rouge",
    "choice": "niah_score.metrics.choice",
    "cdme": "niah_score.metrics.cdme",
    "cdme_trim": "niah_score.metrics.cdme",
    "cdme_multi": "niah_score.metrics.cdme",
    "needlebench_v1": "niah_score.metrics.needlebench",
    "needlebench_v1_trim": "niah_score.metrics.needlebench",
    "needlebench_v2": "niah_score.metrics.needlebench",
    "needlebench_multi": "niah_score.metrics.needlebench",
    "needlebench_parallel": "niah_score.metrics.needlebench",
    "needlebench_boxed": "niah_score.metrics.needlebench_boxed",
    "nh2_match": "niah_score.metrics.needlehaystack2",
    "nh2_chain": "niah_score.metrics.needlehaystack2",
    "ruler_all": "niah_score.metrics.ruler",
    "ruler_part": "niah_score.metrics.ruler",
    "longbench_retrieval": "niah_score.metrics.longbench",
    "longbench_count": "niah_score.metrics.longbench",
    "longbench_qa_f1": "niah_score.metrics.longbench_answers",
    "longbench_qa_f1_line": "niah_score.metrics.longbench_answers",
    "longbench_qa_f1_zh": "niah_score.metrics.longbench_answers",
    "longbench_rouge": "niah_score.metrics.longbench_answers",
    "longbench_rouge_line": "niah_score.metrics.longbench_answers",
    "longbench_rouge_zh": "niah_score.metrics.longbench_answers",
    "longbench_classification": "niah_score.metrics.longbench_answers",
    "longbench_code_sim": "niah_score.metrics.longbench_answers",
    "babilong": "niah_score.metrics.babilong",
    "nolima_contains": "niah_score.metrics.nolima",
    "mrcr": "niah_score.metrics.mrcr",
    "mrcr_v2": "niah_score.metrics.mrcr",
}
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
