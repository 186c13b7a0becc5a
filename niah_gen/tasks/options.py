"""Reads a recipe's [options] into the frozen dataclass of a task family, and finds the user's files that they name."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

from niah_gen.corpora.find import CORPORA_VARIABLE, search_folders
from niah_gen.errors import RecipeError, suggestion
from niah_score.contract import file_sha256


class OwnFile(str):
    """An option that names a file of the user's: a path, or a file name to look up.

    A resolved recipe records the file's name and its sha256, never the path.
    """

    __slots__ = ()


_KINDS = {int: "a whole number", float: "a number", bool: "true or false", str: "a text", OwnFile: "a file's path"}


def read_options(kind: type, table: Mapping[str, Any]) -> tuple[Any, list[str]]:
    """An instance of the dataclass `kind` with a table's values; or None and what is wrong with them, a sentence each.

    Fields are int, float, bool, str, OwnFile or tuples of these (lists in TOML), each possibly optional. The dataclass
    checks its values beyond their types: its `__post_init__` raises ValueError.
    """
    hints = get_type_hints(kind)
    problems = [f"options.{name}: unknown field{suggestion(name, hints)}" for name in table if name not in hints]
    values: dict[str, Any] = {}
    for field in fields(kind):
        expected = f"options.{field.name}: expected {_spelled(hints[field.name])}"
        if field.name in table:
            try:
                values[field.name] = _as_kind(table[field.name], hints[field.name])
            except ValueError:
                problems.append(f"{expected}; found {table[field.name]!r}")
        elif field.default is MISSING and field.default_factory is MISSING:
            problems.append(f"{expected}; it has no default")
    if problems:
        return None, problems
    try:
        return kind(**values), []
    except ValueError as error:
        return None, [f"options: {error}"]


def _as_kind(value: Any, kind: Any) -> Any:
    """A TOML value as a field's type; a float may be given as a whole number. Raises ValueError if it does not fit."""
    if get_origin(kind) is tuple:
        if not isinstance(value, list | tuple):
            raise ValueError
        return tuple(_as_kind(item, get_args(kind)[0]) for item in value)
    for part in get_args(kind):
        with suppress(ValueError):
            return _as_kind(value, part)
    if kind is OwnFile and isinstance(value, str) and value.strip():
        return OwnFile(value)
    if kind is float and type(value) is int:
        return float(value)
    if type(value) is not kind:
        raise ValueError
    return value


def _spelled(kind: Any) -> str:
    parts = [part for part in get_args(kind) if part not in (type(None), ...)]
    said = " or ".join(map(_spelled, parts))
    return f"a list, each item {said}" if get_origin(kind) is tuple else said or _KINDS.get(kind, str(kind))


def options_table(options: Any) -> dict[str, Any]:
    """The options as TOML values; fields that are None are left out."""
    values = {field.name: getattr(options, field.name) for field in fields(options)}
    return {name: _as_toml(value) for name, value in values.items() if value is not None}


def _as_toml(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_as_toml(item) for item in value]
    return str(value) if isinstance(value, OwnFile) else value


def own_file(spec: str) -> Path:
    """The file that an option names: a path, or a name in one of the folders where corpora are looked up.

    Raises RecipeError that says where it was searched for.
    """
    for path in (Path(spec).expanduser(), *(folder / spec for folder in search_folders())):
        if os.path.isfile(path):
            return path
    where = f"here or in a folder of ${CORPORA_VARIABLE}; give its path, or add its folder to that list"
    raise RecipeError([f"file {spec[:200]!r}: no such file, {where}"])


def own_files(kind: type, options: Mapping[str, Any]) -> dict[str, str]:
    """The files that options name, by option. `kind`: the family's options class; `options`: its values."""
    hints = get_type_hints(kind).items()
    return {name: options[name] for name, hint in hints if options.get(name) and OwnFile in (hint, *get_args(hint))}


def file_pin(spec: str) -> str:
    """The name under which a recipe pins a file: `file` and the file's name."""
    return f"file {Path(spec).name}"


def own_file_digest(spec: str) -> str:
    """sha256 of the file that an option names. Raises RecipeError if it cannot be read."""
    path = own_file(spec)
    try:
        return file_sha256(path)
    except OSError as error:
        raise RecipeError([f"file {path}: cannot be read ({error.strerror})"]) from None


def named(kind: type, options: Mapping[str, Any]) -> dict[str, Any]:
    """Options as a resolved recipe records them, with only the names of the user's files."""
    return {**options, **{name: Path(spec).name for name, spec in own_files(kind, options).items()}}


def check_options(options: Any, **known: range | Sequence[str | None]) -> None:
    """Raises ValueError if an option is not one of its known values, or a list does not hold different ones of them."""
    for name, values in known.items():
        value = getattr(options, name)
        several = isinstance(value, tuple)
        given = value if several else (value,)
        if given and len(set(given)) == len(given) and all(one in values for one in given):
            continue
        if isinstance(values, range):
            expected = f"{'different numbers from ' if several else ''}{values[0]} to {values[-1]}"
        else:
            expected = f"{'different ones' if several else 'one'} of {', '.join(filter(None, values))}"
        raise ValueError(f"{name} {f'are {list(value)}' if several else f'is {value!r}'}; expected {expected}")
