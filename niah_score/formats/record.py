"""Defines what answer files are read into, Answer and Malformed, and Format, which says how to read a stack's records.

The readers in `containers` know no format by name: whatever a stack needs from them is a field of its `Format`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Literal, NamedTuple, Self

from niah_score.errors import ResourceError, ScoreError
from niah_score.machine.files import MAX_LINE

# A parsed record: a JSON object, a CSV row, a Parquet row.
Record = dict[str, Any]
Container = Literal["json", "zip", "separated", "parquet"]
# Lines as bytes without their line feeds, None for one that is too long; and whether the last one had no line feed.
LineBlock = tuple[list[Any], bool]


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
    """A record that is not an answer: its line, and which field is not what was expected."""

    line: int
    message: str


class UnreadableError(Exception):
    """Why a record is not an answer; becomes the message of its Malformed."""


class InexactError(UnreadableError):
    """An id is a float, which the fast parser also makes of integers beyond 64 bits."""


class LineError(ScoreError):
    """A problem in one line that ends the reading of the whole file."""

    def __init__(self, path: str, line: int, message: str) -> None:
        super().__init__(path, line, message)
        self.path, self.line, self.message = path, line, message

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.message}"

    def after(self, lines: int) -> Self:
        """The same error, with the line counted from the beginning of the file; `lines` of it precede the range."""
        return type(self)(self.path, self.line + lines, self.message)


class LongLineError(LineError, ResourceError):
    """A line that is too long to be read as a whole."""

    exit_code = 5

    def __init__(self, path: str, line: int, message: str = "") -> None:
        super().__init__(path, line, message or f"a line of more than {MAX_LINE:,} bytes; expected one record per line")


class NoAnswersError(ScoreError):
    """A whole file that can be read but holds no answer, such as a harness's results next to its samples."""

    def __init__(self, path: str, message: str) -> None:
        super().__init__(path, message)
        self.path, self.message = path, message

    def __str__(self) -> str:
        return f"{self.path}: {self.message}"


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


class Completion(NamedTuple):
    """One sample of a model's answer to a prompt."""

    text: str | None
    reasoning: str | None = None
    finish: str = ""
    error: str | None = None


class TableColumns(NamedTuple):
    """The columns of a table that a format reads: in each group of names, the first that is there.

    by_order: identifies the answer if there is no column of ids or prompts. signs: columns of which one must be there
    too, because other tables use the same text columns for something else.
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

    signs: members that identify the stack even if there are no records. what: the file in a message. convert: the
    stack's own command that writes such a file as JSON.
    """

    folder: str
    signs: tuple[str, ...]
    what: str
    convert: str


# Reads one line, given its number and whether the file breaks off in it.
ReadLine = Callable[[bytes | None, int, bool], Sequence[Answer | Malformed]]


class Format(NamedTuple):
    """A kind of answer file. Only the first seven fields are required; the others serve single stacks.

    name, what: as in the list of formats. example: one line of such a file. container: what the file is.
    matches: whether a record is of this format.
    identify: which row a record answers, given its place among the records. Raises UnreadableError.
    completions: what was answered, one item per sample; empty for a record that is not an answer, such as a step of a
    run, which is left out. Raises UnreadableError.

    by_id: whether a record alone identifies its row, so that it may be mixed with records of other formats.
    by_order_only: whether only its place identifies a record's row, unless the user names a field.
    custom_fields: whether it takes records that no format matches but that have the fields that the user names.
    read_usual: a faster loop over lines of the usual shape; it hands every other line to the function it is given.
    answer_records: given the lines of a whole file, says which records count as answers; the others are skipped.
    documents: the records of a JSON object that the stack writes as a whole file; None for any other value.
    separators: what separates the columns of its tables; columns: which of them are read.
    layouts: for nested Parquet columns, one layout per release: the leaves that are read, by the beginnings of their
    paths; a file with all columns of a layout is of this format.
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
    """The fields that the user names, as dotted paths; they override the format's own."""

    id_field: str | None = None
    text_field: str | None = None


def brief(value: object) -> str:
    """A value for a message: unprintable characters escaped, a long value cut."""
    shown = repr(value)
    return shown if len(shown) <= 80 else f"{shown[:77]}..."
