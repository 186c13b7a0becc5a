"""Solvers that read nothing, readers with one weakness and simulated models do as docs/worlds.md says of them."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest
import world_classifier
import world_power
import world_readers
import world_solvers
from each import each
from seen_worlds import judged, said, worlds


@each("part, language", [("records", "en"), ("moves", "zh"), ("lists", "zh"), ("tally", "en")])
def test_what_solvers_say_is_right_or_wrong_for_the_scorer_too(part: str, language: str) -> None:
    seen = next(worlds(part, language, 1))
    rng = np.random.default_rng(1)
    given = [*seen.right, *world_solvers.picked(seen, rng.random((len(seen.questions), len(seen.records))), rng)]
    asked = [*zip(seen.item.asks, seen.right, strict=True)] * 2
    texts = [(one, said(seen, answer)) for (one, _), answer in zip(asked, given, strict=True)]
    assert judged(texts) == [answer == right for (_, right), answer in zip(asked, given, strict=True)]


def test_a_solver_of_names_alone_gets_its_bound() -> None:
    rng = np.random.default_rng(1)
    for seen in islice(worlds("records", "en", 1), 3):
        assert world_solvers.by_lot(seen) == pytest.approx(100 / 6)
        for name, scores, named in islice(world_solvers.sentence_solvers(seen), 4):
            answers = world_solvers.picked(seen, scores, rng, named=named)
            assert sum(answer == right for answer, right in zip(answers, seen.right, strict=True)) == 2, name


def test_a_classifier_learns_what_form_gives_away() -> None:
    """Every second sentence is long, and those are right."""
    drawn = list(worlds("associations", "en", 1))
    told = []
    for seen in drawn:
        right = [frozenset(seen.held[nth % len(seen.records)]) for nth in range(len(seen.questions))]
        records = tuple(record + " " + "and so on " * 9 * (place == 4) for place, record in enumerate(seen.records))
        told.append(seen._replace(records=records, right=[frozenset(seen.held[4]) for _ in right]))
    answers = world_classifier.answers_left_out(world_classifier.candidates_of(told, words=False))
    assert answers == [answer for seen in told for answer in seen.right]


@each("part", ["records", "threads", "moves"])
def test_readers_get_what_arithmetic_says(part: str) -> None:
    found, expected = world_readers.found(islice(worlds(part, "en", 1), 3)), world_readers.by_arithmetic()
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
