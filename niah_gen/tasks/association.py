"""Asks for a person by something that a needle implies: only common knowledge connects the question with the needle.

"Machu Picchu" in a needle answers a question about Peru. Question and needle share no content word, so matching words
finds nothing. The idea is NoLiMa's (A. Modarressi et al., ICML 2025); needles and questions are this project's own.
The person is drawn for every row, and needles about other people serve as distractors.
"""

from __future__ import annotations

import random
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from niah_gen.tasks.base import CONTROLS, Task
from niah_gen.tasks.records import Cell, Item, Settings, cell_seed

_FOLDER = Path(__file__).parents[1] / "library" / "associations"
_NAME = "{name}"


class Association(NamedTuple):
    """A needle about the person `{name}`, and the questions whose answer is that person.

    `one_hop` and `two_hop` take one and two steps of common knowledge, which `why` explains; `literal` repeats the
    needle's words.
    """

    id: str
    needle: str
    one_hop: str
    two_hop: str
    literal: str
    why: str
    domain: str


@dataclass(frozen=True, slots=True)
class AssociationOptions:
    """The recipe's [options]. `hops`: 1 or 2 steps of knowledge. `distractors`: needles about others, in each row."""

    hops: int = 1
    distractors: int = 3

    def __post_init__(self) -> None:
        if self.hops not in (1, 2):
            raise ValueError(f"hops is {self.hops}; expected 1 or 2")
        if not 0 <= self.distractors <= 20:
            raise ValueError(f"distractors is {self.distractors}; expected 0 to 20")


@lru_cache(maxsize=8)
def associations(language: str) -> dict[str, Association]:
    """The associations of a language by id, in file order; none if the language has no file."""
    file = _FOLDER / f"{language}.toml"
    if not file.is_file():
        return {}
    tables = tomllib.loads(file.read_text("utf-8"))
    return {name: Association(name, **table) for name, table in tables.items()}


@lru_cache(maxsize=8)
def names(language: str) -> tuple[str, ...]:
    """The names given to people, in file order."""
    lines = (_FOLDER / f"names-{language}.txt").read_text("utf-8").splitlines()
    return tuple(line.strip() for line in lines if line.strip() and not line.startswith("#"))


def _ids(settings: Settings, language: str) -> Sequence[str]:
    return list(associations(language))


def _item(settings: Settings, cell: Cell) -> Item:
    known, options = associations(cell.language), settings.options
    asked = known[cell.needle]
    draw = random.Random(f"{cell_seed(settings.seed, cell)}/association")
    others = draw.sample([one for one in known.values() if one is not asked], options.distractors)
    persons = draw.sample(names(cell.language), 1 + len(others))
    texts = [one.needle.replace(_NAME, person) for one, person in zip((asked, *others), persons, strict=True)]
    other = draw.choice([person for person in names(cell.language) if person not in persons])
    return Item(
        asked.id, cell.language, asked.one_hop if options.hops == 1 else asked.two_hop, (persons[0],),
        (_spellings(persons[0]),), "correct", tuple(texts),
        keyword_kinds=("text",), decoys=tuple(map(_spellings, persons[1:])), distractors=len(others),
        literal=asked.literal, conflict=(asked.needle.replace(_NAME, other), _spellings(other)),
    )  # fmt: skip


def _spellings(person: str) -> tuple[str, ...]:
    """A full name and, in languages that separate them, family and given name: no two people share either."""
    return tuple(dict.fromkeys((person, *reversed(person.split()))))


ASSOCIATION = Task("association", 1, _ids, _item, AssociationOptions, controls=CONTROLS)
