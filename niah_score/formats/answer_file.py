"""Opens an answer file, recognises its format by its content, and reads its answers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from functools import cached_property
from pathlib import Path
from typing import BinaryIO

from niah_score.errors import ScoreError, suggestion
from niah_score.formats.containers import read
from niah_score.formats.record import Answer, FieldNames, Malformed, NoAnswersError
from niah_score.formats.registry import FORMATS
from niah_score.formats.streams import DASH, STANDARD_INPUT, Source, opened, standard_input


class AnswerFile:
    """One file of answers. Each iteration opens it and reads it in order, keeping as little in memory as possible.

    `name`: what messages call it, its path or "standard input". `format`: the name of its format; empty until reading
    has started.
    """

    def __init__(self, path: Path, names: FieldNames, asked: str | None) -> None:
        self.name = STANDARD_INPUT if str(path) == DASH else path
        self.format = ""
        self._names = names
        self._formats = list(FORMATS.values()) if asked is None else [FORMATS[asked]]

    @cached_property
    def _kept(self) -> BinaryIO:
        """Standard input, in a temporary file for as long as this object lives."""
        return standard_input()

    def __iter__(self) -> Iterator[Answer | Malformed]:
        """Its records. Raises ScoreError if the file cannot be read to its end; NoAnswersError if it holds none."""
        is_input = self.name is STANDARD_INPUT
        with nullcontext(Source(self.name, self._kept)) if is_input else opened(self.name) as source:
            form, records = read(source, self._formats, self._names)
            self.format = form.name
            first = next(records, None)
            if first is None:
                raise NoAnswersError(str(self.name), "no predictions in it; was the run finished?")
            yield first
            yield from records


def read_answers(
    path: str | Path, *, id_field: str | None = None, text_field: str | None = None, format: str | None = None
) -> AnswerFile:
    """A file of answers to iterate over; `-` is standard input, which can be iterated over again too.

    id_field, text_field: dotted paths that override the format's own fields. format: a name in FORMATS, the only format
    that is then looked for. Raises ScoreError if it is unknown.
    """
    if format is not None and format not in FORMATS:
        raise ScoreError(f"format {format!r} is not known; {suggestion(format, FORMATS)}")
    return AnswerFile(Path(path), FieldNames(id_field, text_field), format)
