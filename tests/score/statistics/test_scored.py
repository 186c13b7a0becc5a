"""Scored rows that are prepared once have the figures of their frame, and rows that cannot be counted are refused."""

from __future__ import annotations

import random

import pytest
from made_scores import Record, frame, grid

from niah_score.errors import ScoreError
from niah_score.statistics.figures import cells, groups, overall
from niah_score.statistics.scored import Scored


def test_duplicate_ids_and_unknown_metrics_are_refused() -> None:
    with pytest.raises(ScoreError, match="'row' is on several lines"):
        Scored(frame([{"id": "row"}, {"id": "other"}, {"id": "row"}]))
    with pytest.raises(ScoreError, match="these scores have no metric 'bleu'; they have score, keyword"):
        cells(frame([{}]), "bleu")


def test_a_frame_prepared_once_has_the_same_figures() -> None:
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


def test_scores_that_differ_only_in_late_rows_are_not_treated_as_equal() -> None:
    rows: list[Record] = [{"score": 50.0, "keyword": 50.0 if number < 1999 else 0.0} for number in range(2000)]
    scored = Scored(frame(rows))
    assert overall(scored, "score").of_rows.mean == 50.0
    assert overall(scored, "keyword").of_rows.mean == pytest.approx(49.975)
    rows[1500]["keyword"] = None
    scored = Scored(frame(rows))
    assert (overall(scored, "score").of_rows.n, overall(scored, "keyword").of_rows.n) == (2000, 1999)


def test_asked_rows_exclude_controls_and_nothing_is_copied_if_there_are_none() -> None:
    rows: list[Record] = [{"score": 1.0}, {"score": 2.0, "control": "absent"}, {"score": 3.0}]
    scored = Scored(frame(rows))
    assert scored.asked.frame["score"].to_list() == [1.0, 3.0]
    assert scored.asked.asked is scored.asked
    plain = Scored(frame(rows[:1]).drop("control"))
    assert plain.asked is plain


def test_a_coordinate_without_a_column_is_null_in_every_row() -> None:
    factor = Scored(frame([{}, {}])).factor("part")
    assert (factor.values, factor.codes.tolist()) == ([None], [0, 0])
