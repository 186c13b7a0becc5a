"""Rubric files are read, or refused with every field that is wrong."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from each import each
from made import RUBRIC

from niah_score.errors import ScoreError
from niah_score.scoring.rubric import find_rubric, parse_rubric, rubrics


@each(
    ("changes", "message"),
    [
        ({"name": "a b"}, "name: expected up to 40 letters"), ({"name": 5}, "name: expected"),
        ({"scale": 5}, "scale: expected a list"), ({"scale": []}, "scale: expected a list"),
        ({"scale": [1, "a"]}, "scale: expected a list"), ({"scale": [1, True]}, "scale: expected a list"),
        ({"scale": [1, float("nan")]}, "scale: expected a list"), ({"scale": [2]}, "at least two different"),
        ({"scale": [2, 2.0, 1]}, "none twice"), ({"scale": ["a", "A"], "full": "a", "pattern": "(a)"}, "none twice"),
        ({"scale": [" a", "b"], "full": "b", "pattern": "(a)"}, "scale: expected a list"),
        ({"full": 3}, "full: expected a verdict of the scale"),
        ({"full": "2"}, "full: expected a verdict of the scale"),
        ({"full": True}, "full: expected a verdict of the scale"), ({"full": 1}, "up to `full`"),
        ({"scale": [-1, 2]}, "from 0 or more"),
        ({"worth": {"0": 0, "2": 100}}, "worth: expected a table of every verdict"),
        ({"worth": {"0": 0, "1": 101, "2": 100}}, "worth: expected numbers from 0 to 100"),
        ({"worth": {"0": 0, "1": 10, "2": 90}}, "and 100 for 2"), ({"worth": 5}, "worth: expected a table"),
        ({"pattern": 5}, "pattern: expected a regex"), ({"pattern": []}, "pattern: expected a regex"),
        ({"pattern": "("}, "is not a regex that runs in linear time (Rust's syntax): unclosed group"),
        ({"pattern": r"(a)\1"}, "backreferences are not supported"), ({"pattern": "(a)(?=b)"}, "look-around"),
        ({"pattern": "((?:.{1000}){1000})"}, "exceeds size limit"),
        ({"pattern": "(" * 5000}, "not a regex that runs in linear time"), ({"pattern": r"\d+"}, "has 0 groups"),
        ({"pattern": r"(\d)(\d)"}, "has 2 groups"), ({"pattern": r"(\d*)"}, "matches an empty reply"),
        ({"scale": ["a", "b"], "full": "a"}, '"number" reads numbers'), ({"prompt": 5}, "prompt: expected a text"),
        ({"prompt": "{reference}"}, "expected {answer} once, found it 0 times"),
        ({"prompt": "{reference}{answer}{answer}"}, "found it 2 times"),
        ({"prompt": "{answer}"}, "expected {reference} or {references}"),
        ({"prompt": "{answer}{reference}{anwser}"}, "{anwser} is unknown; known: {question}"),
        ({"prompt": "{answer}{reference}{mark}", "block": False}, "`block` is false"),
        ({"prompt": "\ud800{answer}{reference}"}, "prompt: expected a text"),
        ({"system": 5}, "system: expected a text"), ({"source": []}, "source: expected a text"),
        ({"text": "both"}, "text: expected raw or extracted"), ({"block": 1}, "block: expected true or false"),
        ({"colour": 1}, "colour: unknown field"),
    ],
)  # fmt: skip
def test_an_unusable_rubric_is_refused_with_the_field_that_is_wrong(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ScoreError) as refused:
        parse_rubric({**RUBRIC, **changes}, "mine.toml")
    assert "mine.toml: not a rubric" in str(refused.value)
    assert message in str(refused.value)


def test_every_problem_of_a_rubric_is_listed_at_once() -> None:
    with pytest.raises(ScoreError) as refused:
        parse_rubric({"name": "", "scale": [1, 2], "full": 5, "pattern": "x", "block": "no"})
    assert len(str(refused.value).splitlines()) == 6
    with pytest.raises(ScoreError) as refused:
        parse_rubric({})
    assert len(str(refused.value).splitlines()) == 6


def test_full_may_spell_a_number_differently_from_the_scale() -> None:
    rubric = parse_rubric({**RUBRIC, "scale": [0, 0.5, 1], "full": 1.0})
    assert (rubric.scale, rubric.worths) == (("0", "0.5", "1"), (0.0, 50.0, 100.0))


def test_a_rubric_is_found_by_name_or_path(tmp_path: Path) -> None:
    assert list(rubrics()) == ["gkamradt"]
    assert all(rubric.name == name and rubric.source for name, rubric in rubrics().items())
    (tmp_path / "mine.toml").write_text(
        'name="m"\nscale=[0,1]\nfull=1\npattern="number"\nprompt="{reference}{answer}"', "utf-8-sig"
    )
    assert find_rubric(str(tmp_path / "mine.toml")).name == "m"
    (tmp_path / "broken.toml").write_bytes(b"\xff = [")
    with pytest.raises(ScoreError, match="rubric 'gkamrad' is unknown; expected gkamradt"):
        find_rubric("gkamrad")
    with pytest.raises(ScoreError, match="no such file"):
        find_rubric(str(tmp_path / "no.toml"))
    with pytest.raises(ScoreError, match="cannot be read as TOML"):
        find_rubric(str(tmp_path / "broken.toml"))


def test_a_digest_distinguishes_rubrics_of_the_same_name() -> None:
    facts = parse_rubric(RUBRIC)
    assert replace(facts, source="elsewhere").digest8 == facts.digest8
    assert replace(facts, prompt=facts.prompt + " ").digest8 != facts.digest8
    assert replace(facts, worths=(0.0, 10.0, 100.0)).digest8 != facts.digest8
