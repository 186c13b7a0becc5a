"""Defines what an export format is, the options of an export, and the rows that it writes.

Prompts are never all in memory: first all rows are read without them, as what they are chosen by; then the chosen ones,
in any order. Rows in file order are read a row group at a time; for another order they are first copied to a temporary
file, once.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from niah_gen.checks.show import COORDINATES, plain
from niah_gen.dataset.read import columns_in, rows_at
from niah_gen.errors import IntegrityError, NiahError
from niah_score.contract import ROW_ID, DataFile, Dataset, Message
from niah_score.machine.files import sync_file

# A row as it was read, with at least the columns that the format names; prompt, id and max_new_tokens are valid.
ExportRow = Mapping[str, Any]

_ALWAYS = ("id", "prompt", "max_new_tokens")
_INDEXED = (
    "id", *COORDINATES.values(), "haystack_id", "haystack_tokens", "needle_depths", "prompt_tokens", "prompt_sha256",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class ExportOptions:
    """What goes into every request.

    fields: merged into the body of every request; nested. system: a system message before the prompt. api: `chat` or
    `responses`. max_tokens: instead of the row's own limit; more_tokens: on top of it. max_requests, max_bytes: limits
    of a file below those of the service. task_modules: as for `niah_gen.checks.rebuild.rebuild`.
    """

    model: str | None = None
    fields: Mapping[str, Any] = field(default_factory=dict)
    system: str | None = None
    api: str | None = None
    max_tokens: int | None = None
    more_tokens: int = 0
    max_requests: int | None = None
    max_bytes: int | None = None
    task_modules: tuple[str, ...] = ()


class WrittenFile(NamedTuple):
    """A file or folder that an export made, relative to the export's folder; the number of its rows, and its bytes."""

    path: str
    rows: int
    bytes: int


class IndexedRow(NamedTuple):
    """Where a row is, its file and its number there from 1, and what it is chosen and ordered by.

    All rows of a dataset are in memory, so a row is one flat record. From `part` to `depth`: the COORDINATES.
    undisturbed: how much of the haystack comes before the first needle, in percent.
    """

    file: int
    number: int
    id: str
    part: str | None
    language: str | None
    corpus: str | None
    length: int | None
    needle: str | None
    control: str | None
    repeat: int | None
    depth: float | None
    haystack_id: str | None
    haystack_tokens: int
    undisturbed: float
    prompt_tokens: int
    prompt_sha256: str


class Chosen(NamedTuple):
    """The chosen rows of a dataset, in the order in which they are asked. is_whole: all rows, in file order."""

    dataset: Dataset
    entries: Sequence[IndexedRow]
    is_whole: bool

    def rows(self, columns: Sequence[str], scratch: Path) -> Iterator[ExportRow]:
        """The rows with `id`, `prompt`, `max_new_tokens` and `columns`. Raises IntegrityError for one not sound.

        scratch: a folder with room for the prompts, needed if the order is not that of the files.
        """
        places = [(row.file, row.number) for row in self.entries]
        wanted = tuple(dict.fromkeys((*_ALWAYS, *columns)))
        if all(one < other for one, other in pairwise(places)):
            yield from self._in_file_order(places, wanted)
            return
        spans: dict[tuple[int, int], tuple[int, int]] = {}
        # It has no name, so nothing remains of it however the process ends.
        with tempfile.TemporaryFile(dir=scratch) as file:
            at = 0
            for place, row in zip(sorted(places), self._in_file_order(places, wanted), strict=True):
                line = json_line(row, row)
                file.write(line)
                spans[place] = (at, len(line))
                at += len(line)
            for place in places:
                start, length = spans[place]
                file.seek(start)
                yield orjson.loads(file.read(length))

    def _in_file_order(self, places: Sequence[tuple[int, int]], columns: Sequence[str]) -> Iterator[ExportRow]:
        numbers: dict[int, list[int]] = {}
        for place, number in sorted(places):
            numbers.setdefault(place, []).append(number)
        files = list(self.dataset.files())
        for place, wanted in numbers.items():
            for row in rows_at(files[place].path, wanted):
                yield sound({name: row.get(name) for name in columns}, files[place].path)


class ExportFormat(NamedTuple):
    """A form in which prompts leave a dataset.

    what: one line of help. pattern: a glob that the names of its files match, below the folder of the export. write:
    writes chosen rows into a folder. takes: the names of the fields of ExportOptions that it uses. needs_model: whether
    a model must be named. reserved: fields of `--body` that the export fills in, and what to use instead. advice: for
    harnesses, the sentence that says how to run the tasks in a folder.
    """

    what: str
    pattern: str
    write: Callable[[Chosen, Path, ExportOptions], list[WrittenFile]]
    takes: tuple[str, ...] = ()
    needs_model: bool = False
    reserved: Mapping[str, str] = {}
    advice: Callable[[Chosen, Path, ExportOptions], str] | None = None


def indexed(dataset: Dataset) -> list[IndexedRow]:
    """All rows in file order. Of Parquet files no prompt is read.

    Raises IntegrityError for a file with more or fewer rows than the manifest says, and for an id that batch services
    would refuse or that appears twice.
    """
    rows: list[IndexedRow] = []
    seen: set[str] = set()
    for place, file in enumerate(dataset.files()):
        number = 0
        for number, row in enumerate(columns_in(file.path, _INDEXED), 1):
            name = row["id"]
            if not isinstance(name, str) or not ROW_ID.fullmatch(name):
                raise _broken(file, f"row {number}: id is {name!r}, expected 1 to 64 letters, digits, _ and -")
            if name in seen:
                raise _broken(file, f"row {number}: id {name} appears twice")
            seen.add(name)
            depths = row["needle_depths"] if isinstance(row["needle_depths"], list) else []
            rows.append(
                IndexedRow(
                    place,
                    number,
                    name,
                    **{coordinate: _once(plain(row[column])) for coordinate, column in COORDINATES.items()},
                    haystack_id=_once(row["haystack_id"]),
                    haystack_tokens=row["haystack_tokens"] or 0,
                    undisturbed=min((depth for depth in depths if isinstance(depth, int | float)), default=100.0),
                    prompt_tokens=row["prompt_tokens"] or 0,
                    prompt_sha256=str(row["prompt_sha256"]),
                )
            )
        if number != file.rows:
            raise _broken(file, f"{number} rows, the manifest says {file.rows}")
    return rows


def _once(value: Any) -> Any:
    """The same object for equal texts, as many rows share them."""
    return sys.intern(value) if type(value) is str else value


def _broken(file: DataFile, problem: str) -> IntegrityError:
    return IntegrityError(f"{file.path}: {problem}; verify the dataset, and build it again")


def messages_of(row: ExportRow, options: ExportOptions) -> list[Message]:
    """The prompt as chat messages; a text becomes one user message. Raises NiahError for two system messages."""
    prompt = row["prompt"]
    given: list[Message] = [{"role": "user", "content": prompt}] if isinstance(prompt, str) else list(prompt)
    if not options.system:
        return given
    if any(message["role"] == "system" for message in given):
        raise NiahError(f"--system: row {row['id']} already has a system message; leave --system out")
    return [{"role": "system", "content": options.system}, *given]


def reply_limit(row: ExportRow, options: ExportOptions) -> int:
    """The most tokens that a reply to a row may have."""
    own: int = row["max_new_tokens"]
    return own + options.more_tokens if options.max_tokens is None else options.max_tokens


def sound(row: ExportRow, where: Path) -> ExportRow:
    """The row, if its limit can be sent, and its prompt if that was read. Raises IntegrityError."""
    prompt, limit = row.get("prompt", ""), row.get("max_new_tokens")
    problem = None
    if not isinstance(prompt, str) and not (isinstance(prompt, list) and prompt and all(map(_is_message, prompt))):
        problem = "`prompt` is neither a text nor chat messages"
    elif not isinstance(limit, int) or isinstance(limit, bool) or limit < 1:
        problem = f"`max_new_tokens` is {limit!r}, expected a whole number of at least 1"
    if problem:
        raise IntegrityError(f"{where}: row {row.get('id')}: {problem}; verify the dataset, and build it again")
    return row


def _is_message(value: object) -> bool:
    return isinstance(value, dict) and all(isinstance(value.get(name), str) for name in ("role", "content"))


def json_line(value: object, row: ExportRow) -> bytes:
    """A JSON value without a line feed. Raises IntegrityError for text that cannot be encoded as UTF-8."""
    try:
        return orjson.dumps(value)
    except orjson.JSONEncodeError as error:
        raise IntegrityError(f"row {row['id']}: cannot be written as JSON ({error}); verify the dataset") from None


def write_file(folder: Path, name: str, data: bytes, rows: int) -> WrittenFile:
    """Write a file below a folder, so that it survives a power failure."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    sync_file(path)
    return WrittenFile(name, rows, len(data))
