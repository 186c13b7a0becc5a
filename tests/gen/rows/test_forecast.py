"""Forecasts of a plan, checked against the notes that its build gives."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from coverage import covered, design
from each import each
from hypothesis import given
from hypothesis import strategies as st
from properties import examples
from rendering import TEXTS, Write

import niah_gen
from niah_gen.errors import FitError
from niah_gen.haystacks.placement import depth_lines
from niah_gen.recipe.read import load_recipe
from niah_gen.rows.assemble import Assembler
from niah_gen.rows.forecast import forecast, foreseen, half_width
from niah_gen.rows.plan import make_plan
from niah_score.contract import read_manifest

SET = {"id": "trio", "needles": ["One is red.", "Two is blue.", "Three is green."], "question": "Which?", "answer": "x"}


def forecast_notes(recipe: dict[str, Any]) -> set[str]:
    plan = make_plan(load_recipe(recipe))
    notes = foreseen(plan)
    lines = list(forecast(plan, notes))
    assert lines[len(lines) - len(notes) :] == [f"note         {note}" for note in notes]
    return set(notes)


@each(
    ("recipe", "words"),
    [
        ({"placement": "opencompass"}, {"ends early"}),
        ({"placement": "gkamradt"}, {"times over"}),
        ({"placement": "native"}, {"times over", "left out"}),
        ({"placement": "native", "leaks": "report"}, {"already holds"}),
        ({"placement": "opencompass-processed", "lengths": [300], "repeats": 8}, {"the corpus ends after"}),
        ({"placement": "opencompass", "needles": [SET], "diff": 40}, {"ends early", "past the end"}),
    ],
)
def test_a_plan_forecasts_the_notes_that_its_build_gives_and_records(
    recipe: dict[str, Any], words: set[str], write_jsonl: Write, tmp_path: Path
) -> None:
    corpus = write_jsonl(tmp_path / "short.jsonl", ["A gate is told of. It is far away. Nobody saw it.", *TEXTS])
    base = {
        "name": "noted", "corpora": [str(corpus)], "lengths": [300, 1500], "depths": [0, 50, 100], "guide": False,
        "reserve": 0, "template": "niah", "allow_repeats": True,
        "needles": [{"id": "it", "needle": "A fact.", "question": "What?", "answer": "x", "keywords": ["gate"]}],
    }  # fmt: skip
    notices: list[str] = []
    folder = niah_gen.build({**base, **recipe}, tmp_path / "out", notice=notices.append)
    assert forecast_notes({**base, **recipe}) == set(notices) == set(read_manifest(folder).notes)
    assert len(notices) == len(set(notices))
    for word in words:
        assert any(word in note for note in notices), (word, notices)


@examples(60)
@given(count=st.integers(1, 8), diff=st.integers(0, 100), depth=st.integers(0, 100))
def test_only_needle_sets_that_pass_the_end_are_noted(count: int, diff: int, depth: int) -> None:
    needle = {"id": "some", "question": "Which?", "answer": "x", "language": "en"}
    texts = {"needles": [f"Number {n} is here." for n in range(count)]}
    recipe = {
        "needles": [{**needle, **texts}], "lengths": [700], "depths": [depth], "diff": diff, "spread": "diff",
    }  # fmt: skip
    plan = make_plan(load_recipe(recipe))
    ((_, told),) = Assembler(plan).rows(plan.cells)
    notes = [note for note in told if "past the end" in note]
    # Where each needle would go if the text did not end.
    places = [line.offset + line.slope * depth for line in depth_lines(count, "diff", float(diff), 0)]
    assert len(notes) == (max(places) > 100)
    if notes:
        limit = 100 - diff * (count - 1)
        assert (
            f"some: {f'at depths above {limit} %' if limit >= 0 else 'at every depth'} the last of {count}" in notes[0]
        )


def test_a_corpus_that_ends_before_every_record_makes_no_plan(write_jsonl: Write, tmp_path: Path) -> None:
    asked: dict[str, Any] = {
        "placement": "opencompass-processed", "corpora": [str(write_jsonl(tmp_path / "short.jsonl", TEXTS))],
        "lengths": [5000], "depths": [0], "reserve": 0, "guide": False, "repeats": 5,
        "needles": [{"needle": "A fact.", "question": "What?", "answer": "That."}],
    }  # fmt: skip
    with pytest.raises(FitError, match="makes no rows: short, length 5000: the corpus ends after 0 of 5 records"):
        make_plan(load_recipe(asked))


@each("needles", [3, 10, 20])
def test_the_forecast_width_is_close_to_that_of_simulated_scores(needles: int) -> None:
    """The median width of 200 simulated scores of 50 %: needles that differ by a logit, 8 lengths, 21 depths."""
    simulated = covered(design(200, needles), 0.5, 1.0, np.random.default_rng(3), graded=False)
    assert half_width(needles, 168) == pytest.approx(simulated.width / 2, rel=0.1)


def test_a_plan_states_its_precision_and_how_many_needles_would_do() -> None:
    for changes, stated in (
        ({}, [
            "interval     the 3 rows of a cell tell its score to within 44 points, the 63 of a length to within 44 (95 "
            "%, at a score of 50 %, 3 needles that differ by a logit)",
            "advice       46 needles tell every cell to within 15 points, 13 every length; repeats of the same needles "
            "help little",
        ]),
        ({"languages": ["en"], "needles": ["velden-archive"]}, ["interval     one needle: "]),
    ):  # fmt: skip
        lines = list(forecast(make_plan(load_recipe("plain", changes))))
        assert all(any(line.startswith(one) for line in lines) for one in stated), lines
