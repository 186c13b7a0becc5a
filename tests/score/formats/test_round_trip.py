"""Answers written as each stack writes them are read back with the same ids and texts, whatever is in them."""

from __future__ import annotations

import csv
import gzip
import io
import json
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard
from each import each
from hypothesis import example, given
from hypothesis import strategies as st
from properties import examples

from niah_score.contract import prompt_digest
from niah_score.formats import FORMATS, Answer, read_answers

EXAMPLES = Path(__file__).parent / "examples"
TEXTS = [
    "It is 42.",
    'She said "forty-two",\nthen left; a\ttab, a \\ and : "key": {[.',
    "NUL \0, line separator \u2028, next line \x85, carriage\rreturn",
    "🙂 👩\u200d🚀 é e\u0301",
    "铜钥匙挂在钟楼的第七级台阶旁。",
    "",
]
IDS = [f"52c3b6fc-en_essays-1000-d0500-velden-archive-r{number}-b1cdb100c5bb" for number in range(6)]
PROMPT = "Read the text.\n\nWhere is the key? "

Pairs = list[tuple[str, str]]


def lines(records: list[Any], *, ascii_only: bool = False) -> bytes:
    return "".join(json.dumps(record, ensure_ascii=ascii_only) + "\n" for record in records).encode()


def chat_body(text: str) -> dict[str, Any]:
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1763000000,
        "model": "m",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": text, "refusal": None},
                "logprobs": None,
                "finish_reason": "stop",
            }
        ],
        "usage": {
            "prompt_tokens": 8000,
            "completion_tokens": 90,
            "completion_tokens_details": {"reasoning_tokens": 64},
        },
    }


def openai_batch(pairs: Pairs) -> bytes:
    return lines(
        [
            {
                "id": f"batch_req_{number}",
                "custom_id": name,
                "response": {"status_code": 200, "request_id": "r", "body": chat_body(text)},
                "error": None,
            }
            for number, (name, text) in enumerate(pairs)
        ],
        ascii_only=True,
    )


def openai_responses(pairs: Pairs) -> bytes:
    return lines(
        [
            {
                "id": "batch_req_1",
                "custom_id": name,
                "response": {
                    "status_code": 200,
                    "body": {
                        "object": "response",
                        "status": "completed",
                        "incomplete_details": None,
                        "output": [
                            {"type": "reasoning", "summary": []},
                            {
                                "type": "message",
                                "role": "assistant",
                                "content": [{"type": "output_text", "annotations": [], "text": text}],
                            },
                        ],
                    },
                },
                "error": None,
            }
            for name, text in pairs
        ]
    )


def vllm_batch(pairs: Pairs) -> bytes:
    return lines(
        [
            {
                "id": "vllm-0f3c",
                "custom_id": name,
                "response": {"status_code": 200, "request_id": "vllm-batch-9a", "body": chat_body(text)},
                "error": None,
            }
            for name, text in pairs
        ]
    )


def anthropic_batch(pairs: Pairs) -> bytes:
    return lines(
        [
            {
                "custom_id": name,
                "result": {
                    "type": "succeeded",
                    "message": {
                        "id": "msg_1",
                        "type": "message",
                        "role": "assistant",
                        "content": [{"type": "thinking", "thinking": "", "signature": "s"}]
                        + [{"type": "text", "text": part} for part in (text[:3], text[3:]) if part],
                        "stop_reason": "end_turn",
                        "usage": {"input_tokens": 8000, "output_tokens": 90},
                    },
                },
            }
            for name, text in pairs
        ]
    )


def candidate(text: str) -> dict[str, Any]:
    return {
        "candidates": [
            {
                "content": {"role": "model", "parts": [{"text": "Hm.", "thought": True}, {"text": text}]},
                "finishReason": "STOP",
            }
        ],
        "usageMetadata": {"promptTokenCount": 8000, "thoughtsTokenCount": 64},
    }


def gemini_batch(pairs: Pairs) -> bytes:
    return lines([{"key": name, "response": candidate(text)} for name, text in pairs])


def vertex_batch(pairs: Pairs) -> bytes:
    return lines(
        [
            {
                "status": "",
                "processed_time": "2026-01-01T00:00:00.000+00:00",
                "request": {
                    "contents": [{"role": "user", "parts": [{"text": PROMPT + name}]}],
                    "generationConfig": {"temperature": 0},
                },
                "response": candidate(text),
            }
            for name, text in pairs
        ]
    )


def lm_eval(pairs: Pairs) -> bytes:
    return lines(
        [
            {
                "doc_id": number,
                "doc": {"id": name, "prompt": PROMPT + name, "answers": ["42"]},
                "target": "42",
                "arguments": {"gen_args_0": {"arg_0": PROMPT + name, "arg_1": {"until": []}}},
                "resps": [[text]],
                "filtered_resps": [text],
                "filter": "none",
                "metrics": ["exact_match"],
                "doc_hash": "0f",
                "exact_match": 0.0,
            }
            for number, (name, text) in enumerate(pairs)
        ]
    )


def inspect_sample(name: str, text: str) -> dict[str, Any]:
    return {
        "id": name,
        "epoch": 1,
        "input": PROMPT + name,
        "target": ["42"],
        "messages": [{"role": "user", "content": PROMPT + name}, {"role": "assistant", "content": text}],
        "output": {
            "model": "m",
            "choices": [{"message": {"role": "assistant", "content": text}, "stop_reason": "stop"}],
            "completion": text,
            "usage": {"input_tokens": 8000},
        },
        "scores": {"includes": {"value": "C"}},
    }


def inspect_json(pairs: Pairs) -> bytes:
    log = {
        "version": 2,
        "status": "success",
        "eval": {"task": "niah", "model": "m"},
        "results": {"scores": []},
        "samples": [inspect_sample(name, text) for name, text in pairs],
    }
    return json.dumps(log, indent=2, ensure_ascii=False).encode()


def zipped(members: list[tuple[str, bytes]], method: int = 93) -> bytes:
    """A zip with members compressed by zstd, which the standard library writes only from Python 3.14 on."""
    body, directory = bytearray(), bytearray()
    for name, data in members:
        packed = zstandard.compress(data) if method == 93 else data
        common = struct.pack(
            "<5H3L2H", 63, 0, method, 0, 0x21, zlib.crc32(data), len(packed), len(data), len(name.encode()), 0
        )
        directory += b"PK\x01\x02" + struct.pack("<H", 63) + common + struct.pack("<3H2L", 0, 0, 0, 0, len(body))
        directory += name.encode()
        body += b"PK\x03\x04" + common + name.encode() + packed
    counts = struct.pack("<4H2LH", 0, 0, len(members), len(members), len(directory), len(body), 0)
    return bytes(body + directory) + b"PK\x05\x06" + counts


def inspect_eval(pairs: Pairs) -> bytes:
    samples = [
        (f"samples/{number}_epoch_1.json", json.dumps(inspect_sample(name, text), indent=2).encode())
        for number, (name, text) in enumerate(pairs)
    ]
    return zipped([("_journal/start.json", b"{}"), *samples, ("summaries.json", b"[]"), ("header.json", b"{}")])


def parquet(table: pa.Table) -> bytes:
    sink = io.BytesIO()
    pq.write_table(table, sink, write_page_checksum=True)
    return sink.getvalue()


def lighteval_writer(doc: str, metric: str, response: str) -> Callable[[Pairs], bytes]:
    def write(pairs: Pairs) -> bytes:
        rows = [
            {
                doc: {
                    "query": PROMPT + name,
                    "choices": ["42"],
                    "gold_index": [0],
                    "id": str(number),
                    "specific": {"id": name},
                },
                metric: {"em": 0.0},
                response: {
                    "input": [{"role": "user", "content": PROMPT + name}],
                    "text": [text],
                    "input_tokens": [1, 2],
                    "reasonings": [None],
                },
            }
            for number, (name, text) in enumerate(pairs)
        ]
        return parquet(pa.Table.from_pylist(rows))

    return write


def lighteval_flat(pairs: Pairs) -> bytes:
    rows = [
        {
            "choices": [],
            "cont_tokens": [[3]],
            "example": PROMPT + name,
            "full_prompt": f"<|im_start|>user\n{PROMPT}{name}<|im_end|>\n",
            "gold": ["42"],
            "gold_index": [],
            "input_tokens": [[1, 2]],
            "instruction": "",
            "metrics": {"em": 0.0},
            "predictions": [text],
            "pred_logits": [],
            "specifics": {"id": name, "keywords": [["42"]]},
            "truncated": [0],
        }
        for name, text in pairs
    ]
    return parquet(pa.Table.from_pylist(rows))


def opencompass(pairs: Pairs) -> bytes:
    return json.dumps(
        {
            str(number): {
                "origin_prompt": [{"role": "HUMAN", "prompt": PROMPT + name}],
                "prediction": text,
                "gold": "42*key",
            }
            for number, (name, text) in enumerate(pairs)
        },
        indent=4,
        ensure_ascii=False,
    ).encode()


def ruler(pairs: Pairs) -> bytes:
    return lines(
        [
            {
                "index": 7,
                "pred": text,
                "input": PROMPT + name,
                "outputs": ["42"],
                "others": {},
                "truncation": -1,
                "length": 3899,
            }
            for name, text in pairs
        ],
        ascii_only=True,
    )


def helmet(pairs: Pairs) -> bytes:
    data = [
        {
            "question": "Where?",
            "answer": "42",
            "output": text,
            "input_len": 8000,
            "output_len": 9,
            "input_text": name,
            "parsed_output": None,
        }
        for name, text in pairs
    ]
    return json.dumps({"args": {"seed": 42}, "data": data, "metrics": {"em": [0]}}, indent=4).encode()


def longbench(pairs: Pairs) -> bytes:
    return lines([{"pred": text, "answers": ["42"], "all_classes": None, "length": 8000} for _, text in pairs])


def gkamradt(pairs: Pairs) -> bytes:
    return lines(
        [
            {
                "model": "gpt-4-0125-preview",
                "context_length": 1000 * (number + 1),
                "depth_percent": 50.0,
                "version": 1,
                "needle": f"\n{name}\n",
                "model_response": text,
                "score": 10,
                "test_duration_seconds": 1.5,
                "test_timestamp_utc": "2024-03-01 10:00:00+0000",
            }
            for number, (name, text) in enumerate(pairs)
        ],
        ascii_only=True,
    )


def needlehaystack2(pairs: Pairs) -> bytes:
    """With the fields of the rows that its runner and its store write (2.0.0)."""
    return lines(
        [
            {
                "schema_version": 2,
                "run_name": "single",
                "model_id": "m",
                "model_request_name": "m-2026",
                "task_type": "single",
                "context_length": 1000 * (number + 1),
                "target_depth_percent": 33.908016654811604,
                "recipe": {
                    "haystack": {"type": "files", "path": "PaulGrahamEssays"},
                    "inserter": "single_depth",
                    "needle_placements": [{"text": name, "insertion_token_index": 327, "actual_depth_percent": 32.7}],
                    "final_context_token_count": 1023,
                },
                "needle_metadata": {},
                "expected_answer": "42",
                "prompt_question": "Where?",
                "response": text,
                "score": {"value": 0.0, "details": {"matches": 0, "total": 1}},
                "usage": {"input_tokens": 1000, "output_tokens": 12},
                "cost_usd": None,
                "duration_seconds": 0.2,
                "status": "ok",
                "error": None,
                "timestamp_utc": "2026-05-22T10:11:54.546503+00:00",
                "seed": None,
            }
            for number, (name, text) in enumerate(pairs)
        ]
    )


def langsmith(pairs: Pairs) -> bytes:
    """Runs with the fields that langsmith 0.15.0 dumps."""
    return lines(
        [
            {
                "id": "01a202bd-dc52-780c-b76b-e50fb8f97158",
                "name": "Target",
                "start_time": "2026-05-22T10:12:06.866701Z",
                "run_type": "chain",
                "end_time": "2026-05-22T10:12:06.867246Z",
                "extra": {"metadata": {"revision_id": None, "num_repetitions": 1, "ls_method": "traceable"}},
                "error": None,
                "serialized": None,
                "events": [],
                "inputs": {"id": name, "prompt": PROMPT + name, "max_new_tokens": 100},
                "outputs": {"prediction": text},
                "reference_example_id": "00000000-0000-0000-0000-000000000064",
                "parent_run_id": None,
                "tags": [],
                "session_id": None,
                "feedback_stats": None,
                "status": None,
                "trace_id": "01a202bd-dc52-780c-b76b-e50fb8f97158",
            }
            for name, text in pairs
        ]
    )


def langsmith_csv(pairs: Pairs) -> bytes:
    """The columns of `ExperimentResults.to_pandas()`, as its `to_csv` writes them."""
    sink = io.StringIO(newline="")
    rows = csv.writer(sink)
    names = (
        "inputs.id inputs.prompt outputs.prediction error reference.answer feedback.correct execution_time example_id"
    )
    rows.writerow([*names.split(), "id", "outputs.output"])
    for number, (name, text) in enumerate(pairs):
        rows.writerow([name, PROMPT + name, text, "", "42", 1, 0.000168, f"e{number}", f"r{number}", ""])
    return sink.getvalue().encode()


def plain(pairs: Pairs) -> bytes:
    return lines([{"id": name, "prediction": text} for name, text in pairs])


def plain_array(pairs: Pairs) -> bytes:
    return json.dumps([{"sample_id": name, "completion": text} for name, text in pairs], indent=2).encode()


def plain_messages(pairs: Pairs) -> bytes:
    return lines(
        [
            {
                "id": name,
                "generated_text": [
                    {"role": "user", "content": "..."},
                    {"role": "assistant", "content": [{"type": "text", "text": text}]},
                ],
            }
            for name, text in pairs
        ]
    )


def ordered(pairs: Pairs) -> bytes:
    return lines([{"prediction": text, "answers": ["42"]} for _, text in pairs])


def table_writer(separator: str) -> Callable[[Pairs], bytes]:
    def write(pairs: Pairs) -> bytes:
        sink = io.StringIO(newline="")
        rows = csv.writer(sink, delimiter=separator, quoting=csv.QUOTE_ALL)
        rows.writerows([("id", "model", "prediction"), *((name, "m", text) for name, text in pairs)])
        return sink.getvalue().encode()

    return write


def plain_parquet(pairs: Pairs) -> bytes:
    return parquet(
        pa.table(
            {"id": [name for name, _ in pairs], "tokens": [1.5] * len(pairs), "output": [text for _, text in pairs]}
        )
    )


# Format, suffix, writer. Formats without ids are matched by prompt, by position or by cell.
WRITERS: dict[str, tuple[str, str, Callable[[Pairs], bytes]]] = {
    "openai_batch": ("openai-batch", ".jsonl", openai_batch),
    "openai_responses": ("openai-responses", ".jsonl", openai_responses),
    "vllm_batch": ("vllm-batch", ".jsonl", vllm_batch),
    "anthropic_batch": ("anthropic-batch", ".jsonl", anthropic_batch),
    "vertex_batch": ("vertex-batch", ".jsonl", vertex_batch),
    "gemini_batch": ("gemini-batch", ".jsonl", gemini_batch),
    "lm_eval": ("lm-eval", ".jsonl", lm_eval),
    "inspect_json": ("inspect-json", ".json", inspect_json),
    "inspect_eval": ("inspect-eval", ".eval", inspect_eval),
    "lighteval": ("lighteval", ".parquet", lighteval_writer("doc", "metric", "model_response")),
    "lighteval_documented": (
        "lighteval",
        ".parquet",
        lighteval_writer("__doc__", "__metric__", "__model_response__"),
    ),
    "lighteval_flat": ("lighteval", ".parquet", lighteval_flat),
    "opencompass": ("opencompass", ".json", opencompass),
    "ruler": ("ruler", ".jsonl", ruler),
    "helmet": ("helmet", ".json", helmet),
    "longbench": ("longbench", ".jsonl", longbench),
    "gkamradt": ("gkamradt", ".jsonl", gkamradt),
    "needlehaystack2": ("needlehaystack2", ".jsonl", needlehaystack2),
    "langsmith": ("langsmith", ".jsonl", langsmith),
    "langsmith_csv": ("langsmith-csv", ".csv", langsmith_csv),
    "plain": ("plain", ".jsonl", plain),
    "plain_array": ("plain", ".json", plain_array),
    "plain_messages": ("plain", ".jsonl", plain_messages),
    "ordered": ("ordered", ".jsonl", ordered),
    "comma": ("csv", ".csv", table_writer(",")),
    "semicolon": ("csv", ".csv", table_writer(";")),
    "tab": ("tsv", ".tsv", table_writer("\t")),
    "parquet": ("parquet", ".parquet", plain_parquet),
}
BY_PLACE = {"opencompass", "ruler", "helmet", "longbench", "ordered"}
BY_PROMPT = {"vertex-batch", "opencompass", "ruler"}
BY_CELL = {"gkamradt", "needlehaystack2"}
REFERENCED = {
    "lm-eval": "42",
    "inspect-json": "42",
    "inspect-eval": "42",
    "lighteval": "42",
    "opencompass": "42*key",
    "ruler": "42",
    "helmet": "42",
    "longbench": "42",
    "needlehaystack2": "42",
    "ordered": "42",
}


def check(path: Path, kind: str, pairs: Pairs) -> None:
    file = read_answers(path)
    assert file.format == ""
    records = list(file)
    assert file.format == kind
    assert [record.text for record in records if isinstance(record, Answer)] == [text for _, text in pairs]
    for place, (record, (name, _)) in enumerate(zip(records, pairs, strict=True)):
        assert isinstance(record, Answer)
        by_id = kind not in BY_PLACE | BY_PROMPT | BY_CELL
        assert record.id == (name if by_id else None)
        if kind in BY_CELL:
            assert record.coordinates is not None
            assert record.coordinates.length == 1000 * (place + 1)
            assert [needle.strip() for needle in record.coordinates.needles] == [name.strip()]
        assert record.position == (place if kind in BY_PLACE else None)
        if kind in BY_PROMPT:
            assert record.prompt_sha256 == prompt_digest(PROMPT + name)
        assert record.reference == ((REFERENCED[kind],) if kind in REFERENCED else None)
        assert record.sample == 0
        assert record.error is None


@each("name", WRITERS)
def test_the_example_of_every_format_yields_the_same_six_answers(name: str) -> None:
    kind, suffix, _ = WRITERS[name]
    check(EXAMPLES / f"{name}{suffix}", kind, list(zip(IDS, TEXTS, strict=True)))


@each("name", [name for name in WRITERS if WRITERS[name][1] not in (".parquet", ".eval")])
def test_the_example_files_are_what_these_writers_write(name: str) -> None:
    _, suffix, write = WRITERS[name]
    assert (EXAMPLES / f"{name}{suffix}").read_bytes() == write(list(zip(IDS, TEXTS, strict=True)))


def test_every_format_has_an_example() -> None:
    assert {kind for kind, _, _ in WRITERS.values()} == set(FORMATS)


@each("name", [name for name in WRITERS if WRITERS[name][1] not in (".parquet", ".eval")])
def test_compressed_files_and_byte_order_marks_yield_the_same_answers(name: str, tmp_path: Path) -> None:
    kind, suffix, _ = WRITERS[name]
    data = (EXAMPLES / f"{name}{suffix}").read_bytes()
    pairs = list(zip(IDS, TEXTS, strict=True))
    half = len(data) // 2
    for number, packed in enumerate(
        [
            b"\xef\xbb\xbf" + data,
            gzip.compress(data),
            gzip.compress(data[:half]) + gzip.compress(data[half:]),
            zstandard.compress(data),
            zstandard.compress(data[:half]) + zstandard.compress(data[half:]),
            b"\x50\x2a\x4d\x18\x04\0\0\0skip" + zstandard.compress(b"\xef\xbb\xbf" + data),
        ]
    ):
        path = tmp_path / str(number)  # no suffix: the content decides
        path.write_bytes(packed)
        check(path, kind, pairs)


ids = st.text(st.characters(exclude_categories=["Cs"]), min_size=1) | st.sampled_from(
    ["001", "1", "1e5", "12E3", "NA", "true", "null", "None", "nan", "2024-01-01", "18446744073709551617", " x ", "=1"]
)
texts = st.text(st.characters(exclude_categories=["Cs"])) | st.sampled_from(
    ["NA", "null", "None", "nan", "N/A", '""', '"', "'", "\r\n", "\n", ",", ";", "\t", "a\\", '":', "\\u003a", "\ufeff"]
)


@examples(100)
@given(st.sampled_from(list(WRITERS)), st.lists(st.tuples(ids, texts), min_size=1, max_size=4))
@example("comma", [("001", "NA"), ("1", '""')])
@example("plain", [("a:b", ':":'), ("a", "\\u003a : \t:")])
def test_ids_and_texts_survive_every_format(tmp_path_factory: pytest.TempPathFactory, name: str, pairs: Pairs) -> None:
    kind, suffix, write = WRITERS[name]
    path = tmp_path_factory.getbasetemp() / f"trip{suffix}"
    path.write_bytes(write(pairs))
    check(path, kind, pairs)
