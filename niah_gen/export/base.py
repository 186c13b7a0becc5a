"""Defines what an export format is, the options of an export, and the rows that it writes.

Prompts are never all in memory: first all rows are read without them, as what they are chosen by; then the chosen ones,
in any order. Rows in file order are read a row group at a time; for another order they are first copied to a temporary
file, once.
"""

from __future__ import annotations

import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from niah_gen.checks.show import COORDINATES
from niah_gen.dataset.read import columns_in, rows_at
from niah_gen.errors import IntegrityError, NiahError
from niah_score.contract import ROW_ID, Dataset, Message

# A row by its columns: as it was read, or without its prompt as `indexed` makes it.
Row = Mapping[str, Any]

_INDEXED = (
    "id", *COORDINATES.values(), "task", "haystack_id", "needle_depths", "needles", "prompt_tokens",
    "prompt_sha256", "max_new_tokens", "shared_prefix",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class ExportOptions:
    """What goes into every request.

    fields: merged into the body of every request; nested. system: a system message before the prompt. api: `chat` or
    `responses`. max_tokens: instead of the row's own limit; more_tokens: on top of it. max_requests, max_bytes: limits
    of a file below those of the service. task_modules: as for `niah_gen.checks.rebuild.rebuild`. context_file: prompts
    name a file with their contexts, as `contexts.asked_rows` writes it.
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
    context_file: bool = False

    def limit(self, row: Row) -> int:
        """The most tokens that a reply to a row may have."""
        own: int = row["max_new_tokens"]
        return own + self.more_tokens if self.max_tokens is None else self.max_tokens

    def messages(self, row: Row) -> list[Message]:
        """The prompt as chat messages; a text becomes one user message. Raises NiahError for two system messages."""
        prompt = row["prompt"]
        given: list[Message] = [{"role": "user", "content": prompt}] if isinstance(prompt, str) else list(prompt)
        if not self.system:
            return given
        if any(message["role"] == "system" for message in given):
            raise NiahError(f"--system: row {row['id']} already has a system message; leave --system out")
        return [{"role": "system", "content": self.system}, *given]


class Chosen(NamedTuple):
    """The chosen rows of a dataset as `indexed` has them, in the order in which they are asked.

    is_whole: all rows, in file order.
    """

    dataset: Dataset
    entries: Sequence[Row]
    is_whole: bool

    def rows(self, columns: Sequence[str], scratch: Path) -> Iterator[Row]:
        """The rows with their ids, prompts, limits and `columns`. Raises IntegrityError for one that is not sound.

        scratch: a folder with room for the prompts, needed if the order is not that of the files.
        """
        places = [(row["file"], row["number"]) for row in self.entries]
        wanted = ("id", "prompt", "max_new_tokens", *columns)
        if places == sorted(places):
            yield from self._in_file_order(places, wanted)
            return
        spans: dict[tuple[int, int], tuple[int, int]] = {}
        # It has no name, so nothing remains of it however the process ends.
        with tempfile.TemporaryFile(dir=scratch) as file:
            for place, row in zip(sorted(places), self._in_file_order(places, wanted), strict=True):
                line = orjson.dumps(row)
                spans[place] = (file.tell(), len(line))
                file.write(line)
            for place in places:
                file.seek(spans[place][0])
                yield orjson.loads(file.read(spans[place][1]))

    def _in_file_order(self, places: Sequence[tuple[int, int]], columns: Sequence[str]) -> Iterator[Row]:
        numbers: dict[int, list[int]] = defaultdict(list)
        for place, number in sorted(places):
            numbers[place].append(number)
        files = list(self.dataset.files())
        for place, wanted in numbers.items():
            for row in rows_at(files[place].path, wanted):
                yield {name: sound(row, files[place].path).get(name) for name in columns}


class ExportFormat(NamedTuple):
    """A form in which prompts leave a dataset.

    what: one line of help. pattern: globs that the names of its files match, below the folder of the export, with
    spaces between them. write: writes chosen rows into a folder, and returns the number of rows in each file or folder,
    by relative path. takes: the names of the fields of ExportOptions that it uses; if `model` is among them, a model
    must be named. reserved: fields of `--body` that the export fills in, and what to use instead. advice: for
    harnesses, the sentence that says how to run the tasks, with {out}, {name} (of a task), {dataset}, and what
    `harnesses.endpoint` has. doubt: what a user should know about these rows in this form, if anything.
    """

    what: str
    pattern: str
    write: Callable[[Chosen, Path, ExportOptions], dict[str, int]]
    takes: tuple[str, ...] = ()
    reserved: Mapping[str, str] = {}
    advice: str = ""
    doubt: Callable[[Chosen], str | None] = lambda chosen: None


def indexed(dataset: Dataset) -> list[dict[str, Any]]:
    """All rows in file order, without their prompts: their coordinates, and what else they are chosen and named by.

    Also `file` and `number`, from 1, say where each is, `config` names its file's config, and `needles` is how many it
    has. Of Parquet files no prompt is read. Raises IntegrityError for a file with more or fewer rows than the manifest
    says, for an id that batch services would refuse or that appears twice, and for a limit that cannot be sent.
    """
    rows: list[dict[str, Any]] = []
    seen: set[str] = set()
    for place, file in enumerate(dataset.files()):
        number = 0
        for number, row in enumerate(columns_in(file.path, _INDEXED), 1):
            name = row["id"]
            if not isinstance(name, str) or not ROW_ID.fullmatch(name) or name in seen:
                expected = "expected 1 to 64 letters, digits, _ and -, each id once"
                raise IntegrityError(f"{file.path}: row {number}: id is {name!r}, {expected}; verify the dataset")
            seen.add(name)
            where = {"file": place, "number": number, "config": file.config}
            rows.append({**sound(row, file.path), **where, "needles": len(row["needles"] or ())})
        if number != file.rows:
            raise IntegrityError(f"{file.path}: {number} rows, the manifest says {file.rows}; verify the dataset")
    if not rows:
        raise NiahError(f"{dataset.folder}: no rows")
    return rows


def sound(row: Row, where: Path) -> Row:
    """The row, if its limit can be sent, and its prompt if that was read. Raises IntegrityError."""
    prompt, limit = row.get("prompt", ""), row.get("max_new_tokens")
    if not isinstance(prompt, str) and not (isinstance(prompt, list) and prompt and all(map(_is_message, prompt))):
        raise IntegrityError(f"{where}: row {row['id']}: its prompt is neither a text nor messages; verify the dataset")
    if not isinstance(limit, int) or isinstance(limit, bool) or limit < 1:
        problem = f"max_new_tokens is {limit!r}, expected a whole number of at least 1"
        raise IntegrityError(f"{where}: row {row['id']}: {problem}; verify the dataset")
    return row


def _is_message(value: object) -> bool:
    return isinstance(value, dict) and all(isinstance(value.get(name), str) for name in ("role", "content"))
