"""Reads answer files into frames of records, some ten thousand at a time; a record is an answer, or is malformed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from niah_score.errors import ScoreError, listed
from niah_score.formats.record import Answer, Malformed, NoAnswersError
from niah_score.join.coordinates import as_json
from niah_score.text.visible import without_surrogates

if TYPE_CHECKING:
    import polars as pl

    from niah_score.formats import AnswerFile

# In characters. Of longer answers only the last part is judged, so that a runaway model delays nothing.
LONGEST = 262_144
_BATCH = 65_536
_BATCH_BYTES = 64_000_000


def schema() -> dict[str, pl.DataType]:
    """The columns of records: those of `Answer`, coordinates as JSON; the file's name; what is malformed, if anything.

    A frame of records lacks the columns in which it has no value.
    """
    import polars as pl

    return {
        "id": pl.String(), "text": pl.String(), "reasoning": pl.String(), "finish": pl.String(), "error": pl.String(),
        "prompt_sha256": pl.String(), "position": pl.Int64(), "sample": pl.Int64(), "line": pl.Int64(),
        "reference": pl.List(pl.String()), "chat_sha256": pl.String(), "in_template": pl.Boolean(),
        "coordinates": pl.String(), "tools": pl.Boolean(), "prompt_tokens_read": pl.Int64(), "file": pl.String(),
        "malformed": pl.String(),
    }  # fmt: skip


def read_files(files: Sequence[AnswerFile], empty: list[NoAnswersError]) -> Iterator[pl.DataFrame]:
    """The records of all files in order. `empty`: is told which files hold no answer, and why.

    Raises ScoreError if none of them holds an answer.
    """
    for file in files:
        try:
            yield from frames_of(without_surrogates(str(file.name)), file)
        except NoAnswersError as error:
            empty.append(error)
    if len(empty) == len(files):
        raise ScoreError(listed(f"none of {len(empty)} files holds an answer:", empty))


def frames_of(name: str, records: Iterable[Answer | Malformed]) -> Iterator[pl.DataFrame]:
    """The records of a file, in frames of some ten thousand each, or fewer if their texts are long."""
    stream = iter(records)
    while batch := list(_next_records(stream)):
        yield _frame(name, batch)


def _next_records(stream: Iterator[Answer | Malformed]) -> Iterator[Answer | Malformed]:
    """The next records: _BATCH of them, or as many as hold about _BATCH_BYTES of text and reasoning."""
    held = 0
    for count, record in enumerate(stream, 1):
        yield record
        if isinstance(record, Answer):
            held += len(record.text or "") + len(record.reasoning or "")
        if count == _BATCH or held >= _BATCH_BYTES:
            return


def _frame(name: str, records: Sequence[Answer | Malformed]) -> pl.DataFrame:
    import polars as pl

    kinds = schema()
    answers = [record for record in records if isinstance(record, Answer)]
    columns: dict[str, Sequence[Any]] = dict(zip(Answer._fields, zip(*answers, strict=True), strict=False))
    # Most formats lack most fields.
    given = {field: values for field, values in columns.items() if values.count(None) < len(values)}
    for field, convert in (("reference", list), ("coordinates", as_json)):
        if field in given:
            given[field] = [None if value is None else convert(value) for value in given[field]]
    # Whether a text is longer is all that is asked of the rest, so that copies of a huge one do not fill the memory.
    if "text" in given:
        given["text"] = [text and text[-LONGEST - 1 :] for text in given["text"]]
    frame = pl.DataFrame([pl.Series(field, values, kinds[field]) for field, values in given.items()])
    broken = [(record.line, record.message) for record in records if isinstance(record, Malformed)]
    if broken:
        malformed = pl.DataFrame(broken, {"line": pl.Int64, "malformed": pl.String}, orient="row")
        frame = pl.concat([frame, malformed], how="diagonal")
    return frame.with_columns(pl.lit(name).alias("file"))
