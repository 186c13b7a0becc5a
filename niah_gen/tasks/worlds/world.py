"""Asks every cell of a small world over one context, so that who ignores the question is right by chance alone.

A world is a set of records that one rule draws from the same templates. Its K questions have K different answers, so an
answer that does not depend on the question is right for at most one of them: `chance` is 100 / K. A question-blind
solver cannot do better, whatever it knows of the texts. With the option `empty`, up to two questions have no answer in
the text, and the best such answer may be right for both.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from niah_gen.errors import RecipeError
from niah_gen.tasks.base import NO_CONTEXT, Task, no_context, not_stated
from niah_gen.tasks.options import check_options
from niah_gen.tasks.records import Cell, Coordinates, GridAxes, Item, Settings
from niah_gen.tasks.words import LIST_JOINER
from niah_gen.tasks.worlds.schemas import PARTS, Names, Schema, schemas

# Spellings of one fact, the first of which stands in the text.
Fact = tuple[str, ...]


# Which of a part's eight schemas the worlds of a split have.
SPLITS = {"": slice(None), "train": slice(6), "held-out": slice(6, None)}
# Keeps the seeds of splits apart, so that no world of one is in another.
_BETWEEN_SEEDS = 1 << 40


# Of a part and language; each is of another schema, or has other names.
MOST_WORLDS = 48


@dataclass(frozen=True, slots=True)
class WorldOptions:
    """The recipe's [options]. `level`: 1 (small), 2 or 3 (hard). `worlds`: how many each language and length has.

    `rows_per_context`: how many of a world's questions are asked; 0 for all. They are drawn so that over the worlds
    every number of question is asked about equally often. `records`: how many a world has, 0 for as many as its level;
    worlds whose rows have no depth (`lists`, `tally`) always have those of their level. `split`: draws worlds of six
    schemas for training, or of the other two (`held-out`), with names of their own; empty for those of all. `empty`:
    with `varied`, 0 to 2 of the questions over a world have no answer in the text, instead of one; None, the default,
    is in no digest. `tally` has none either way.
    """

    level: int = 2
    worlds: int = 8
    rows_per_context: int = 0
    records: int = 0
    split: str = ""
    empty: str | None = None

    def __post_init__(self) -> None:
        check_options(
            self, level=range(1, 4), worlds=range(1, MOST_WORLDS + 1), rows_per_context=range(25), records=range(1000),
            split=tuple(SPLITS), empty=(None, "varied"),
        )  # fmt: skip


class Question(NamedTuple):
    """A question over a world. `facts`: what a right answer gives, all of it; empty if the text does not say.

    `rivals`: facts of the world that are wrong here. `record`: number of the only record that decides it, in the order
    of the text; None if there is none or are several. `kind`: of the facts.
    """

    text: str
    facts: tuple[Fact, ...]
    rivals: tuple[Fact, ...]
    record: int | None = None
    kind: str = "text"


class World(NamedTuple):
    """The records of a world, a sentence each in the order of the text, and questions whose answers all differ.

    `tags`: words whose documents could answer a question, too, and are left out of the haystack.
    """

    records: tuple[str, ...]
    questions: tuple[Question, ...]
    tags: tuple[str, ...] = ()


class Draw(NamedTuple):
    """What a family draws a world with. `number`: how many worlds of the schema come before it.

    `records`: how many records are asked for; 0 for those of the level. `blanks`: how many cells the text does not
    state. `asked_blanks`: of how many of those it is asked.
    """

    schema: Schema
    language: str
    names: Names
    random: random.Random
    level: int
    records: int
    number: int
    seed: int
    blanks: int = 1
    asked_blanks: int = 1


def world_task(part: str, make: Callable[[Draw], World]) -> Task:
    """The task family of a part. `make`: draws a world, the same at every length."""

    def ids(settings: Settings, language: str) -> Sequence[str]:
        known = list(schemas(part, language))[SPLITS[settings.options.split]]
        count = settings.options.worlds if known else 0
        return [f"{known[number % len(known)]}-{number // len(known) + 1}" for number in range(count)]

    def world(settings: Settings, language: str, world_id: str) -> World:
        name, _, again = world_id.rpartition("-")
        known = list(schemas(part, language))
        number = int(again) - 1
        stretch = PARTS.index(part) + len(PARTS) * (known.index(name) + len(known) * number)
        options = settings.options
        seed = settings.seed + _BETWEEN_SEEDS * list(SPLITS).index(options.split)
        draw = random.Random(f"{seed}/{language}/{part}/{world_id}")
        names, schema = Names(language, seed, stretch), schemas(part, language)[name]
        given = Draw(schema, language, names, draw, options.level, options.records, number, seed)
        if options.empty:
            asked_blanks = random.Random(f"{seed}/{language}/{part}/{world_id}/empty").randrange(3)
            given = given._replace(blanks=2, asked_blanks=asked_blanks)
        return make(given)

    # Its rows ask for a world one after the other, and each length asks again.
    @lru_cache(maxsize=128)
    def asked(settings: Settings, language: str, world_id: str) -> tuple[World, list[Question]]:
        """A world, and those of its questions that are asked."""
        one = world(settings, language, world_id)
        nth = list(ids(settings, language)).index(world_id)
        return one, _chosen(one.questions, settings.options.rows_per_context, nth)

    def item(settings: Settings, cell: Cell) -> Item:
        return item_of_world(*asked(settings, cell.language, cell.needle), cell)

    def coordinates(settings: Settings, axes: GridAxes, language: str) -> Iterator[Coordinates]:
        for length in axes.lengths:
            for world_id in ids(settings, language):
                one, questions = asked(settings, language, world_id)
                depths = record_depths(len(one.records))
                for number, question in enumerate(questions):
                    depth = None if question.record is None else depths[question.record]
                    yield Coordinates(length, world_id, 0, depth, number)

    return Task(part, 1, ids, item, WorldOptions, controls={NO_CONTEXT: no_context}, coordinates=coordinates)


def record_depths(count: int) -> tuple[float, ...]:
    """The depths of a world's records, in percent: equally far apart from the beginning to the end of the text."""
    return tuple(round(100 * number / max(1, count - 1), 1) for number in range(count))


def _chosen(questions: Sequence[Question], wanted: int, world: int) -> list[Question]:
    """The questions to ask: all, or `wanted` of them, equally far apart and other ones in each world."""
    count = len(questions)
    if not 0 < wanted < count:
        return list(questions)
    return [questions[number] for number in sorted((world + count * nth // wanted) % count for nth in range(wanted))]


def item_of_world(world: World, asked: Sequence[Question], cell: Cell) -> Item:
    """The item that a world's context is filled for, which hides its records; `asks` has an item for each question."""
    ((_, most),) = Counter(question.facts for question in world.questions).most_common(1)
    whole = Item(
        cell.needle, cell.language, None, (not_stated(cell.language),), (world.tags,) if world.tags else (), "correct",
        world.records, keyword_kinds=("text",) if world.tags else (), depths=record_depths(len(world.records)),
        world=cell.needle, chance=100 * most / len(world.questions),
    )  # fmt: skip
    return whole._replace(asks=tuple(_asking(whole, question) for question in asked))


def _asking(whole: Item, question: Question) -> Item:
    """The item of one question."""
    stated = LIST_JOINER[whole.language].join(group[0] for group in question.facts)
    return whole._replace(
        question=question.text, answers=(stated or not_stated(whole.language),), keywords=question.facts,
        keyword_kinds=(question.kind,) * len(question.facts), decoys=question.rivals,
    )  # fmt: skip


def fitting(given: Draw, counts: Sequence[int], what: str) -> int:
    """The number of records that is asked for, one of `counts`, the first of which is that of the level.

    `what`: how a world comes to its records, for the message. Raises RecipeError if another number is asked for.
    """
    if given.records not in (0, *counts):
        listed = ", ".join(map(str, sorted({*counts})))
        raise RecipeError([f"depths: {given.records} asked for, but {what}: expected {listed}; or leave this part out"])
    return given.records or counts[0]


def asked_of(given: Draw, questions: Sequence[Question]) -> tuple[Question, ...]:
    """The questions over all cells, in their order, without those on blanks that are not asked."""
    left_out = [question for question in questions if not question.facts][given.asked_blanks :]
    return tuple(question for question in questions if question not in left_out)


def rivals_of(facts: Sequence[Fact], right: Sequence[Fact]) -> tuple[Fact, ...]:
    """The facts that are not right."""
    return tuple(fact for fact in facts if fact not in right)
