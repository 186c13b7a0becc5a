"""Results of LLMTest_NeedleInAHaystack and needlehaystack 2 are answers to cells of a grid."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from answer_files import Read, ReadRecords, only, parts

from niah_score.formats import Malformed
from niah_score.formats.record import Coordinates

EXAMPLES = Path(__file__).parent / "examples"


def result(system: str, **more: Any) -> dict[str, Any]:
    """The first result of a system's example, with other values."""
    first, _ = (EXAMPLES / f"{system}.jsonl").read_bytes().split(b"\n", 1)
    return {**json.loads(first), **more}


def test_a_result_of_gkamradt_has_its_cell_needle_version_and_model(read_records: ReadRecords, read: Read) -> None:
    more = {"needle": "\nEat a sandwich.\n", "model": "m", "model_response": "A sandwich."}
    answer = only(read_records(result("gkamradt", version=2, **more)))
    assert (answer.id, answer.prompt_sha256, answer.position, answer.text) == (None, None, None, "A sandwich.")
    assert answer.coordinates == Coordinates(1000, 50.0, ("\nEat a sandwich.\n",), None, 2, "m", "gkamradt")
    old = result("gkamradt", context="...", file_name="x", **more)
    del old["version"]
    assert only(read(json.dumps(old))).coordinates == answer.coordinates._replace(run=None)
    assert len(read(json.dumps([old, old], indent=2))) == 2
    named = only(read_records({**old, "row": "r1"}, id_field="row"))
    assert (named.id, named.coordinates) == ("r1", None)


def test_a_result_with_an_invalid_field_is_malformed(read_records: ReadRecords) -> None:
    for wrong, message in (
        ({"context_length": 1000.5}, "context_length is 1000.5; expected a length in whole tokens"),
        ({"context_length": 0}, "context_length is 0; expected a length"),
        ({"context_length": None}, "context_length is None; expected a length"),
        ({"context_length": True}, "context_length is True; expected a length"),
        ({"depth_percent": 100.5}, "depth_percent is 100.5; expected a depth of 0 to 100 percent"),
        ({"depth_percent": "50"}, "depth_percent is '50'; expected a depth"),
        ({"version": "a"}, "version is 'a'; expected a whole number, or null"),
        ({"model": 4}, "model is 4; expected the name of a model"),
        ({"model_response": 42}, "the answer is not text: model_response is the number 42"),
    ):
        _, bad = read_records(result("gkamradt"), result("gkamradt", **wrong))
        assert isinstance(bad, Malformed)
        assert message in bad.message


def test_a_row_of_needlehaystack2_has_its_cell_seed_question_and_needles(read_records: ReadRecords) -> None:
    placed = [{"text": "1 maps to 2.", "insertion_token_index": 99, "actual_depth_percent": 9.9}]
    more = {"recipe": {"needle_placements": placed}, "expected_answer": "2", "prompt_question": "1?", "seed": 7}
    answer = only(read_records(result("needlehaystack2", response="2", **more)))
    assert (answer.id, answer.prompt_sha256, answer.position, answer.reference) == (None, None, None, ("2",))
    assert parts(answer) == ("2", None, "", None)
    cell = Coordinates(1000, 33.908016654811604, ("1 maps to 2.",), "1?", 7, "m", "needlehaystack2")
    assert answer.coordinates == cell
    more["seed"] = None
    failed = result("needlehaystack2", response=None, status="error", error="429: slow\ndown", **more)
    assert only(read_records(failed)).coordinates == cell._replace(run=None)
    assert parts(only(read_records(failed))) == (None, None, "", "429: slow down")
    assert parts(only(read_records({**failed, "error": None}))) == (None, None, "", "status 'error'")
