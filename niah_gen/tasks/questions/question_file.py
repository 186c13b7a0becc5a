"""Reads files of external question sets, JSONL or Parquet, and reads single questions of them again.

A file is read once to recognise its form and to check every row. Only the place of each question is kept; its document
is read again when a prompt is made, so a file may be larger than memory.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from niah_gen.errors import RecipeError
from niah_gen.tasks.questions.forms import FORMS, QuestionForm, RowFields, WrongFieldsError, form_of
from niah_gen.tasks.questions.question import ExternalQuestion
from niah_score.machine.refusals import is_refused

# The most problems of a file that are listed.
_MOST_PROBLEMS = 20
_BATCH = 4
_SHOWN = 60
_LONGEST_ID = 64
_BEGINNING = 4096
# What files of other kinds begin with, and what to do with them.
_OTHER_KINDS = (
    (b"PAR1", "Parquet by its content; rename it to end in .parquet"),
    (b"\x1f\x8b", "packed with gzip, expected plain JSON Lines; unpack it"),
    (b"\x28\xb5\x2f\xfd", "packed with zstd, expected plain JSON Lines; unpack it"),
)
# How many rows are kept as read, since consecutive questions are often about one document.
_KEPT_ROWS = 2


class RowPlace(NamedTuple):
    """Where a row is. `number`: of its line or row, from 1. `byte`: where its line begins; 0 in Parquet."""

    number: int
    byte: int


class QuestionPlace(NamedTuple):
    """Where a question is: its row, and which of the row's questions, from 0. `size`: characters of its document."""

    row: RowPlace
    of_row: int
    language: str
    size: int


@dataclass(frozen=True, eq=False)
class QuestionFile:
    """A file that was read and checked. `places`: of its questions by id, in file order. `labels`: see QuestionForm.

    `columns`: the file's columns by the form's names for them, where they differ.
    """

    path: Path
    form: QuestionForm
    columns: Mapping[str, str]
    labels: tuple[str, ...]
    places: Mapping[str, QuestionPlace]
    _kept: dict[int, list[ExternalQuestion]] = field(default_factory=dict)

    def question(self, name: str) -> ExternalQuestion:
        """A question with its document, by its id."""
        place = self.places[name]
        if place.row.number not in self._kept:
            while len(self._kept) >= _KEPT_ROWS:
                self._kept.pop(next(iter(self._kept)))
            self._kept[place.row.number] = self._read(place.row)
        questions = self._kept[place.row.number]
        if place.of_row >= len(questions):
            raise _changed(self.path, place.row)
        return questions[place.of_row]._replace(id=name)

    def _read(self, place: RowPlace) -> list[ExternalQuestion]:
        try:
            is_parquet = self.path.suffix == ".parquet"
            fields = self._parquet.row(place.number) if is_parquet else _line_at(self.path, place)
            return list(self.form.read(RowFields(_renamed(fields, self.columns), self.labels)))
        except (WrongFieldsError, ValueError):
            raise _changed(self.path, place) from None

    @cached_property
    def _parquet(self) -> _ParquetRows:
        return _ParquetRows(self.path)


def _changed(path: Path, place: RowPlace) -> RecipeError:
    return RecipeError([f"options.file: {path.name}:{place.number} was changed while it was read; build again"])


def read_questions(path: Path, form: str, columns: Sequence[str]) -> QuestionFile:
    """The questions of a file. `form`: a name of FORMS, empty to recognise it; `columns`: texts `name=column`.

    Raises RecipeError with up to twenty problems, each with file, line and field.
    """
    try:
        status = path.stat()
        return _read_through(path, status.st_mtime_ns, status.st_size, form, tuple(columns))
    except OSError as error:
        raise RecipeError([f"options.file: {path} cannot be read ({error.strerror or error})"]) from None


@lru_cache(maxsize=4)
def _read_through(path: Path, changed: int, size: int, name: str, columns: tuple[str, ...]) -> QuestionFile:
    renamed = dict(text.split("=", 1) for text in columns)
    rows = _parquet_rows if path.suffix == ".parquet" else _json_lines
    form = FORMS[name] if name else _recognised(path, rows, renamed)
    labels = _values(rows(path), renamed.get(form.labels, form.labels)) if form.labels else ()
    problems: list[str] = []
    count = 0
    places: list[tuple[str, QuestionPlace]] = []
    for row, fields in rows(path):
        try:
            if isinstance(fields, str):
                raise WrongFieldsError([fields])
            questions = list(form.read(RowFields(_renamed(fields, renamed), labels)))
        except WrongFieldsError as error:
            count += len(error.problems)
            listed = error.problems[: _MOST_PROBLEMS - len(problems)]
            problems += [f"{path.name}:{row.number}: {problem}" for problem in listed]
            continue
        own = _own_id(fields)
        for number, question in enumerate(questions):
            own_of_question = f"{own}-{number + 1}" if own and len(questions) > 1 else own
            places.append((own_of_question, QuestionPlace(row, number, question.language, len(question.document))))
    if problems:
        more = [f"and {count - len(problems)} more of that file"] if count > len(problems) else []
        raise RecipeError([f"options.file: {problem}" for problem in (*problems, *more)])
    if not places:
        raise RecipeError([f"options.file: {path.name} has no rows"])
    return QuestionFile(path, form, renamed, labels, dict(_with_ids(places)))


def _values(rows: Iterable[_Row], column: str) -> tuple[str, ...]:
    """The different texts of a column, in file order."""
    values = (fields.get(column) for _, fields in rows if isinstance(fields, Mapping))
    return tuple(dict.fromkeys(value.strip() for value in values if isinstance(value, str) and value.strip()))


def _with_ids(places: Sequence[tuple[str, QuestionPlace]]) -> Iterator[tuple[str, QuestionPlace]]:
    """The places by the file's own ids if every question has a different one, else by the numbers of the rows."""
    times = Counter(own for own, _ in places)
    own_ids = "" not in times and max(times.values()) == 1
    in_row = Counter(place.row.number for _, place in places)
    for own, place in places:
        part = f"-{place.of_row + 1}" if in_row[place.row.number] > 1 else ""
        yield (own if own_ids else f"q{place.row.number}{part}"), place


def _own_id(fields: Mapping[str, Any]) -> str:
    value = fields.get("_id", fields.get("id"))
    text = str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""
    return text if text.isprintable() and len(text) <= _LONGEST_ID and text.strip() == text else ""


def _recognised(path: Path, rows: Callable[[Path], Iterable[_Row]], renamed: Mapping[str, str]) -> QuestionForm:
    """The form of a file by the columns of its first row. Raises RecipeError if no form has them."""
    for place, fields in rows(path):
        if isinstance(fields, str):
            raise RecipeError([f"options.file: {path.name}:{place.number}: {fields}"])
        form = form_of([*_renamed(fields, renamed)])
        if form is not None:
            return FORMS[form]
        there = ", ".join(name[:_SHOWN] for name in list(fields)[:_MOST_PROBLEMS]) or "none"
        known = "; ".join(f"{form.name}: {', '.join(form.columns)}" for form in FORMS.values())
        raise RecipeError(
            [
                f"options.file: {path.name} has the columns {there}, which fit no known form ({known}); "
                "say which column is which, for example with --set "
                '\'options.columns=["document=text", "question=query", "answers=gold"]\''
            ]
        )
    raise RecipeError([f"options.file: {path.name} has no rows"])


def _renamed(fields: Mapping[str, Any], renamed: Mapping[str, str]) -> Mapping[str, Any]:
    """The fields of a row under the names that the form has for them."""
    if not renamed:
        return fields
    taken = set(renamed.values())
    kept = {name: value for name, value in fields.items() if name not in taken}
    return kept | {name: fields[column] for name, column in renamed.items() if column in fields}


# A row, or what is wrong with its line.
_Row = tuple[RowPlace, Mapping[str, Any] | str]


def _json_lines(path: Path) -> Iterator[_Row]:
    with path.open("rb") as file:
        head = file.read(_BEGINNING)
        for sign, what in _OTHER_KINDS:
            if head.startswith(sign):
                raise RecipeError([f"options.file: {path.name} is {what}"])
        if head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"["):
            # If both files had the same name, the shell would empty the array before Python reads it.
            goal = f"{path.stem}-lines.jsonl" if path.suffix == ".jsonl" else f"{path.stem}.jsonl"
            raise RecipeError(
                [
                    f"options.file: {path.name} is a JSON array, expected one JSON object per line; convert it: "
                    f'python -c "import json; [print(json.dumps(row)) for row in json.load(open({path.name!r}))]" '
                    f"> {goal}"
                ]
            )
        file.seek(0)
        byte = 0
        for number, line in enumerate(file, 1):
            if line.strip():
                yield RowPlace(number, byte), _parsed(line)
            byte += len(line)


def _parsed(line: bytes) -> Mapping[str, Any] | str:
    try:
        fields = json.loads(line.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        return f"not a JSON object in UTF-8 ({error})"
    return fields if isinstance(fields, dict) else f"expected a JSON object, found {type(fields).__name__}"


def _line_at(path: Path, place: RowPlace) -> Mapping[str, Any]:
    with path.open("rb") as file:
        file.seek(place.byte)
        fields = _parsed(file.readline())
    if isinstance(fields, str):
        raise ValueError(fields)
    return fields


def _parquet_rows(path: Path) -> Iterator[_Row]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(pa.OSFile(os.fsencode(path))) as file:
            number = 0
            for batch in file.iter_batches(batch_size=_BATCH):
                for fields in batch.to_pylist():
                    number += 1
                    yield RowPlace(number, 0), fields
    # Damaged text raises UnicodeDecodeError; damaged pages raise errors of Arrow, or OSError without a number.
    except (pa.ArrowException, ValueError, OSError) as error:
        if is_refused(error):
            raise
        raise RecipeError([f"options.file: {path.name} is not a readable Parquet file ({error})"]) from None


class _ParquetRows:
    """Rows of a Parquet file: reads on from the last one, or from the beginning for an earlier one."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._rows = _parquet_rows(path)
        self._at = 0

    def row(self, number: int) -> Mapping[str, Any]:
        """A row by its number, from 1."""
        if number <= self._at:
            self._rows, self._at = _parquet_rows(self._path), 0
        for place, fields in self._rows:
            self._at = place.number
            if place.number == number and isinstance(fields, Mapping):
                return fields
        raise ValueError(f"row {number} is gone")
