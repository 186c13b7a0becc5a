"""Results of LLMTest_NeedleInAHaystack and needlehaystack 2 are answers to cells of a grid."""

from __future__ import annotations

from typing import Any

import pytest
from answer_files import Read, ReadRecords, only, parts

from niah_score.formats import Answer, Malformed
from niah_score.formats.record import Coordinates


def result(**more: Any) -> dict[str, Any]:
    """A result with the fields that the tester writes."""
    return {
        "model": "gpt-4",
        "context_length": 1000,
        "depth_percent": 50.0,
        "version": 1,
        "needle": "\nEat a sandwich.\n",
        "model_response": "A sandwich.",
        "score": 10,
        "test_duration_seconds": 1.5,
        "test_timestamp_utc": "2024-03-01 10:00:00+0000",
        **more,
    }


def test_a_result_yields_an_answer_with_its_cell_needle_and_model(read_records: ReadRecords) -> None:
    answer = only(read_records(result(version=2)))
    assert (answer.id, answer.prompt_sha256, answer.position, answer.text) == (None, None, None, "A sandwich.")
    assert answer.coordinates == Coordinates(1000, 50.0, ("\nEat a sandwich.\n",), None, 2, "gpt-4", "gkamradt")


def test_old_results_with_a_context_and_no_version_are_read(read_records: ReadRecords) -> None:
    old = {name: value for name, value in result(context="...", file_name="x").items() if name != "version"}
    answer = only(read_records(old))
    assert answer.coordinates is not None
    assert answer.coordinates.run is None


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"context_length": 1000.5}, "context_length is 1000.5; expected a length in whole tokens"),
        ({"context_length": 0}, "context_length is 0; expected a length"),
        ({"context_length": None}, "context_length is None; expected a length"),
        ({"context_length": True}, "context_length is True; expected a length"),
        ({"depth_percent": 100.5}, "depth_percent is 100.5; expected a depth of 0 to 100 percent"),
        ({"depth_percent": "50"}, "depth_percent is '50'; expected a depth"),
        ({"version": "a"}, "version is 'a'; expected a whole number, or null"),
        ({"model": 4}, "model is 4; expected the name of a model"),
        ({"model_response": 42}, "the answer is not text: model_response is the number 42"),
    ],
)
def test_a_result_with_an_invalid_field_is_malformed(
    read_records: ReadRecords, wrong: dict[str, Any], message: str
) -> None:
    good, bad = read_records(result(), result(**wrong))
    assert isinstance(good, Answer)
    assert isinstance(bad, Malformed)
    assert message in bad.message


def test_an_id_field_named_by_the_user_replaces_the_cell(read_records: ReadRecords) -> None:
    answer = only(read_records(result(row="r1"), id_field="row"))
    assert (answer.id, answer.coordinates) == ("r1", None)


def test_files_with_one_result_and_lists_of_results_are_read(read: Read) -> None:
    import json

    assert only(read(json.dumps(result()))).text == "A sandwich."
    assert len(read(json.dumps([result(), result(depth_percent=0)], indent=2))) == 2


# needlehaystack2 ------------------------------------------------------------------------------------------------------


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
