"""Reads files of external question sets, JSONL or Parquet, and reads single questions of them again.

A file is read once to recognise its form and to check every row. Only the place of each question is kept; its document
is read again when a prompt is made, so a file may be larger than memory.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from niah_gen.errors import RecipeError
from niah_gen.tasks.questions.forms import FORMS, ExternalQuestion, QuestionForm, RowFields, WrongFieldsError
from niah_score.contract import draw_name
from niah_score.machine.files import is_refused

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
# What a row holds: a line as it is, or the fields of a row of Parquet.
_Held = bytes | Mapping[str, Any]
# The number of a line or row, from 1, and what it holds.
_Row = tuple[int, _Held]


class QuestionPlace(NamedTuple):
    """Where a question is: the number of its row, and which of the row's questions it is, from 0.

    `size`: characters of its document.
    """

    row: int
    of_row: int
    language: str
    size: int


class QuestionFile:
    """A file that was read and checked. `places`: of its questions by id, in file order. `labels`: see QuestionForm.

    `columns`: the file's columns by the form's names for them, where they differ.
    """

    def __init__(self, path: Path, form: QuestionForm, columns: Mapping[str, str]) -> None:
        self.path = path
        self.form = form
        self.labels: dict[str, None] = {}
        self.places: dict[str, QuestionPlace] = {}
        self._columns = columns
        self._rows: Iterator[_Row] = iter(())
        self._at = 0
        self._kept: list[ExternalQuestion] = []

    def question(self, name: str) -> ExternalQuestion:
        """A question with its document, by its id. Reads on from the last one, or again from the file's beginning."""
        place = self.places[name]
        if not 0 < self._at <= place.row:
            self._rows = _rows(self.path)
        try:
            if self._at != place.row:
                _, self._kept = self.read(next(held for number, held in self._rows if number == place.row))
                self._at = place.row
            document, item = self._kept[place.of_row]
        except (WrongFieldsError, StopIteration, IndexError):
            changed = f"options.file: {self.path.name}:{place.row} was changed while it was read; build again"
            raise RecipeError([changed]) from None
        return ExternalQuestion(document, item._replace(id=name))

    def read(self, held: _Held) -> tuple[Mapping[str, Any], list[ExternalQuestion]]:
        """The fields of a row and its questions. Raises WrongFieldsError with everything that is wrong with it."""
        fields = _fields(held)
        row = RowFields(_renamed(fields, self._columns), list(self.labels))
        questions = list(self.form.read(row))
        row.check()
        if self.form.labels:
            self.labels[str(row.fields[self.form.labels]).strip()] = None
        return fields, questions


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
    number, held = next(_rows(path), (0, b""))
    if not number:
        raise RecipeError([f"options.file: {path.name} has no rows"])
    file = QuestionFile(path, FORMS[name] if name else _recognised(path, number, held, renamed), renamed)
    problems: list[str] = []
    places: list[tuple[str, QuestionPlace]] = []
    for row, held in _rows(path):
        try:
            fields, questions = file.read(held)
        except WrongFieldsError as error:
            problems += [f"{path.name}:{row}: {problem}" for problem in error.problems]
            continue
        own = _own_id(fields)
        for number, (document, item) in enumerate(questions):
            place = QuestionPlace(row, number, item.language, len(document))
            named = f"{own}-{number + 1}" if own and len(questions) > 1 else own
            # Of a form that has kinds of questions, every row is a draw of its kind.
            places.append((draw_name(item.id, 0, row) if item.id else named, place))
    if problems:
        more = len(problems) - _MOST_PROBLEMS
        listed = problems[:_MOST_PROBLEMS] + ([f"and {more} more of that file"] if more > 0 else [])
        raise RecipeError([f"options.file: {problem}" for problem in listed])
    file.places.update(_with_ids(places))
    return file


def _recognised(path: Path, number: int, held: _Held, renamed: Mapping[str, str]) -> QuestionForm:
    """The form of a file by the columns of its first row. Raises RecipeError if no form has them."""
    try:
        fields = _fields(held)
    except WrongFieldsError as error:
        raise RecipeError([f"options.file: {path.name}:{number}: {error}"]) from None
    columns = _renamed(fields, renamed).keys()
    form = next((form for form in FORMS.values() if columns >= set(form.columns)), None)
    if form is None:
        there = ", ".join(name[:_SHOWN] for name in list(fields)[:_MOST_PROBLEMS]) or "none"
        known = "; ".join(f"{form.name}: {', '.join(form.columns)}" for form in FORMS.values())
        raise RecipeError(
            [
                f"options.file: {path.name} has the columns {there}, which fit no known form ({known}); "
                "say which column is which, for example with --set "
                '\'options.columns=["document=text", "question=query", "answers=gold"]\''
            ]
        )
    return form


def _with_ids(places: Sequence[tuple[str, QuestionPlace]]) -> Iterator[tuple[str, QuestionPlace]]:
    """The places by the file's own ids if every question has a different one, else by the numbers of the rows."""
    times = Counter(own for own, _ in places)
    own_ids = "" not in times and max(times.values()) == 1
    in_row = Counter(place.row for _, place in places)
    for own, place in places:
        part = f"-{place.of_row + 1}" if in_row[place.row] > 1 else ""
        yield (own if own_ids else f"q{place.row}{part}"), place


def _own_id(fields: Mapping[str, Any]) -> str:
    value = fields.get("_id", fields.get("id"))
    text = str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""
    return text if text.isprintable() and len(text) <= _LONGEST_ID and text.strip() == text else ""


def _renamed(fields: Mapping[str, Any], renamed: Mapping[str, str]) -> Mapping[str, Any]:
    """The fields of a row under the names that the form has for them."""
    kept = {name: value for name, value in fields.items() if name not in renamed.values()}
    return kept | {name: fields[column] for name, column in renamed.items() if column in fields}


def _fields(held: _Held) -> Mapping[str, Any]:
    """The fields of a row. Raises WrongFieldsError if a line is not a JSON object."""
    if not isinstance(held, bytes):
        return held
    try:
        fields = json.loads(held.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise WrongFieldsError([f"not a JSON object in UTF-8 ({error})"]) from None
    if not isinstance(fields, dict):
        raise WrongFieldsError([f"expected a JSON object, found {type(fields).__name__}"])
    return fields


def _rows(path: Path) -> Iterator[_Row]:
    return _parquet_rows(path) if path.suffix == ".parquet" else _json_lines(path)


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
        yield from ((number, line) for number, line in enumerate(file, 1) if line.strip())


def _parquet_rows(path: Path) -> Iterator[_Row]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(pa.OSFile(os.fsencode(path))) as file:
            batches = file.iter_batches(batch_size=_BATCH)
            yield from enumerate((fields for batch in batches for fields in batch.to_pylist()), 1)
    # Damaged text raises UnicodeDecodeError; damaged pages raise errors of Arrow, or OSError without a number.
    except (pa.ArrowException, ValueError, OSError) as error:
        if is_refused(error):
            raise
        raise RecipeError([f"options.file: {path.name} is not a readable Parquet file ({error})"]) from None
