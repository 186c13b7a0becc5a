"""Writes requests that ask a language model to judge answers, as files for batch services.

Nothing is sent anywhere, and only a row's question, accepted answers and the model's answer are written.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count
from typing import TYPE_CHECKING, NamedTuple

from niah_score.contract import (
    BATCH_REQUESTS,
    MAX_BATCH_BYTES,
    MAX_BATCH_REQUESTS,
    Message,
    RequestSettings,
    sha256_hex,
)
from niah_score.errors import IntegrityError, ScoreError, check_choice
from niah_score.formats.record import brief
from niah_score.join.rows import Rows
from niah_score.scoring.rubric import FIELD, Rubric, is_text

if TYPE_CHECKING:
    import polars as pl


class RequestFile(NamedTuple):
    """A file of requests, JSON Lines, and how many there are."""

    name: str
    requests: int
    data: bytes


def export_requests(
    scores: pl.DataFrame,
    rows: Rows,
    rubric: Rubric,
    *,
    format: str,
    model: str,
    max_tokens: int = 1024,
    temperature: float | None = None,
) -> Iterator[RequestFile]:
    """Requests to a judge, one for each row whose answer is not blank, ordered by id, a file at a time.

    `scores`: a line for each row, as in scores.parquet. `format`: a name in BATCH_REQUESTS. `max_tokens`: of a reply.
    `temperature`: None leaves it to the model. Raises ScoreError before the first file, except if a single request is
    larger than a file may be.
    """
    check_choice("format", format, list(BATCH_REQUESTS))
    if not is_text(model) or not model.strip():
        raise ScoreError(f"model: expected the name of the judge, found {brief(model)}")
    table = _to_judge(scores, rows, rubric)
    return _files(table, rubric, format, RequestSettings(model, max_tokens, temperature))


def _to_judge(scores: pl.DataFrame, rows: Rows, rubric: Rubric) -> pl.DataFrame:
    """id, question, answers and text of every row that has an answer, ordered by id."""
    import polars as pl

    one_answer_each(scores)
    asked = scores.filter(~says_nothing())
    shown = pl.coalesce(*(("prediction", "extracted") if rubric.text == "raw" else ("extracted", "prediction")))
    table = asked.select("id", shown.alias("text")).join(
        rows.whole().select("id", "question", "answers"), on="id", how="left"
    )
    strangers = table.filter(pl.col("answers").is_null())
    if strangers.height:
        raise IntegrityError(
            f"{strangers.height:,} scores are of no row of dataset {rows.name} ({rows.digest8}), such as "
            f"{brief(strangers['id'][0])}; export them with the dataset they were scored against"
        )
    if not table.height:
        raise ScoreError("no row has an answer that is not blank; there is nothing to ask a judge")
    mute = table.filter(pl.col("question").is_null())
    if mute.height and "{question}" in rubric.prompt:
        raise ScoreError(
            f"{mute.height:,} rows have no question, such as {brief(mute['id'][0])}, but rubric {rubric.name!r} "
            "shows it to the judge; add the column `question`, or use a rubric without {question}"
        )
    return table.sort("id")


def one_answer_each(scores: pl.DataFrame) -> None:
    """Raise ScoreError unless the scores have one line and one answer for each row."""
    import polars as pl

    needed = ("id", "status", "prediction", "extracted")
    lacking = [name for name in needed if name not in scores.columns]
    if lacking:
        raise ScoreError(f"the scores have no column {', '.join(lacking)}; expected what `niah-score score` writes")
    several = scores.filter(pl.col("id").is_duplicated())
    if "samples" in scores.columns:
        several = pl.concat([several.select("id"), scores.filter(pl.col("samples") > 1).select("id")])
    if several.height:
        raise ScoreError(
            f"{several['id'].n_unique():,} rows have several samples, such as {brief(several['id'][0])}; a judge is "
            "asked about one answer per row: score one answer per row, without --samples"
        )


def says_nothing() -> pl.Expr:
    """Whether a row's answer is blank once its reasoning is removed."""
    import polars as pl

    return pl.coalesce("extracted", "prediction").fill_null("").str.strip_chars() == ""


def _files(table: pl.DataFrame, rubric: Rubric, format: str, settings: RequestSettings) -> Iterator[RequestFile]:
    import orjson

    lines: list[bytes] = []
    number = size = 0
    system: list[Message] = [{"role": "system", "content": rubric.system}] if rubric.system else []
    for name, question, answers, text in table.select("id", "question", "answers", "text").iter_rows():
        prompt = prompt_for(rubric, question or "", answers, text)
        line = orjson.dumps(BATCH_REQUESTS[format](name, [*system, {"role": "user", "content": prompt}], settings))
        line += b"\n"
        if len(line) > MAX_BATCH_BYTES:
            raise ScoreError(
                f"row {brief(name)}: its request has {len(line):,} bytes, a file may have {MAX_BATCH_BYTES:,}; "
                "shorten the answer"
            )
        if len(lines) == MAX_BATCH_REQUESTS or size + len(line) > MAX_BATCH_BYTES:
            yield RequestFile(f"judge-{rubric.name}-{number:05d}.jsonl", len(lines), b"".join(lines))
            lines, size, number = [], 0, number + 1
        lines.append(line)
        size += len(line)
    yield RequestFile(f"judge-{rubric.name}-{number:05d}.jsonl", len(lines), b"".join(lines))


def prompt_for(rubric: Rubric, question: str, references: Sequence[str], answer: str) -> str:
    """What the judge is asked about one answer. Braces in the texts are never read as fields of the prompt."""
    whole = "\0".join((question, *references, answer))
    # A name for the block around the answer that occurs in none of the texts; the same texts give the same name.
    digests = (sha256_hex(f"{attempt}\0{whole}".encode())[:12] for attempt in count())
    mark = "answer-" + next(digest for digest in digests if digest not in whole.casefold()) if rubric.block else ""
    fields = {
        "question": question,
        "reference": references[0],
        "references": "\n".join(references),
        "answer": f"<{mark}>\n{answer}\n</{mark}>" if rubric.block else answer,
        "mark": mark,
    }
    return FIELD.sub(lambda field: fields[field[1]], rubric.prompt)
