"""Result rows of needlehaystack 2: cells, seeds, needles, and cells whose model could not be reached.

The fields are those of rows that its own runner and store (2.0.0) wrote with a provider of canned answers.
"""

from __future__ import annotations

from typing import Any

from answer_files import ReadRecords, only, parts

from niah_score.formats.record import Coordinates

UUIDS = ("6513270e-269e-4d37-b2a7-4de452e6b438", "d23f0824-128b-4f33-8c5c-7fd0a6a3a450")


def row(**more: Any) -> dict[str, Any]:
    """A result row of a chain of one link."""
    return {
        "schema_version": 2,
        "run_name": "chain",
        "model_id": "m",
        "model_request_name": "m-2026",
        "task_type": "uuid_chain",
        "context_length": 1000,
        "target_depth_percent": 10.432013909620668,
        "recipe": {
            "haystack": {"type": "files", "path": "PaulGrahamEssays"},
            "inserter": "even_spread",
            "needle_placements": [
                {"text": f"{UUIDS[0]} maps to {UUIDS[1]}.", "insertion_token_index": 99, "actual_depth_percent": 9.9}
            ],
            "final_context_token_count": 1051,
        },
        "needle_metadata": {"chain": list(UUIDS), "start": UUIDS[0]},
        "expected_answer": UUIDS[1],
        "prompt_question": f"What is the value associated with {UUIDS[0]}?",
        "response": UUIDS[1],
        "score": {"value": 1.0, "details": {"hops_correct": 1, "chain_length": 2}},
        "usage": {"input_tokens": 1000, "output_tokens": 12},
        "cost_usd": None,
        "duration_seconds": 0.2,
        "status": "ok",
        "error": None,
        "timestamp_utc": "2026-05-22T10:11:54.546503+00:00",
        "seed": 7,
        **more,
    }


def test_a_row_yields_an_answer_with_its_cell_seed_question_and_needles(read_records: ReadRecords) -> None:
    answer = only(read_records(row()))
    assert (answer.id, answer.prompt_sha256, answer.position) == (None, None, None)
    assert parts(answer) == (UUIDS[1], None, "", None)
    assert answer.reference == (UUIDS[1],)
    needle, question = f"{UUIDS[0]} maps to {UUIDS[1]}.", f"What is the value associated with {UUIDS[0]}?"
    assert answer.coordinates == Coordinates(
        1000, 10.432013909620668, (needle,), question, 7, "m", "needlehaystack2"
    )  # fmt: skip


def test_a_failed_cell_yields_an_answer_with_an_error(read_records: ReadRecords) -> None:
    failed = row(response=None, score=None, usage=None, status="error", error="429: slow\ndown")
    assert parts(only(read_records(failed))) == (None, None, "", "429: slow down")
    assert parts(only(read_records({**failed, "error": None}))) == (None, None, "", "status 'error'")


def test_a_row_without_a_seed_has_no_run_number(read_records: ReadRecords) -> None:
    answer = only(read_records(row(seed=None)))
    assert answer.coordinates is not None
    assert answer.coordinates.run is None


def test_a_row_without_a_recipe_keeps_its_cell_without_needles(read_records: ReadRecords) -> None:
    answer = only(read_records(row(recipe=None)))
    assert answer.coordinates is not None
    assert answer.coordinates.needles == ()
