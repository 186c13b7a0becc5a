"""Worlds: what the text says answers every question, no answer serves two, and no two worlds share a name."""

from __future__ import annotations

import random
from itertools import combinations

import pytest
from worlds import answer

from niah_gen.tasks.base import not_stated
from niah_gen.tasks.records import Cell, Item, Settings
from niah_gen.tasks.registry import find_task
from niah_gen.tasks.worlds.schemas import PARTS, nobody, schemas
from niah_gen.tasks.worlds.world import WorldOptions

each_part = pytest.mark.parametrize("part", PARTS)
LANGUAGES = ("en", "zh")


def worlds(part: str, language: str, *, seed: int = 0, **options: int) -> dict[str, Item]:
    """The items of a part's worlds, by id."""
    task, settings = find_task(part), Settings(WorldOptions(**options), seed=seed)
    cells = [Cell(language, "corpus", 2000, name, 0, None) for name in task.ids(settings, language)]
    assert callable(task.item)
    return {cell.needle: task.item(settings, cell) for cell in cells}


@each_part
def test_the_records_alone_answer_every_question_of_every_schema_and_level(part: str) -> None:
    for language in LANGUAGES:
        for level, seed in ((1, 1), (2, 2), (3, 3)):
            for name, world in worlds(part, language, level=level, seed=seed).items():
                schema = schemas(part, language)[name.rpartition("-")[0]]
                for asked in world.asks:
                    expected = {group[0] for group in asked.keywords} - {nobody(language)[0]}
                    assert answer(part, schema, asked.hide, asked.question or "") == expected, (name, asked.question)
                    assert (asked.answers[0] in (not_stated(language), nobody(language)[0])) == (not expected)


@each_part
def test_no_answer_is_right_twice_over_one_context(part: str) -> None:
    for language in LANGUAGES:
        for level in (1, 2, 3):
            for name, world in worlds(part, language, level=level).items():
                answers = [asked.keywords for asked in world.asks]
                assert len(set(answers)) == len(answers), name
                assert world.chance == 100 / len(answers)
                # A rival is never a right answer.
                for asked in world.asks:
                    assert not set(asked.keywords) & set(asked.decoys)


@each_part
def test_no_two_worlds_of_a_dataset_share_a_name(part: str) -> None:
    for language in LANGUAGES:
        classes = {one["asked"] for schema in schemas(part, language).values() for one in schema.get("class", [])}
        held = []
        for world in worlds(part, language, worlds=48).values():
            facts = {fact[0] for asked in world.asks for fact in (*asked.keywords, *asked.decoys)}
            held.append({fact for fact in facts - classes - {nobody(language)[0]} if not fact.isdigit()})
        assert all(not first & second for first, second in combinations(held, 2))


@each_part
def test_a_third_of_the_rows_asks_each_question_about_equally_often(part: str) -> None:
    for language in LANGUAGES:
        for world in worlds(part, language, rows_per_context=4).values():
            assert len(world.asks) == 4
            assert (world.chance or 100) < 20


def test_another_seed_gives_other_values() -> None:
    draw = random.Random(3)
    one, other = (worlds("lists", "en", seed=draw.randrange(1000)) for _ in range(2))
    assert all(one[name].hide != other[name].hide for name in one)
