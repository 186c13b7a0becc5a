"""Reads what families say, from `library/words`, and draws invented full names, from `library/persons`.

Each language has tens of thousands of names, none of which is part of another: an English one is a given name and a
family name, a Chinese one has three characters.
"""

from __future__ import annotations

import random
import tomllib
from collections.abc import Collection, Mapping
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

from niah_gen.errors import FitError

_FOLDER = Path(__file__).parents[1] / "library"
# What separates the items of an answer, by language.
LIST_JOINER = {"en": ", ", "zh": "、"}
# How many draws in a row must hit taken names for the names to count as used up.
_TRIES = 1_000


@cache
def wording(family: str) -> Mapping[str, Mapping[str, Any]]:
    """The wording of a family, by language."""
    return tomllib.loads((_FOLDER / "words" / f"{family}.toml").read_text("utf-8"))


@cache
def word_list(name: str) -> tuple[str, ...]:
    """The words of a list, in file order; none if there is no such list."""
    file = _FOLDER / "words" / f"{name}.txt"
    lines = file.read_text("utf-8").splitlines() if file.is_file() else []
    return tuple(line for line in lines if line and not line.startswith("#"))


@cache
def _parts(language: str) -> tuple[tuple[str, ...], ...]:
    table = tomllib.loads((_FOLDER / "persons" / f"{language}.toml").read_text("utf-8"))
    if language == "en":
        families = tuple(map("".join, product(table["starts"], table["ends"])))
        return tuple(f"{given} " for given in table["given"]), families
    return tuple(table["surnames"]), tuple(table["first"]), tuple(table["second"])


def all_names(language: str) -> list[str]:
    """Every name that can be drawn, in a fixed order."""
    return list(map("".join, product(*_parts(language))))


def draw_name(draw: random.Random, language: str, taken: Collection[str]) -> str:
    """A name that is not taken. Raises FitError if nearly all are."""
    parts = _parts(language)
    for _ in range(_TRIES):
        name = "".join(map(draw.choice, parts))
        if name not in taken:
            return name
    raise FitError(f"nearly all of the invented names of language {language!r} are in use; ask for shorter lengths")


def draw_names(draw: random.Random, language: str, count: int) -> list[str]:
    """`count` different names, in the order drawn."""
    names: dict[str, None] = {}
    while len(names) < count:
        names[draw_name(draw, language, names)] = None
    return list(names)
