"""Keeps the needles of the package: what is hidden, what is asked, what counts as an answer.

docs/needles.md explains what makes a good needle. The files state all that rows need, so that a build has nothing to
work out: `keywords` with every spelling of each group, `keyword_kinds` and `rejects`, and in `stated` the values from
which `own_needles` makes these, as it does from a user's file.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from niah_score.text import fold, holds_group
from niah_score.text.language import rules_code
from niah_score.text.values import TEXT

_FOLDER = Path(__file__).parents[1] / "library" / "needles"


class Conflict(NamedTuple):
    """A text that contradicts a needle. `value`: spellings of the answer that it gives."""

    text: str
    value: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Needle:
    """One fact, or one set of facts asked for together. `paraphrase`: the question in other words, or empty.

    `keyword_kinds`, `rejects`: for each keyword group, the kind of its value and what voids a match that it touches.
    `literal`: the question in the needle's own words, if `question` uses others; `conflict`: a text that says
    otherwise; each for the control of that name. `questions`: the question in other languages, by language code.
    """

    id: str
    language: str
    needles: tuple[str, ...]
    question: str
    answers: tuple[str, ...]
    keywords: tuple[tuple[str, ...], ...]
    metric: str
    paraphrase: str = ""
    keyword_kinds: tuple[str, ...] = ()
    rejects: tuple[tuple[str, ...], ...] = ()
    literal: str = ""
    conflict: Conflict | None = None
    questions: tuple[tuple[str, str], ...] = ()

    @property
    def kind(self) -> str:
        """single, list (every text of the set states a keyword), or chain (the texts lead to one answer)."""
        if len(self.needles) == 1:
            return "single"
        return "list" if all(any(self.holds(text)) for text in self.needles) else "chain"

    def holds(self, text: str) -> list[bool]:
        """Whether a text states the fact of each keyword group."""
        kinds = self.keyword_kinds or (None,) * len(self.keywords)
        rules = rules_code(self.language)
        return [holds_group(fold(text), *fact, rules) for fact in zip(self.keywords, kinds, strict=True)]

    def question_in(self, language: str) -> str:
        """The question in a language; empty if there is none."""
        return self.question if language == self.language else dict(self.questions).get(language, "")

    def asked(self, paraphrase: bool) -> Needle:
        """The needle with only the question that a prompt asks; if that is the paraphrase, `literal` is the other."""
        if not paraphrase:
            return replace(self, paraphrase="")
        return replace(self, question=self.paraphrase, literal=self.question, paraphrase="")

    def for_use(self, controls: Sequence[str], language: str = "") -> Needle:
        """The needle without the fields for controls and languages that a recipe does not ask for."""
        return replace(
            self,
            literal=self.literal if "literal" in controls else "",
            conflict=self.conflict if "conflict" in controls else None,
            questions=tuple(pair for pair in self.questions if pair[0] == language),
        )

    def table(self) -> dict[str, Any]:
        """The needle as a recipe's inline table, without what is empty or usual."""
        usual = {"keyword_kinds": (TEXT,) * len(self.keywords), "rejects": ((),) * len(self.keywords)}
        values = {**asdict(self), "questions": dict(self.questions)}
        shown = (name for name, value in values.items() if name == "keywords" or (value and value != usual.get(name)))
        return {name: _lists(values[name]) for name in shown}


def _lists(value: object) -> object:
    if isinstance(value, Conflict):
        return {"text": value.text, "value": list(value.value)}
    return [_lists(item) for item in value] if isinstance(value, tuple) else value


def _tuples(value: object) -> Any:
    if isinstance(value, Mapping):
        return Conflict(**{name: _tuples(item) for name, item in value.items()})
    return tuple(map(_tuples, value)) if isinstance(value, tuple | list) else value


def _needle(table: Mapping[str, Any]) -> Needle:
    """A needle from a table that states it whole, as those of the package do."""
    values = {name: table[name] for name in Needle.__slots__ if name in table and name != "questions"}
    values["questions"] = sorted(table.get("questions", {}).items())
    return Needle(**{name: _tuples(value) for name, value in values.items()})


@lru_cache(maxsize=1)
def _tables() -> dict[str, dict[str, dict[str, Any]]]:
    """The tables of the package's needles, by file name and needle, in file order."""
    return {file.stem: tomllib.loads(file.read_text("utf-8")) for file in sorted(_FOLDER.iterdir())}


@lru_cache(maxsize=256)
def _needle_of(file: str, name: str) -> Needle:
    return _needle({"id": name, **_tables()[file][name]})


@lru_cache(maxsize=1)
def needle_files() -> dict[str, tuple[Needle, ...]]:
    """The needles that come with the package, by file name, in file order."""
    return {file: tuple(_needle_of(file, name) for name in tables) for file, tables in _tables().items()}


@lru_cache(maxsize=1)
def needle_library() -> dict[str, Needle]:
    """All needles that come with the package, by name, sorted."""
    return {needle.id: needle for needle in sorted(sum(needle_files().values(), ()), key=lambda needle: needle.id)}


def library_needles(name: str) -> tuple[Needle, ...]:
    """The needles of the package that a name stands for: one of them, or all of a file; none for another name."""
    for file, tables in _tables().items():
        if name in tables:
            return (_needle_of(file, name),)
    return tuple(_needle_of(name, needle) for needle in _tables().get(name, ()))
