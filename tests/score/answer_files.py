"""Makes good and broken answer files, and picks values out of the records read from them."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from niah_score.formats import Answer, Malformed

Read = Callable[..., list[Answer | Malformed]]
Write = Callable[[bytes | str], Path]

GOOD = '{"id": "good", "prediction": "42"}\n'


def texts(records: list[Answer | Malformed]) -> dict[str | None, str | None]:
    """The texts of answers by id, none of them malformed."""
    assert all(isinstance(record, Answer) for record in records), records
    return {record.id: record.text for record in records if isinstance(record, Answer)}


def problem(records: list[Answer | Malformed], line: int = 2) -> str:
    """The message of the one malformed record; all its neighbours are intact."""
    (malformed,) = [record for record in records if isinstance(record, Malformed)]
    assert malformed.line == line
    assert [record.id for record in records if isinstance(record, Answer)] == ["good"] * (len(records) - 1)
    assert len(records) > 1
    return malformed.message


def between(line: str) -> str:
    """A line between two good ones."""
    return GOOD + line + "\n" + GOOD


def parquet(rows: int = 200, **options: object) -> bytes:
    """A Parquet file of ids and predictions."""
    sink = io.BytesIO()
    columns = {"id": [f"r{n}" for n in range(rows)], "prediction": [f"answer {n**5}" for n in range(rows)]}
    pq.write_table(pa.table(columns), sink, **{"write_page_checksum": True, "compression": "none", **options})
    return sink.getvalue()


def parquet_bomb(size: int, rows: int) -> bytes:
    """A small Parquet file whose rows are all copies of one long text."""
    sink = io.BytesIO()
    column = pa.DictionaryArray.from_arrays(pa.array([0] * rows, pa.int32()), pa.array(["x" * size]))
    names = pa.DictionaryArray.from_arrays(pa.array([0] * rows, pa.int32()), pa.array(["a"]))
    pq.write_table(pa.table({"id": names, "prediction": column}), sink, compression="zstd", store_schema=False)
    return sink.getvalue()


def only(records: list[Answer | Malformed]) -> Answer:
    """The one record, which is an answer."""
    (record,) = records
    assert isinstance(record, Answer), record
    return record


def parts(record: Answer) -> tuple[str | None, str | None, str, str | None]:
    """An answer's text, reasoning, finish and error."""
    return record.text, record.reasoning, record.finish, record.error


def chat(content: Any = "42", finish: str | None = "stop", **message: Any) -> dict[str, Any]:
    """A choice of a chat completion."""
    return {"index": 0, "message": {"role": "assistant", "content": content, **message}, "finish_reason": finish}


def batch(*choices: dict[str, Any], **body: Any) -> dict[str, Any]:
    """A line of a batch output with some choices."""
    return {
        "custom_id": "x",
        "response": {"status_code": 200, "body": {"object": "chat.completion", "choices": list(choices), **body}},
        "error": None,
    }


def lm_eval_sample(
    filter: str = "none", resps: Any = (("42",),), filtered: Any = ("42",), **more: Any
) -> dict[str, Any]:
    """One line of a samples file of lm-evaluation-harness."""
    return {
        "doc_id": 5,
        "doc": {"id": "x"},
        "arguments": {"gen_args_0": {"arg_0": "p"}},
        "resps": resps,
        "filtered_resps": filtered,
        "filter": filter,
        **more,
    }
