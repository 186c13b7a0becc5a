"""Reads a recipe's [options] into the frozen dataclass of a task family."""

from __future__ import annotations

import types
from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Any, Union, get_args, get_origin, get_type_hints

from niah_gen.errors import suggestion
from niah_gen.tasks.own_files import OwnFile


def read_options(kind: type, table: Mapping[str, Any]) -> tuple[Any, list[str]]:
    """An instance of the dataclass `kind` with a table's values; or None and what is wrong with them, a sentence each.

    Fields are int, float, bool, str, OwnFile or tuples of these (lists in TOML), each possibly optional. The dataclass
    checks its values beyond their types: its `__post_init__` raises ValueError.
    """
    hints = get_type_hints(kind)
    known = {field.name: field for field in fields(kind)}
    problems = [f"options.{name}: unknown field{suggestion(name, known)}" for name in table if name not in known]
    values: dict[str, Any] = {}
    for name, field in known.items():
        if name not in table:
            if field.default is MISSING and field.default_factory is MISSING:
                problems.append(f"options.{name}: expected {_spelled(hints[name])}; it has no default")
            continue
        value = _as_kind(table[name], hints[name])
        if value is _UNFIT:
            problems.append(f"options.{name}: expected {_spelled(hints[name])}; found {table[name]!r}")
        else:
            values[name] = value
    if problems:
        return None, problems
    try:
        return kind(**values), []
    except ValueError as error:
        return None, [f"options: {error}"]


def options_table(options: Any) -> dict[str, Any]:
    """The options as TOML values; fields that are None are left out."""
    values = {field.name: getattr(options, field.name) for field in fields(options)}
    return {name: _as_toml(value) for name, value in values.items() if value is not None}


def _as_toml(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_as_toml(item) for item in value]
    return str(value) if isinstance(value, OwnFile) else value


_UNFIT = object()


def _as_kind(value: Any, kind: Any) -> Any:
    """A TOML value converted to a field's type; _UNFIT if it does not fit. A float may be given as a whole number."""
    if get_origin(kind) in (Union, types.UnionType):
        return next((fit for part in get_args(kind) if (fit := _as_kind(value, part)) is not _UNFIT), _UNFIT)
    if get_origin(kind) is tuple:
        inner = get_args(kind)[0]
        items = [_as_kind(item, inner) for item in value] if isinstance(value, list | tuple) else [_UNFIT]
        return _UNFIT if _UNFIT in items else tuple(items)
    if kind is OwnFile:
        return OwnFile(value) if isinstance(value, str) and value.strip() else _UNFIT
    if kind is float and isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    return value if type(value) is kind else _UNFIT


def _spelled(kind: Any) -> str:
    names = {int: "a whole number", float: "a number", bool: "true or false", str: "a text", OwnFile: "a file's path"}
    if get_origin(kind) in (Union, types.UnionType):
        return " or ".join(_spelled(part) for part in get_args(kind) if part is not type(None))
    if get_origin(kind) is tuple:
        return f"a list, each item {_spelled(get_args(kind)[0])}"
    return names.get(kind, str(kind))
