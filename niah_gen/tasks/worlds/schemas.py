"""Reads schemas of worlds, their templates and questions, and draws the invented names that fill them."""

from __future__ import annotations

import math
import random
import tomllib
from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from functools import cache
from pathlib import Path
from typing import Any

from niah_gen.errors import RecipeError
from niah_gen.tasks.words import person_parts
from niah_score.text.language import find_language

_FOLDER = Path(__file__).parents[2] / "library" / "worlds"
PARTS = ("records", "associations", "threads", "moves", "lists", "tally")
# How many names of a kind a world may use: each world of a dataset takes them from a stretch of its own.
_STRETCH = {"person": 64, "place": 36}

# A schema as its file has it: templates, questions, and what else its part needs.
Schema = Mapping[str, Any]


@cache
def schemas(part: str, language: str) -> Mapping[str, Schema]:
    """The schemas of a part in a language, by name, in file order; none if there is no file."""
    file = _FOLDER / f"{language}-{part}.toml"
    listed = tomllib.loads(file.read_text("utf-8"))["schema"] if file.is_file() else []
    return {schema["name"]: schema for schema in listed}


@cache
def _words(language: str) -> Mapping[str, Any]:
    return tomllib.loads((_FOLDER / f"{language}-words.toml").read_text("utf-8"))


class Names:
    """The invented names of one world; no two worlds of a dataset share one. `drawn`: persons and places so far.

    `stretch`: the number of the world among all worlds of the dataset, in every part.
    """

    def __init__(self, language: str, seed: int, stretch: int) -> None:
        self._language = language
        self._seed = seed
        self._stretch = stretch
        self._next = {"person": 0, "place": 0}
        self.drawn: list[tuple[str, ...]] = []

    def draw(self, kind: str, count: int) -> list[tuple[str, ...]]:
        """The accepted spellings of `count` new persons, places or numbers; the first is the one in the text.

        Persons of a world share neither family nor given name where the language separates them. Numbers are never
        within 10 of each other.
        """
        if kind == "number":
            draw = random.Random(f"{self._seed}/{self._language}/{self._stretch}/numbers")
            return [(str(12 + 11 * step + draw.randrange(2)),) for step in draw.sample(range(88), count)]
        parts = _shuffled(kind, self._language, self._seed)
        first = self._stretch * _STRETCH[kind] + self._next[kind]
        self._next[kind] += count
        # As many different names as the parts give are made of them alone, further ones of a word before them.
        known, before = math.lcm(*map(len, parts)), _words(self._language)[f"before_{kind}"]
        if self._next[kind] > _STRETCH[kind] or first + count > known * len(before):
            raise RecipeError(
                [f"options.worlds: the invented names of kind {kind} do not suffice; ask for fewer worlds"]
            )
        numbers = range(first, first + count)
        chosen = [[part[number % len(part)] for part in parts] for number in numbers]
        if kind == "person" and self._language == "en":
            spelled: list[tuple[str, ...]] = [(given + family, family, given.rstrip()) for given, family in chosen]
        else:
            spelled = [
                (before[number // known] + "".join(names),) for number, names in zip(numbers, chosen, strict=True)
            ]
        self.drawn += spelled
        return spelled


@cache
def _shuffled(kind: str, language: str, seed: int) -> tuple[tuple[str, ...], ...]:
    """The parts of names, each in an order of the seed's own."""
    words = _words(language)
    parts = person_parts(language) if kind == "person" else (words["place_first"], words["place_second"])
    shuffled = []
    for number, part in enumerate(parts):
        order = list(part)
        random.Random(f"{seed}/{language}/{kind}/{number}").shuffle(order)
        shuffled.append(tuple(order))
    return tuple(shuffled)


def near_equal(schema: Schema, count: int, number: int, seed: int) -> list[str]:
    """`count` things of a schema whose names look alike: each shares a part of its name with another one.

    `number`: how many worlds of the schema come before this one; they have other names. Raises RecipeError if the
    schema has no names left.
    """
    firsts, seconds = list(schema["first"]), list(schema["second"])
    draw = random.Random(f"{seed}/{schema['name']}/things")
    draw.shuffle(firsts)
    draw.shuffle(seconds)
    rows, columns = math.ceil(count / 2), len(firsts) // 2
    left, top = 2 * (number % columns), rows * (number // columns)
    if top + rows > len(seconds):
        raise RecipeError([f"options.worlds: schema {schema['name']!r} has no names left; ask for fewer worlds"])
    pairs = [(firsts[left + nth % 2], seconds[top + nth // 2]) for nth in range(count)]
    return [schema["thing"].format(name=schema["join"].join(pair)) for pair in pairs]


def said(template: str, **values: str) -> str:
    """A template with its values, which begins with a capital letter."""
    text = template.format(**values)
    return text[:1].upper() + text[1:]


def written_date(language: str, day: int) -> str:
    """A date without a year. `day`: of a year of 365 days, from 0."""
    words, when = _words(language), date(2001, 1, 1) + timedelta(day)
    return str(words["date"].format(day=when.day, month=words["months"][when.month - 1]))


def alternatives(names: Sequence[str], language: str) -> str:
    """Names between which a question asks."""
    words = _words(language)
    return f"{words['comma'].join(names[:-1])}{words['or']}{names[-1]}"


def nobody(language: str) -> tuple[str, ...]:
    """How an answer can say that a set is empty, or that the text states none."""
    return (*_words(language)["nobody"], find_language(language).prompt.not_stated.rstrip(".。"))
