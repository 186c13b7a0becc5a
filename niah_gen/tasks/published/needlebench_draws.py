"""Draws what NeedleBench v2 hides and asks, in the order of the published generators: the same seeds, the same draws.

Each function states the seed of Python's generator that the published code sets before it; none touches the global one.
"""

from __future__ import annotations

import random
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from niah_gen.errors import RecipeError
from niah_gen.tasks.published.needlebench_files import NeedleLine

_FOLDER = Path(__file__).parents[2] / "library" / "needlebench"
# The question kinds of the Ancestral Trace Challenge in the published order; the seeds depend on it.
ATC_KINDS = ("eldest", "ancestor", "descendant", "distance")
_QUOTED = re.compile(r"'([^']*)'")


class Ancestry(NamedTuple):
    """A line of relatives, the eldest first. `facts`: a sentence a link, shuffled; `generations`: of them all."""

    people: tuple[str, ...]
    facts: tuple[str, ...]
    generations: int


class AtcPrompt(NamedTuple):
    """A prompt of the Ancestral Trace Challenge and its answer."""

    prompt: str
    question: str
    answer: str
    ancestry: Ancestry


@lru_cache(maxsize=1)
def prompts() -> Mapping[str, Mapping[str, str]]:
    """The published prompts by language and name."""
    return tomllib.loads((_FOLDER / "prompts.toml").read_text("utf-8"))


@lru_cache(maxsize=1)
def kinship() -> Mapping[str, Any]:
    """The terms and sentences about relatives by language."""
    return tomllib.loads((_FOLDER / "kinship.toml").read_text("utf-8"))


def single_needle(lines: Sequence[NeedleLine], language: str, repeat: int) -> NeedleLine:
    """The needle of a repeat. Seed: the repeat. Raises RecipeError where the language has none."""
    own = [line for line in lines if line.language == language]
    if not own:
        raise RecipeError([f"options.needles: no line is in {language!r}"])
    return random.Random(repeat).choice(own)


def parallel_needles(lines: Sequence[NeedleLine], language: str, repeat: int, count: int) -> tuple[NeedleLine, ...]:
    """The needles of a repeat, the one of the least depth first: the same in all repeats, in orders of their own.

    The published choice is unseeded; here it is what it would be after seed 0: all lines of both languages are shuffled
    and the first of the language are taken whose subjects and keywords all differ. Seed of the order: the repeat.
    Raises RecipeError where there are too few.
    """
    shuffled = list(lines)
    random.Random(0).shuffle(shuffled)
    chosen = list(_differing((line for line in shuffled if line.language == language), count))
    if len(chosen) < count:
        raise RecipeError(
            [f"options.needles: {len(chosen)} lines of {language!r} differ in arg1 and arg2, fewer than {count} depths"]
        )
    random.Random(repeat).shuffle(chosen)
    return tuple(chosen)


def _differing(lines: Iterator[NeedleLine], count: int) -> Iterator[NeedleLine]:
    subjects: set[str] = set()
    keywords: set[str] = set()
    for line in lines:
        if len(subjects) == count:
            return
        if line.subject not in subjects and line.keyword not in keywords:
            subjects.add(line.subject)
            keywords.add(line.keyword)
            yield line


def parallel_question(needles: Sequence[NeedleLine], language: str) -> str:
    """All questions in one, and the form of all answers, as published: no space between them in English."""
    mark, end = ("？", "。") if language == "zh" else ("?", ".")
    asked = "、".join(line.question.split(mark)[0] + mark for line in needles)
    quoted = [_QUOTED.search(line.question) for line in needles]
    form = "、".join(found[1].split(end)[0] for found in quoted if found)
    if language == "zh":
        return f"{asked}请按照'{form}'的格式回答。"
    return f"{asked}Please answer in the format of '{form}'"


def ancestry(draw: random.Random, names: Sequence[str], count: int, language: str) -> Ancestry:
    """A line of `count` links: the people, then a sentence and a term for each link, then the order of the facts.

    Raises RecipeError where there are too few names.
    """
    if len(names) < count + 1:
        raise RecipeError([f"options.count: {count} facts name {count + 1} people; options.names has {len(names)}"])
    known = kinship()[language]
    near, far = known["one_generation"], known["two_generations"]
    people = draw.sample(list(names), count + 1)
    facts: list[str] = []
    generations = 0
    for elder, younger in pairwise(people):
        sentence = draw.choice(known["sentences"])
        term = draw.choice([*near, *far])
        facts.append(sentence.format(A=elder, B=younger, relationship=term))
        generations += 1 if term in near else 2
    draw.shuffle(facts)
    return Ancestry(tuple(people), tuple(facts), generations)


def reasoning_ancestry(names: Sequence[str], language: str, repeat: int, count: int) -> Ancestry:
    """What a repeat of the reasoning task hides. Seed: the repeat."""
    return ancestry(random.Random(repeat), names, count, language)


def atc_asked(names: Sequence[str], language: str, kind: str, repeat: int, count: int) -> AtcPrompt:
    """A prompt of the Ancestral Trace Challenge. Seed: the repeat, from 1 on, and 10,000 for each kind before it.

    Facts are joined by nothing at all, and English ordinals are 1th, 2th, 3th, as published.
    """
    number = ATC_KINDS.index(kind)
    found = ancestry(random.Random(repeat + 1 + 10_000 * number), names, count, language)
    eldest, youngest = found.people[0], found.people[-1]
    filled = {
        "last_person": youngest,
        "person": eldest if kind == "descendant" else youngest,
        "person_a": eldest,
        "person_b": youngest,
        "n": str(found.generations),
        "shuffled_story": "".join(found.facts),
    }
    template = prompts()[language][f"atc_{kind}"]
    prompt = fill(template, filled)
    question = fill(template.rstrip("\n").rpartition("\n")[2], filled)
    return AtcPrompt(prompt, question, {"descendant": youngest, "distance": filled["n"]}.get(kind, eldest), found)


def fill(template: str, values: Mapping[str, str]) -> str:
    """A template with its fields replaced; braces of LaTeX, and of the values, stay as they are."""
    return _FIELD.sub(lambda match: values.get(match[1], match[0]), template)


_FIELD = re.compile(r"\{([a-z_]+)\}")
