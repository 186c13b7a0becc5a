"""Reads what families say, from `library/words`, draws invented full names from `library/persons`, spells numbers.

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
from niah_score.text.numerals import SMALL, TENS

_FOLDER = Path(__file__).parents[1] / "library"
# What separates the items of an answer, by language.
LIST_JOINER = {"en": ", ", "zh": "、"}
# How many draws in a row must hit taken names for the names to count as used up.
_TRIES = 1_000
_SMALL = {value: name for name, value in SMALL.items()}
_TENS = {value: name for name, value in TENS.items()}
# Numbers from here on are spelt in digits only.
_LONGEST = 10**12
_HAN = "零一二三四五六七八九"


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
def person_parts(language: str) -> tuple[tuple[str, ...], ...]:
    """The parts of invented names, in the order in which they join; English given names end with a blank."""
    table = tomllib.loads((_FOLDER / "persons" / f"{language}.toml").read_text("utf-8"))
    if language == "en":
        families = tuple(map("".join, product(table["starts"], table["ends"])))
        return tuple(f"{given} " for given in table["given"]), families
    return tuple(table["surnames"]), tuple(table["first"]), tuple(table["second"])


def draw_name(draw: random.Random, language: str, taken: Collection[str]) -> str:
    """A name that is not taken. Raises FitError if nearly all are."""
    parts = person_parts(language)
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


# Numerals -------------------------------------------------------------------------------------------------------------


def spelt(value: int, language: str) -> tuple[str, ...]:
    """A whole number of at least 0 in digits and in words. Row ids digest the spellings: a change renames rows."""
    forms = [str(value), f"{value:,}"]
    if value < _LONGEST:
        forms += [english(value), english(value, "")] if language == "en" else [chinese(value), chinese(value, "两")]
    return tuple(dict.fromkeys(forms))


def english(value: int, joint: str = "and ") -> str:
    """A whole number below 10**12 in English words. `joint`: what joins a rest below 100 to what precedes it."""
    if value < 20:
        return _SMALL[value]
    if value < 100:
        ten, unit = divmod(value, 10)
        return _TENS[ten * 10] + (f"-{_SMALL[unit]}" if unit else "")
    powers = ((10**9, "billion"), (10**6, "million"), (1000, "thousand"), (100, "hundred"))
    power, name = next((power, name) for power, name in powers if value >= power)
    many, rest = divmod(value, power)
    between = f" {joint}" if rest < 100 else " "
    return f"{english(many, joint)} {name}" + (between + english(rest, joint) if rest else "")


def chinese(value: int, two: str = "二") -> str:
    """A whole number below 10**12 in Chinese numerals. `two`: the form of 2 before a hundred or more."""
    if value < 10:
        return _HAN[value]
    if value < 100:
        ten, unit = divmod(value, 10)
        return ("" if ten == 1 else _HAN[ten]) + "十" + (_HAN[unit] if unit else "")
    powers = ((10**8, "亿"), (10**4, "万"), (1000, "千"), (100, "百"))
    power, name = next((power, name) for power, name in powers if value >= power)
    many, rest = divmod(value, power)
    head = (two if many == 2 else chinese(many, two)) + name
    gap = "零" if rest < power // 10 else ""
    tail = f"一{chinese(rest)}" if 10 <= rest < 20 else chinese(rest, two)
    return head + (gap + tail if rest else "")


def nth(value: int) -> str:
    """An English ordinal in digits: 1st, 2nd, 11th."""
    ending = "th" if value % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(value % 10, "th")
    return f"{value}{ending}"


def ordinal(value: int, language: str) -> str:
    """An ordinal as questions use it: as `nth` in English, only the digits in Chinese."""
    return nth(value) if language == "en" else str(value)
