"""Scores lines, some thousand at once: their statuses, scores and findings.

A status says what came back for a row, scores say how good it is, and a finding says how it failed; no row is dropped.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from niah_score.join.reading import LONGEST
from niah_score.metrics import METRICS, PartType, Target, target_of
from niah_score.scoring.extract_answer import REASONING_TAGS, extract_answer
from niah_score.scoring.findings import finding_of, status_of

if TYPE_CHECKING:
    import polars as pl

COORDINATES = (
    "id", "task", "part", "language", "corpus", "tokenizer", "template", "control", "length", "depth_percent",
    "needle_id", "haystack_id", "repeat", "metric",
)  # fmt: skip
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
        *(name for name in ("chance",) if name in lines.columns),
        *(("prompt_tokens", "prompt_tokens_read") if lines["prompt_tokens_read"].count() else ()),
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
    import polars as pl

    given = pl.col("text").fill_null("")
    cases = frame.select(
        codes.alias("code"),
        given.str.tail(LONGEST).alias("text"),
        (given.str.len_chars() > LONGEST).alias("capped"),
        pl.col("sample").is_null().alias("missing"),
        pl.col("error").is_not_null().alias("failed"),
        (pl.col("reasoning").fill_null("") != "").alias("thought"),
        "finish",
        "metric",
    )
    # The same answer to the same target is judged once.
    different = cases.unique(maintain_order=True).with_row_index("case")
    of_rows = cases.join(different, on=cases.columns, how="left", nulls_equal=True, maintain_order="left")["case"]
    return _judged(different, targets, options)[of_rows]


def _judged(cases: pl.DataFrame, targets: Sequence[Target], options: ScoringOptions) -> pl.DataFrame:
    import polars as pl

    own = cases["metric"].to_list()
    judging = {name: _metrics_with((*options.metrics, name)) for name in set(own)}
    names = _metrics_with((*options.metrics, *sorted(judging)))
    # Values of metrics and parts by column; null where a metric does not judge a row.
    kinds = _score_types(names)
    columns: dict[str, list[Any]] = {name: [None] * cases.height for name in kinds}
    statuses: list[str] = []
    findings: list[str | None] = []
    answers: list[str | None] = []
    for place, (code, raw, missing, failed, thought, finish) in enumerate(
        cases.select("code", "text", "missing", "failed", "thought", "finish").iter_rows()
    ):
        target = targets[code]
        answer, unclosed = extract_answer(raw, target.prefix, options.tags, cut=finish == "truncated")
        status = status_of(raw, answer, finish, missing=missing, failed=failed, thought=thought, unclosed=unclosed)
        for name in judging[own[place]]:
            metric = METRICS[name]
            kind = options.text if options.text != "own" else "raw" if metric.kind == "compat" else "extracted"
            value, parts = metric.function(raw if kind == "raw" else answer, target)
            if not missing or options.missing == "zero":
                columns[name][place] = value
            if not missing:
                for part, value_of_part in parts.items():
                    columns[f"{name}.{part}"][place] = value_of_part
        finding = finding_of(answer, target, status)
        if (
            own[place] == "correct"
            and not target.keywords
            and target.rivals
            and (not missing or options.missing == "zero")
        ):
            # The text does not say, among rivals: right is to say so.
            columns["correct"][place] = 100.0 * (finding == "said_absent")
        statuses.append(status)
        findings.append(finding)
        answers.append(None if answer == raw else answer)
    scores = [columns[name][place] if name in columns else None for place, name in enumerate(own)]
    return pl.DataFrame(
        [
            pl.Series("status", statuses, pl.String),
            pl.Series("finding", findings, pl.String),
            pl.Series("extracted", answers, pl.String),
            cases["capped"],
            *(pl.Series(name, columns[name], kind, strict=False) for name, kind in kinds.items()),
            pl.Series("score", scores, pl.Float64),
        ]
    )


def score_columns(options: ScoringOptions, own: Iterable[str]) -> list[str]:
    """The columns that `score_chunk` gives for rows judged by `own` metrics, in the same order for every run."""
    of_metrics = _score_types(_metrics_with((*options.metrics, *sorted(own))))
    return ["status", "finding", "extracted", "capped", *of_metrics, "score"]


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


def _metrics_with(names: Iterable[str]) -> list[str]:
    """The known metrics among some, each once; with `correct` its F1."""
    known: dict[str, None] = {}
    for name in names:
        if name == "correct":
            known["keyword_f1"] = None
        if name in METRICS:
            known[name] = None
    return list(known)


def _score_types(names: Iterable[str]) -> dict[str, pl.DataType]:
    """The columns of metrics and their parts, with their types."""
    import polars as pl

    types: dict[PartType, pl.DataType] = {
        int: pl.Int64(), float: pl.Float64(), bool: pl.Boolean(), list[bool]: pl.List(pl.Boolean()),
    }  # fmt: skip
    columns: dict[str, pl.DataType] = {}
    for name in names:
        columns[name] = pl.Float64()
        columns |= {f"{name}.{part}": types[kind] for part, kind in METRICS[name].parts.items()}
    return columns
