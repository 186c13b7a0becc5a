"""Worlds: what the text says answers every question, no answer serves two, and no two worlds share a name.

What docs/worlds.md says of solvers, readers and simulated models holds for a few of them.
"""

from __future__ import annotations

import random
from collections import Counter
from itertools import combinations, groupby, islice, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import seen_worlds
import world_classifier
import world_power
import world_readers
import world_solvers
from each import each
from seen_worlds import judged, said
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


def worlds(part: str, language: str, *, seed: int = 0, **options: Any) -> dict[str, Item]:
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
def test_worlds_of_varied_emptiness_have_none_to_two_unanswered_questions_and_say_what_chance_is(part: str) -> None:
    empty: set[int] = set()
    for language, level in product(LANGUAGES, (1, 2, 3)):
        records = set()
        for name, world in worlds(part, language, level=level, empty="varied").items():
            schema = schemas(part, language)[name.rpartition("-")[0]]
            unstated = 0
            for asked in world.asks:
                expected = {group[0] for group in asked.keywords} - {nobody(language)[0]}
                assert answer(part, schema, asked.hide, asked.question or "") == expected, (name, asked.question)
                unstated += not expected
            most = max(Counter(asked.keywords for asked in world.asks).values())
            assert most == max(1, unstated), name
            assert world.chance == 100 * most / len(world.asks)
            empty.add(unstated)
            records.add(len(world.hide))
        # Depths are the same in every world of a part that has them.
        assert len(records) == 1 or part == "lists"
    assert empty == ({0} if part == "tally" else {0, 1, 2})


@pytest.mark.parametrize("count", [16, pytest.param(48, marks=pytest.mark.slow)])
@each_part
def test_no_two_worlds_of_a_dataset_share_a_name(part: str, count: int) -> None:
    for language in LANGUAGES:
        classes = {one["asked"] for schema in schemas(part, language).values() for one in schema.get("class", [])}
        held = []
        for world in worlds(part, language, worlds=count).values():
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


@each("part, language", [("records", "en"), ("moves", "zh"), ("lists", "zh"), ("tally", "en")])
def test_what_solvers_say_is_right_or_wrong_for_the_scorer_too(part: str, language: str) -> None:
    seen = next(seen_worlds.worlds(part, language, 1))
    rng = np.random.default_rng(1)
    given = [*seen.right, *world_solvers.picked(seen, rng.random((len(seen.questions), len(seen.records))), rng)]
    asked = [*zip(seen.item.asks, seen.right, strict=True)] * 2
    texts = [(one, said(seen, answer)) for (one, _), answer in zip(asked, given, strict=True)]
    assert judged(texts) == [answer == right for (_, right), answer in zip(asked, given, strict=True)]


def test_a_solver_of_names_alone_gets_its_bound() -> None:
    rng = np.random.default_rng(1)
    for seen in islice(seen_worlds.worlds("records", "en", 1), 3):
        assert world_solvers.by_lot(seen) == pytest.approx(100 / 6)
        for name, scores, named in islice(world_solvers.sentence_solvers(seen), 4):
            answers = world_solvers.picked(seen, scores, rng, named=named)
            assert sum(answer == right for answer, right in zip(answers, seen.right, strict=True)) == 2, name


def test_a_classifier_learns_what_form_gives_away() -> None:
    """Every second sentence is long, and those are right."""
    drawn = list(seen_worlds.worlds("associations", "en", 1))
    told = []
    for seen in drawn:
        right = [frozenset(seen.held[nth % len(seen.records)]) for nth in range(len(seen.questions))]
        records = tuple(record + " " + "and so on " * 9 * (place == 4) for place, record in enumerate(seen.records))
        told.append(seen._replace(records=records, right=[frozenset(seen.held[4]) for _ in right]))
    answers = world_classifier.answers_left_out(world_classifier.candidates_of(told, words=False))
    assert answers == [answer for seen in told for answer in seen.right]


@each("part", ["records", "threads", "moves"])
def test_readers_get_what_arithmetic_says(part: str) -> None:
    found, expected = world_readers.found(islice(seen_worlds.worlds(part, "en", 1), 3)), world_readers.by_arithmetic()
    for name, percentage in found.items():
        assert percentage == pytest.approx(expected.get(name, {}).get(part, 100), abs=25), name
    assert found["perfect"] == 100


def test_a_flat_model_looks_flat_and_a_worse_one_is_told_apart() -> None:
    rows = world_power.design(8, 3)
    these = world_power.models(rows, (0.6, 1.0, 0.4), 40, np.random.default_rng(7))
    values = these.answers(0.8)
    looks = world_power.flat(rows, values)
    assert looks.inside >= 85
    assert looks.different <= 20
    worse = these.answers(0.7)
    _, chances = world_power.differing(rows, worse - values)
    assert np.mean(np.array(chances) < 0.05) > 0.9


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
