"""Reads the two files of NeedleBench that a user brings: names.json and needles.jsonl.

They are part of the data set `opencompass/NeedleBench` (MIT), which this package does not include.
"""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from niah_gen.errors import RecipeError
from niah_score.contract import sha256_hex

# The files' names of the languages.
LANGUAGE_NAMES = {"en": "English", "zh": "Chinese"}
# The sha256 of the published files; other files give other prompts.
PUBLISHED = {
    "names.json": "07f02b1687fbdbfb59d9ed5ff31ff5939aadc2ef7e14715af81142e38b25a98a",
    "needles.jsonl": "b7aee75f89d08a2b830b0392acb849bcbcd57ce53806d22d43f81c60e1746101",
}
_FIELDS = ("needle", "retrieval_question", "arg1", "arg2", "language")


class NeedleLine(NamedTuple):
    """A line of needles.jsonl: a fact about `subject`; the question asks for `keyword`. `language`: en or zh."""

    needle: str
    question: str
    subject: str
    keyword: str
    language: str


def read_names(path: Path, language: str) -> tuple[str, ...]:
    """The names of a language in the order of names.json. Raises RecipeError if the file has none."""
    return _names(_bytes(path, "names"), path.name)[language]


def read_needles(path: Path) -> tuple[NeedleLine, ...]:
    """All lines of needles.jsonl, of both languages, in order. Raises RecipeError with the line that is wrong."""
    return _needles(_bytes(path, "needles"), path.name)


def is_published(path: Path, what: str) -> bool:
    """Whether a file is the published one. `what`: `names.json` or `needles.jsonl`."""
    return sha256_hex(_bytes(path, what.partition(".")[0])) == PUBLISHED[what]


def _bytes(path: Path, option: str) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise RecipeError([f"options.{option}: {path} cannot be read ({error.strerror})"]) from None


@lru_cache(maxsize=4)
def _names(data: bytes, name: str) -> dict[str, tuple[str, ...]]:
    where = f"options.names: {name}"
    table = _json(data, where)
    if not isinstance(table, dict):
        raise RecipeError([f'{where}: expected {{"English": "name,name,...", "Chinese": "..."}}, found {type(table)}'])
    listed: dict[str, tuple[str, ...]] = {}
    for code, language in LANGUAGE_NAMES.items():
        names = table.get(language)
        if not isinstance(names, str) or not names.strip():
            raise RecipeError([f"{where}: expected names joined by commas under {language!r}; found {names!r}"])
        listed[code] = tuple(names.split(","))
    return listed


@lru_cache(maxsize=4)
def _needles(data: bytes, name: str) -> tuple[NeedleLine, ...]:
    lines: list[NeedleLine] = []
    for number, line in enumerate(data.splitlines(), 1):
        if not line.strip():
            continue
        where = f"options.needles: {name}:{number}"
        row = _json(line, where)
        if not isinstance(row, dict) or not all(isinstance(row.get(field), str) for field in _FIELDS):
            raise RecipeError([f"{where}: expected an object with the texts {', '.join(_FIELDS)}"])
        code = {language: code for code, language in LANGUAGE_NAMES.items()}.get(row["language"])
        if code is None:
            raise RecipeError([f"{where}: language is {row['language']!r}, expected English or Chinese"])
        lines.append(NeedleLine(row["needle"], row["retrieval_question"], row["arg1"], row["arg2"], code))
    if not lines:
        raise RecipeError([f"options.needles: {name} has no needles"])
    return tuple(lines)


def _json(data: bytes, where: str) -> Any:
    try:
        value = json.loads(data.decode("utf-8-sig"))
        json.dumps(value, ensure_ascii=False).encode()  # fails on half of a surrogate pair
        return value
    except (ValueError, RecursionError) as error:
        raise RecipeError([f"{where}: not JSON in UTF-8 ({error})"]) from None
