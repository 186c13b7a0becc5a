"""Reads JSON Lines, one line at a time; formats may bring faster loops for lines of their usual shape.

The format of a file is decided once, by the first record that any format matches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from niah_score.errors import ScoreError
from niah_score.formats.answers import NOT_AN_OBJECT, answers_among, format_of, keys_of, no_answer
from niah_score.formats.containers.streams import Source
from niah_score.formats.containers.strict_json import BrokenError, EncodingError, parse
from niah_score.formats.record import (
    Answer,
    FieldNames,
    Format,
    InexactError,
    LineBlock,
    LineError,
    LongLineError,
    Malformed,
    NoAnswersError,
    Record,
    UnreadableError,
)

_CUT = "the line breaks off in the middle of a record; the writer was killed or the copy is incomplete: answer it again"


def format_of_lines(source: Source, formats: Sequence[Format], names: FieldNames) -> Format:
    """The format of a file: that of the first record that any format matches. Raises ScoreError if there is none."""
    first, broken = "", False
    for problem, number, record in _records(source):
        if record is None:
            first, broken = first or f"line {number}: {problem}", True
            continue
        form = format_of(record, formats, names)
        if form is not None:
            return form
        first = first or f"line {number} has the fields {keys_of(record)}"
    if not first:
        raise NoAnswersError(str(source.path), "no predictions in it; expected one JSON object per line")
    # A broken line may have held an answer.
    message = no_answer(first)
    raise ScoreError(f"{source.path}: {message}") if broken else NoAnswersError(str(source.path), message)


def _records(source: Source) -> Iterator[tuple[str, int, Record | None]]:
    """For every line that is not blank: what is wrong with it, its number, and its record or None."""
    number = 0
    for block, _ in source.blocks():
        for line in block:
            number += 1
            if line is None:
                raise LongLineError(str(source.path), number)
            elif line.strip():
                try:
                    record = parse(line)
                except (UnreadableError, EncodingError) as error:
                    yield str(error), number, None
                else:
                    whole = isinstance(record, dict)
                    yield NOT_AN_OBJECT, number, record if whole else None


class LineReader:
    """Reads the lines of a file or of a range of it; numbers and places count from where that begins."""

    def __init__(self, source: Source, form: Format, formats: Sequence[Format], names: FieldNames) -> None:
        self._source = source
        self._form = form
        self._others = [other for other in formats if other.by_id]
        self._names = names
        self._skipped = 0
        self._counts: Callable[[object], bool] | None = None

    def read(self, blocks: Iterable[LineBlock]) -> Iterator[Answer | Malformed]:
        """All records. Raises LineError for bytes that are not UTF-8, and for a line that is too long."""
        form = self._form
        if form.read_usual is not None and form.answer_records is None and self._names == FieldNames():
            return form.read_usual(blocks, self._line)
        return self._each(blocks)

    def _each(self, blocks: Iterable[LineBlock]) -> Iterator[Answer | Malformed]:
        if self._form.answer_records is not None:
            self._counts = self._form.answer_records(self._source.blocks())
        number = 0
        for block, cut in blocks:
            for line in block:
                number += 1
                yield from self._line(line, number, cut)

    def _line(self, line: bytes | None, number: int, cut: bool) -> Sequence[Answer | Malformed]:
        if line is None:
            raise LongLineError(str(self._source.path), number)
        if not line.strip():
            self._skipped += 1
            return ()
        try:
            record = parse(line)
            if self._counts is not None and not self._counts(record):
                self._skipped += 1
                return ()
            try:
                return self._answers(record, number)
            except InexactError:
                return self._answers(parse(line, exact=True), number)
        except EncodingError as error:
            if cut and error.early:
                return [Malformed(number, _CUT)]
            raise LineError(str(self._source.path), number, str(error)) from None
        except BrokenError as error:
            return [Malformed(number, _CUT if cut else str(error))]
        except UnreadableError as error:
            return [Malformed(number, str(error))]

    def _answers(self, record: Any, number: int) -> list[Answer]:
        if not isinstance(record, dict):
            raise UnreadableError(NOT_AN_OBJECT)
        return answers_among(self._form, self._others, record, number, number - 1 - self._skipped, self._names)
