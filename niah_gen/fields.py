"""Reads tables that users write, such as a recipe's: the fields with their values, and all that is wrong with them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from niah_gen.errors import NiahError, RecipeError, ResourceError, suggestion
from niah_score.contract import parse_toml

Value = TypeVar("Value")
Parser = Callable[[Any], Value]


# The most bytes of a file of tables; recipes have a few thousand.
_MOST_BYTES = 16 * 2**20


class WrongValueError(ValueError):
    """A value is not what a field expects; the message says what was expected."""


class Fields:
    """The fields of a table. Reading them adds what is wrong with them to `problems`, a sentence each.

    where: what the sentences begin with, such as `[mine-en]`; empty for the names of the fields alone. known: the names
    that a table may have; None if somebody else reports unknown ones.
    """

    def __init__(self, table: object, problems: list[str], where: str = "", known: Collection[str] | None = None):
        self.raw: Mapping[str, Any] = table if isinstance(table, Mapping) else {}
        self.problems, self.where = problems, where
        if not isinstance(table, Mapping):
            of = f" with {', '.join(known)}" if known else ""
            problems.append(f"{where}: expected a table{of}; found {table!r}")
        if known is not None:
            unknown = [name for name in self.raw if name not in known]
            problems += [f"{self.path(name)}: unknown field{suggestion(name, known)}" for name in unknown]

    def path(self, name: str) -> str:
        """What a sentence about a field begins with."""
        return f"{self.where}.{name}" if self.where else name

    def take(self, name: str, parse: Parser[Value], default: Value, *, required: bool = False) -> Value:
        """The value of a field; the default if it is left out or wrong. A required one that is left out is wrong."""
        if name not in self.raw and not required:
            return default
        try:
            return parse(self.raw.get(name))
        except WrongValueError as error:
            self.problems.append(f"{self.path(name)}: {error}; found {self.raw.get(name)!r}")
            return default

    @contextmanager
    def about(self, name: str) -> Iterator[None]:
        """Adds what an error says to what is wrong with a field."""
        try:
            yield
        except NiahError as error:
            found = error.problems if isinstance(error, RecipeError) else (str(error),)
            about = (one if one.startswith(name) else f"{self.path(name)}: {one}" for one in found)
            self.problems += about


def checked(expected: str, fits: Callable[[Any], object]) -> Parser[Any]:
    """A parser that takes the values that fit as they are; `expected`: what it expects, in words."""

    def parse(value: Any) -> Any:
        if not fits(value):
            raise WrongValueError(f"expected {expected}")
        return value

    return parse


def one_of(names: Iterable[str]) -> Parser[str]:
    """Reads one of the names."""
    known = tuple(names)

    def parse(value: Any) -> str:
        if not isinstance(value, str) or value not in known:
            near = suggestion(value, known).rstrip("?") if isinstance(value, str) else ""
            raise WrongValueError(f"expected one of {', '.join(known)}{near if near.startswith('; did') else ''}")
        return value

    return parse


parse_text: Parser[Any] = checked("a text", lambda value: isinstance(value, str) and value.strip())
parse_string: Parser[str] = checked("a text", lambda value: isinstance(value, str))
parse_boolean: Parser[bool] = checked("true or false", lambda value: isinstance(value, bool))
parse_list: Parser[list[Any]] = checked("a list, not empty", lambda value: isinstance(value, list | tuple) and value)


def read_toml(path: Path) -> tuple[str, dict[str, Any]]:
    """The text and the tables of a user's TOML file. Raises RecipeError, or ResourceError if it is too long."""
    try:
        with path.open("rb") as file:
            data = file.read(_MOST_BYTES + 1)
        if len(data) > _MOST_BYTES:
            raise ResourceError(f"{path}: has more than {_MOST_BYTES:,} bytes; put long texts into files of their own")
        text = data.decode("utf-8-sig")
        return text, parse_toml(text)
    except (OSError, ValueError, RecursionError) as error:
        wrong = "no such file" if isinstance(error, FileNotFoundError) else f"cannot be read as TOML: {error}"
        raise RecipeError([f"{path}: {wrong}"]) from None
