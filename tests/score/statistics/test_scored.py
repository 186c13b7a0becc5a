"""Scored rows made ready once give the figures that they give alone, and rows that cannot be counted are refused."""

from __future__ import annotations

import random

import pytest
from made_scores import Record, frame, grid

from niah_score.errors import ScoreError
from niah_score.statistics.figures import cells, groups, overall
from niah_score.statistics.scored import Scored


def test_an_id_in_two_lines_and_a_metric_that_is_none_are_refused() -> None:
    with pytest.raises(ScoreError, match="'row' is on several lines"):
        Scored(frame([{"id": "row"}, {"id": "other"}, {"id": "row"}]))
    with pytest.raises(ScoreError, match="these scores have no metric 'bleu'; they have score, keyword"):
        cells(frame([{}]), "bleu")


def test_a_frame_made_ready_once_gives_the_same_figures() -> None:
    draw = random.Random(5)
    rows = grid([[draw.random() * 100 for _ in range(3)] for _ in range(4)], repeats=5)
    for row in rows:
        row |= {
            "needle_id": draw.choice("abc"),
            "haystack_id": draw.choice("pqrs"),
            "language": draw.choice(["en", "zh"]),
        }
    scores = frame(rows)
    ready = Scored(scores)
    assert cells(ready).equals(cells(scores))
    assert groups(ready).equals(groups(scores))
    assert overall(ready) == overall(scores)


def test_scores_that_differ_late_are_not_taken_for_the_same() -> None:
    rows: list[Record] = [{"score": 50.0, "keyword": 50.0 if number < 1999 else 0.0} for number in range(2000)]
    scored = Scored(frame(rows))
    assert overall(scored, "score").of_rows.mean == 50.0
    assert overall(scored, "keyword").of_rows.mean == pytest.approx(49.975)
    rows[1500]["keyword"] = None
    scored = Scored(frame(rows))
    assert (overall(scored, "score").of_rows.n, overall(scored, "keyword").of_rows.n) == (2000, 1999)


def test_rows_of_controls_are_not_asked_about_and_without_any_nothing_is_copied() -> None:
    rows: list[Record] = [{"score": 1.0}, {"score": 2.0, "control": "absent"}, {"score": 3.0}]
    scored = Scored(frame(rows))
    assert scored.asked.frame["score"].to_list() == [1.0, 3.0]
    assert scored.asked.asked is scored.asked
    plain = Scored(frame(rows[:1]).drop("control"))
    assert plain.asked is plain


def test_a_coordinate_that_scores_do_not_have_is_null_in_every_row() -> None:
    factor = Scored(frame([{}, {}])).factor("part")
    assert (factor.values, factor.codes.tolist()) == ([None], [0, 0])
