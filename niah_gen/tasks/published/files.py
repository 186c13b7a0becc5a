"""Reads the files of published benchmarks that users bring; problems name the file, the place and the field."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, TypeVar, TypeVarTuple

import orjson

from niah_gen.errors import RecipeError, shown

Made = TypeVar("Made")
More = TypeVarTuple("More")

# What a field can be expected to hold, in the words of the problem if it does not.
Kind = Literal["a text", "a list of texts", "texts by name", "objects by name"]
_REQUIRED = object()


def read_once(read: Callable[[Path, *More], Made]) -> Callable[[Path, *More], Made]:
    """Lets a reader of files remember what it read, until the file has another time or size."""

    @lru_cache(maxsize=8)
    def remembered(path: Path, changed: int, size: int, more: tuple[*More]) -> Made:
        return read(path, *more)

    def current(path: Path, /, *more: *More) -> Made:
        status = path.stat()
        return remembered(path, status.st_mtime_ns, status.st_size, more)

    return current


def json_of(data: bytes | str, where: str) -> Any:
    """A text in JSON. Raises RecipeError if it is not JSON, not UTF-8, or holds half of a surrogate pair."""
    try:
        return orjson.loads(data.removeprefix(codecs.BOM_UTF8) if isinstance(data, bytes) else data)
    except ValueError as error:
        raise RecipeError([f"{where}: not JSON in UTF-8 ({error})"]) from None


def json_lines(path: Path, option: str) -> Iterator[tuple[Any, str]]:
    """The lines of a JSONL file in order, without the blank ones, each with where it stands. Raises as `json_of`."""
    for number, line in enumerate(path.read_bytes().splitlines(), 1):
        if line.strip():
            where = f"options.{option}: {path.name}:{number}"
            yield json_of(line, where), where


def field(table: Any, name: str, kind: Kind, where: str, default: Any = _REQUIRED) -> Any:
    """A field of an object. `kind`: what it must hold; `default`: its value if it is left out, null or empty.

    Raises RecipeError with the place, the field, what it holds and what was expected.
    """
    if not isinstance(table, dict):
        raise RecipeError([f"{where}: expected an object with {name}; found {shown(table)}"])
    value = table.get(name)
    if not value and default is not _REQUIRED:
        return default
    if not _holds(value, kind):
        raise wrong(where, name, value, kind)
    return value


def wrong(where: str, name: str, value: object, expected: str) -> RecipeError:
    """The problem of a field that holds something else than expected."""
    return RecipeError([f"{where}: {name} is {shown(value)}; expected {expected}"])


def _holds(value: Any, kind: Kind) -> bool:
    if kind == "a text":
        return isinstance(value, str) and bool(value.strip())
    if kind == "a list of texts":
        return isinstance(value, list) and all(isinstance(text, str) for text in value)
    inner = str if kind == "texts by name" else dict
    return isinstance(value, dict) and all(isinstance(part, inner) for part in value.values())
