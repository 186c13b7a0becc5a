"""Details of lighteval: samples and places."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from niah_score.contract import prompt_digest
from niah_score.formats import Answer, read_answers


def details(specific: Any, name: str = "3", **response: Any) -> pa.Table:
    doc = {"query": "p", "choices": ["42", "7"], "gold_index": [0], "id": name, "specific": specific}
    return pa.Table.from_pylist([{"__doc__": doc, "__model_response__": {"text": ["a", "b"], **response}}])


def test_lighteval_samples_and_places(tmp_path: Path) -> None:
    path = tmp_path / "details.parquet"
    pq.write_table(details(None, reasonings=[None, "Hm."]), path)
    found = list(read_answers(path))
    assert [
        (r.id, r.position, r.prompt_sha256, r.sample, r.text, r.reasoning, r.reference)
        for r in found
        if isinstance(r, Answer)
    ] == [
        (None, 3, prompt_digest("p"), 0, "a", None, ("42",)),
        (None, 3, prompt_digest("p"), 1, "b", "Hm.", ("42",)),
    ]
    pq.write_table(details({"id": "x"}), path)
    assert {(r.id, r.position) for r in read_answers(path) if isinstance(r, Answer)} == {("x", None)}
