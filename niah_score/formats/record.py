"""Defines Answer and Malformed, what is read of answer files, and Format, which says how a stack's records are read.

The readers in `containers` know no format by name: whatever one stack needs of them is a field of its `Format`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Literal, NamedTuple

from niah_score.errors import ScoreError

# A parsed record: a JSON object, a CSV row, a Parquet row.
Record = dict[str, Any]
Container = Literal["json", "zip", "separated", "parquet"]
# Lines without their line feed, as bytes, None for one that is too long; and whether none ends the last of them.
LineBlock = tuple[list[Any], bool]


class Coordinates(NamedTuple):
    """The cell of a grid that an answer was asked for, by which systems without ids tell their results apart.

    `length`: tokens. `depth_percent`: 0 to 100. `needles`: the inserted texts. `question`: None where the record has
    none. `run`: the number of a repeated run of one cell, such as a seed; None where it has none. `model`: its name.
    `placement`: that of the rows whose prompts the system builds.
    """

    length: int
    depth_percent: float
    needles: tuple[str, ...]
    question: str | None
    run: int | None
    model: str
    placement: str


class Answer(NamedTuple):
    """One answer as its file gives it. Of id, prompt_sha256, position and coordinates at least one is known.

    `prompt_sha256`, `chat_sha256`, `in_template`: of the prompt that the record echoes, as in EchoedPrompt. The prompt
    finds the row of a record without a row's id, and is compared with the row's where an id has found it.
    `sample`: from 0.
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


class Malformed(NamedTuple):
    """A record that is no answer: where it stands, and which field is not what was expected."""

    line: int
    message: str


class UnreadableError(Exception):
    """Why a record is no answer; becomes the message of its Malformed."""


class InexactError(UnreadableError):
    """An id came as a float, which the fast parser also makes of integers beyond 64 bits."""


class LineError(ScoreError):
    """What ends the reading of a file at one of its lines."""

    def __init__(self, path: str, line: int, message: str) -> None:
        super().__init__(path, line, message)
        self.path, self.line, self.message = path, line, message

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.message}"

    def after(self, lines: int) -> LineError:
        """The same error where the range that was read begins after so many lines of the file."""
        return LineError(self.path, self.line + lines, self.message)


class NoAnswersError(ScoreError):
    """A whole file that can be read and holds no answer, such as a harness's results beside its samples."""

    def __init__(self, path: str, message: str) -> None:
        super().__init__(path, message)
        self.path, self.message = path, message

    def __str__(self) -> str:
        return f"{self.path}: {self.message}"


class EchoedPrompt(NamedTuple):
    """The digests of a prompt that a record echoes as it was given.

    chat_sha256: as one message of the user, for stacks that echo the text of such a chat alone. in_template: whether it
    looks like a text in a model's chat template, which no digest tells from another prompt.
    """

    sha256: str
    chat_sha256: str | None
    in_template: bool


class Identity(NamedTuple):
    """Whose answer a record holds."""

    id: str | None = None
    prompt: EchoedPrompt | None = None
    position: int | None = None
    reference: tuple[str, ...] | None = None
    sample: int = 0
    coordinates: Coordinates | None = None


class Completion(NamedTuple):
    """One sample of what a model answered to one prompt."""

    text: str | None
    reasoning: str | None = None
    finish: str = ""
    error: str | None = None


class TableColumns(NamedTuple):
    """The columns of a table that a format reads: of each group of names the first that is there.

    by_order: whose answer a row holds if neither a column of ids nor one of prompts is there. signs: columns of which
    one must be there as well, for tables whose text columns other tables have for something else.
    """

    ids: tuple[str, ...]
    texts: tuple[str, ...]
    prompt: str
    error: str
    others: tuple[tuple[str, ...], ...]
    by_order: Callable[[Record, int], Identity]
    signs: tuple[str, ...] = ()


class ZipMembers(NamedTuple):
    """How a zip is recognised and read: its records are the .json members of a folder.

    signs: members that show whose file it is even if it holds no records. what: the file in a message. convert: the
    stack's own command that writes such a file as JSON.
    """

    folder: str
    signs: tuple[str, ...]
    what: str
    convert: str


# One line, its number and whether the file breaks off in it; what comes out of it.
ReadLine = Callable[[bytes | None, int, bool], Sequence[Answer | Malformed]]


class Format(NamedTuple):
    """A kind of answer file. Only the first seven fields are needed; the others serve single stacks.

    name, what: as they stand in the list of formats. example: one line of such a file. container: what the file is.
    matches: whether a record is of this format.
    identify: whose answer a record holds, given its place among the records. Raises UnreadableError.
    completions: what was answered, one item a sample; none for a record that is no answer, such as a step of a run,
    which is left out. Raises UnreadableError.

    by_id: whether a record alone tells whose answer it is, so that it may stand among records of other formats.
    by_order_only: whether nothing but its place tells whose answer a record is, unless the user names a field.
    custom_fields: whether records are of it that no format matches, but that have the fields that the user names.
    read_usual: a faster loop over lines of the usual shapes; it hands every other line to the function it is given.
    answer_records: given the lines of a whole file, which of its records count as answers; the others are skipped.
    documents: for JSON objects that the stack writes over a whole file: their records, None for any other value.
    separators: what separates the columns of its tables; columns: which of them are read.
    layouts: for nested Parquet columns, one layout a release: the leaves that are read, by what their paths begin with;
    a file with all columns of a layout is of this format.
    members: which members of a zip are read.
    """

    name: str
    what: str
    example: str
    container: Container
    matches: Callable[[Record], bool]
    identify: Callable[[Record, int], Identity]
    completions: Callable[[Record], list[Completion]]
    by_id: bool = False
    by_order_only: bool = False
    custom_fields: bool = False
    read_usual: Callable[[Iterable[LineBlock], ReadLine], Iterator[Answer | Malformed]] | None = None
    answer_records: Callable[[Iterable[LineBlock]], Callable[[object], bool]] | None = None
    documents: Callable[[object], list[Any] | None] | None = None
    separators: tuple[str, ...] = ()
    columns: TableColumns | None = None
    layouts: tuple[tuple[str, ...], ...] = ()
    members: ZipMembers | None = None


class FieldNames(NamedTuple):
    """The fields that the user names, as dotted paths; they win over what the format says."""

    id_field: str | None = None
    text_field: str | None = None


def brief(value: object) -> str:
    """A value for a message: what is unprintable escaped, what is long cut."""
    shown = repr(value)
    return shown if len(shown) <= 80 else f"{shown[:77]}..."
