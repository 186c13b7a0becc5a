"""Draws what NeedleBench v2 hides and asks, with the seeds of the published generators and in their order.

Docstrings give the seed that the published code sets for Python's global generator, which is not touched here.
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
_FIELD = re.compile(r"\{([a-z_]+)\}")


class Ancestry(NamedTuple):
    """A line of relatives, the eldest first. `facts`: one for each link, shuffled; `generations`: of all links."""

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
    """The needle of a repeat. Seed: the repeat. Raises RecipeError if the language has none."""
    own = [line for line in lines if line.language == language]
    if not own:
        raise RecipeError([f"options.needles: no line is in {language!r}"])
    return random.Random(repeat).choice(own)


def parallel_needles(lines: Sequence[NeedleLine], language: str, repeat: int, count: int) -> tuple[NeedleLine, ...]:
    """The needles of a repeat by ascending depth: the same ones in every repeat, in different orders.

    The published choice is unseeded; here it is the one after seed 0: all lines of both languages are shuffled, and the
    first ones of the language are taken whose subjects and keywords all differ. Seed of the order: the repeat.
    Raises RecipeError if there are too few.
    """
    shuffled = list(lines)
    random.Random(0).shuffle(shuffled)
    chosen = list(_differing((line for line in shuffled if line.language == language), count))
    if len(chosen) < count:
        raise RecipeError(
            [f"options.needles: {len(chosen)} {language!r} lines differ in arg1 and arg2, too few for {count} depths"]
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
    """All questions in one, then the form of the answers; as published, no space comes between the two in English."""
    mark, end = ("？", "。") if language == "zh" else ("?", ".")
    asked = "、".join(line.question.split(mark)[0] + mark for line in needles)
    quoted = [_QUOTED.search(line.question) for line in needles]
    form = "、".join(match[1].split(end)[0] for match in quoted if match)
    if language == "zh":
        return f"{asked}请按照'{form}'的格式回答。"
    return f"{asked}Please answer in the format of '{form}'"


def ancestry(draw: random.Random, names: Sequence[str], count: int, language: str) -> Ancestry:
    """A line of `count` links. Draws the people, then a sentence and a term for each link, then the order of the facts.

    Raises RecipeError if there are too few names.
    """
    if len(names) < count + 1:
        raise RecipeError([f"options.count: {count} facts need {count + 1} names; options.names has {len(names)}"])
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
    """A prompt of the Ancestral Trace Challenge. Seed: the repeat, counted from 1, plus 10,000 for each earlier kind.

    As published, facts are joined without a space, and English ordinals are 1th, 2th, 3th.
    """
    number = ATC_KINDS.index(kind)
    line = ancestry(random.Random(repeat + 1 + 10_000 * number), names, count, language)
    eldest, youngest = line.people[0], line.people[-1]
    filled = {
        "last_person": youngest,
        "person": eldest if kind == "descendant" else youngest,
        "person_a": eldest,
        "person_b": youngest,
        "n": str(line.generations),
        "shuffled_story": "".join(line.facts),
    }
    template = prompts()[language][f"atc_{kind}"]
    prompt = fill(template, filled)
    question = fill(template.rstrip("\n").rpartition("\n")[2], filled)
    return AtcPrompt(prompt, question, {"descendant": youngest, "distance": filled["n"]}.get(kind, eldest), line)


def fill(template: str, values: Mapping[str, str]) -> str:
    """A template with its fields filled in; LaTeX's braces, and those in the values, stay as they are."""
    return _FIELD.sub(lambda match: values.get(match[1], match[0]), template)
