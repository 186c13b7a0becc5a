"""An LLM as judge, asked offline: scores and a rubric in, files of requests out; the judge's replies in, verdicts out.

Nothing is sent anywhere. A verdict is read or counted as malformed, never guessed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from niah_score.contract import ROW_ID, sha256_hex
from niah_score.errors import IntegrityError, ScoreError, listed, suggestion
from niah_score.formats.record import Answer, Malformed, brief
from niah_score.join.join import ON_DUPLICATE, Lines, Problem, join
from niah_score.join.reading import batches
from niah_score.join.rows import Rows
from niah_score.scoring.extract import LONGEST, meant
from niah_score.scoring.rubric import FIELD, NUMBER, NUMBER_LIKE, Rubric, is_text, key_of

if TYPE_CHECKING:
    import polars as pl

STATUSES = ("ok", "malformed", "missing", "error", "empty")
# Of rows that said nothing, so that no judge was asked; only add_verdicts knows of them.
NO_ANSWER = "no_answer"
COLUMNS = ("judge", "judge.verdict", "judge.status")
# OpenAI takes 50,000 requests and 200 MB a file, Anthropic 100,000 and 256 MB, Gemini 2 GB: what all of them take.
MAX_REQUESTS = 50_000
MAX_BYTES = 200_000_000

_SHOWN = 12


class RequestFile(NamedTuple):
    """One file of requests, JSON Lines, and how many they are."""

    name: str
    requests: int
    data: bytes


@dataclass(frozen=True)
class Verdicts:
    """What judges said. `frame`: id, judge (0 to 100), judge.verdict and judge.status of every row, in the rows' order.

    `lines` and `problems` as join gives them; a reply without one verdict of the scale is a problem of kind `verdict`.
    """

    frame: pl.DataFrame
    lines: Lines
    problems: list[Problem]

    @property
    def counts(self) -> dict[str, int]:
        """Rows of each status, summing up to all."""
        counted = dict(self.frame["judge.status"].value_counts().iter_rows())
        return {status: counted.get(status, 0) for status in STATUSES}


# Rubrics ------------------------------------------------------------------------------------------------------------


# Requests -----------------------------------------------------------------------------------------------------------


class _Asking(NamedTuple):
    """What every request of an export has in common."""

    model: str
    system: str
    max_tokens: int
    temperature: float | None

    @property
    def sampling(self) -> dict[str, float]:
        return {} if self.temperature is None else {"temperature": self.temperature}


def _openai_chat(name: str, prompt: str, asking: _Asking) -> dict[str, Any]:
    system = [{"role": "system", "content": asking.system}] if asking.system else []
    body = {
        "model": asking.model,
        "messages": [*system, {"role": "user", "content": prompt}],
        "max_completion_tokens": asking.max_tokens,
        **asking.sampling,
    }
    return {"custom_id": name, "method": "POST", "url": "/v1/chat/completions", "body": body}


def _openai_responses(name: str, prompt: str, asking: _Asking) -> dict[str, Any]:
    system = {"instructions": asking.system} if asking.system else {}
    limits = {"max_output_tokens": asking.max_tokens, **asking.sampling}
    body = {"model": asking.model, **system, "input": prompt, **limits}
    return {"custom_id": name, "method": "POST", "url": "/v1/responses", "body": body}


def _anthropic(name: str, prompt: str, asking: _Asking) -> dict[str, Any]:
    system = {"system": asking.system} if asking.system else {}
    limits = {"max_tokens": asking.max_tokens, **asking.sampling}
    messages = [{"role": "user", "content": prompt}]
    return {"custom_id": name, "params": {"model": asking.model, **limits, **system, "messages": messages}}


def _gemini(name: str, prompt: str, asking: _Asking) -> dict[str, Any]:
    system = {"systemInstruction": {"parts": [{"text": asking.system}]}} if asking.system else {}
    contents = [{"role": "user", "parts": [{"text": prompt}]}]
    limits = {"maxOutputTokens": asking.max_tokens, **asking.sampling}
    return {"key": name, "request": {**system, "contents": contents, "generationConfig": limits}}


# Named as niah_score.formats names the files that come back.
REQUESTS: dict[str, Callable[[str, str, _Asking], dict[str, Any]]] = {
    "openai-batch": _openai_chat,
    "openai-responses": _openai_responses,
    "anthropic-batch": _anthropic,
    "gemini-batch": _gemini,
}


def export(
    scores: pl.DataFrame,
    rows: Rows,
    rubric: Rubric,
    *,
    format: str,
    model: str,
    max_requests: int = MAX_REQUESTS,
    max_bytes: int = MAX_BYTES,
    max_tokens: int = 1024,
    temperature: float | None = 0.0,
) -> Iterator[RequestFile]:
    """Requests to a judge, one for each row whose answer says something, in the order of ids, a file at a time.

    `scores`: a line for each row, as scores.parquet holds them. `format`: a name of REQUESTS. `max_tokens`: of a reply.
    `temperature`: None leaves it out, for models that allow none. Of a row only question, references and answer are
    sent. Raises ScoreError before the first file, except for a request that alone is larger than `max_bytes`.
    """
    if format not in REQUESTS:
        raise ScoreError(f"format {format!r} is unknown; {suggestion(format, REQUESTS)}")
    if not is_text(model) or not model.strip():
        raise ScoreError(f"model: expected the name of the judge, found {brief(model)}")
    for name, value in (("max_requests", max_requests), ("max_bytes", max_bytes), ("max_tokens", max_tokens)):
        if value < 1:
            raise ScoreError(f"{name}: expected 1 or more, found {value}")
    if temperature is not None and not (math.isfinite(temperature) and temperature >= 0):
        raise ScoreError(f"temperature: expected 0 or more, or none, found {temperature}")
    table = _to_judge(scores, rows, rubric, format)
    return _files(table, rubric, REQUESTS[format], _Asking(model, rubric.system, max_tokens, temperature),
                  max_requests, max_bytes)  # fmt: skip


def _to_judge(scores: pl.DataFrame, rows: Rows, rubric: Rubric, format: str) -> pl.DataFrame:
    """id, question, answers and text of every row that has an answer, ordered by id."""
    import polars as pl

    _one_answer_each(scores)
    asked = scores.filter(~_says_nothing())
    shown = pl.coalesce(*(("prediction", "extracted") if rubric.text == "raw" else ("extracted", "prediction")))
    found = asked.select("id", shown.alias("text")).join(
        rows.whole().select("id", "question", "answers"), on="id", how="left"
    )
    strangers = found.filter(pl.col("answers").is_null())
    if strangers.height:
        raise IntegrityError(
            f"{strangers.height:,} scores are of no row of dataset {rows.name} ({rows.digest8}), such as "
            f"{brief(strangers['id'][0])}; export them with the dataset they were scored against"
        )
    if not found.height:
        raise ScoreError("no row has an answer that says anything; there is nothing to ask a judge")
    if "{question}" in rubric.prompt:
        mute = found.filter(pl.col("question").is_null())
        if mute.height:
            raise ScoreError(
                f"{mute.height:,} rows have no question, such as {brief(mute['id'][0])}, but rubric {rubric.name!r} "
                "shows it to the judge; add the column `question`, or use a rubric without {question}"
            )
    if format == "anthropic-batch":
        for name in found["id"].to_list():
            if not ROW_ID.fullmatch(name):
                raise ScoreError(
                    f"id {brief(name)}: Anthropic takes only 1 to 64 letters, digits, _ and - as custom_id; "
                    "use another format, or other ids"
                )
    return found.sort("id")


def _one_answer_each(scores: pl.DataFrame) -> None:
    """Raises ScoreError where the scores are not a line and an answer a row."""
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
            "asked about one answer a row: score one answer a row, without --samples"
        )


def _says_nothing() -> pl.Expr:
    """Whether a row's answer is blank once its reasoning is left away."""
    import polars as pl

    return pl.coalesce("extracted", "prediction").fill_null("").str.strip_chars() == ""


def _files(
    table: pl.DataFrame, rubric: Rubric, request: Callable[[str, str, _Asking], dict[str, Any]], asking: _Asking,
    max_requests: int, max_bytes: int,
) -> Iterator[RequestFile]:  # fmt: skip
    import orjson

    numbers = count()
    lines: list[bytes] = []
    size = 0

    def whole() -> RequestFile:
        return RequestFile(f"judge-{rubric.name}-{next(numbers):05d}.jsonl", len(lines), b"".join(lines))

    for name, question, answers, text in table.select("id", "question", "answers", "text").iter_rows():
        line = orjson.dumps(request(name, prompt_for(rubric, question or "", answers, text), asking)) + b"\n"
        if len(line) > max_bytes:
            raise ScoreError(
                f"row {brief(name)}: its request has {len(line):,} bytes, a file may have {max_bytes:,}; "
                "allow more, or shorten the answer"
            )
        if len(lines) == max_requests or size + len(line) > max_bytes:
            yield whole()
            lines, size = [], 0
        lines.append(line)
        size += len(line)
    yield whole()


def prompt_for(rubric: Rubric, question: str, references: Sequence[str], answer: str) -> str:
    """What the judge is asked about one answer. What stands in the texts is never read as a field of the prompt."""
    mark = _mark((question, *references, answer)) if rubric.block else ""
    fields = {
        "question": question,
        "reference": references[0],
        "references": "\n".join(references),
        "answer": f"<{mark}>\n{answer}\n</{mark}>" if rubric.block else answer,
        "mark": mark,
    }
    return FIELD.sub(lambda found: fields[found[1]], rubric.prompt)


def _mark(texts: Sequence[str]) -> str:
    """A name for the block around an answer that occurs in none of the texts, the same whenever they are the same."""
    whole = "\0".join(texts)
    folded = whole.casefold()
    marks = (sha256_hex(f"{attempt}\0{whole}".encode())[:12] for attempt in count())
    return f"answer-{next(mark for mark in marks if mark not in folded)}"


# Verdicts -----------------------------------------------------------------------------------------------------------


class _Read(NamedTuple):
    """One reply. `place`: of its verdict on the scale, None without one; then `why` says what is wrong."""

    status: str
    place: int | None = None
    why: str = ""


def import_verdicts(
    files: Sequence[tuple[str, Iterable[Answer | Malformed]]],
    rubric: Rubric,
    rows: Rows,
    *,
    on_duplicate: str = "error",
) -> Verdicts:
    """The verdicts in a judge's replies, joined to the rows by id.

    `files`: names and records, as join takes them. Raises ScoreError for rows judged twice unless `on_duplicate` says
    which verdict to take, and for several verdicts in one record; IntegrityError where all are of other rows.
    """
    import polars as pl

    if on_duplicate not in ON_DUPLICATE:
        raise ScoreError(f"on_duplicate: {on_duplicate!r} is unknown; {suggestion(on_duplicate, ON_DUPLICATE)}")
    names = [name for name, _ in files]
    joined = join(
        rows,
        names,
        (batch for number, (_, records) in enumerate(files) for batch in batches(number, _with_ids(records))),
        on_duplicate="first" if on_duplicate == "error" else on_duplicate,
    )
    again = [problem for problem in joined.problems if problem.kind == "duplicate"]
    if again and on_duplicate == "error":
        raise ScoreError(listed(f"{len(again):,} lines judge a row again: say --on-duplicate first or last", again))
    replies = joined.answers
    _refuse_samples(replies, names)
    verdicts: list[str | None] = [None] * rows.table.height
    worths: list[float | None] = [None] * rows.table.height
    statuses = ["missing"] * rows.table.height
    problems = list(joined.problems)
    read = _read(replies, rubric)
    for place, file, line, reply in zip(
        replies["place"].to_list(), replies["file"].to_list(), replies["line"].to_list(), read, strict=True
    ):
        statuses[place] = reply.status
        if reply.place is None:
            problems.append(Problem("verdict", names[file], line, rows.table["id"][place], reply.why))
        else:
            verdicts[place] = rubric.scale[reply.place]
            worths[place] = rubric.worths[reply.place]
    frame = pl.DataFrame(
        [
            rows.table["id"],
            pl.Series("judge", worths, pl.Float64),
            pl.Series("judge.verdict", verdicts, pl.String),
            pl.Series("judge.status", statuses, pl.String),
        ]
    )
    return Verdicts(frame, joined.lines, problems)


def _with_ids(records: Iterable[Answer | Malformed]) -> Iterator[Answer | Malformed]:
    """The records; one without an id is malformed, as neither prompts nor order of requests are the dataset's."""
    for record in records:
        if isinstance(record, Answer) and record.id is None:
            yield Malformed(record.line, "has no id; expected the custom_id or key of the request")
        else:
            yield record


def _refuse_samples(replies: pl.DataFrame, names: Sequence[str]) -> None:
    import polars as pl

    several = replies.filter(pl.col("place").is_duplicated())
    if several.height:
        raise ScoreError(
            f"{names[several['file'][0]]}:{several['line'][0]}: several verdicts on one row, as on "
            f"{several['place'].n_unique():,} rows in all; ask the judge for one (n = 1, one epoch)"
        )


def _read(replies: pl.DataFrame, rubric: Rubric) -> list[_Read]:
    """What each reply says, in their order."""
    texts = [_spoken(text) for text in replies["text"].to_list()]
    found = _found(texts, rubric)
    places = {key_of(verdict, rubric.numbers): place for place, verdict in enumerate(rubric.scale)}
    expected = ", ".join(rubric.scale[:_SHOWN]) + (", ..." if len(rubric.scale) > _SHOWN else "")
    read = []
    for text, hits, finish, error in zip(
        texts, found, replies["finish"].to_list(), replies["error"].to_list(), strict=True
    ):
        if error is not None or finish == "refused":
            read.append(_Read("error", why=f"the judge gave no verdict: {error or 'it refused'}"))
        elif finish == "truncated":
            read.append(_Read("malformed", why="the judge's reply was cut off; let it say more (--max-tokens)"))
        elif text is None:
            read.append(_Read("malformed", why=f"the reply is unfinished reasoning, or over {LONGEST:,} characters"))
        elif not text or text.isspace():
            read.append(_Read("empty", why="the judge said nothing"))
        else:
            said = {key_of(hit, rubric.numbers) for hit in hits}
            place = places.get(said.pop()) if len(said) == 1 else None
            why = f"no single verdict out of {expected} in the judge's reply {brief(text[-200:])}"
            read.append(_Read("malformed", why=why) if place is None else _Read("ok", place))
    return read


def _spoken(reply: str | None) -> str | None:
    """A reply without its reasoning; None where that never ended, or where the reply is too long to be one."""
    if reply is None:
        return ""
    if len(reply) > LONGEST:
        return None
    # A judge may quote a \boxed{} of the answer, which is no verdict: without braces there is no box to be taken out.
    # NUL serves as mark here and in _found.
    said = meant(reply.replace("\0", "\ufffd").replace("{", "\0"))
    return None if said.unclosed else said.text.replace("\0", "{")


def _found(texts: Sequence[str | None], rubric: Rubric) -> list[list[str]]:
    """For every text what the first pattern that matches it finds: every group, or the number if it is the only one."""
    import polars as pl

    frame = pl.DataFrame({"text": pl.Series("text", texts, pl.String)})
    found: list[list[str]] = [[] for _ in texts]
    for pattern in rubric.patterns:
        if pattern == NUMBER:
            hits = frame["text"].str.extract_all(NUMBER_LIKE).to_list()
            hits = [[group[0].rstrip(".,")] if group and len(group) == 1 else group and ["", *group] for group in hits]
        else:
            marked = pl.col("text").str.replace_all(pattern, "\0${1}\0").str.split("\0")
            hits = frame.select(marked.list.gather_every(2, 1))["text"].to_list()
        found = [earlier or later or [] for earlier, later in zip(found, hits, strict=True)]
    return found


def add_verdicts(
    scores: pl.DataFrame, verdicts: pl.DataFrame, *, missing: Literal["zero", "exclude"] = "zero"
) -> pl.DataFrame:
    """The scores with the columns judge, judge.verdict and judge.status; earlier ones are replaced.

    A row whose answer says nothing was shown to no judge: its status is no_answer and it scores 0, or null where it is
    missing and `missing` is `exclude`. Raises ScoreError for several samples a row, and for scores of other rows.
    """
    import polars as pl

    _one_answer_each(scores)
    strangers = scores.join(verdicts, on="id", how="anti", maintain_order="left")
    if strangers.height:
        raise IntegrityError(
            f"{strangers.height:,} scores are of rows that the verdicts do not know, such as "
            f"{brief(strangers['id'][0])}; add verdicts to the scores that they were exported from"
        )
    joined = scores.drop(COLUMNS, strict=False).join(
        verdicts.select("id", *COLUMNS), on="id", how="left", maintain_order="left"
    )
    unasked = _says_nothing() & (pl.col("judge.status") == "missing")
    excluded = (pl.col("status") == "missing") & (missing == "exclude")
    return joined.with_columns(
        pl.when(unasked & ~excluded).then(0.0).otherwise(pl.col("judge")).alias("judge"),
        pl.when(unasked).then(pl.lit(NO_ANSWER)).otherwise(pl.col("judge.status")).alias("judge.status"),
    )
