"""Worlds: what the text says answers every question, no answer serves two, and no two worlds share a name."""

from __future__ import annotations

import random
from itertools import combinations, groupby
from pathlib import Path
from typing import Any

import pytest
from worlds import answer

import niah_gen
from niah_gen.dataset.read import rows_in
from niah_gen.tasks.base import not_stated
from niah_gen.tasks.records import Cell, Item, Settings
from niah_gen.tasks.registry import find_task
from niah_gen.tasks.worlds.schemas import PARTS, nobody, schemas
from niah_gen.tasks.worlds.world import WorldOptions
from niah_score import Judge
from niah_score.contract import open_dataset

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


@pytest.mark.slow
def test_no_answer_that_ignores_the_question_is_right_more_than_once_over_a_context(tmp_path: Path) -> None:
    """Every record of a context and every fact of its world, each given as the answer to all questions."""
    dataset = niah_gen.build("default", tmp_path, overrides={"lengths": [2000]})
    judge = Judge(dataset)
    contexts: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    for row in (row for file in open_dataset(dataset).files() for row in rows_in(file.path)):
        contexts.setdefault((row["language"], row["part"] or "", row["world"] or ""), []).append(row)
    assert len(contexts) == 2 * len(PARTS) * 8
    for (language, part, world), rows in contexts.items():
        assert {row["chance"] for row in rows} == {100 / len(rows)}
        facts = {fact[0] for row in rows for fact in (*row["keywords"], *row["decoys"])}
        draw = random.Random(world)
        records = draw.sample(rows[0]["needles"], 8)
        for text in [*records, *sorted(facts), not_stated(language), " ".join(rows[0]["needles"])]:
            right = sum(judge(row["id"], text).score == 100 for row in rows)
            assert right <= 1, (part, world, text)


@pytest.mark.slow
def test_the_rows_of_a_context_share_every_byte_before_the_question() -> None:
    rows = list(niah_gen.iter_rows("default", {"lengths": [2000], "languages": ["zh"], "form": "text"}))
    for _, sharing in groupby(rows, key=lambda row: (row["part"], row["world"])):
        shared = list(sharing)
        prompts = [str(row["prompt"]) for row in shared]
        (prefix,) = {row["shared_prefix"] for row in shared}
        assert len({prompt[:prefix] for prompt in prompts}) == 1
        assert len({row["haystack_id"] for row in shared}) == 1
        for row, prompt in zip(shared, prompts, strict=True):
            assert prompt.index(str(row["question"])) >= (prefix or 0) - len(str(row["question"]))
