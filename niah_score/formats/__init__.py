"""Answer files of any inference stack in, one kind of Answer out.

A file is recognised by its content, never by its name. Every record becomes an Answer a sample, or one Malformed that
says what is wrong with it; what ends a whole file is a ScoreError. No type is ever guessed: an id `001` stays `001`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from niah_score.errors import ScoreError, suggestion
from niah_score.formats import batch, benchmark, harness, plain
from niah_score.formats.expand import expand
from niah_score.formats.record import Answer, Choice, Container, Format, LineError, Malformed

__all__ = [
    "FORMATS",
    "Answer",
    "AnswerFile",
    "Format",
    "LineError",
    "Malformed",
    "expand",
    "read_answers",
    "read_lines",
]

# In the order of recognition.
FORMATS: dict[str, Format] = {
    "openai-responses": batch.OPENAI_RESPONSES,
    "vllm-batch": batch.VLLM_BATCH,
    "openai-batch": batch.OPENAI_BATCH,
    "anthropic-batch": batch.ANTHROPIC_BATCH,
    "vertex-batch": batch.VERTEX_BATCH,
    "gemini-batch": batch.GEMINI_BATCH,
    "lm-eval": harness.LM_EVAL,
    "inspect-json": harness.INSPECT_JSON,
    "inspect-eval": harness.INSPECT_EVAL,
    "lighteval": harness.LIGHTEVAL,
    "opencompass": harness.OPENCOMPASS,
    "ruler": benchmark.RULER,
    "helmet": benchmark.HELMET,
    "longbench": benchmark.LONGBENCH,
    "plain": plain.PLAIN,
    "ordered": plain.ORDERED,
    "csv": plain.CSV,
    "tsv": plain.TSV,
    "parquet": plain.PARQUET,
}
_JSON = [kind for kind in FORMATS.values() if kind.container == "json"]
_CONTAINERS: dict[Container, str] = {
    "json": "JSON",
    "zip": "a zip",
    "separated": "CSV or TSV",
    "parquet": "Parquet",
}


class _Reading(NamedTuple):
    name: str
    by_line: bool
    records: Iterator[Answer | Malformed]


class AnswerFile:
    """One file of answers. Each iteration reads it anew, in its order, and holds no more of it than it must."""

    def __init__(self, path: Path, choice: Choice, forced: Format | None) -> None:
        self.path = path
        self.choice = choice
        self._forced = forced
        self._name = "" if forced is None else forced.name

    @property
    def format(self) -> str:
        """The name of its format; empty until reading has started."""
        return self._name

    def splittable(self) -> bool:
        """Whether `read_lines` can read ranges of it: lines of JSON, not packed. Recognises the format.

        Of ruler, longbench and ordered files the positions of a range count from its beginning.
        """
        reading = self._start()
        self._name = reading.name
        return reading.by_line

    def __iter__(self) -> Iterator[Answer | Malformed]:
        """Its records. Raises ScoreError for what ends the file, LineError where a line is to blame."""
        reading = self._start()
        self._name = reading.name
        empty = True
        for record in reading.records:
            empty = False
            yield record
        if empty:
            raise ScoreError(f"{self.path}: no predictions in it; was the run finished?")

    def _start(self) -> _Reading:
        from niah_score.formats.containers.streams import opened

        source = opened(self.path)
        if source.kind == "zip":
            from niah_score.formats.containers import eval_log

            self._expect("zip")
            return _Reading("inspect-eval", False, eval_log.read(self.path, self.choice))
        if source.kind == "parquet":
            from niah_score.formats.containers import parquet

            self._expect("parquet")
            layout = parquet.layout_of(self.path, self.choice, self._forced)
            name = "lighteval" if layout.kind is FORMATS["lighteval"] else "parquet"
            return _Reading(name, False, parquet.read(self.path, layout, self.choice))
        return self._table(source.head) or self._json(source.head, source.packed)

    def _expect(self, found: Container) -> None:
        if self._forced is not None and self._forced.container != found:
            raise ScoreError(
                f"{self.path}: {_CONTAINERS[found]}, but format {self._forced.name!r} is "
                f"{_CONTAINERS[self._forced.container]}; leave the format out to have it recognised"
            )

    def _table(self, head: bytes) -> _Reading | None:
        from niah_score.formats.containers import separated
        from niah_score.formats.containers.streams import lines, opened

        wanted = self._forced is not None and self._forced.container == "separated"
        start = head.lstrip()[:1]
        if not start or (not wanted and (self._forced is not None or start in (b"{", b"["))):
            return None
        header = separated.header_of(self.path, head, self.choice, self._forced)
        if header is None:
            return None
        rows = separated.read(self.path, lines(opened(self.path).chunks), header, self.choice)
        return _Reading(header.kind.name, False, rows)

    def _json(self, head: bytes, packed: bool) -> _Reading:
        from niah_score.formats.containers import documents, json_lines
        from niah_score.formats.containers.streams import lines, opened

        start = head.lstrip()[:1]
        if start:
            self._expect("json")
        if start == b"[" or (start == b"{" and self._is_document(head)):
            try:
                document = documents.load(self.path)
            except LineError as error:
                # A first line that is broken, among lines that are not.
                if start == b"[":
                    raise
                try:
                    found = json_lines.recognised(self.path, lines(opened(self.path).chunks), _JSON, self.choice)
                except ScoreError:
                    raise error from None
                kind = self._forced or found
            else:
                kind = self._forced or documents.kind_in(self.path, document, _JSON, self.choice)
                records = documents.read(self.path, document, kind, _JSON, self.choice)
                return _Reading(kind.name, False, records)
        elif self._forced is not None:
            kind = self._forced
        elif start and start != b"{" and b"\n{" not in head:
            raise ScoreError(
                f"{self.path}: neither JSON, nor a table whose header has a column with the answer's text "
                f"({plain.TEXT_FIELDS[0]!r} or another one that docs/formats.md lists); name one with --text-field"
            )
        else:
            kind = json_lines.recognised(self.path, lines(opened(self.path).chunks), _JSON, self.choice)
        reader = json_lines.LineReader(self.path, kind, _JSON, self.choice)
        return _Reading(kind.name, not packed, reader.read(lines(opened(self.path).chunks)))

    def _is_document(self, head: bytes) -> bool:
        """Whether a file that begins with a brace is one object: written over lines, or of a stack that does so."""
        from niah_score.formats.containers import documents
        from niah_score.formats.containers.streams import lines, opened
        from niah_score.formats.containers.strict_json import BrokenError, EncodingError, parse
        from niah_score.formats.record import UnreadableError

        found = (line for batch, _ in lines(opened(self.path).chunks) for line in batch if line is None or line.strip())
        first = next(found, None)
        if first is None:
            return False
        try:
            return documents.split(parse(first, tolerant=True)) is not None
        except BrokenError:
            return bool(first.rstrip().endswith((b"{", b"[", b",", b":")))
        except (UnreadableError, EncodingError):
            return False


def read_answers(
    path: Path, *, id_field: str | None = None, text_field: str | None = None, format: str | None = None
) -> AnswerFile:
    """A file of answers, to be iterated over.

    id_field, text_field: dotted paths that win over what the format says. format: a name of FORMATS, instead of
    recognising it. Raises ScoreError for an unknown one.
    """
    return AnswerFile(Path(path), Choice(id_field, text_field), None if format is None else _known(format))


def read_lines(
    path: Path, start: int, end: int, *, format: str, id_field: str | None = None, text_field: str | None = None
) -> Iterator[Answer | Malformed]:
    """The records of a JSON Lines file from byte `start`, where a line begins, to before byte `end`.

    Lines, and positions where the format has them, count from `start`; the LineError of a range is put right by its
    `after`. Raises ScoreError for a format that is not read line by line.
    """
    from niah_score.formats.containers.json_lines import LineReader
    from niah_score.formats.containers.streams import file_range, lines, opened, without_mark

    kind = _known(format)
    if kind.container != "json" or opened(path).packed:
        raise ScoreError(f"{path}: format {format!r} is not read by ranges; read the whole file")
    chunks = file_range(path, start, end)
    reader = LineReader(path, kind, _JSON, Choice(id_field, text_field))
    return reader.read(lines(without_mark(chunks) if start == 0 else chunks))


def _known(name: str) -> Format:
    found = FORMATS.get(name)
    if found is None:
        raise ScoreError(f"format {name!r} is not known; {suggestion(name, FORMATS)}")
    return found
