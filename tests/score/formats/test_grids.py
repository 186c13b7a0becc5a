"""Results of LLMTest_NeedleInAHaystack are answers to cells of a grid."""

from __future__ import annotations

from typing import Any

import pytest
from answer_files import Read, ReadRecords, only

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
