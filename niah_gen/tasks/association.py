"""Asks for a person by something that a needle implies: only common knowledge connects the question with the needle.

"Machu Picchu" in a needle answers a question about Peru. Question and needle share no content word, so matching words
finds nothing. The idea is NoLiMa's (A. Modarressi et al., ICML 2025); needles and questions are this project's own.
The person is drawn for every row, and needles about other people serve as distractors.
"""

from __future__ import annotations

import random
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from niah_gen.tasks.base import CONTROLS, LANGUAGES, Task
from niah_gen.tasks.options import check_options
from niah_gen.tasks.records import Cell, Item, Settings, cell_seed
from niah_gen.tasks.words import word_list

_FOLDER = Path(__file__).parents[1] / "library" / "associations"


@dataclass(frozen=True, slots=True)
class AssociationOptions:
    """The recipe's [options]. `hops`: 1 or 2 steps of knowledge. `distractors`: needles about others, in each row."""

    hops: int = 1
    distractors: int = 3

    def __post_init__(self) -> None:
        check_options(self, hops=range(1, 3), distractors=range(21))


@cache
def associations(language: str) -> Mapping[str, Mapping[str, str]]:
    """The associations of a language by id, in file order.

    Each has a `needle` about the person `{name}`, and questions whose answer is that person: `one_hop` and `two_hop`
    take one and two steps of common knowledge, which `why` explains; `literal` repeats the needle's words.
    """
    return tomllib.loads((_FOLDER / f"{language}.toml").read_text("utf-8")) if language in LANGUAGES else {}


def _ids(settings: Settings, language: str) -> Sequence[str]:
    return list(associations(language))


def _item(settings: Settings, cell: Cell) -> Item:
    known, names, options = associations(cell.language), word_list(f"names-{cell.language}"), settings.options
    asked = known[cell.needle]
    draw = random.Random(f"{cell_seed(settings.seed, cell)}/association")
    others = draw.sample([one for one in known.values() if one is not asked], options.distractors)
    persons = draw.sample(names, 1 + len(others))
    texts = [one["needle"].replace("{name}", name) for one, name in zip((asked, *others), persons, strict=True)]
    other = draw.choice([name for name in names if name not in persons])
    return Item(
        cell.needle, cell.language, asked["one_hop" if options.hops == 1 else "two_hop"], (persons[0],),
        (_spellings(persons[0]),), "correct", tuple(texts),
        keyword_kinds=("text",), decoys=tuple(map(_spellings, persons[1:])), distractors=len(others),
        literal=asked["literal"], conflict=(asked["needle"].replace("{name}", other), _spellings(other)),
    )  # fmt: skip


def _spellings(person: str) -> tuple[str, ...]:
    """A full name and, in languages that separate them, family and given name: no two people share either."""
    return tuple(dict.fromkeys((person, *reversed(person.split()))))


ASSOCIATION = Task("association", 1, _ids, _item, AssociationOptions, controls=CONTROLS)
