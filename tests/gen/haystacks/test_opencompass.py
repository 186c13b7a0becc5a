"""OpenCompass's dynamic haystacks: shuffled documents, their tokens end to end, as published."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import pytest
from rendering import TEXTS, Write, corpus_of, request

import niah_gen
from niah_gen.errors import FitError
from niah_gen.haystacks.opencompass import ProcessedFiller
from niah_gen.recipe.read import load_recipe
from niah_gen.rows.plan import make_plan
from niah_gen.tokenizers.find import BytePairTokenizer


def shuffled(texts: Sequence[str], repeat: int) -> list[str]:
    """As published: one list, shuffled again and again, with the global generator reseeded before each shuffle."""
    left = list(texts)
    for counter in range(repeat + 1):
        random.Random(counter).shuffle(left)
    return left


def test_processed_records_end_with_the_corpus(cl100k: BytePairTokenizer) -> None:
    filler = ProcessedFiller(corpus_of(TEXTS), cl100k)
    room = cl100k.count(TEXTS[0])
    assert filler.fill(request(cl100k, room + 1, repeat=8)).tokens == room
    assert filler.repeats(room + 1, 0, 1) == 9
    with pytest.raises(FitError, match="the corpus ends after 9 records, before repeat 9"):
        filler.fill(request(cl100k, room + 1, repeat=9))
    with pytest.raises(FitError, match="the corpus ends after 0 records"):
        filler.fill(request(cl100k, 10_000))


def test_a_plan_leaves_out_and_reports_the_records_that_the_corpus_lacks(write_jsonl: Write, tmp_path: Path) -> None:
    corpus = write_jsonl(tmp_path / "short.jsonl", TEXTS)
    recipe = load_recipe({
        "placement": "opencompass-processed", "corpora": [str(corpus)], "lengths": [30, 300], "depths": [0, 50],
        "repeats": 5, "reserve": 0, "guide": False,
        "needles": [{"needle": "A fact.", "question": "What?", "answer": "That."}],
    })  # fmt: skip
    plan = make_plan(recipe)
    records = {length: {cell.repeat for cell in plan.cells if cell.length == length} for length in (30, 300)}
    assert records[30] == {0, 1, 2, 3, 4}
    assert records[300] < {0, 1, 2, 3, 4}
    assert plan.shortfalls == (f"short, length 300: the corpus ends after {len(records[300])} of 5 records",)
    assert len(list(niah_gen.iter_rows(recipe))) == len(plan.cells) == 10 + 2 * len(records[300])


def test_a_recipe_that_makes_no_rows_is_refused(write_jsonl: Write, tmp_path: Path) -> None:
    corpus = write_jsonl(tmp_path / "short.jsonl", ["A short text.", "Another one."])
    recipe = {"placement": "opencompass-processed", "corpora": [str(corpus)], "lengths": [5000], "guide": False}
    with pytest.raises(FitError, match="makes no rows: short, length 5000: the corpus ends after 0 of 1 records"):
        make_plan(load_recipe({**recipe, "template": "opencompass", "needles": ["xiaoming-internship"]}))
