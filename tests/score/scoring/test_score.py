"""Scored rows have a status, a finding, the scores of the metrics asked for, and the score of their own metric."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl
from each import each

from niah_score.join.reading import LONGEST
from niah_score.metrics import Target
from niah_score.scoring.findings import FINDINGS, STATUSES
from niah_score.scoring.score import ScoringOptions, score_chunk

# A row of the needle `gate` with a complete answer.
ROW: dict[str, Any] = {
    "sample": 0, "text": "The gate is blue.", "reasoning": None, "finish": None, "error": None, "metric": "keyword",
}  # fmt: skip
TARGET: dict[str, Any] = {
    "answers": ("The gate is blue.",), "keywords": (("blue", "azure"), ("gate",)), "needles": ("The gate is blue.",),
    "prefix": None, "language": "en", "decoys": (),
}  # fmt: skip
SCHEMA: dict[str, Any] = {**dict.fromkeys(ROW, pl.String), "sample": pl.Int64}
UNANSWERED = {"sample": None, "text": None}


def all_scored(rows: Sequence[dict[str, Any]], **how: Any) -> list[dict[str, Any]]:
    frame = pl.DataFrame([{name: row.get(name, ROW[name]) for name in ROW} for row in rows], schema=SCHEMA)
    targets = [Target(**{name: row.get(name, TARGET[name]) for name in TARGET}) for row in rows]
    options = ScoringOptions(**{"metrics": ("keyword",), **how})
    codes = pl.Series(range(len(targets)), dtype=pl.UInt32)
    return score_chunk(frame, codes, targets, options).to_dicts()


def scored(how: dict[str, Any] | None = None, **row: Any) -> dict[str, Any]:
    (result,) = all_scored([row], **how or {})
    return result


STATES: list[tuple[dict[str, Any], str, str | None]] = [
    ({}, "ok", "found"), ({"text": "AZURE, the gate"}, "ok", "found"),
    ({"text": "The text does not say. Perhaps the gate is blue."}, "ok", "hedged"),
    ({"text": "The gate is blue. The text does not say why."}, "ok", "found"),
    ({"text": "The gate is green."}, "ok", "partly"), ({"text": "It does not mention a gate."}, "ok", "said_absent"),
    ({"text": "The lamp at the gate is red."}, "ok", "partly"), ({"text": "The lamp."}, "ok", "nothing"),
    ({"text": "The lamp is red."}, "ok", "nothing"),
    ({"text": "The lamp is red.", "decoys": (("red",),)}, "ok", "wrong_needle"),
    ({"text": "A coredlamp"}, "ok", "nothing"), ({"text": "The lamp is red, the gate is blue."}, "ok", "found"),
    ({"text": "I don't know."}, "ok", "said_absent"), ({"text": "The text does not mention it."}, "ok", "said_absent"),
    ({"text": "<think>blue gate</think>"}, "empty", "no_answer"),
    ({"text": "<think>blue gate</think>", "finish": "truncated"}, "think_unclosed", "truncated"),
    ({"text": "I'm sorry, but I can't assist with that."}, "ok", "refused"),
    ({"text": "", "finish": "refused"}, "refused", "refused"),
    ({"text": "The gate is blue.", "finish": "refused"}, "refused", "refused"),
    ({"finish": "truncated"}, "truncated", "found"),
    ({"text": "The gate is gr", "finish": "truncated"}, "truncated", "truncated"),
    ({"text": "I'm sorry, I can't help", "finish": "truncated"}, "truncated", "truncated"),
    ({"text": "<think>The gate is blue"}, "think_unclosed", "truncated"),
    ({"text": "<think>The gate is blue", "finish": "truncated"}, "think_unclosed", "truncated"),
    ({"text": "", "finish": "truncated", "reasoning": "The gate"}, "think_unclosed", "truncated"),
    ({"text": "", "finish": "truncated"}, "truncated", "truncated"), ({"text": " \n"}, "empty", "no_answer"),
    ({"text": None}, "empty", "no_answer"), ({**UNANSWERED, "error": "x", "finish": "refused"}, "missing", "no_answer"),
    ({"text": "<think>red", "error": "x", "finish": "refused"}, "error", "no_answer"),
    ({"text": "<think>red", "finish": "refused"}, "refused", "refused"),
    ({"text": " ", "finish": "truncated", "reasoning": "The gate"}, "think_unclosed", "truncated"),
    ({"text": " ", "finish": "truncated"}, "truncated", "truncated"),
    ({"text": " ", "finish": "stop", "reasoning": "The gate"}, "empty", "no_answer"),
    ({"text": "<think>red</think>", "finish": "stop"}, "empty", "no_answer"),
    ({"text": "<think>red</think>blue", "finish": "truncated"}, "truncated", "truncated"),
    ({"finish": "tool_calls"}, "ok", "found"), ({"finish": ""}, "ok", "found"),
    ({"text": None, "error": "rate limit"}, "error", "no_answer"),
    ({"error": "rate limit"}, "error", "no_answer"), (UNANSWERED, "missing", "no_answer"),
    ({"text": "<think>blue gate</think>It is red."}, "ok", "nothing"), ({"keywords": ()}, "ok", None),
    ({"keywords": (), "text": ""}, "empty", "no_answer"),
]  # fmt: skip


@each(("row", "status", "finding"), STATES)
def test_a_row_has_a_status_and_a_finding(row: dict[str, Any], status: str, finding: str | None) -> None:
    result = scored(**row)
    assert (result["status"], result["finding"]) == (status, finding)
    assert status in STATUSES
    assert finding is None or finding in FINDINGS


def test_the_examples_cover_every_status_and_finding() -> None:
    assert {status for _, status, _ in STATES} == set(STATUSES)
    assert {finding for _, _, finding in STATES} - {None} == set(FINDINGS)


def test_the_text_of_a_row_is_scored_whatever_its_status() -> None:
    rows: list[dict[str, Any]] = [
        {"error": "rate limit"},
        {"finish": "truncated"},
        {"finish": "refused"},
        {"text": "<think>blue gate"},
    ]
    assert [row["score"] for row in all_scored(rows)] == [100, 100, 100, 0]


def test_a_missing_row_counts_as_0_or_not_at_all() -> None:
    metrics = ("keyword", "edit", "cdme")
    for missing, expected in (("zero", 0.0), ("exclude", None)):
        missed, answered = all_scored([UNANSWERED, {}], metrics=metrics, missing=missing)
        assert [missed[name] for name in (*metrics, "score")] == [expected] * 4
        assert missed["keyword.found"] is missed["cdme.edit_distance"] is None
        assert (answered["score"], answered["keyword.found"], answered["cdme.edit_distance"]) == (100, 2, 0)


def test_of_a_long_answer_the_last_part_is_judged_and_it_is_marked_as_capped() -> None:
    fitting = "blue gate " + "x" * (LONGEST - 10)
    for text, score, capped in ((fitting, 100, False), (f"{fitting}xxxxx", 50, True)):
        result = scored(text=text)
        assert (result["score"], result["capped"]) == (score, capped)
    assert scored(**UNANSWERED)["capped"] is False


def test_a_row_with_a_metric_unknown_to_this_release_has_no_score() -> None:
    unknown, known = all_scored([{"metric": "of_next_year"}, {}])
    assert unknown["score"] is None
    assert unknown["keyword"] == known["score"] == 100
    assert "of_next_year" not in unknown


def test_every_row_has_the_score_of_its_own_metric() -> None:
    rows = [{"metric": "keyword"}, {"metric": "ruler_part", "text": "x the gate is blue. x"}, {"metric": "exact"}]
    results = all_scored(rows)
    assert [row["score"] for row in results] == [100, 100, 100]
    assert [row["ruler_part"] for row in results] == [None, 100, None]
    assert [row["exact"] for row in results] == [None, None, 100]
    assert [row["keyword"] for row in results] == [100, 100, 100]


def test_published_metrics_judge_the_raw_answer_and_ours_the_extracted_one() -> None:
    row = {"text": "<think>The gate is blue.</think>It is red.", "metric": "ruler_part"}
    scores = {
        text: (result["keyword"], result["ruler_part"], result["extracted"])
        for text in ("own", "raw", "extracted")
        for result in [scored({"text": text}, **row)]
    }
    assert scores == {
        "own": (0, 100, "It is red."), "raw": (100, 100, "It is red."), "extracted": (0, 0, "It is red."),
    }  # fmt: skip


def test_the_extracted_answer_is_recorded_only_where_it_differs() -> None:
    assert scored()["extracted"] is None
    assert scored(text=" The gate")["extracted"] == "The gate"
    assert scored(text="<think>")["extracted"] == ""


def test_own_tags_and_prefixes_are_removed_from_the_answer() -> None:
    assert scored({"tags": (("((", "))"),)}, text="((red))blue gate")["extracted"] == "blue gate"
    assert scored(text="Answer: blue gate", prefix="Answer:")["extracted"] == "blue gate"
