"""Fields named by the user override those of the format."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from answer_files import ReadRecords, batch, chat, lm_eval_sample, only

from niah_score.contract import prompt_digest
from niah_score.errors import ScoreError
from niah_score.formats import Malformed, read_answers


def test_fields_named_by_the_user_override_those_of_the_format(read_records: ReadRecords) -> None:
    record = {"id": "no", "prediction": "no", "meta": {"row": 12, "a.b": [{"say": "yes"}]}}
    answer = only(read_records(record, id_field="meta.row", text_field="prediction"))
    assert (answer.id, answer.text) == ("12", "no")
    assert only(read_records({"m": "x", "t": "y"}, id_field="m", text_field="t")).text == "y"
    raw = {"row": "x", "choices": [chat("a"), chat("b")], "finish_reason": "length"}
    answer = only(read_records(raw, id_field="row", text_field="choices.1.message.content"))
    assert (answer.id, answer.text) == ("x", "b")
    assert only(read_records({"a.b": "x", "text": "y"}, id_field="a.b")).id == "x"
    renamed = only(read_records(lm_eval_sample(doc={"row": "r"}), id_field="doc.row"))
    assert (renamed.id, renamed.position, renamed.prompt_sha256) == ("r", None, prompt_digest("p"))
    kept = only(read_records(batch(chat("a", "length", note="b")), text_field="response.body.choices.0.message.note"))
    assert (kept.id, kept.text, kept.finish) == ("x", "b", "truncated")


def test_a_record_without_the_field_named_by_the_user_is_malformed(read_records: ReadRecords) -> None:
    records = read_records({"m": "x", "text": "y"}, {"id": "x", "text": "y"}, id_field="m")
    assert records[1] == Malformed(2, "no field 'm'; found 'id', 'text'")


def test_fields_named_by_the_user_select_columns_of_tables(tmp_path: Path) -> None:
    path = tmp_path / "t"
    path.write_text("row;answer;id\nx;y;no\n")
    answer = only(list(read_answers(path, id_field="row", text_field="answer")))
    assert (answer.id, answer.text) == ("x", "y")
    pq.write_table(pa.table({"meta": [{"row": "x"}], "answer": ["y"], "id": ["no"]}), path)
    answer = only(list(read_answers(path, id_field="meta.row", text_field="answer")))
    assert (answer.id, answer.text) == ("x", "y")
    with pytest.raises(ScoreError, match="no column 'nothing'; found 'meta', 'answer', 'id'"):
        list(read_answers(path, text_field="nothing"))
