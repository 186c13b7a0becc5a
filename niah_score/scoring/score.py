"""Scores lines, some thousand at once: their statuses, scores and findings.

A status says what came back for a row, scores say how good it is, and a finding says how it failed; no row is dropped.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from niah_score.metrics import METRICS, Chunk, Metric, PartType, Target, judge_all, target_of
from niah_score.scoring.extract_answer import LONGEST, REASONING_TAGS, extract_answers
from niah_score.scoring.findings import findings_of
from niah_score.scoring.statuses import statuses_of

if TYPE_CHECKING:
    import polars as pl

Given = TypeVar("Given")
Result = TypeVar("Result")

COORDINATES = (
    "id", "task", "part", "language", "corpus", "tokenizer", "template", "control", "length", "depth_percent",
    "needle_id", "haystack_id", "repeat", "metric",
)  # fmt: skip
# What is computed for a metric, where that is more than the metric.
_COMPUTED_WITH = {"correct": ("keyword_f1", "correct")}
# The columns of a joined row that scoring needs; the others are not sent to worker processes.
SCORED_COLUMNS = ("sample", "text", "reasoning", "finish", "error", "metric")


@dataclass(frozen=True, slots=True)
class ScoringOptions:
    """How answers are scored. `metrics`: names of metrics, to which each row's own is added.

    `text`: which text all metrics judge; by default compat metrics judge the raw answer and strict ones the extracted
    one. `missing`: what a row without an answer counts as. `tags`: of reasoning.
    """

    metrics: tuple[str, ...]
    text: Literal["own", "raw", "extracted"] = "own"
    missing: Literal["zero", "exclude"] = "zero"
    tags: tuple[tuple[str, str], ...] = REASONING_TAGS


def with_scores(lines: pl.DataFrame, scored: pl.DataFrame) -> pl.DataFrame:
    """Lines as they are written: the coordinates of their rows, what came back for them, and their scores."""
    import polars as pl

    # Cutting copies every text, and hardly ever is a text that long.
    is_long = (lines["text"].str.len_bytes().max() or 0) > LONGEST  # type: ignore[operator]
    text = pl.col("text").str.tail(LONGEST) if is_long else pl.col("text")
    kept = lines.select(
        *COORDINATES,
        pl.col("sample").fill_null(0),
        text.fill_null("").alias("prediction"),
        "reasoning",
        "error",
    )
    return pl.concat([kept, scored], how="horizontal")


def score_chunk(
    frame: pl.DataFrame, codes: pl.Series, targets: Sequence[Target], options: ScoringOptions
) -> pl.DataFrame:
    """The status, finding and scores of some joined rows, which need the columns SCORED_COLUMNS.

    `codes`: the index of each row's target in `targets`. A metric `m` gives the columns `m` and `m.<part>`; null means
    not applicable. `score` is that of the row's own metric, null if this release does not know it. `extracted` is null
    if it is the same as the raw answer.
    """
    # Adjacent rows with the same target share most of the work.
    order = codes.arg_sort()
    scored = _scored(frame[order], [targets[code] for code in codes[order].to_list()], options)
    return scored[order.arg_sort()]


def _scored(frame: pl.DataFrame, targets: list[Target], options: ScoringOptions) -> pl.DataFrame:
    import polars as pl

    given = frame["text"].fill_null("")
    is_long = given.str.len_chars() > LONGEST
    given = given.str.tail(LONGEST) if is_long.any() else given
    prefixes = [target.prefix for target in targets]
    cut = frame.select(finish=pl.col("finish").eq_missing("truncated"))["finish"].to_list()
    raw, extracted, unclosed = extract_answers(given, prefixes, cut, options.tags)
    statuses = statuses_of(frame, raw, extracted, unclosed)
    chunks = {"raw": Chunk(raw, targets), "extracted": Chunk(extracted, targets)}
    own = frame["metric"].to_list()
    columns: dict[str, pl.Series] = {}
    for name in _metrics_with(options, own):
        wanted = _judged_rows(name, options, own)
        if name == "correct":
            columns |= _correct_columns(columns, wanted)
            continue
        kind = options.text if options.text != "own" else "raw" if METRICS[name].kind == "compat" else "extracted"
        columns |= _metric_columns(METRICS[name], chunks[kind], wanted, statuses, options.missing)
    columns["score"] = _own_scores(own, columns)
    findings = findings_of(chunks["extracted"], statuses)
    different = [None if text == whole else text for text, whole in zip(extracted, raw, strict=True)]
    return pl.DataFrame(
        [
            pl.Series("status", statuses, pl.String),
            pl.Series("finding", findings, pl.String),
            pl.Series("extracted", different, pl.String),
            is_long.alias("capped"),
            *(series.alias(name) for name, series in columns.items()),
        ]
    )


def targets_of(frame: pl.DataFrame, targets: pl.DataFrame) -> tuple[pl.Series, list[Target]]:
    """For each row the index of its target, and all targets. `targets`: those of `Rows`."""
    import polars as pl

    kinds = ["target", "answer_prefix", "language", "question_language"]
    different = frame.select(kinds).unique(maintain_order=True)
    of_rows = [
        target_of({**listed, "answer_prefix": prefix, "language": language, "question_language": asked_in})
        for listed, (_, prefix, language, asked_in) in zip(
            targets[different["target"]].iter_rows(named=True), different.iter_rows(), strict=True
        )
    ]
    numbered = different.with_columns(pl.int_range(different.height, dtype=pl.UInt32, eager=True).alias("code"))
    return frame.join(numbered, on=kinds, how="left", nulls_equal=True, maintain_order="left")["code"], of_rows


def _metric_columns(
    metric: Metric, chunk: Chunk, wanted: list[int] | None, statuses: Sequence[str], missing: str
) -> dict[str, pl.Series]:
    """The columns of one metric. `wanted`: the rows that it judges, None for all."""
    import polars as pl

    scores = judge_all(metric, chunk if wanted is None else chunk.only(wanted))
    absent = [place for place, status in enumerate(statuses) if status == "missing"]
    types = _column_types()

    def column(name: str, values: list[Any], kind: pl.DataType, without: list[int]) -> pl.Series:
        whole = values
        if wanted is not None:
            whole = [None] * len(statuses)
            for place, value in zip(wanted, values, strict=True):
                whole[place] = value
        if without:
            whole = list(whole)
            for place in without:
                whole[place] = None
        if whole.count(None) == len(whole):
            return pl.repeat(None, len(whole), dtype=kind, eager=True).alias(name)
        return pl.Series(name, whole, kind, strict=False)

    columns = {metric.name: column(metric.name, scores.values, pl.Float64(), absent if missing == "exclude" else [])}
    for part, kind in metric.parts.items():
        name = f"{metric.name}.{part}"
        columns[name] = column(name, scores.parts[part], types[kind], absent)
    return columns


def _metrics_with(options: ScoringOptions, own: Iterable[str]) -> list[str]:
    """The known metrics of some rows: those of the options and the rows' own, and F1 before `correct`, as it is its."""
    names = dict.fromkeys(name for name in (*options.metrics, *sorted(set(own))) if name in METRICS)
    return list(dict.fromkeys(known for name in names for known in _COMPUTED_WITH.get(name, (name,))))


def _judged_rows(name: str, options: ScoringOptions, own: Sequence[str]) -> list[int] | None:
    """The rows that a metric judges; None for all."""
    names = [of for of in (*options.metrics, *set(own)) if name in _COMPUTED_WITH.get(of, (of,))]
    if any(of in options.metrics for of in names):
        return None
    return [place for place, of in enumerate(own) if of in names]


def _correct_columns(columns: dict[str, pl.Series], wanted: list[int] | None) -> dict[str, pl.Series]:
    """The columns of `correct` from those of `keyword_f1`, which is 100 for the same answers."""
    import polars as pl

    f1 = columns["keyword_f1"]
    is_wanted = pl.Series(range(len(f1))).is_in(wanted) if wanted is not None else pl.repeat(True, len(f1), eager=True)
    value = pl.when(pl.col("f1").is_not_null()).then(100.0 * (pl.col("f1") == 100).cast(pl.Float64))
    of = {"correct": value} | {
        f"correct.{part}": pl.lit(columns[f"keyword_f1.{part}"]) for part in METRICS["correct"].parts
    }
    frame = pl.DataFrame({"f1": f1, "wanted": is_wanted})
    return frame.select(pl.when("wanted").then(one).alias(name) for name, one in of.items()).to_dict(as_series=True)


def _column_types() -> dict[PartType, pl.DataType]:
    import polars as pl

    return {int: pl.Int64(), float: pl.Float64(), bool: pl.Boolean(), list[bool]: pl.List(pl.Boolean())}


def _own_scores(own: Sequence[str], columns: dict[str, pl.Series]) -> pl.Series:
    """For every row the score of its own metric; null if this release does not know that metric."""
    import polars as pl

    names = set(own)
    if len(names) == 1 and own[0] in columns:
        return columns[own[0]]
    values = {name: columns[name].to_list() for name in names if name in columns}
    return pl.Series("score", [values[n][k] if n in values else None for k, n in enumerate(own)], pl.Float64)
