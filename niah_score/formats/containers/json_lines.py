"""JSON Lines in, Answers and Malformed out: a tight loop for the two usual shapes, and one line at a time for the rest.

Which format a file has is decided once, by the first record that is of any.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import orjson

from niah_score.errors import ScoreError
from niah_score.formats.batch import OPENAI_BATCH, VLLM_BATCH
from niah_score.formats.containers.streams import MAX_LINE, Batch, lines, opened
from niah_score.formats.containers.strict_json import (
    MAX_DEPTH,
    BrokenError,
    EncodingError,
    colons_escaped,
    no_key_twice,
    parse,
)
from niah_score.formats.fields import FINISHES, answers_of, has, keys_of
from niah_score.formats.harness import LM_EVAL, filter_of
from niah_score.formats.plain import (
    FINISH_FIELDS,
    ID_FIELDS,
    ORDERED,
    PLAIN,
    SPECIAL_FIELDS,
    TEXT_FIELDS,
    field_of,
)
from niah_score.formats.record import (
    Answer,
    Choice,
    Format,
    InexactError,
    LineError,
    Malformed,
    Record,
    UnreadableError,
)

NOT_AN_OBJECT = "not a JSON object; expected one object a record"
_TOO_LONG = f"longer than {MAX_LINE:,} bytes; expected one record a line"
_CUT = "the line breaks off in the middle of a record; the writer was killed or the copy is incomplete: answer it again"
_ENDS: dict[object, str] = dict(FINISHES) | {None: "", "": ""}
# Records of one file have few different sets of fields; a file that makes one a line must not fill the memory.
_MAX_SHAPES = 256


def kind_of(record: Record, kinds: Iterable[Format], choice: Choice) -> Format | None:
    """The first format that a record is of; with a field that the user names, records that have it are plain."""
    found = next((kind for kind in kinds if kind.matches(record)), None)
    if found is None:
        named = [field for field in choice if field is not None]
        return PLAIN if named and all(has(record, field) for field in named) else None
    return PLAIN if found is ORDERED and choice.id_field is not None else found


def recognised(path: Path, batches: Iterable[Batch], kinds: Sequence[Format], choice: Choice) -> Format:
    """The format of a file: that of its first record that is of any. Raises ScoreError if there is none."""
    first = ""
    for found, number, record in _records(batches):
        if record is None:
            first = first or f"line {number}: {found}"
            continue
        kind = kind_of(record, kinds, choice)
        if kind is not None:
            return kind
        first = first or f"line {number} has the fields {keys_of(record)}"
    if not first:
        raise ScoreError(f"{path}: no predictions in it; expected one JSON object a line")
    raise ScoreError(
        f"{path}: no record with an answer; {first}; expected a format that `niah-score formats` lists, or name the "
        "fields with --id-field and --text-field"
    )


def _records(batches: Iterable[Batch]) -> Iterator[tuple[str, int, Record | None]]:
    """Every line that is not blank: what is wrong with it, its number, its record."""
    number = 0
    for batch, _ in batches:
        for line in batch:
            number += 1
            if line is None:
                yield _TOO_LONG, number, None
            elif line.strip():
                try:
                    record = parse(line)
                except (UnreadableError, EncodingError) as error:
                    yield str(error), number, None
                else:
                    whole = isinstance(record, dict)
                    yield NOT_AN_OBJECT, number, record if whole else None


def chosen_filter(path: Path) -> str | None:
    """The filter of lm-evaluation-harness whose lines are the answers: `none` if a line has it, else the first."""
    first: str | None = None
    for batch, _ in lines(opened(path).chunks):
        for line in batch:
            # Lines of the first filter come first, and only one that spells the other can be of it.
            if line is None or (first is not None and b'"none"' not in line):
                continue
            try:
                found = filter_of(parse(line))
            except (UnreadableError, EncodingError):
                continue
            if found == "none":
                return found
            first = first or found
    return first


def read_record(
    kind: Format, others: Iterable[Format], record: Record, line: int, index: int, choice: Choice
) -> list[Answer]:
    """The answers of a record in a file of some format; a record of another one is read as such.

    Raises UnreadableError.
    """
    if kind.matches(record):
        return answers_of(kind, record, line, index, choice)
    other = next((other for other in others if other.matches(record)), None)
    if other is None:
        return answers_of(kind, record, line, index, choice)
    found = answers_of(other, record, line, index, choice)
    if any(answer.id is None and answer.prompt_sha256 is None for answer in found):
        raise UnreadableError(f"a record of format {other.name} without an id in a file of format {kind.name}")
    return found


class LineReader:
    """Reads the lines of one file, or of a range of it; numbers and places count from its beginning."""

    def __init__(self, path: Path, kind: Format, kinds: Sequence[Format], choice: Choice) -> None:
        self._path = path
        self._kind = kind
        self._others = [other for other in kinds if other.by_id]
        self._choice = choice
        self._skipped = 0
        self._shapes: dict[tuple[str, ...], tuple[str, str, str | None]] = {}
        self._filter = chosen_filter(path) if kind is LM_EVAL else None

    def read(self, batches: Iterable[Batch]) -> Iterator[Answer | Malformed]:
        """All records. Raises LineError for bytes that are not UTF-8."""
        if self._choice == Choice():
            if self._kind is PLAIN:
                return self._plain(batches)
            if self._kind in (OPENAI_BATCH, VLLM_BATCH):
                return self._chat(batches)
        return self._any(batches)

    def _any(self, batches: Iterable[Batch]) -> Iterator[Answer | Malformed]:
        number = 0
        for batch, cut in batches:
            for line in batch:
                number += 1
                yield from self._line(line, number, cut)

    def _plain(self, batches: Iterable[Batch]) -> Iterator[Answer | Malformed]:
        """Flat records with an id and a text. A line that is anything else, in any way, is read by itself."""
        number = 0
        loads, shapes, ends, slow = orjson.loads, self._shapes, _ENDS, self._line
        for batch, cut in batches:
            for line in batch:
                number += 1
                try:
                    record = loads(line)
                    id_key, text_key, finish_key = shapes[tuple(record)]
                    name = record[id_key]
                    text = record[text_key]
                    finish = "" if finish_key is None else ends[record[finish_key]]
                except (ValueError, KeyError, TypeError):
                    yield from slow(line, number, cut)
                    continue
                if (
                    type(name) is str
                    and type(text) is str
                    and name
                    # A level of nesting takes a colon or a bracket.
                    and (colons := line.count(b":")) + line.count(b"[") < MAX_DEPTH
                    # As in no_key_twice: the colons of the two strings, and one for each key that was kept.
                    and (
                        (colons == len(record) + name.count(":") + text.count(":") and not colons_escaped(line))
                        or no_key_twice(line, record)
                    )
                ):
                    yield Answer(name, text, None, finish, None, None, None, 0, number, None)
                else:
                    yield from slow(line, number, cut)

    def _chat(self, batches: Iterable[Batch]) -> Iterator[Answer | Malformed]:
        """Chat completions with one choice that is a text. A line that is anything else is read by itself."""
        number = 0
        loads, dumps, ends, slow = orjson.loads, orjson.dumps, _ENDS, self._line
        for batch, cut in batches:
            for line in batch:
                number += 1
                try:
                    record = loads(line)
                    response = record["response"]
                    (choice,) = response["body"]["choices"]
                    message = choice["message"]
                    name = record["custom_id"]
                    text = message["content"]
                    finish = ends[choice["finish_reason"]]
                    usual = (
                        type(name) is str
                        and type(text) is str
                        and name
                        and response.get("status_code", 200) == 200
                        and not record.get("error")
                        and not response["body"].get("error")
                        and not message.get("refusal")
                        and "output" not in response["body"]
                    )
                    reasoning = message.get("reasoning") or message.get("reasoning_content") or None
                except (ValueError, KeyError, TypeError, AttributeError):
                    yield from slow(line, number, cut)
                    continue
                if (
                    usual
                    and (reasoning is None or type(reasoning) is str)
                    and (colons := line.count(b":")) + line.count(b"[") < MAX_DEPTH
                    and colons == dumps(record).count(b":")
                    and not colons_escaped(line)
                ):
                    yield Answer(name, text, reasoning, finish, None, None, None, 0, number, None)
                else:
                    yield from slow(line, number, cut)

    def _line(self, line: bytes | None, number: int, cut: bool) -> Sequence[Answer | Malformed]:
        if line is None:
            return [Malformed(number, _TOO_LONG)]
        if not line.strip():
            self._skipped += 1
            return ()
        try:
            record = parse(line)
            if self._filter is not None and (filter_of(record) or self._filter) != self._filter:
                self._skipped += 1
                return ()
            try:
                return self._answers(record, number)
            except InexactError:
                return self._answers(parse(line, exact=True), number)
        except EncodingError as error:
            if cut and error.early:
                return [Malformed(number, _CUT)]
            raise LineError(str(self._path), number, str(error)) from None
        except BrokenError as error:
            return [Malformed(number, _CUT if cut else str(error))]
        except UnreadableError as error:
            return [Malformed(number, str(error))]

    def _answers(self, record: Any, number: int) -> list[Answer]:
        if not isinstance(record, dict):
            raise UnreadableError(NOT_AN_OBJECT)
        found = read_record(self._kind, self._others, record, number, number - 1 - self._skipped, self._choice)
        if self._kind is PLAIN and PLAIN.matches(record):
            self._learn(record)
        return found

    def _learn(self, record: Record) -> None:
        id_key, text_key = field_of(record, ID_FIELDS), field_of(record, TEXT_FIELDS)
        if id_key and text_key and len(self._shapes) < _MAX_SHAPES and SPECIAL_FIELDS.isdisjoint(record):
            self._shapes[tuple(record)] = id_key, text_key, field_of(record, FINISH_FIELDS)
