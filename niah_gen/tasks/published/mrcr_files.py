"""Reads MRCR's files: chats of openai/mrcr (Parquet), and texts of DeepMind's MRCR v2 (CSV or Parquet).

openai/mrcr has the columns `prompt` (a JSON list of messages), `answer`, `random_string_to_prepend`, `n_needles` and
`desired_msg_index` (of the request in question; the next message is its reply). MRCR v2 has `queries` and `answer`, and
in some releases `num_relevant` and `context_len`. Files may be larger than memory: rows are read one at a time.
"""

from __future__ import annotations

import csv
import json
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from niah_gen.errors import RecipeError
from niah_score.contract import Message
from niah_score.machine.refusals import is_refused

# A reference of MRCR v2 begins with a random text of this many characters.
V2_PREFIX = 12
_CHAT_COLUMNS = ("prompt", "answer", "random_string_to_prepend", "n_needles", "desired_msg_index")
_TEXT_COLUMNS = ("queries", "answer")
_TEXT_EXTRAS = ("num_relevant", "context_len")
_V2_QUESTION = re.compile(r"User: (Prepend \S+ to the \w+ (.+) in a (.+) style\. [^\n]+)\n\nAssistant:\s*\Z")
_BATCH = 8
_SHOWN = 60

Fields = Mapping[str, Any]


class MrcrRow(NamedTuple):
    """A row of a published file. `number`: from 1, in its file.

    `messages`: those of a chat, or a text as one message without a role. `needles`: how many requests are alike.
    `needle_message`, `needle_start`: the message, and the code point in it, where the requested reply begins; the
    message is None unless the reply occurs exactly once. `context_tokens`: as given in the file, else None.
    """

    number: int
    messages: tuple[tuple[str | None, str], ...]
    answer: str
    prefix: str
    question: str
    needles: int
    needle_message: int | None
    needle_start: int
    context_tokens: int | None
    metric: str

    @property
    def needle(self) -> str:
        """The requested reply."""
        return self.answer[len(self.prefix) :].strip() if self.metric == "mrcr_v2" else self.answer[len(self.prefix) :]


def read_mrcr(path: Path) -> Iterator[MrcrRow]:
    """The rows of a file in order. Raises RecipeError with the file, and the row and column that are wrong."""
    try:
        if path.suffix == ".parquet":
            yield from _read_parquet(path)
        elif path.suffix == ".csv":
            yield from _read_csv(path)
        else:
            raise RecipeError([f"options.file: {path.name} is neither a .parquet nor a .csv file"])
    except OSError as error:
        raise RecipeError([f"options.file: {path} cannot be read ({error.strerror or error})"]) from None


def _read_parquet(path: Path) -> Iterator[MrcrRow]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(pa.OSFile(os.fsencode(path))) as file:
            wanted, make = _form_of(path, file.schema_arrow.names)
            number = 0
            for batch in file.iter_batches(batch_size=_BATCH, columns=wanted):
                for fields in batch.to_pylist():
                    number += 1
                    yield make(path, number, fields)
    # Damaged text raises UnicodeDecodeError; damaged pages raise errors of Arrow, or OSError without a number.
    except (pa.ArrowException, ValueError, OSError) as error:
        if is_refused(error):
            raise
        raise RecipeError([f"options.file: {path.name} is not a readable Parquet file ({error})"]) from None


def _read_csv(path: Path) -> Iterator[MrcrRow]:
    # A field can be a whole prompt, above the module's limit of 128 KiB, which is set for the whole process.
    csv.field_size_limit(sys.maxsize)
    with path.open(encoding="utf-8", newline="") as file:
        lines = csv.reader(file, strict=True)
        number = 0
        try:
            names = next(lines, [])
            _, make = _form_of(path, names)
            for line in lines:
                number += 1
                if len(line) != len(names):
                    raise _wrong(path, number, names[min(len(line), len(names) - 1)], f"{len(names)} fields", len(line))
                yield make(path, number, dict(zip(names, line, strict=True)))
        except csv.Error as error:
            raise RecipeError([f"options.file: {path.name}, row {number + 1}: not readable as CSV ({error})"]) from None
        except UnicodeDecodeError as error:
            raise RecipeError([f"options.file: {path.name}, row {number + 1}: not UTF-8 ({error.reason})"]) from None


def _form_of(path: Path, names: list[str]) -> tuple[list[str], Callable[[Path, int, Fields], MrcrRow]]:
    """The columns to read, and the function that makes a row of them."""
    if set(_CHAT_COLUMNS) <= set(names):
        return list(_CHAT_COLUMNS), _chat_row
    if set(_TEXT_COLUMNS) <= set(names):
        return [*_TEXT_COLUMNS, *(name for name in _TEXT_EXTRAS if name in names)], _text_row
    raise RecipeError(
        [
            f"options.file: {path.name} has the columns {', '.join(names) or 'none'}; expected "
            f"{', '.join(_CHAT_COLUMNS)} (openai/mrcr), or {', '.join(_TEXT_COLUMNS)} (MRCR v2)"
        ]
    )


def _chat_row(path: Path, number: int, fields: Fields) -> MrcrRow:
    prefix, answer = (_text(path, number, fields, name) for name in ("random_string_to_prepend", "answer"))
    if not answer.startswith(prefix):
        raise _wrong(path, number, "answer", f"a text that begins with {prefix!r}", answer)
    messages = _messages(path, number, fields)
    needles, asked = (_whole(path, number, fields, name) for name in ("n_needles", "desired_msg_index"))
    if not 0 <= asked < len(messages) - 2:
        raise _wrong(path, number, "desired_msg_index", f"0 to {len(messages) - 3}", asked)
    if messages[asked + 1]["content"] != answer.removeprefix(prefix):
        raise _wrong(
            path, number, "desired_msg_index", "the message before the one that the answer repeats",
            messages[asked + 1]["content"],
        )  # fmt: skip
    chat = tuple((message["role"], message["content"]) for message in messages)
    return MrcrRow(number, chat, answer, prefix, chat[-1][1], needles, asked + 1, 0, None, "mrcr")


def _messages(path: Path, number: int, fields: Fields) -> list[Message]:
    wanted = "a JSON list of messages with role and content, the last one the user's"
    text = _text(path, number, fields, "prompt")
    try:
        messages = json.loads(text)
    except (ValueError, RecursionError):
        raise _wrong(path, number, "prompt", wanted, text) from None
    if not isinstance(messages, list) or len(messages) < 3 or not all(map(_is_message, messages)):
        raise _wrong(path, number, "prompt", wanted, text)
    if messages[-1]["role"] != "user":
        raise _wrong(path, number, "prompt", wanted, text)
    return [Message(role=message["role"], content=message["content"]) for message in messages]


def _is_message(value: object) -> bool:
    return isinstance(value, dict) and all(isinstance(value.get(name), str) for name in ("role", "content"))


def _text_row(path: Path, number: int, fields: Fields) -> MrcrRow:
    prompt, answer = (_text(path, number, fields, name) for name in ("queries", "answer"))
    answer = answer.strip()
    prefix, reply = answer[:V2_PREFIX], answer[V2_PREFIX:].strip()
    if not reply:
        raise _wrong(path, number, "answer", f"{V2_PREFIX} characters and a text", answer)
    asked = _V2_QUESTION.search(prompt, max(0, prompt.rfind("User: ")))
    needles = 0
    if fields.get("num_relevant") is not None:
        needles = _whole(path, number, fields, "num_relevant")
    elif asked:
        needles = prompt.count(f"User: Write a {asked.group(2)} in {asked.group(3)} style.")
    size = _whole(path, number, fields, "context_len") if fields.get("context_len") is not None else None
    start = prompt.find(reply)
    once = start >= 0 and prompt.find(reply, start + 1) < 0
    return MrcrRow(
        number, ((None, prompt),), answer, prefix, asked.group(1) if asked else prompt[-_SHOWN:], needles,
        0 if once else None, max(start, 0), size, "mrcr_v2",
    )  # fmt: skip


def _text(path: Path, number: int, fields: Fields, name: str) -> str:
    value = fields[name]
    if not isinstance(value, str) or not value.strip():
        raise _wrong(path, number, name, "a text", value)
    try:
        value.encode()
    except UnicodeEncodeError:
        raise _wrong(path, number, name, "a text without half surrogate pairs", value) from None
    return value


def _whole(path: Path, number: int, fields: Fields, name: str) -> int:
    """A whole number, which is text in CSV, and may be 8.0 where pandas wrote it."""
    value = fields[name]
    try:
        parsed = float(value) if isinstance(value, str) else value
        if not isinstance(parsed, bool) and parsed == int(parsed) and parsed >= 0:
            return int(parsed)
    except (TypeError, ValueError, OverflowError):
        pass
    raise _wrong(path, number, name, "a whole number", value)


def _wrong(path: Path, number: int, column: str, expected: str, found: object) -> RecipeError:
    shown = repr(found[:_SHOWN] if isinstance(found, str) else found)
    return RecipeError(
        [f"options.file: {path.name}, row {number}, column {column}: expected {expected}; found {shown}"]
    )
