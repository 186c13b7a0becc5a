"""Reads a judge's replies, joins its verdicts to the rows, and adds them to the scores as the metric `judge`.

A reply without a clear verdict counts as malformed; verdicts are never guessed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from niah_score.errors import IntegrityError, ScoreError, listed
from niah_score.formats.record import Answer, Malformed, brief
from niah_score.join.join import Lines, Problem, join
from niah_score.join.reading import LONGEST, frames_of
from niah_score.join.rows import Rows
from niah_score.scoring.judge_requests import one_answer_each, says_nothing
from niah_score.scoring.reasoning import without_reasoning
from niah_score.scoring.rubric import NUMBER, NUMBER_LIKE, Rubric, key_of

if TYPE_CHECKING:
    import polars as pl

# The status of rows with blank answers, about which no judge was asked; only add_verdicts sets it.
NO_ANSWER = "no_answer"
VERDICT_COLUMNS = ("judge", "judge.verdict", "judge.status")


@dataclass(frozen=True)
class Verdicts:
    """What judges said. `frame`: id, judge (0 to 100), judge.verdict and judge.status of every row, in the rows' order.

    `lines`, `problems`: those of the join; a reply without exactly one verdict is a problem of kind `verdict`.
    """

    frame: pl.DataFrame
    lines: Lines
    problems: list[Problem]


def import_verdicts(files: Sequence[tuple[str, Iterable[Answer | Malformed]]], rubric: Rubric, rows: Rows) -> Verdicts:
    """The verdicts in a judge's replies, joined to the rows by id.

    `files`: names and records, as join takes them. Raises ScoreError for rows judged twice, and for several verdicts in
    one record; IntegrityError if all of them are about other rows.
    """
    import polars as pl

    frames = (frame for name, records in files for frame in frames_of(name, _with_ids(records)))
    joined = join(rows, frames, on_duplicate="first")
    repeated = [problem for problem in joined.problems if problem.kind == "duplicate"]
    if repeated:
        raise ScoreError(listed(f"{len(repeated):,} lines judge the same row again; leave one of each", repeated))
    replies = joined.answers
    several = replies.filter(pl.col("place").is_duplicated())
    if several.height:
        raise ScoreError(
            f"{several['file'][0]}:{several['line'][0]}: several verdicts on one row "
            f"({several['place'].n_unique():,} such rows in all); ask the judge for one (n = 1, one epoch)"
        )
    said: list[tuple[float | None, str | None, str]] = [(None, None, "missing")] * rows.table.height
    problems = list(joined.problems)
    columns = ("place", "file", "line", "text", "finish", "error")
    for place, file, line, text, finish, error in replies.select(columns).iter_rows():
        status, verdict, why = _read(text, finish, error, rubric)
        if verdict is None:
            problems.append(Problem("verdict", file, line, rows.table["id"][place], why))
            said[place] = (None, None, status)
        else:
            said[place] = (rubric.scale[verdict], verdict, status)
    schema = dict(zip(VERDICT_COLUMNS, (pl.Float64, pl.String, pl.String), strict=True))
    frame = rows.table.select("id").hstack(pl.DataFrame(said, schema, orient="row"))
    return Verdicts(frame, joined.lines, problems)


def _with_ids(records: Iterable[Answer | Malformed]) -> Iterator[Answer | Malformed]:
    """The records, to be joined only by id: without one they are malformed, as their prompts are not the dataset's."""
    for record in records:
        if isinstance(record, Answer) and record.id is None:
            yield Malformed(record.line, "has no id; expected the custom_id or key of the request")
        else:
            yield record._replace(prompt_sha256=None) if isinstance(record, Answer) else record


def _read(reply: str | None, finish: str | None, error: str | None, rubric: Rubric) -> tuple[str, str | None, str]:
    """The status of a reply, and its verdict as the scale spells it; without one, what is wrong."""
    if error is not None or finish == "refused":
        return "error", None, f"the judge gave no verdict: {error or 'it refused'}"
    if finish == "truncated":
        return "malformed", None, "the judge's reply was cut off; let it say more (--max-tokens)"
    # Boxes, JSON and "Final answer:" may be quotations, so they are left alone. NUL is a separator in _matches.
    text = None if reply and len(reply) > LONGEST else without_reasoning((reply or "").replace("\0", "\ufffd"))
    if text is None:
        return "malformed", None, f"the reply is unfinished reasoning, or over {LONGEST:,} characters"
    if not text or text.isspace():
        return "empty", None, "the judge said nothing"
    said = {key_of(match) for match in _matches(text, rubric)}
    verdicts = [verdict for verdict in rubric.scale if {key_of(verdict)} == said]
    if verdicts:
        return "ok", verdicts[0], ""
    expected = ", ".join(rubric.scale)
    return "malformed", None, f"no single verdict out of {expected} in the judge's reply {brief(text[-200:])}"


def _matches(text: str, rubric: Rubric) -> list[str]:
    """The matches of the first pattern that has any: each time its group, or the number if only one."""
    import polars as pl

    series = pl.Series([text])
    for pattern in rubric.patterns:
        if pattern == NUMBER:
            numbers: list[str] = series.str.extract_all(NUMBER_LIKE)[0].to_list()
            found = [numbers[0].rstrip(".,")] if len(numbers) == 1 else numbers and [""]
        else:
            found = series.str.replace_all(pattern, "\0${1}\0").str.split("\0")[0].to_list()[1::2]
        if found:
            return found
    return []


def add_verdicts(
    scores: pl.DataFrame, verdicts: pl.DataFrame, *, missing: Literal["zero", "exclude"] = "zero"
) -> pl.DataFrame:
    """The scores with the columns judge, judge.verdict and judge.status; earlier ones are replaced.

    A row with a blank answer was shown to no judge: its status is no_answer and it scores 0, or null if it is missing
    and `missing` is `exclude`. Raises ScoreError for several samples per row, IntegrityError for scores of other rows.
    """
    import polars as pl

    one_answer_each(scores)
    strangers = scores.join(verdicts, on="id", how="anti", maintain_order="left")
    if strangers.height:
        raise IntegrityError(
            f"{strangers.height:,} scores are of rows that the verdicts do not cover, such as "
            f"{brief(strangers['id'][0])}; add verdicts to the scores that they were exported from"
        )
    joined = scores.drop(VERDICT_COLUMNS, strict=False).join(
        verdicts.select("id", *VERDICT_COLUMNS), on="id", how="left", maintain_order="left"
    )
    unasked = says_nothing() & (pl.col("judge.status") == "missing")
    excluded = (pl.col("status") == "missing") & (missing == "exclude")
    return joined.with_columns(
        pl.when(unasked & ~excluded).then(0.0).otherwise(pl.col("judge")).alias("judge"),
        pl.when(unasked).then(pl.lit(NO_ANSWER)).otherwise(pl.col("judge.status")).alias("judge.status"),
    )
