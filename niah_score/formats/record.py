"""What flows out of every answer file, an Answer or a Malformed a record, and what a format is made of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

from niah_score.errors import ScoreError

# A parsed record: a JSON object, a CSV row, a Parquet row.
Record = dict[str, Any]
Container = Literal["json", "zip", "separated", "parquet"]


class Answer(NamedTuple):
    """One answer as its file gives it. Of id, prompt_sha256 and position at least one is known.

    `chat_sha256`: what prompt_sha256 would be if the echoed prompt was sent as one message of the user.
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


class Identity(NamedTuple):
    """Whose answer a record holds."""

    id: str | None = None
    prompt_sha256: str | None = None
    position: int | None = None
    reference: tuple[str, ...] | None = None
    sample: int = 0
    chat_sha256: str | None = None


class Said(NamedTuple):
    """One sample of what was answered."""

    text: str | None
    reasoning: str | None = None
    finish: str = ""
    error: str | None = None


class Format(NamedTuple):
    """A kind of answer file. `example`: one line of such a file.

    matches: whether a record is of this format. identify: whose answer it is, given its place among the records.
    said: what was answered, a Said a sample. The last two raise UnreadableError. by_id: whether a record alone tells
    whose answer it is, so that it may stand among records of other formats.
    """

    name: str
    what: str
    example: str
    container: Container
    matches: Callable[[Record], bool]
    identify: Callable[[Record, int], Identity]
    said: Callable[[Record], list[Said]]
    by_id: bool = False


class Choice(NamedTuple):
    """The fields that the user names; they win over what the format says."""

    id_field: str | None = None
    text_field: str | None = None


def brief(value: object) -> str:
    """A value for a message: what is unprintable escaped, what is long cut."""
    shown = repr(value)
    return shown if len(shown) <= 80 else f"{shown[:77]}..."
