"""Computes the figures of scored rows: of all rows, cells and groups; the headline, controls, the effective length.

Every figure carries `rows` (the rows of its group), `n` (those with a score: its denominator), and `unanswered` (those
of status missing, error or empty, whether they count as 0 or have no score). Means and intervals are in points, 0 to
100, and null if no row has a score.

Rows of controls count only in `rows`, `statuses`, `findings`, the group `control` and `controls` of a summary. Rows of
a part of weight 0 count only in `rows`, `statuses`, `findings`, the group `part`, and that part's entry in the
headline.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import orjson
import polars as pl

from niah_score.contract import DRAW_SUFFIX
from niah_score.scoring.findings import FINDINGS, SHORTENED, STATUSES
from niah_score.statistics.intervals import Figure, differences
from niah_score.statistics.scored import UNANSWERED, Scored, coordinate_text

GROUPS = ("length", "depth_percent", "part", "language", "corpus", "needle_id", "task", "control")
# The metric that is 100 only if everything is right and nothing false.
_F1 = "keyword_f1"

# Of an effective length, in points.
THRESHOLD = 85.6
# The names of a control's number: for `absent`, `no_context`, `conflict`, and any other control.
NUMBERS = ("false_answer_rate", "guess_rate", "one_sided_rate", "score")
# Findings of answers that name everything asked for.
_NAMES_ALL = ("found", "hedged")
# What a row and its twin have in common, in addition to the haystack.
_TWINS = (
    "part", "task", "language", "corpus", "tokenizer", "template", "length", "depth_percent", "needle_id", "repeat",
)  # fmt: skip


def cells(scored: Scored, metrics: Sequence[str] = ("score",)) -> pl.DataFrame:
    """The cells, length x depth, of each metric: over all languages (language null), then for each one of several.

    Columns: metric, language, length, depth_percent and those of a figure. Rows without a language count only in the
    former.
    """
    lines = []
    several = len({*scored.factor("language").values} - {None}) > 1
    for by in (("length", "depth_percent"), ("language", "length", "depth_percent"))[: 1 + several]:
        for metric in metrics:
            for place, figure in scored.figures(metric, *by).items():
                if len(place) == 2 or place[0] is not None:
                    lines.append({"metric": metric, **dict(zip(by, place, strict=True)), **figure._asdict()})
    lines.sort(key=lambda line: metrics.index(line["metric"]))
    schema = {
        **dict.fromkeys(("metric", "language", "length", "depth_percent", *Figure._fields), pl.Float64()),
        **dict.fromkeys(("metric", "language", "method"), pl.String()),
        **dict.fromkeys(("length", "rows", "n", "unanswered"), pl.Int64()),
    }
    return pl.DataFrame(lines, schema=schema)


def length_means(scored: Scored, metric: str) -> dict[int | None, Figure]:
    """For each length with scores, the mean of its depths' means, however many rows they have."""
    figures = scored.figures(metric, "length", even=True).items()
    return {length: _without_dust(figure) for (length,), figure in figures if figure.n}


def of_lengths(scored: Scored, metric: str = "score") -> Figure:
    """The mean of the lengths' means, each the mean of its depths' means; rows without a length are left out.

    That is the overall score of NeedleBench and OpenCompass's plots (a pivot table's column means).
    """
    placed = scored.only(scored.column("length").is_not_null())
    return _without_dust(placed.figures(metric, even=True)[()])


def _without_dust(figure: Figure) -> Figure:
    """A figure without the rounding errors of weights: where every row has 100 points, so has the mean."""
    return figure if figure.mean is None else figure._replace(mean=round(figure.mean, 9))


def effective_length(scored: Scored, metric: str = "score") -> dict[str, Any]:
    """The longest length whose mean score reaches RULER's 85.6 points, as JSON files have it.

    `length`: null if none does. `interval`: from the longest length whose mean has an interval wholly at or above that,
    to the longest whose interval reaches it (null ends: no length's does). It is null where these data do not show it:
    the intervals of all lengths overlap, or that of a length is missing. `or_more`: whether the interval ends at the
    longest length of all, so that longer ones might pass as well.
    """
    lengths = {length: one for (length,), one in scored.figures(metric, "length").items() if length is not None}
    # The mean of rows that all score 85.6 may differ from it in the last digit.
    mean, low, high = (
        max((length for length, one in lengths.items() if (getattr(one, end) or 0.0) >= THRESHOLD - 1e-9), default=None)
        for end in ("mean", "low", "high")
    )
    ends = [(one.low, one.high) for one in lengths.values() if one.low is not None and one.high is not None]
    differ = len(ends) == len(lengths) > 1 and max(low for low, _ in ends) > min(high for _, high in ends)
    return {
        "threshold": THRESHOLD,
        "length": mean,
        "interval": [low, high] if differ else None,
        "or_more": differ and high == max(lengths),
    }


def length_averages(means: Sequence[float | None]) -> dict[str, float | None]:
    """RULER's wAvg(inc) and wAvg(dec) of the means of lengths, ascending; lengths without a mean are left out.

    `rising`: the n-th length has weight n; `falling`: the reverse. None if no length has a mean.
    """
    known = [mean for mean in means if mean is not None]
    total = len(known) * (len(known) + 1) / 2
    orders = {"falling": known[::-1], "rising": known}
    return {
        name: sum(weight * mean for weight, mean in enumerate(order, 1)) / total if known else None
        for name, order in orders.items()
    }


def headline_of(scored: Scored, metric: str = "score") -> dict[str, Any]:
    """The score of a run: mean and intervals (points), n, and its `parts` with their weights; controls do not count.

    `metric`: the one to use, by default each row's own score. The mean is the weighted mean of the parts' means.
    `weighed_by` names the weights: `manifest`, those that the dataset gives to the parts that have a score; or `rows`,
    each part's number of rows with a score, so that the headline is the mean of all rows. Weights add up to 1. Without
    the column `part`, all rows are one part with a null name. A part of weight 0 is listed but not in the mean. Parts
    are in the order of the manifest. `chance`, if the rows say it: the best score that ignores the question.

    `all_right` of a part judged only by `keyword_f1`: the percentage of its rows that name everything asked for and
    nothing false, with intervals and n; null for other parts.
    """
    asked = scored.asked
    of_parts = {name: figure for (name,), figure in asked.figures(metric, "part").items()}
    weights = {
        name: float(figure.n) if scored.weights is None else scored.weight_of(name) * (figure.n > 0)
        for name, figure in of_parts.items()
    }
    # Divided by the largest first, so that the sum is finite however large the weights are.
    largest = max(weights.values(), default=0.0) or 1.0
    total = sum(weight / largest for weight in weights.values()) or 1.0
    all_right = _all_right(asked) if metric == "score" else {}
    parts = []
    for name in scored.weights or of_parts:
        if name in of_parts:
            figure, right = of_parts[name], all_right.get(name)
            parts.append(
                {
                    **_record(figure._asdict()), "name": name, "rows": figure.rows, "unanswered": figure.unanswered,
                    "all_right": right and _record(right._asdict()), "weight": weights[name] / largest / total,
                }
            )  # fmt: skip
    whole = scored.counted.figures(metric)[()]
    weighed_by = "rows" if scored.weights is None else "manifest"
    return {**_record(whole._asdict()), **_chance(scored.counted), "parts": parts, "weighed_by": weighed_by}


def _chance(counted: Scored) -> dict[str, float]:
    """The chance of a headline, if all rows that count have one: weighted as they are."""
    frame = counted.frame
    if "chance" not in frame.columns or frame["chance"].has_nulls():
        return {}
    of_parts = (
        frame.group_by("part", maintain_order=True).agg(pl.col("chance").mean(), pl.len()).sort("part").iter_rows()
    )
    known = [(chance, n if counted.weights is None else counted.weight_of(part)) for part, chance, n in of_parts]
    total = sum(weight for _, weight in known)
    return {"chance": sum(chance * weight for chance, weight in known) / total} if total else {}


def _all_right(asked: Scored) -> dict[str | None, Figure]:
    """For each part judged only by F1, the percentage of rows with the full score."""
    judged = asked.groups("part", "metric")[0]
    by_f1 = {part for part, metric in judged if metric == _F1} - {part for part, metric in judged if metric != _F1}
    right = 100.0 * (pl.col("score").fill_nan(None) >= 100 - 1e-9).cast(pl.Float64)
    figures = Scored(asked.frame.with_columns(right.alias("score"))).figures("score", "part") if by_f1 else {}
    return {part: figure for (part,), figure in figures.items() if part in by_f1}


def _record(one: Mapping[str, Any]) -> dict[str, Any]:
    """A mean with n and the ends of both intervals by name, as JSON files hold them."""
    return {name: one[name] for name in ("mean", "n", "low", "high", "low_these", "high_these")}


def controls_of(scored: Scored) -> dict[str, dict[str, Any]]:
    """The number of each control in the rows, by name: {the number, low, high, n, rows, unanswered}, in percent.

    - `absent`, `false_answer_rate`: the share of rows whose answer fails to say that the text gives none, that is, all
      except those with the finding said_absent, refused or no_answer, and those whose reasoning never ended. Rows
      without keywords have no finding and are not in n.
    - `no_context`, `guess_rate`: the share of rows whose answer names everything asked for, though the prompt does not
      contain it (without keywords: that score 100).
    - `conflict`, `one_sided_rate`: its rows have a keyword group for each of two facts that contradict each other; the
      share of rows whose answer names one as if there were no other. With it, `shares`: of answers that name `both`,
      the `first` alone (the fact of the first needle), or the `other` alone.
    - Any other control, `score`: the mean score. With it, `asked`: the mean score of the twins of these rows, with n;
      `gap`: how much higher the control scores, paired row by row.

    Missing answers are in n, as answers that name nothing, unless they are excluded from scoring.
    """
    by_control: dict[str, dict[str, Any]] = {}
    left_out = (pl.col("status") == "missing") & pl.col("score").is_null()
    for control in scored.column("control").drop_nulls().unique().sort():
        rows = scored.frame.filter(pl.col("control") == control)
        name, number = _number_of(control, rows.columns)
        rows = rows.with_columns(pl.when(~left_out).then(number.cast(pl.Float64)).alias("number"))
        about = Scored(rows).figures("number")[()]._asdict()
        del about["method"]
        by_control[control] = about
        about[name] = about.pop("mean")
        if name == "one_sided_rate":
            about["shares"] = _shares(rows.filter(pl.col("number").is_not_null()))
        elif name == "score":
            about |= _beside_twins(rows, scored.asked.frame)
    return by_control


def _number_of(control: str, columns: Sequence[str]) -> tuple[str, pl.Expr]:
    """The name of a control's number, and the percent of each row, null if it does not apply."""
    finding, score = pl.col("finding"), pl.col("score")
    silent = pl.col("status").is_in((*UNANSWERED, "think_unclosed"))
    silent |= finding.is_in(("said_absent", "refused", "no_answer"))
    named = pl.when(finding.is_null()).then(score >= 100.0).otherwise(finding.is_in(_NAMES_ALL))
    # A row that asks for one fact cannot tell whether its answer names another.
    several = pl.col("keyword.groups") > 1 if "keyword.groups" in columns else pl.lit(True)
    one_sided = pl.when(several.fill_null(True)).then(finding == "partly")
    numbers = {"absent": (NUMBERS[0], ~silent), "no_context": (NUMBERS[1], named), "conflict": (NUMBERS[2], one_sided)}
    name, holds = numbers.get(control, ("score", None))
    return name, score if holds is None else 100 * holds.cast(pl.Int64)


def _shares(rows: pl.DataFrame) -> dict[str, float | None]:
    """Percent of some rows whose answer names both facts, the first alone, the other alone.

    The latter two are null if `keyword` was not computed, as its parts tell them apart.
    """
    each = {"both": rows["finding"].is_in(_NAMES_ALL)}
    if "keyword.needles" in rows.columns:
        one_sided = rows["number"] > 0
        each["first"] = one_sided & rows["keyword.needles"].list.get(0, null_on_oob=True).fill_null(False)
        each["other"] = one_sided & ~each["first"]
    shares = {name: 100.0 * int(own.sum()) / rows.height for name, own in each.items() if rows.height}
    return {"both": None, "first": None, "other": None, **shares}


def _beside_twins(rows: pl.DataFrame, asked: pl.DataFrame) -> dict[str, dict[str, Any]]:
    """The mean score of the twins of a control's rows, and the control's paired difference from it."""
    names = [name for name in _TWINS if name in rows.columns and name in asked.columns]
    twins = asked.group_by(names, maintain_order=True).agg(pl.col("score").mean().alias("asked"))
    pairs = rows.join(twins, on=names, how="left", nulls_equal=True, maintain_order="left")
    paired = Scored(pairs.filter(pl.col("score").is_not_null() & pl.col("asked").is_not_null()))
    figure = paired.figures("asked")[()]
    _, group = paired.groups()
    clusters = paired.clusters(group, 1, np.ones(len(group), np.bool_))
    (gap,) = differences(clusters, (paired.frame["score"] - paired.frame["asked"]).to_numpy())
    return {"asked": _record(figure._asdict()), "gap": _record(gap)}


def needle_recall(scored: Scored) -> list[dict[str, Any]]:
    """How often the first, second, ... needle was found: for each position (from 1) a figure.

    A missing answer counts for as many needles as other rows of its needle_id have, none of them found, provided that
    missing rows score 0. It counts nowhere if no row of its needle_id was answered. A needle without a keyword (all but
    the last of a chain) has rows but an n of 0.
    """
    if "keyword.needles" not in scored.frame.columns:
        return []
    hits, kind = pl.col("keyword.needles"), pl.col("needle_id").str.replace(DRAW_SUFFIX, "")
    silent = hits.is_null() & (pl.col("status") == "missing")
    asked = hits.drop_nulls().last().over("task", kind)
    rows = scored.frame.with_columns(pl.when(silent).then(asked).otherwise(hits).alias("hits"), silent.alias("silent"))
    recall = []
    for place in range(rows["hits"].list.len().max() or 0):  # type: ignore[arg-type]
        hit = pl.col("hits").list.get(place, null_on_oob=True)
        not_found = pl.when(hit.is_not_null() & pl.col("keyword").is_not_null()).then(False)
        number = 100.0 * pl.when("silent").then(not_found).otherwise(hit).cast(pl.Float64)
        own = Scored(rows.filter(pl.col("hits").list.len() > place).with_columns(number.alias("number")))
        recall.append({"position": place + 1, **own.figures("number")[()]._asdict()})
    return recall


def guess_rates(scored: Scored) -> list[dict[str, Any]]:
    """What guessing would score, for each metric with a part `guess`: a mean for each kind of needle asked for."""
    alike = Scored(scored.frame)
    return [
        {"mean": one.mean, "metric": name.removesuffix(".guess"), "needle": needle, "rows": one.n}
        for name in sorted(name for name in scored.frame.columns if name.endswith(".guess"))
        for (needle,), one in alike.figures(name, "needle_id").items()
        if one.n
    ]


def summary_of(
    scored: Scored, metrics: Sequence[str] = ("score",), headline: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Compute all figures except the cells, as a dict whose JSON does not depend on the order of the rows.

    `headline`: what `headline_of` returned, if it is known. Figures without scores are null. rows = sum over statuses =
    sum over findings (`not_applicable`: rows without keywords).
    """
    counted = scored.counted
    summary = {
        "controls": controls_of(scored),
        # Few runs know of prompts that were cut; where none were, there is no such line.
        "findings": _counted(scored, "finding", [name for name in FINDINGS if name != SHORTENED]),
        "guess_rates": guess_rates(counted),
        "headline": headline or headline_of(scored),
        "metrics": _of_metrics(scored, sorted({*metrics})),
        "needle_recall": needle_recall(counted),
        "rows": scored.frame.height,
        "statuses": _counted(scored, "status", STATUSES),
    }
    ordered: dict[str, Any] = orjson.loads(orjson.dumps(summary, option=orjson.OPT_SORT_KEYS))
    return ordered


def _counted(scored: Scored, name: str, known: Sequence[str]) -> dict[str, int]:
    counts = dict.fromkeys(known, 0)
    for value, count in scored.column(name).value_counts().iter_rows():
        counts["not_applicable" if value is None else value] = count
    return counts


def _of_metrics(scored: Scored, metrics: Sequence[str]) -> dict[str, Any]:
    counted, summaries = scored.counted, {}
    groups = _groups(scored, metrics)
    for metric in metrics:
        by_length = counted.figures(metric, "length").items()
        summaries[metric] = {
            "effective_length": {"ruler": effective_length(counted, metric)},
            "groups": groups[metric],
            "length_averages": length_averages([one.mean for (length,), one in by_length if length is not None]),
            "overall": counted.figures(metric)[()]._asdict(),
            "overall_of_lengths": of_lengths(counted, metric)._asdict(),
        }
    return summaries


def _groups(scored: Scored, metrics: Sequence[str]) -> dict[str, dict[str, list[dict[str, Any]]]]:
    """For each metric and each of GROUPS that rows have, a figure of every value, in order.

    The rows of every group add up to all rows; rows without a value come last, as a null value.
    """
    by_metric: dict[str, dict[str, list[dict[str, Any]]]] = {metric: {} for metric in metrics}
    # Weights are for the headline; rows of controls all count the same.
    others = {"part": scored.asked, "control": Scored(scored.frame)}
    for name in GROUPS:
        rows = others.get(name, scored.counted)
        if not any(value is not None for value in rows.factor(name).values):
            continue
        for metric in metrics:
            figures = rows.figures(metric, name)
            if name == "control" and (None,) in figures:
                figures = {**figures, (None,): scored.counted.figures(metric)[()]}
            by_metric[metric][name] = [
                {"value": coordinate_text(value), **figure._asdict()} for (value,), figure in figures.items()
            ]
    return by_metric
