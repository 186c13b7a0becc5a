"""Opens files of log-probabilities and recognises the kind of each record by its fields."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import orjson

from niah_score.errors import ScoreError, suggestion
from niah_score.formats.answers import NOT_AN_OBJECT, keys_of
from niah_score.formats.containers.parquet import reader_crashed
from niah_score.formats.containers.streams import opened, refuse_changed, state_of, whole
from niah_score.formats.containers.strict_json import EncodingError, first_repeated, parse, twice
from niah_score.formats.logprobs.lm_eval import LM_EVAL
from niah_score.formats.logprobs.plain import SUM, TOKENS
from niah_score.formats.logprobs.record import LogProbFormat, LogProbRecord
from niah_score.formats.logprobs.served import OPENAI_ECHO, VLLM
from niah_score.formats.record import LineError, LongLineError, Malformed, UnreadableError
from niah_score.machine.apart import items_apart
from niah_score.machine.refusals import is_refused, reading

# The first format that matches a record reads it; the plain ones have field names that no stack uses.
LOG_PROB_FORMATS: dict[str, LogProbFormat] = {form.name: form for form in (LM_EVAL, OPENAI_ECHO, VLLM, TOKENS, SUM)}


def log_prob_format(name: str | None) -> LogProbFormat | None:
    """A format by its name; None for None. Raises ScoreError if it is unknown."""
    if name is None:
        return None
    if name not in LOG_PROB_FORMATS:
        raise ScoreError(f"format {name!r} is not known; {suggestion(name, LOG_PROB_FORMATS)}")
    return LOG_PROB_FORMATS[name]


def read_log_probs(path: Path, forced: LogProbFormat | None = None) -> Iterator[LogProbRecord | Malformed]:
    """The records of a file: JSON Lines, a JSON array or Parquet; plain, .gz or .zst.

    Raises ScoreError if the file cannot be read, IntegrityError if it changes meanwhile.
    """
    with reading(path, advice="expected a file of log-probabilities"):
        before = state_of(path)
    for number, value in _values(path):
        if isinstance(value, Malformed):
            yield value
            continue
        try:
            yield _record(value, number, forced)
        except UnreadableError as error:
            yield Malformed(number, str(error))
    refuse_changed(path, path, before)


def _record(value: object, line: int, forced: LogProbFormat | None) -> LogProbRecord:
    if not isinstance(value, dict):
        raise UnreadableError(NOT_AN_OBJECT)
    repeated = first_repeated(value)
    if repeated is not None:
        raise UnreadableError(twice(repeated))
    form = forced or next((form for form in LOG_PROB_FORMATS.values() if form.matches(value)), None)
    if form is None or not form.matches(value):
        expected = f"those of {form.name}" if form else "one of " + ", ".join(LOG_PROB_FORMATS)
        raise UnreadableError(f"no log-probabilities in it: found {keys_of(value)}; expected {expected}")
    return form.read(value, line)


def _values(path: Path) -> Iterator[tuple[int, Any]]:
    """Every record with its line, or Malformed if it cannot be parsed."""
    with opened(path) as source:
        if source.kind == "zip":
            raise ScoreError(f"{path}: a zip; expected JSON Lines or Parquet with log-probabilities")
        if source.kind == "parquet":
            yield from _from_parquet(path)
            return
        if source.head.lstrip()[:1] == b"[":
            yield from _from_array(path, whole(path, source.chunks()))
            return
        number = 0
        for block, cut in source.blocks():
            for line in block:
                number += 1
                if line is None:
                    raise LongLineError(str(path), number)
                elif line.strip():
                    yield number, _parsed(path, line, number, cut)


def _parsed(path: Path, line: bytes, number: int, cut: bool) -> Any:
    try:
        return parse(line)
    except EncodingError as error:
        if cut and error.early:
            return Malformed(number, "the line breaks off; its writer was killed or the copy is incomplete")
        raise LineError(str(path), number, str(error)) from None
    except UnreadableError as error:
        return Malformed(number, str(error))


def _from_array(path: Path, data: bytes) -> Iterator[tuple[int, Any]]:
    try:
        value = parse(data, tolerant=True)
    except (UnreadableError, EncodingError) as error:
        raise ScoreError(f"{path}: {error}") from None
    if not isinstance(value, list):
        raise ScoreError(
            f"{path}: one JSON value over the whole file; expected one object per line, or an array of them"
        )
    yield from enumerate(value, 1)


def _from_parquet(path: Path) -> Iterator[tuple[int, Any]]:
    """The rows of a Parquet file, read in a separate process, because a damaged footer can crash the library."""
    items = items_apart(parquet_rows, str(path), crashed=partial(reader_crashed, path))
    for number, item in enumerate(items, 1):
        try:
            value = orjson.loads(item)
        except ValueError:
            value = json.loads(item)  # with NaN or infinities, which are refused later, by the name of their field
        if isinstance(value, str):
            raise ScoreError(value)
        yield number, value


def parquet_rows(path: str) -> Iterator[bytes]:
    """Run in the separate process: yields each row as JSON without null columns, and finally an error, if any."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(pa.OSFile(os.fsencode(path)), page_checksum_verification=True) as file:
            for batch in file.iter_batches(64):
                for row in batch.to_pylist():
                    yield json.dumps({name: value for name, value in row.items() if value is not None}).encode()
    except (pa.ArrowException, OSError, ValueError, TypeError) as error:
        if is_refused(error):
            raise
        first = next(iter(str(error).splitlines()), "")
        yield json.dumps(f"{path}: cannot be read as Parquet ({first}); get it again").encode()
