"""Computes the figures of control rows: facts that the text does not state, known without it, or contradictory.

Rows of controls count in no other figures except the group `control`. Each control has one number, in percent, with its
interval and n.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from niah_score.statistics.clusters import Clusters
from niah_score.statistics.figures import figures
from niah_score.statistics.intervals import NOTHING, differences, ends_of
from niah_score.statistics.scored import UNANSWERED, Scored

if TYPE_CHECKING:
    import polars as pl

# The names of a control's number: for `absent`, `no_context`, `conflict`, and any other control.
NUMBERS = ("false_answer_rate", "guess_rate", "one_sided_rate", "score")
# Findings of answers that name nothing: they say that the text does not tell, decline, or are missing.
_NAMES_NOTHING = ("said_absent", "refused", "no_answer")
# Findings of answers that name everything asked for.
_NAMES_ALL = ("found", "hedged")
# What a row and its twin have in common, in addition to the haystack.
_TWINS = (
    "part", "task", "language", "corpus", "tokenizer", "template", "length", "depth_percent", "needle_id", "repeat",
)  # fmt: skip
# The columns that are read of a control's rows.
_NEEDED = (
    "id", *_TWINS, "haystack_id", "status", "finding", "score", "keyword.groups", "keyword.needles",
)  # fmt: skip


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
    import polars as pl

    factor = scored.factor("control")
    by_control: dict[str, dict[str, Any]] = {}
    for code, control in enumerate(factor.values):
        if control is None:
            continue
        rows = scored.only(pl.Series(factor.codes == code)).table(*_NEEDED)
        name, of_rows = _number_of(control, rows.columns)
        left_out = (pl.col("status") == "missing") & pl.col("score").is_null()
        own = Scored(_named(rows).with_columns(pl.when(~left_out).then(of_rows).cast(pl.Float64).alias("number")))
        (figure,) = figures(own, "number", own.together, 1)
        counts = {"n": figure.n, "rows": figure.rows, "unanswered": figure.unanswered}
        about: dict[str, Any] = {**ends_of(figure), **counts}
        if name == "one_sided_rate":
            about["shares"] = _shares(own)
        elif name == "score":
            about |= _beside_twins(own, scored.asked)
        by_control[control] = dict(sorted({name: figure.mean, **about}.items()))
    return by_control


def _named(rows: pl.DataFrame) -> pl.DataFrame:
    """Rows with a column `id`; coded columns have no ids, so their rows are numbered."""
    return rows if "id" in rows.columns else rows.with_row_index("id")


def _number_of(control: str, columns: Sequence[str]) -> tuple[str, pl.Expr]:
    """The name of a control's number, and the percent of each row, null if it does not apply."""
    import polars as pl

    false_answer, guess, one_sided, score = NUMBERS
    finding = pl.col("finding")
    if control == "absent":
        silent = pl.col("status").is_in((*UNANSWERED, "think_unclosed"))
        return false_answer, _percent(~(silent | finding.is_in(_NAMES_NOTHING)))
    if control == "no_context":
        without_keywords = pl.when(finding.is_null()).then(pl.col("score") >= 100.0)
        return guess, _percent(without_keywords.otherwise(finding.is_in(_NAMES_ALL)))
    if control == "conflict":
        # A row that asks for one fact cannot tell whether its answer names another.
        groups = pl.col("keyword.groups") if "keyword.groups" in columns else pl.lit(None, dtype=pl.Int64)
        return one_sided, _percent(pl.when(groups.is_null() | (groups > 1)).then(finding == "partly"))
    return score, pl.col("score")


def _percent(which: pl.Expr) -> pl.Expr:
    import polars as pl

    return pl.when(which).then(100.0).when(~which).then(0.0)


def _shares(rows: Scored) -> dict[str, float | None]:
    """Percent of the rows with a number whose answer names both facts, the first alone, the other alone.

    The latter two are null if `keyword` was not computed, as its parts tell them apart.
    """
    import polars as pl

    counted = rows.frame.filter(pl.col("number").is_not_null())
    n = counted.height
    both = int(counted["finding"].is_in(_NAMES_ALL).sum())
    shares: dict[str, float | None] = {"both": 100.0 * both / n if n else None, "first": None, "other": None}
    if n and "keyword.needles" in counted.columns:
        one_sided = counted.filter(pl.col("number") > 0)
        first = int(one_sided["keyword.needles"].list.get(0, null_on_oob=True).fill_null(False).sum())
        shares |= {"first": 100.0 * first / n, "other": 100.0 * (one_sided.height - first) / n}
    return shares


def _beside_twins(rows: Scored, asked: Scored) -> dict[str, dict[str, Any]]:
    """The mean score of the twins of a control's rows, and the control's paired difference from it."""
    import polars as pl

    names = [name for name in _TWINS if name in rows.frame.columns and name in asked.names]
    twins = asked.table(*names, "score").group_by(names).agg(pl.col("score").mean().alias("asked"))
    pairs = rows.frame.join(twins, on=names, how="left", nulls_equal=True, maintain_order="left")
    pairs = pairs.filter(pl.col("score").is_not_null() & pl.col("asked").is_not_null())
    paired = Scored(pairs)
    (figure,) = figures(paired, "asked", paired.together, 1)
    gap = NOTHING
    if pairs.height:
        (needles, named), haystacks = paired.needles, paired.factor("haystack_id").codes
        strata = paired.factor("length").codes
        clusters = Clusters(paired.together, 1, needles, haystacks, strata=strata, named=named)
        ((gap, _),) = differences(clusters, (pairs["score"] - pairs["asked"]).to_numpy())
    return {name: {**ends_of(one), "mean": one.mean, "n": one.n} for name, one in (("asked", figure), ("gap", gap))}
