"""Takes the fields of a language file one by one, and collects everything that is wrong with them."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any

_CURRENCY = re.compile("[A-Z]{3}")
_WORD = re.compile(r"\w+")
_UNESCAPED = r"(?<!\\)(?:\\\\)*"
_GROUP_REFERENCE = re.compile(rf"{_UNESCAPED}(?:\\[1-9]|\(\?P[<=]|\(\?\()")


class FieldReader:
    """Reads one table. `where`: what stands before its fields' names in problems, such as `prompt.`."""

    def __init__(self, table: Mapping[str, Any], where: str, problems: list[str]) -> None:
        self._table = table
        self._where = where
        self._problems = problems
        self._asked: list[str] = []

    def refuse_the_rest(self) -> None:
        """Report the fields that nothing reads."""
        for name in self._table:
            if name not in self._asked:
                near = get_close_matches(name, self._asked, n=1)
                self._problems.append(
                    f"{self._where}{name}: unknown field" + (f"; did you mean {near[0]!r}?" if near else "")
                )

    def _take(self, name: str, default: Any = None) -> Any:
        self._asked.append(name)
        return self._table.get(name, default)

    def _wrong(self, name: str, expected: str, found: object) -> None:
        is_missing = name not in self._table
        said = "is missing" if is_missing else f"found {found!r:.80}"
        self._problems.append(f"{self._where}{name}: {said}; expected {expected}")

    def table(self, name: str) -> Mapping[str, Any]:
        """A table; an empty one where there is none."""
        found = self._take(name, {})
        if isinstance(found, Mapping):
            return found
        self._wrong(name, "a table", found)
        return {}

    def text(self, name: str, default: str | None = None, holding: str = "") -> str:
        """A text; without a default it must be there and not be blank. `holding`: what must stand in it once."""
        found = self._take(name, default)
        if (
            isinstance(found, str)
            and (found.strip() or default is not None)
            and (found.count(holding) == 1 or not holding)
        ):
            return found
        self._wrong(name, f"a text that holds {holding} once" if holding else "a text", found)
        return ""

    def word(self, name: str) -> str:
        """One word of letters and digits."""
        found = self._take(name)
        if isinstance(found, str) and _WORD.fullmatch(found):
            return found
        self._wrong(name, "one word", found)
        return ""

    def one_of(self, name: str, values: Sequence[str], default: str | None = None) -> str:
        """One of some texts."""
        found = self._take(name, default)
        if found in values:
            return str(found)
        self._wrong(name, f"one of {', '.join(map(repr, values))}", found)
        return values[0]

    def number(self, name: str, default: float) -> float:
        """A finite number above 0."""
        found = self._take(name, default)
        if isinstance(found, int | float) and not isinstance(found, bool) and 0 < found < math.inf:
            return float(found)
        self._wrong(name, "a finite number above 0", found)
        return default

    def boolean(self, name: str) -> bool:
        """True or false; false where it is left out."""
        found = self._take(name, False)
        if not isinstance(found, bool):
            self._wrong(name, "true or false", found)
        return found is True

    def texts(self, name: str) -> tuple[str, ...]:
        """A list of texts, none empty; none where it is left out."""
        found = self._take(name, [])
        if isinstance(found, list) and all(isinstance(item, str) and item for item in found):
            return tuple(found)
        self._wrong(name, "a list of texts, none empty", found)
        return ()

    def patterns(self, name: str) -> tuple[str, ...]:
        """A list of regular expressions that can be joined to one, none of which matches an empty text."""
        found = self.texts(name)
        for number, pattern in enumerate(found):
            problem = _pattern_problem(pattern)
            if problem:
                self._problems.append(f"{self._where}{name}[{number}]: {pattern!r} {problem}")
        return found

    def forms(self, name: str, fields: Sequence[str]) -> tuple[str, ...]:
        """A list of texts that each hold some fields once."""
        found = self.texts(name)
        for number, form in enumerate(found):
            if any(form.count(part) != 1 for part in fields):
                self._problems.append(f"{self._where}{name}[{number}]: expected {' and '.join(fields)}, each once")
        return found

    def letters(self, name: str) -> dict[str, str]:
        """A table of letters: each key is one character, and so is its value."""
        found = self.table(name)
        if all(isinstance(value, str) and len(key) == len(value) == 1 for key, value in found.items()):
            return dict(found)
        self._wrong(name, "a table of single letters", found)
        return {}

    def counts(self, name: str) -> dict[str, int]:
        """A table of words and whole numbers from 0 on."""
        found = self.table(name)
        if all(type(value) is int and value >= 0 and key.strip() for key, value in found.items()):
            return dict(found)
        self._wrong(name, "a table of words and the whole numbers that they say", found)
        return {}

    def months(self, name: str) -> tuple[tuple[str, ...], ...]:
        """Twelve lists of names, the usual one first; none where it is left out."""
        found = self._take(name, [])
        is_list = isinstance(found, list) and len(found) in (0, 12)
        if is_list and all(
            isinstance(names, list) and names and all(isinstance(item, str) and item for item in names)
            for names in found
        ):
            return tuple(map(tuple, found))
        self._wrong(name, "twelve lists of names, January first", found)
        return ()

    def money(self, name: str) -> dict[str, tuple[str, ...]]:
        """A table of ISO codes and lists of words, the usual one first."""
        found = self.table(name)
        if all(
            _CURRENCY.fullmatch(code)
            and isinstance(words, list)
            and words
            and all(isinstance(word, str) and word for word in words)
            for code, words in found.items()
        ):
            return {code: tuple(words) for code, words in found.items()}
        self._wrong(name, "ISO codes such as EUR, each with a list of words", found)
        return {}


def _pattern_problem(pattern: str) -> str:
    """What is wrong with a regular expression that is joined to others; empty if nothing is."""
    try:
        if re.compile(pattern).search("") is not None:
            return "matches an empty text"
    except re.error as error:
        return f"is no regular expression: {error}"
    if _GROUP_REFERENCE.search(pattern):
        return (
            "names or refers to a group, whose number changes when the patterns are joined; rewrite it without groups"
        )
    try:
        re.compile(f"(?:{pattern})")
    except re.error as error:
        return f"cannot be joined to the others: {error}; texts are lower-cased, so (?i) is not needed"
    return ""
