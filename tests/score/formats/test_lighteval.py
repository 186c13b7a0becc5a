"""lighteval details as each release writes them: ids, samples, positions and references."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from each import each

from niah_score.contract import prompt_digest
from niah_score.errors import ScoreError
from niah_score.formats import Answer, Malformed, read_answers

PARTS = [("doc", "model_response"), ("__doc__", "__model_response__")]


def details(parts: tuple[str, str], specific: Any, name: str = "3", **response: Any) -> pa.Table:
    doc = {"query": "p", "choices": ["42", "7"], "gold_index": [0], "id": name, "specific": specific}
    return pa.Table.from_pylist([{parts[0]: doc, "metric": {"em": 0}, parts[1]: {"text": ["a", "b"], **response}}])


@each("parts", PARTS)
def test_details_yield_an_answer_per_sample_with_its_id_or_position(tmp_path: Path, parts: tuple[str, str]) -> None:
    path = tmp_path / "details.parquet"
    pq.write_table(details(parts, None, reasonings=[None, "Hm."]), path)
    records = list(read_answers(path))
    assert [
        (r.id, r.position, r.prompt_sha256, r.sample, r.text, r.reasoning, r.reference)
        for r in records
        if isinstance(r, Answer)
    ] == [
        (None, 3, prompt_digest("p"), 0, "a", None, ("42",)),
        (None, 3, prompt_digest("p"), 1, "b", "Hm.", ("42",)),
    ]
    pq.write_table(details(parts, {"id": "x"}), path)
    assert {(r.id, r.position) for r in read_answers(path) if isinstance(r, Answer)} == {("x", None)}


def test_fields_named_by_the_user_override_those_of_lighteval(tmp_path: Path) -> None:
    path = tmp_path / "details.parquet"
    pq.write_table(details(PARTS[0], {"id": "x", "row": "y"}, other=["c", "d"]), path)
    for options, expected in (
        ({"id_field": "doc.specific.row"}, [("y", "a"), ("y", "b")]),
        ({"text_field": "model_response.other.1"}, [("x", "d")]),
        ({"id_field": "doc.specific.row", "text_field": "model_response.text.0"}, [("y", "a")]),
    ):
        assert [(r.id, r.text) for r in read_answers(path, **options) if isinstance(r, Answer)] == expected
    with pytest.raises(ScoreError, match="no column 'docs'; found 'doc', "):
        list(read_answers(path, id_field="docs.id"))


@each("specifics", [{"id": "x", "length": 1}, {"length": 1}, None])
def test_flat_details_are_identified_by_the_id_in_their_specifics_or_their_prompt(
    tmp_path: Path, specifics: dict[str, Any] | None
) -> None:
    path = tmp_path / "details.parquet"
    row = {
        "example": "p", "full_prompt": "<s>p", "gold": ["42"], "gold_index": [], "predictions": ["a", "b"],
        "specifics": specifics,
    }  # fmt: skip
    pq.write_table(pa.Table.from_pylist([row]), path)
    answers = [record for record in read_answers(path) if isinstance(record, Answer)]
    name = None if specifics is None else specifics.get("id")
    assert [(r.id, r.prompt_sha256, r.sample, r.text, r.reference) for r in answers] == [
        (name, prompt_digest("p"), 0, "a", ("42",)),
        (name, prompt_digest("p"), 1, "b", ("42",)),
    ]


def test_details_with_predictions_that_are_not_a_list_are_malformed(tmp_path: Path) -> None:
    path = tmp_path / "details.parquet"
    pq.write_table(
        pa.table({"example": ["p"], "gold": [["42"]], "predictions": ["a"], "specifics": [{"id": "x"}]}), path
    )
    (record,) = read_answers(path)
    assert isinstance(record, Malformed)
    assert record.message == "the answer is not text: predictions is not a list; expected generated texts"
