"""How often each needle of a row was found, missing answers included."""

from __future__ import annotations

from made_scores import Record, frame

from niah_score.statistics.needle_recall import needle_recall


def test_needle_recall_is_per_position_and_counts_missing_answers_as_scores_do() -> None:
    rows: list[Record] = [
        {"needle_id": "three", "keyword": 100.0, "keyword.needles": [True, False, None]},
        {"needle_id": "three", "keyword": 50.0, "keyword.needles": [True, True, None]},
        {"needle_id": "two", "keyword": 50.0, "keyword.needles": [False, True]},
        {"needle_id": "one", "keyword": 100.0},
        {"needle_id": "three", "keyword": 0.0, "status": "missing"},
        {"needle_id": "two", "keyword": None, "status": "missing"},
        {"needle_id": "one", "keyword": 0.0, "status": "missing"},
    ]
    recall = needle_recall(frame(rows))
    assert recall.select("position", "rows", "n", "unanswered").rows() == [(1, 5, 4, 2), (2, 5, 4, 2), (3, 3, 0, 1)]
    assert recall["mean"].to_list() == [50.0, 50.0, None]
    assert needle_recall(frame(rows[3:4])).height == 0
