"""Asks the questions of MRCR's published files: openai/mrcr, and DeepMind's MRCR v2.

Each row of the file is a row of the dataset, with the published prompt, answer and grader. Its length is the upper end
of its published bin, a power of two. The files request no depths: `depth_percent` is where the reply stands, to the
nearest ten percent, and `needle_depths` is the exact place.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from niah_gen.errors import RecipeError
from niah_gen.prompts.messages import NO_NEEDLE, Piece, PromptMessage
from niah_gen.tasks.base import Replay, Task
from niah_gen.tasks.own_files import OwnFile, own_file
from niah_gen.tasks.published.mrcr_files import MrcrRow, read_mrcr
from niah_gen.tasks.records import Cell, Context, Coordinates, GridAxes, Item, Replayed, Settings, Workbench
from niah_gen.tokenizers.find import Tokenizer, find_tokenizer
from niah_gen.tokenizers.spliced import Slice, encode
from niah_score.contract import canonical_json, sha256_hex

# Bins count the tokens of this encoding, whatever the dataset's tokenizer.
_BINS_OF = "o200k_base"
_SHORTEST = 8_192
_STEP = 10
# Published replies have up to about 900 tokens.
_MAX_NEW_TOKENS = 2_000
_ENGLISH = "en"
_ENDLESS = 2**62
_QUESTION = re.compile(r"Prepend \S+ to the (\d+)(?:st|nd|rd|th) \(1 indexed\) (.+?)\. Do not include")


@dataclass(frozen=True, slots=True)
class MrcrOptions:
    """The recipe's [options]. `file`: the user's. `rows`: of each length and number of needles; None for all."""

    file: OwnFile | None = None
    rows: int | None = None

    def __post_init__(self) -> None:
        if self.rows is not None and self.rows < 1:
            raise ValueError(f"rows is {self.rows}; expected at least 1")


class _Listed(NamedTuple):
    """The number of a row in the file, and its coordinates in the dataset."""

    number: int
    at: Coordinates


def _path(options: MrcrOptions) -> Path:
    if options.file is None:
        raise RecipeError(["options.file: expected a file of openai/mrcr or MRCR v2; it has no default"])
    return own_file(options.file)


def bin_of(tokens: int) -> int:
    """The upper end of the published bin of a prompt and its answer: 8,192, or the next power of two."""
    return max(_SHORTEST, 1 << (tokens - 1).bit_length())


def _version(options: MrcrOptions) -> tuple[Path, int, int]:
    """The file, and its time and size, so that caches read a file again that has changed."""
    path = _path(options)
    status = path.stat()
    return path, status.st_mtime_ns, status.st_size


@lru_cache(maxsize=8)
def _list(path: Path, changed: int, size: int, longest: int) -> tuple[_Listed, ...]:
    """The rows of a file up to a length, in order."""
    listed = []
    repeats: Counter[tuple[int, int]] = Counter()
    count = find_tokenizer(_BINS_OF).count
    for row in read_mrcr(path):
        sizes = _sizes(row, count, longest)
        if sizes is None:
            continue
        length = bin_of(row.context_tokens or sum(sizes) + count(row.answer))
        if length > longest:
            continue
        depth = None
        if row.needle_message is not None:
            before, tokens = _place_of(row, sizes, count)
            depth = float(_STEP * round(100 * before / max(1, tokens) / _STEP))
        repeat = repeats[length, row.needles]
        repeats[length, row.needles] += 1
        listed.append(_Listed(row.number, Coordinates(length, _needle_id(row), repeat, depth)))
    return tuple(listed)


def _sizes(row: MrcrRow, count: Callable[[str], int], longest: int) -> list[int] | None:
    """Tokens of each message; None for a row above `longest`, where counting stops early."""
    if (row.context_tokens or 0) > longest:
        return None
    sizes: list[int] = []
    total = 0
    for _, text in row.messages:
        sizes.append(count(text))
        total += sizes[-1]
        if total > longest and row.context_tokens is None:
            return None
    return sizes


def _place_of(row: MrcrRow, sizes: Sequence[int], count: Callable[[str], int]) -> tuple[int, int]:
    """Tokens of the conversation before the reply, and of all of it but the reply. The question is not part of it."""
    at = row.needle_message or 0
    if row.messages[0][0] is not None:
        before, after = sum(sizes[:at]), sum(sizes[at + 1 : -1])
    else:
        text = _context_of(row)
        before, after = count(text[: row.needle_start]), count(text[row.needle_start + len(row.needle) :])
    return before, before + after


def _context_of(row: MrcrRow) -> str:
    """The conversation without the question, of a prompt that is one text."""
    text = row.messages[0][1]
    return text[: max(text.rfind(f"User: {row.question}"), row.needle_start + len(row.needle))]


def _ids(settings: Settings, language: str) -> Sequence[str]:
    return _needle_ids(*_version(settings.options)) if language == _ENGLISH else []


@lru_cache(maxsize=8)
def _needle_ids(path: Path, changed: int, size: int) -> list[str]:
    return list(dict.fromkeys(map(_needle_id, read_mrcr(path))))


def _needle_id(row: MrcrRow) -> str:
    return f"{row.needles}-needles" if row.needles else "needles"


def _coordinates(settings: Settings, axes: GridAxes, language: str) -> Iterator[Coordinates]:
    options = settings.options
    listed = _list(*_version(options), max(axes.lengths))
    asked = [row for row in listed if row.at.length in axes.lengths]
    if not asked:
        there = sorted({row.at.length for row in _list(*_version(options), _ENDLESS)})
        raise RecipeError(
            [f"lengths: the rows of {options.file} have {', '.join(map(str, there)) or 'none'}; ask for those"]
        )
    yield from (row.at for row in asked if options.rows is None or row.at.repeat < options.rows)


class _Reader:
    """Makes the prompts of one process: reads on from the last row, or from the beginning for an earlier row."""

    def __init__(self, bench: Workbench) -> None:
        self._bench = bench
        self._path = _path(bench.options)
        self._numbers: dict[tuple[int, str, int], int] = {}
        self._rows = read_mrcr(self._path)
        self._at = 0

    def __call__(self, cell: Cell) -> Replayed:
        """The prompt of a cell."""
        if not self._numbers:
            listed = _list(*_version(self._bench.options), self._bench.longest)
            self._numbers = {(known.at.length, known.at.needle, known.at.repeat): known.number for known in listed}
        row = self._read(self._numbers[cell.length, cell.needle, cell.repeat])
        return Replayed(_item(cell, row), _context(row, self._bench.tokenizer))

    def _read(self, number: int) -> MrcrRow:
        if number <= self._at:
            self._rows, self._at = read_mrcr(self._path), 0
        for row in self._rows:
            self._at = row.number
            if row.number == number:
                return row
        raise RecipeError(
            [f"options.file: {self._path.name} no longer has row {number}, so it was changed; build again"]
        )


def _item(cell: Cell, row: MrcrRow) -> Item:
    return Item(
        cell.draw, cell.language, row.question, (row.answer,), (), row.metric,
        () if row.needle_message is None else (row.needle,),
        answer_prefix=row.prefix, max_new_tokens=_MAX_NEW_TOKENS,
        decoys=tuple((reply,) for reply in _like_replies(row)),
    )  # fmt: skip


def _like_replies(row: MrcrRow) -> Iterator[str]:
    """The replies to the other requests of the same wording; none if the prompt is one text."""
    at = row.needle_message
    if at is None or len(row.messages) < 3:
        return
    request = row.messages[at - 1]
    for number, message in enumerate(row.messages[:-1]):
        reply = row.messages[number + 1][1]
        if message == request and number + 1 != at and reply.strip():
            yield reply


def _context(row: MrcrRow, tokenizer: Tokenizer) -> Context:
    # Messages are encoded once here, so that none is counted again.
    encoded = [encode(text, tokenizer) for _, text in row.messages]
    messages = [
        PromptMessage(role, (Piece(Slice(text, 0, len(text.data))),) if text.data else ())
        for (role, _), text in zip(row.messages, encoded, strict=True)
    ]
    known: list[object] = [list(message) for message in row.messages[:-1]] or [_context_of(row)]
    haystack_id = sha256_hex(canonical_json(known))[:12]
    if row.needle_message is None:
        return Context(tuple(messages), haystack_id, encoded[0].size)
    at, source = row.needle_message, encoded[row.needle_message]
    start = len(row.messages[at][1][: row.needle_start].encode())
    end = start + len(row.needle.encode())
    parts = ((0, start, NO_NEEDLE), (start, end, 0), (end, len(source.data), NO_NEEDLE))
    pieces = tuple(Piece(Slice(source, first, last), needle) for first, last, needle in parts if first < last)
    messages[at] = messages[at]._replace(pieces=pieces)
    before, tokens = _place_of(row, [text.size for text in encoded], tokenizer.count)
    return Context(tuple(messages), haystack_id, tokens, (100 * before / max(1, tokens),), needle_turn=at)


MRCR = Task(
    "mrcr", 1, _ids, Replay(_Reader, "mrcr"), MrcrOptions, coordinates=_coordinates
)  # fmt: skip
