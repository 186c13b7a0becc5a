"""Defines what answer files are read into, Answer and Malformed, and Format, which says how to read a stack's records.

The readers of containers know no format by name: whatever a stack needs from them is a field of its `Format`.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any, Literal, NamedTuple

from niah_score.errors import ScoreError

# A parsed record: a JSON object, a CSV row, a Parquet row.
Record = dict[str, Any]
Container = Literal["json", "zip", "separated", "parquet"]


class Coordinates(NamedTuple):
    """The cell of a grid that an answer belongs to; systems without ids tell their results apart by it.

    `length`: tokens. `depth_percent`: 0 to 100. `needles`: the inserted texts. `question`: None if the record has none.
    `run`: the number of a repeated run of one cell, such as a seed, or None. `model`: its name. `placement`: of the
    rows whose prompts the system builds.
    """

    length: int
    depth_percent: float
    needles: tuple[str, ...]
    question: str | None
    run: int | None
    model: str
    placement: str


class Answer(NamedTuple):
    """One answer as its file gives it. At least one of id, prompt_sha256, position and coordinates is known.

    `prompt_sha256`, `chat_sha256`, `in_template`: of the prompt that the record echoes, as in EchoedPrompt. The prompt
    identifies the row if no id does; otherwise it is compared with the row's own.
    `sample`: from 0. `tools`: whether the record says that the model had tools. `prompt_tokens_read`: how many tokens
    of the prompt the server says it read.
    """

    id: str | None
    text: str | None
    reasoning: str | None
    finish: str
    error: str | None
    prompt_sha256: str | None
    position: int | None
    sample: int
    line: int
    reference: tuple[str, ...] | None
    chat_sha256: str | None = None
    in_template: bool | None = None
    coordinates: Coordinates | None = None
    tools: bool | None = None
    prompt_tokens_read: int | None = None


class Malformed(NamedTuple):
    """A record that is not an answer: its line, and which field is not what was expected."""

    line: int
    message: str


class UnreadableError(Exception):
    """Why a record is not an answer; becomes the message of its Malformed."""


class NoAnswersError(ScoreError):
    """A whole file that can be read but holds no answer, such as a harness's results next to its samples."""

    def __init__(self, path: Path, message: str) -> None:
        super().__init__(f"{path}: {message}")
        self.path, self.message = str(path), message


class EchoedPrompt(NamedTuple):
    """The digests of a prompt that a record echoes.

    chat_sha256: of the prompt as one user message, for stacks that echo only the text of such a chat; of RULER's
    prompts that end with an answer prefix, of the text before it. in_template: whether it looks like a prompt in a
    model's chat template, which a digest cannot tell from a different prompt.
    """

    sha256: str
    chat_sha256: str | None
    in_template: bool


class Identity(NamedTuple):
    """What identifies the row that a record answers."""

    id: str | None = None
    prompt: EchoedPrompt | None = None
    position: int | None = None
    reference: tuple[str, ...] | None = None
    sample: int = 0
    coordinates: Coordinates | None = None
    tools: bool | None = None


class Completion(NamedTuple):
    """One sample of a model's answer to a prompt."""

    text: str | None
    reasoning: str | None = None
    finish: str = ""
    error: str | None = None


class Format:
    """A kind of answer file: how it is recognised, and what its records mean.

    name, what: as in the list of formats. container: what the file is.
    separators: what separates the columns of its tables. texts, read: the columns of a table that are read; in each
    group of names, the first that is there. A table of this format has one of `texts`, and one of `signs` where other
    tables use the same columns for something else.
    layouts: for nested Parquet columns, one layout per release: the leaves that are read, by the beginnings of their
    paths; a file with all columns of a layout is of this format.
    members: what names in a zip of this format begin with; its records are the .json members that begin with the first.
    """

    name: str
    what: str
    container: Container = "json"
    separators: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    read: tuple[tuple[str, ...], ...] = ()
    signs: tuple[str, ...] = ()
    layouts: tuple[tuple[str, ...], ...] = ()
    members: tuple[str, ...] = ()

    def matches(self, record: Record) -> bool:
        """Whether a record is of this format."""
        raise NotImplementedError

    def identify(self, record: Record, index: int) -> Identity:
        """Which row a record answers, given its place among the records. Raises UnreadableError."""
        raise NotImplementedError

    def completions(self, record: Record) -> list[Completion]:
        """What was answered, one item per sample; empty for a record that is not an answer, such as a step of a run.

        Raises UnreadableError.
        """
        raise NotImplementedError

    def documents(self, document: dict[str, Any]) -> list[Any] | None:
        """The records of an object that the stack writes as a whole file; None for any other object."""
        return None

    def filter_of(self, record: Record) -> str | None:
        """The harness's filter that a record's answer went through, of which only the first in a file counts."""
        return None


class FieldNames(NamedTuple):
    """The fields that the user names, as dotted paths; they override the format's own."""

    id_field: str | None = None
    text_field: str | None = None


def brief(value: object) -> str:
    """A value for a message: unprintable characters escaped, a long value cut."""
    shown = repr(value)
    return shown if len(shown) <= 80 else f"{shown[:77]}..."


def keys_of(record: Collection[str]) -> str:
    """The first 20 fields of a record, or columns of a table, for a message."""
    shown = ", ".join(brief(key) for key in list(record)[:20])
    return f"{shown}, ..." if len(record) > 20 else shown or "no fields"
