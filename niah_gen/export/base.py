"""Defines what an export format is, and the options of an export."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from niah_gen.errors import IntegrityError, NiahError
from niah_score.contract import Dataset, Message

# A row as it was read, with at least the columns that the format names; prompt, id and max_new_tokens are valid.
ExportRow = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ExportOptions:
    """What goes into every request.

    fields: merged into the body of every request; nested. system: a system message before the prompt. api: `chat` or
    `responses`. max_tokens: instead of the row's own limit; more_tokens: on top of it. max_requests, max_bytes: limits
    of a file below those of the service. task_modules: as for `niah_gen.checks.prove.prove`.
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


class TaskSource(NamedTuple):
    """What a harness's tasks ask: chosen rows of a dataset, which stays where it is.

    ids: of the chosen rows, in the order in which they are asked. is_whole: whether these are all rows, in file order.
    """

    dataset: Dataset
    ids: tuple[str, ...]
    is_whole: bool


class ExportFormat(NamedTuple):
    """A form in which prompts leave a dataset.

    what: one line of help. files: what is written. pattern: a glob that the names of its files match, below the folder
    of the export. write: writes rows, in the order given, as files in a folder. columns: those that it reads besides
    `id`, `prompt` and `max_new_tokens`. takes: the names of the fields of ExportOptions that it uses. needs_model:
    whether a model must be named. check: raises NiahError for options that do not fit. write_tasks: for harnesses,
    instead of `write`: writes a task that reads the dataset itself, and judges answers with niah_score.Judge. advice:
    for harnesses, the sentence that says how to run the tasks in a folder.
    """

    name: str
    what: str
    files: str
    pattern: str
    write: Callable[[Iterator[ExportRow], Path, ExportOptions], list[WrittenFile]] | None = None
    columns: tuple[str, ...] = ()
    takes: tuple[str, ...] = ()
    needs_model: bool = False
    check: Callable[[ExportOptions], None] | None = None
    write_tasks: Callable[[TaskSource, Path, ExportOptions], list[WrittenFile]] | None = None
    advice: Callable[[TaskSource, Path, ExportOptions], str] | None = None


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


def sound(row: Mapping[str, Any], where: Path) -> ExportRow:
    """The row, if its prompt and limit can be sent. Raises IntegrityError."""
    prompt = row.get("prompt")
    if not isinstance(prompt, str) and not (isinstance(prompt, list) and prompt and all(map(_is_message, prompt))):
        raise _broken(row, where, "`prompt` is neither a text nor chat messages")
    return with_sound_limit(row, where)


def with_sound_limit(row: Mapping[str, Any], where: Path) -> ExportRow:
    """The row, if its limit can be sent. Raises IntegrityError."""
    limit = row.get("max_new_tokens")
    if not isinstance(limit, int) or isinstance(limit, bool) or limit < 1:
        raise _broken(row, where, f"`max_new_tokens` is {limit!r}, expected a whole number of at least 1")
    return row


def _broken(row: Mapping[str, Any], where: Path, problem: str) -> IntegrityError:
    return IntegrityError(f"{where}: row {row.get('id')}: {problem}; verify the dataset, and build it again")


def json_line(value: object, row: ExportRow) -> bytes:
    """A JSON value without a line feed. Raises IntegrityError for text that cannot be encoded as UTF-8."""
    try:
        return orjson.dumps(value)
    except orjson.JSONEncodeError as error:
        raise IntegrityError(f"row {row['id']}: cannot be written as JSON ({error}); verify the dataset") from None


def _is_message(value: object) -> bool:
    return isinstance(value, dict) and all(isinstance(value.get(name), str) for name in ("role", "content"))
