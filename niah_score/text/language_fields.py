"""Reads the fields of a language file, and collects everything that is wrong with them."""

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
    """Reads one table. `where`: the prefix of field names in problems, such as `prompt.`."""

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

    def _valid(self, value: Any, is_valid: bool, name: str, expected: str, fallback: Any) -> Any:
        """The value if it is valid; else the fallback, after reporting a problem."""
        if is_valid:
            return value
        said = f"found {value!r:.80}" if name in self._table else "is missing"
        self._problems.append(f"{self._where}{name}: {said}; expected {expected}")
        return fallback

    def table(self, name: str) -> Mapping[str, Any]:
        """A table; empty by default."""
        table = self._take(name, {})
        return self._valid(table, isinstance(table, Mapping), name, "a table", {})  # type: ignore[no-any-return]

    def text(self, name: str, default: str | None = None, holding: str = "") -> str:
        """A text; without a default it must be present and not blank. `holding`: what it must contain once."""
        text = self._take(name, default)
        is_valid = (
            isinstance(text, str)
            and bool(text.strip() or default is not None)
            and (not holding or text.count(holding) == 1)
        )
        return str(self._valid(text, is_valid, name, f"a text that holds {holding} once" if holding else "a text", ""))

    def word(self, name: str) -> str:
        """One word of letters and digits."""
        word = self._take(name)
        is_valid = isinstance(word, str) and _WORD.fullmatch(word) is not None
        return str(self._valid(word, is_valid, name, "one word", ""))

    def one_of(self, name: str, values: Sequence[str], default: str | None = None) -> str:
        """One of some texts."""
        text = self._take(name, default)
        return str(self._valid(text, text in values, name, f"one of {', '.join(map(repr, values))}", values[0]))

    def number(self, name: str, default: float) -> float:
        """A finite number above 0."""
        number = self._take(name, default)
        is_number = isinstance(number, int | float) and not isinstance(number, bool)
        is_valid = is_number and 0 < number < math.inf
        return float(self._valid(number, is_valid, name, "a finite number above 0", default))

    def boolean(self, name: str) -> bool:
        """True or false; false by default."""
        value = self._take(name, False)
        return bool(self._valid(value, isinstance(value, bool), name, "true or false", False))

    def texts(self, name: str) -> tuple[str, ...]:
        """A list of texts, none empty; an empty list by default."""
        texts = self._take(name, [])
        return tuple(self._valid(texts, _are_texts(texts), name, "a list of texts, none empty", ()))

    def patterns(self, name: str) -> tuple[str, ...]:
        """A list of regular expressions that can be joined to one, none of which matches an empty text."""
        patterns = self.texts(name)
        for number, pattern in enumerate(patterns):
            problem = _pattern_problem(pattern)
            if problem:
                self._problems.append(f"{self._where}{name}[{number}]: {pattern!r} {problem}")
        return patterns

    def forms(self, name: str, fields: Sequence[str]) -> tuple[str, ...]:
        """A list of texts, each of which holds some fields once."""
        forms = self.texts(name)
        for number, form in enumerate(forms):
            if any(form.count(part) != 1 for part in fields):
                self._problems.append(f"{self._where}{name}[{number}]: expected {' and '.join(fields)}, each once")
        return forms

    def letters(self, name: str) -> dict[str, str]:
        """A table of letters: each key is one character, and so is its value."""
        letters = self.table(name)
        is_valid = all(isinstance(value, str) and len(key) == len(value) == 1 for key, value in letters.items())
        return dict(self._valid(letters, is_valid, name, "a table of single letters", {}))

    def counts(self, name: str) -> dict[str, int]:
        """A table of words and whole numbers from 0 up."""
        counts = self.table(name)
        is_valid = all(type(value) is int and value >= 0 and key.strip() for key, value in counts.items())
        return dict(self._valid(counts, is_valid, name, "a table of words and the whole numbers that they mean", {}))

    def months(self, name: str) -> tuple[tuple[str, ...], ...]:
        """Twelve lists of names, the usual name first; an empty list by default."""
        months = self._take(name, [])
        is_list = isinstance(months, list) and len(months) in (0, 12)
        is_valid = is_list and all(names and _are_texts(names) for names in months)
        return tuple(map(tuple, self._valid(months, is_valid, name, "twelve lists of names, January first", ())))

    def money(self, name: str) -> dict[str, tuple[str, ...]]:
        """A table of ISO codes and lists of words, the usual word first."""
        money = self.table(name)
        is_valid = all(_CURRENCY.fullmatch(code) and words and _are_texts(words) for code, words in money.items())
        valid = self._valid(money, is_valid, name, "ISO codes such as EUR, each with a list of words", {})
        return {code: tuple(words) for code, words in valid.items()}


def _are_texts(value: Any) -> bool:
    """Whether a value is a list of texts, none of them empty."""
    return isinstance(value, list) and all(isinstance(item, str) and item for item in value)


def _pattern_problem(pattern: str) -> str:
    """What is wrong with a regular expression that is to be joined to others; empty if nothing is."""
    try:
        if re.compile(pattern).search("") is not None:
            return "matches an empty text"
    except re.error as error:
        return f"is not a regular expression: {error}"
    if _GROUP_REFERENCE.search(pattern):
        return (
            "names or refers to a group, whose number changes when the patterns are joined; rewrite it without groups"
        )
    try:
        re.compile(f"(?:{pattern})")
    except re.error as error:
        return f"cannot be joined to the others: {error}; texts are lower-cased, so (?i) is not needed"
    return ""
