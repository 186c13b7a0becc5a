"""Asks the questions of MRCR's published files: openai/mrcr, and DeepMind's MRCR v2.

Each row of the file is a row of the dataset, with the published prompt, answer and grader. Its length is the upper end
of its published bin, a power of two. The files request no depths: `depth_percent` is where the reply stands, to the
nearest ten percent, and `needle_depths` is the exact place.

openai/mrcr (Parquet) holds chats in the columns `prompt` (a JSON list of messages), `answer`,
`random_string_to_prepend`, `n_needles` and `desired_msg_index` (of the request in question; the next message is its
reply). MRCR v2 (CSV or Parquet) holds texts, in `queries` and `answer`, and in some releases `num_relevant` and
`context_len`. Files may be larger than memory: rows are read one at a time.
"""

from __future__ import annotations

import csv
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from niah_gen.errors import RecipeError
from niah_gen.prompts.frame import said
from niah_gen.tasks.base import Replay, Task
from niah_gen.tasks.options import OwnFile, own_file
from niah_gen.tasks.published.files import field, json_of, read_once, wrong
from niah_gen.tasks.records import Cell, Context, Coordinates, GridAxes, Item, Replayed, Settings, Workbench
from niah_gen.tokenizers.find import find_tokenizer
from niah_score.contract import canonical_json, sha256_hex
from niah_score.machine.files import is_refused

_CHAT_COLUMNS = ("prompt", "answer", "random_string_to_prepend", "n_needles", "desired_msg_index")
_TEXT_COLUMNS = ("queries", "answer")
_TEXT_EXTRAS = ("num_relevant", "context_len")
# An answer of MRCR v2 begins with a random text of this many characters.
_V2_PREFIX = 12
_V2_QUESTION = re.compile(r"User: (Prepend \S+ to the \w+ (.+) in a (.+) style\. [^\n]+)\n\nAssistant:\s*\Z")
_V2_SHOWN = 60
# Bins count the tokens of this encoding, whatever the dataset's tokenizer.
_BINS_OF = "o200k_base"
_SHORTEST = 8_192
_STEP = 10
# Published replies have up to about 900 tokens.
_MAX_NEW_TOKENS = 2_000


@dataclass(frozen=True, slots=True)
class MrcrOptions:
    """The recipe's [options]. `file`: the user's. `rows`: of each length and number of needles; None for all.

    `needles`: only rows with such numbers of similar requests; None for all.
    """

    file: OwnFile | None = None
    rows: int | None = None
    needles: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        if self.rows is not None and self.rows < 1:
            raise ValueError(f"rows is {self.rows}; expected at least 1")

    def path(self) -> Path:
        """Where the file is. Raises RecipeError if it is not there."""
        if self.file is None:
            raise RecipeError(["options.file: expected a file of openai/mrcr or MRCR v2; it has no default"])
        return own_file(self.file)


class MrcrRow(NamedTuple):
    """A row of a published file. `number`: from 1, in its file.

    `messages`: those of a chat, or a text as one message without a role. `alike`: how many requests are alike, or 0.
    `needle`: the requested reply; `message`, `start`: the message, and the code point in it, where it begins; the
    message is None unless the reply occurs exactly once. `end`: where the question begins in a text. `tokens`: of the
    prompt, as given in the file, or 0.
    """

    number: int
    metric: str
    messages: list[tuple[str | None, str]]
    answer: str
    prefix: str
    question: str
    needle: str
    alike: int
    message: int | None
    start: int = 0
    end: int = 0
    tokens: int = 0


def read_mrcr(path: Path) -> Iterator[MrcrRow]:
    """The rows of a file in order. Raises RecipeError with the file, and the row and column that are wrong."""
    import pyarrow as pa

    number = 0
    try:
        for number, fields in enumerate(_fields_of(path), 1):
            where = f"options.file: {path.name}, row {number}"
            yield _chat_row(fields, number, where) if "prompt" in fields else _text_row(fields, number, where)
    # Damaged text raises UnicodeDecodeError; damaged Parquet raises errors of Arrow, or OSError without a number.
    except (csv.Error, pa.ArrowException, ValueError, OSError) as error:
        if is_refused(error):
            raise
        raise RecipeError([f"options.file: {path.name}, row {number + 1}: cannot be read ({error})"]) from None


def _fields_of(path: Path) -> Iterator[dict[str, Any]]:
    """The rows of a file by column, one at a time."""
    import pyarrow.parquet as pq

    if path.suffix == ".parquet":
        with path.open("rb") as file, pq.ParquetFile(file) as parquet:
            columns = _columns(path, parquet.schema_arrow.names)
            for batch in parquet.iter_batches(batch_size=8, columns=columns):
                yield from batch.to_pylist()
        return
    if path.suffix != ".csv":
        raise RecipeError([f"options.file: {path.name} is neither a .parquet nor a .csv file"])
    # A field can be a whole prompt, above the module's limit of 128 KiB, which is set for the whole process.
    csv.field_size_limit(sys.maxsize)
    with path.open(encoding="utf-8", newline="") as text:
        lines = csv.DictReader(text, strict=True)
        columns = _columns(path, list(lines.fieldnames or ()))
        for line in lines:
            if None in line:
                raise csv.Error("it has more fields than the header")
            yield {name: line[name] for name in columns}


def _columns(path: Path, names: list[str]) -> list[str]:
    """The columns to read of a file that has these."""
    if set(_CHAT_COLUMNS) <= set(names):
        return list(_CHAT_COLUMNS)
    if set(_TEXT_COLUMNS) <= set(names):
        return [*_TEXT_COLUMNS, *(name for name in _TEXT_EXTRAS if name in names)]
    raise RecipeError(
        [
            f"options.file: {path.name} has the columns {', '.join(names) or 'none'}; expected "
            f"{', '.join(_CHAT_COLUMNS)} (openai/mrcr), or {', '.join(_TEXT_COLUMNS)} (MRCR v2)"
        ]
    )


def _chat_row(fields: dict[str, Any], number: int, where: str) -> MrcrRow:
    prefix = field(fields, "random_string_to_prepend", "a text", where)
    answer = field(fields, "answer", "a text", where)
    if not answer.startswith(prefix):
        raise wrong(where, "answer", answer, f"a text that begins with {prefix!r}")
    messages = json_of(field(fields, "prompt", "a text", where), f"{where}: prompt")
    if not isinstance(messages, list) or len(messages) < 3:
        raise wrong(where, "prompt", messages, "a list of messages, at least three")
    place = f"{where}: a message of prompt"
    chat = [(field(each, "role", "a text", place), field(each, "content", "a text", place, "")) for each in messages]
    asked, reply = _whole(fields, "desired_msg_index", where), answer.removeprefix(prefix)
    if asked > len(chat) - 3 or chat[asked + 1][1] != reply:
        raise wrong(where, "desired_msg_index", asked, "the message before the one that the answer repeats")
    alike = _whole(fields, "n_needles", where)
    return MrcrRow(number, "mrcr", chat, answer, prefix, chat[-1][1], reply, alike, asked + 1)


def _text_row(fields: dict[str, Any], number: int, where: str) -> MrcrRow:
    prompt, answer = (field(fields, name, "a text", where) for name in _TEXT_COLUMNS)
    answer = answer.strip()
    reply = answer[_V2_PREFIX:].strip()
    if not reply:
        raise wrong(where, "answer", answer, f"{_V2_PREFIX} characters and a text")
    asked = _V2_QUESTION.search(prompt, max(0, prompt.rfind("User: ")))
    question = asked[1] if asked else prompt[-_V2_SHOWN:]
    alike = _whole(fields, "num_relevant", where)
    if not alike and asked:
        alike = prompt.count(f"User: Write a {asked[2]} in {asked[3]} style.")
    start = prompt.find(reply)
    once = start >= 0 and prompt.find(reply, start + 1) < 0
    end = max(prompt.rfind(f"User: {question}"), max(start, 0) + len(reply))
    return MrcrRow(
        number, "mrcr_v2", [(None, prompt)], answer, answer[:_V2_PREFIX], question, reply, alike, 0 if once else None,
        max(start, 0), end, _whole(fields, "context_len", where),
    )  # fmt: skip


def _whole(fields: dict[str, Any], name: str, where: str) -> int:
    """A whole number, which is text in CSV, and may be 8.0 where pandas wrote it; 0 if the file has none."""
    value = fields.get(name)
    if value is None and name in _TEXT_EXTRAS:
        return 0
    if not re.fullmatch(r"\d+(\.0+)?", str(value)):
        raise wrong(where, name, value, "a whole number")
    return int(float(str(value)))


def bin_of(tokens: int) -> int:
    """The upper end of the published bin of a prompt and its answer: 8,192, or the next power of two."""
    return max(_SHORTEST, 1 << (tokens - 1).bit_length())


@read_once
def _listed(path: Path, longest: float) -> dict[Coordinates, int]:
    """The number of each row of a file up to a length, in order, by its coordinates in the dataset."""
    listed = {}
    repeats: Counter[tuple[int, str]] = Counter()
    count = find_tokenizer(_BINS_OF).count
    for row in read_mrcr(path):
        tokens = row.tokens or count(row.answer)
        for _, text in row.messages:
            # Files have rows of a million tokens, which need not be counted for a dataset of short ones.
            if not row.tokens and tokens <= longest:
                tokens += count(text)
        length, needle = bin_of(tokens), f"{row.alike}-needles" if row.alike else "needles"
        if length <= longest:
            depth = None
            if row.message is not None:
                before, after = _around(row, count)
                depth = float(_STEP * round(100 * before / max(1, before + after) / _STEP))
            listed[Coordinates(length, needle, repeats[length, needle], depth)] = row.number
            repeats[length, needle] += 1
    return listed


def _around(row: MrcrRow, count: Callable[[str], int]) -> tuple[int, int]:
    """Tokens of the conversation before the reply, and after it. The question is not part of it."""
    texts, at = [text for _, text in row.messages], row.message or 0
    if len(texts) == 1:
        before, after = [texts[0][: row.start]], [texts[0][row.start + len(row.needle) : row.end]]
    else:
        before, after = texts[:at], texts[at + 1 : -1]
    return sum(map(count, before)), sum(map(count, after))


def _ids(settings: Settings, language: str) -> Sequence[str]:
    settings.options.path()
    return ["needles"] if language == "en" else []


def _coordinates(settings: Settings, axes: GridAxes, language: str) -> Iterator[Coordinates]:
    options = settings.options
    asked = [row for row in _listed(options.path(), max(axes.lengths)) if row.length in axes.lengths]
    if not asked:
        lengths = sorted({row.length for row in _listed(options.path(), float("inf"))})
        raise RecipeError(
            [f"lengths: the rows of {options.file} have {', '.join(map(str, lengths)) or 'none'}; ask for those"]
        )
    there = {row.needle for row in asked}
    kinds = {f"{count}-needles" for count in options.needles or ()} or there
    if lacking := kinds - there:
        held = f"the rows of {options.file} of these lengths have {', '.join(sorted(there))}"
        problem = f"{held}, but none has {', '.join(sorted(lacking))}"
        raise RecipeError([f"options.needles: {problem}; ask for numbers that they have, or for none"])
    yield from (row for row in asked if row.needle in kinds and (options.rows is None or row.repeat < options.rows))


def _replay(bench: Workbench) -> Callable[[Cell], Replayed]:
    """Returns the maker of prompts, which reads on from the last row, or from the beginning for an earlier row."""
    path = bench.options.path()
    rows, last = read_mrcr(path), 0

    def make(cell: Cell) -> Replayed:
        nonlocal rows, last
        at = Coordinates(cell.length, cell.needle, cell.repeat, cell.depth)
        number = _listed(path, bench.longest).get(at, 0)
        if number <= last:
            rows = read_mrcr(path)
        last = number
        row = next((row for row in rows if row.number == number), None)
        if row is None:
            raise RecipeError([f"options.file: {path.name} was changed during the build; build again"])
        return _replayed(cell, row, bench.tokenizer.count)

    return make


def _replayed(cell: Cell, row: MrcrRow, count: Callable[[str], int]) -> Replayed:
    at = row.message
    item = Item(
        cell.draw, cell.language, row.question, (row.answer,), (), row.metric, () if at is None else (row.needle,),
        answer_prefix=row.prefix, max_new_tokens=_MAX_NEW_TOKENS, decoys=tuple(_like_replies(row)),
    )  # fmt: skip
    messages = [said(role, text) for role, text in row.messages]
    conversation: list[object] = [list(message) for message in row.messages[:-1]]
    haystack_id = sha256_hex(canonical_json(conversation or [row.messages[0][1][: row.end]]))[:12]
    if at is None:
        return Replayed(item, Context(tuple(messages), haystack_id, count(row.messages[0][1])))
    messages[at] = said(*row.messages[at], [row.start], [row.needle])
    before, after = _around(row, count)
    depths = (100 * before / max(1, before + after),)
    return Replayed(item, Context(tuple(messages), haystack_id, before + after, depths, needle_turn=at))


def _like_replies(row: MrcrRow) -> Iterator[tuple[str]]:
    """The replies to the other requests of the same wording; none if the prompt is one text."""
    if row.message is not None and len(row.messages) > 1:
        for number in range(1, len(row.messages)):
            request, (_, reply) = row.messages[number - 1], row.messages[number]
            if request == row.messages[row.message - 1] and number != row.message and reply.strip():
                yield (reply,)


MRCR = Task("mrcr", 1, _ids, Replay(_replay, "mrcr"), MrcrOptions, coordinates=_coordinates)
