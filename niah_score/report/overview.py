"""Sums a run up in a few lines: the score first, then what it is made of, then the other metrics.

The commands print these lines, and notebooks show them. Names from outside are cut and kept on one line.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from niah_score.errors import SHOWN_PROBLEMS
from niah_score.statistics.intervals import interval_text, needles_note
from niah_score.text.visible import one_line

if TYPE_CHECKING:
    from niah_score.join.join import Lines, Problem
    from niah_score.statistics.intervals import Figure

_LONGEST_NAME = 80
# Files that others wrote may make every row a part.
_MOST_PARTS = 20
# What the numbers of controls are called, and their units.
_CONTROLS = {
    "false_answer_rate": ("false answers", " %"),
    "guess_rate": ("guessed", " %"),
    "one_sided_rate": ("one-sided", " %"),
    "score": ("score", ""),
}


def short_name(name: str) -> str:
    """A name from outside on one line, cut if it is long."""
    name = one_line(name)
    return name if len(name) <= _LONGEST_NAME else f"{name[:_LONGEST_NAME]}…"


def title_of(model: str, dataset: str, digest8: str) -> str:
    """Which model's scores these are, and on which dataset."""
    return f"{short_name(model)} on {short_name(dataset)} {short_name(digest8)}"


def make_up(headline: Mapping[str, Any]) -> str | None:
    """The headline as a weighted sum: `single 84.0 x 0.4 + chains 31.0 x 0.6`; None if fewer than two parts count."""
    parts = [part for part in headline["parts"] if part["weight"]]
    if len(parts) < 2:
        return None
    shown = [f"{_part_name(part)} {part['mean']:.1f} x {part['weight']:.3g}" for part in parts[:_MOST_PARTS]]
    return " + ".join(shown + ["..."] * (len(parts) > _MOST_PARTS))


def weight_text(part: Mapping[str, Any]) -> str:
    """The weight of a part in the score, in words."""
    return f"weight {part['weight']:.3g}" if part["weight"] else "in no score"


def score_text(figure: Figure) -> str:
    """A mean with its interval: 57.12 [50.50, 64.07]."""
    if figure.mean is None:
        return "no score"
    ends = "" if figure.low is None or figure.high is None else f" [{figure.low:.2f}, {figure.high:.2f}]"
    return f"{figure.mean:.2f}{ends}"


def _part_name(part: Mapping[str, Any]) -> str:
    return "(no part)" if part["name"] is None else short_name(part["name"])


def score_line(headline: Mapping[str, Any], overall: Mapping[str, Any]) -> str:
    """The first line: the score with its interval. `overall`: the figure of all rows that count, as in summary.json."""
    if headline["mean"] is None:
        unweighted = headline["weighed_by"] == "manifest" and any(part["n"] for part in headline["parts"])
        return f"score -  no row {'of a part with a weight ' * unweighted}has one"
    silent = f", {overall['unanswered']:,} without an answer" if overall["unanswered"] else ""
    return f"score {headline['mean']:.2f}  95 % interval {interval_text(overall)}  {_counts(overall)}{silent}"


def overview_of(
    summary: dict[str, Any], own_metrics: Sequence[str], signatures: Mapping[str, str] | None = None
) -> Iterator[str]:
    """What summary.json holds, in lines: what was measured and its parts, then the other metrics that rows have.

    `own_metrics`: the metrics that rows are judged by. `signatures`: of the metrics, to stand behind their figures.
    """
    yield from _about(summary, own_metrics)
    groups = list(_groups(summary))
    width = max((len(name) for _, names in groups for name in names), default=0)
    for title, names in groups:
        yield from ("", title)
        for name in names:
            signature = f"  {signatures.get(name, '')}" if signatures else ""
            yield f"  {name:{width}} {_figure(summary['metrics'][name]['overall'])}{signature}".rstrip()


def _about(summary: dict[str, Any], own_metrics: Sequence[str]) -> Iterator[str]:
    score = summary["metrics"]["score"]
    if summary.get("tools"):
        yield "the model had tools: this is no score of what it reads in its own context"
    by = f", by {short_name(', '.join(own_metrics))}" if own_metrics else ""
    yield f"{title_of(summary['model'], summary['dataset']['name'], summary['dataset']['digest8'])}{by}"
    if len([line for line in score["groups"].get("length", ()) if line["value"] is not None]) > 1:
        yield f"effective length {_length(score['effective_length']['ruler'])}"
    if (chance := summary["headline"].get("chance")) is not None:
        yield f"chance {chance:.1f}: the best answer that ignores the question; the dataset's card has other floors"
    if note := needles_note(score["overall"]["method"]):
        yield note
    if rates := summary.get("guess_rates"):
        each = ", ".join(f"{short_name(rate['needle'] or '-')} {rate['mean']:.1f}" for rate in rates[:_MOST_PARTS])
        yield f"guessing among like replies would score {each} ({rates[0]['metric']})"
    yield from _parts(summary["headline"])
    for control, record in summary["controls"].items():
        name = next(name for name in _CONTROLS if name in record)
        label, unit = _CONTROLS[name]
        figure = _figure({**record, "mean": record[name]}, unit).lstrip()
        yield f"control {short_name(control)}: {label} {figure}{_beside(record)}"


def _parts(headline: dict[str, Any]) -> Iterator[str]:
    """The score as a sum of its parts, then each part."""
    parts = headline["parts"]
    if len(parts) < 2:
        return
    if (weighted_sum := make_up(headline)) is not None:
        yield f"score {headline['mean']:.1f} = {weighted_sum}"
    if headline["weighed_by"] == "rows":
        yield "the dataset gives its parts no weights: each weighs as much as it has rows"
    for part in parts[:_MOST_PARTS]:
        share = f", all right {part['all_right']['mean']:.2f} %" if part["all_right"] and part["n"] else ""
        yield f"part {_part_name(part)}: {_figure(part).lstrip()}, {weight_text(part)}{share}"
    if len(parts) > _MOST_PARTS:
        yield f"and {len(parts) - _MOST_PARTS:,} more parts: all are in summary.json"


def _beside(record: dict[str, Any]) -> str:
    """What follows a control's number: how its rows' twins score."""
    if record.get("asked", {}).get("n"):
        asked, gap = record["asked"], record["gap"]
        return f"; the same items as asked {asked['mean']:.2f}, gap {gap['mean']:+.2f}  {interval_text(gap)}"
    return ""


def _length(effective: dict[str, Any]) -> str:
    """An effective length with its interval: 4,000 [2,000 to 8,000 or more]."""
    if effective["interval"] is None:
        return "not shown by these data"
    ends = (effective["length"], *effective["interval"])
    length, low, high = ("none" if end is None else f"{end:,}" for end in ends)
    return f"{length} [{low} to {high}{' or more' * effective['or_more']}]"


def _groups(summary: dict[str, Any]) -> Iterator[tuple[str, list[str]]]:
    """The metrics that some row has a score for: ours, published ones, and others, such as a judge's."""
    from niah_score.metrics import METRICS

    known = {name for name, record in summary["metrics"].items() if name != "score" and record["overall"]["n"]}
    groups = {
        "ours": [name for name, metric in METRICS.items() if metric.kind == "strict"],
        "as published": [name for name, metric in METRICS.items() if metric.kind == "compat"],
        "others": sorted(known - METRICS.keys()),
    }
    for title, names in groups.items():
        if own := [name for name in names if name in known]:
            yield title, own


def accounts(lines: Lines, statuses: Mapping[str, int]) -> Iterator[str]:
    """What became of every line that was read, and of every row, as two equations."""
    yield (
        f"lines read {lines.read:,} = used {lines.used:,} + duplicate {lines.duplicate:,} + unknown {lines.unknown:,} "
        f"+ malformed {lines.malformed:,}"
    )
    rows = " + ".join(f"{name} {count:,}" for name, count in statuses.items())
    yield f"rows {sum(statuses.values()):,} = {rows}"


def first_problems(problems: Sequence[Problem]) -> Iterator[str]:
    """The first problems; not missing answers, which the equation counts and problems.jsonl names."""
    problems = [problem for problem in problems if problem.kind != "missing"]
    yield from (f"  {problem.kind}: {problem}" for problem in problems[:SHOWN_PROBLEMS])
    if len(problems) > SHOWN_PROBLEMS:
        yield f"  and {len(problems) - SHOWN_PROBLEMS:,} more problems: all are in problems.jsonl"


def _figure(figure: dict[str, Any], unit: str = "") -> str:
    if figure["mean"] is None:
        return f"{'-':>6}  {_counts(figure)}"
    return f"{figure['mean']:6.2f}{unit}  {interval_text(figure)}  {_counts(figure)}"


def _counts(figure: Mapping[str, Any]) -> str:
    n, rows = figure["n"], figure["rows"]
    return f"n {n:,}" if n == rows else f"n {n:,} of {rows:,} rows"
