"""Numbered passages: the asked one is at its depth, numbers are random, and the prompt alone proves the truth."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from family_checks import NumberedPassage, read_passages
from rendering import context_of

import niah_gen
from niah_gen.errors import FitError
from niah_score.contract import Row

RECIPE: dict[str, Any] = {
    "name": "passages", "template": "passages", "lengths": [2000, 4000], "depths": [0, 37, 100], "reserve": 300,
    "options": {"rows": 2},
}  # fmt: skip
KINDS = ("match", "copy", "nth", "count")


def recipe_of(kind: str, **changes: object) -> dict[str, Any]:
    return {**RECIPE, "task": f"passage-{kind}", **changes}


@pytest.fixture(scope="module", params=KINDS)
def rows(request: pytest.FixtureRequest) -> list[Row]:
    return list(niah_gen.iter_rows(recipe_of(request.param)))


def passages(row: Any) -> list[NumberedPassage]:
    parsed = read_passages(context_of(row), row["language"])
    assert not isinstance(parsed, str), parsed
    return parsed


def test_the_asked_passage_is_within_a_passage_of_its_depth(rows: list[Row]) -> None:
    for row in rows:
        if row["depth_percent"] is None:
            assert row["task"] == "passage-count"
            continue
        longest = max(len(passage.text) for passage in passages(row)) / len(context_of(row))
        assert abs(row["needle_depths"][0] - row["depth_percent"]) <= 100 * longest
        (start, end) = (row["needle_spans"][0][side] for side in ("start", "end"))
        assert str(row["prompt"])[start:end] == row["needles"][0]


def test_numbers_are_random_and_depths_share_haystack_question_and_answer(rows: list[Row]) -> None:
    by_row: dict[tuple[object, ...], list[Row]] = {}
    for row in rows:
        by_row.setdefault((row["language"], row["length"], row["needle_id"]), []).append(row)
    assert len(by_row) == 2 * 2 * 2
    for group in by_row.values():
        assert len({row["haystack_id"] for row in group}) == 1
        assert len({(row["question"], row["answers"][0]) for row in group}) == 1
    firsts = {passages(group[0])[0].number for group in by_row.values()}
    assert len(firsts) == len(by_row)


def test_the_answer_is_the_nth_passage_of_its_set_at_every_depth() -> None:
    for row in niah_gen.iter_rows(recipe_of("nth", options={"rows": 4, "of": 5}, lengths=[4000])):
        number = re.findall(r"\d{6}", row["question"] or "")[0]
        nth = int(next(filter(None, re.findall(r"the (\d+)|第(\d+)个", row["question"] or "")[0])))
        texts = [passage.text for passage in passages(row) if passage.number == number]
        assert len(texts) == 5
        assert texts[nth - 1] == row["answers"][0]


def test_short_lengths_and_a_small_corpus_are_refused(tmp_path: Path) -> None:
    with pytest.raises(FitError, match="too few"):
        list(niah_gen.iter_rows(recipe_of("count", lengths=[500])))
    with pytest.raises(FitError, match="too few"):
        list(niah_gen.iter_rows(recipe_of("copy", lengths=[420])))
    (tmp_path / "short.txt").write_text("One sentence. Another one. A third.\n", "utf-8")
    with pytest.raises(FitError, match="expected at least 8"):
        list(niah_gen.iter_rows(recipe_of("copy", corpora=[str(tmp_path)])))
