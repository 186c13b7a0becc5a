"""JSON documents: read whole or not at all, numbered by record."""

from __future__ import annotations

import json

import pytest
from answer_files import GOOD, Read, problem

from niah_score.errors import ScoreError


def test_a_duplicate_key_at_the_top_of_a_document_is_an_error(read: Read) -> None:
    shard = '{\n"0": {"origin_prompt": "p", "prediction": "a"},\n"0": {"origin_prompt": "p", "prediction": "b"}\n}'
    with pytest.raises(ScoreError, match="key '0' appears twice"):
        read(shard)


def test_arrays_are_accepted_and_numbered_by_record(read: Read) -> None:
    records = read("[\n\n" + ",\n".join([GOOD, "17", GOOD]) + "]")
    assert "not a JSON object" in problem(records)


def test_one_object_over_several_lines_is_reported(read: Read) -> None:
    with pytest.raises(ScoreError, match=r"one JSON object over several lines.*jq -c"):
        read(json.dumps({"id": "a", "prediction": "x"}, indent=2))


def test_deeply_nested_documents_are_refused(read: Read) -> None:
    with pytest.raises(ScoreError, match="nesting deeper than 64"):
        read("[" * 100_000)
