"""Answers as each stack writes them are read back with the same ids and texts, whatever is in them."""

from __future__ import annotations

import csv
import gzip
import io
import json
import zipfile
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
PAIRS = list(zip(IDS, TEXTS, strict=True))

Pairs = list[tuple[str, str]]

# The example files, each with the six answers, and the formats of those that are not named after theirs.
FILES = {path.stem: path for path in sorted(EXAMPLES.iterdir())}
KINDS = {name: name.replace("_", "-") for name in FILES} | {
    "lighteval_documented": "lighteval", "lighteval_flat": "lighteval", "plain_array": "plain",
    "plain_messages": "plain", "comma": "csv", "semicolon": "csv", "tab": "tsv",
}  # fmt: skip
SEPARATORS = {"semicolon": ";", "tab": "\t"}
# Formats without ids are matched by prompt, by position or by cell.
BY_PLACE = {"opencompass", "ruler", "helmet", "longbench", "ordered"}
BY_PROMPT = {"vertex-batch", "opencompass", "ruler"}
BY_CELL = {"gkamradt", "needlehaystack2"}
REFERENCED = dict.fromkeys(
    ["lm-eval", "inspect-json", "inspect-eval", "lighteval", "ruler", "helmet", "longbench", "needlehaystack2",
     "ordered"], "42",
) | {"opencompass": "42*key"}  # fmt: skip


def with_answer(value: Any, place: int, name: str, text: str) -> Any:
    """A value of an example with the id and the text of its answer replaced, also where these come in parts."""
    if isinstance(value, dict):
        return {key: with_answer(one, place, name, text) for key, one in value.items()}
    if isinstance(value, list):
        return [with_answer(one, place, name, text) for one in value]
    old = TEXTS[place]
    if isinstance(value, str):
        answered = {old: text, old[:3]: text[:3], old[3:]: text[3:]}
        return answered[value] if value in answered else value.replace(IDS[place], name)
    return value


def as_in_example(name: str, pairs: Pairs) -> bytes:
    """A file like an example, with other answers: at most five."""
    path = FILES[name]
    if path.suffix in (".csv", ".tsv"):
        sink = io.StringIO(newline="")
        with path.open(encoding="utf-8", newline="") as file:
            header, *rows = csv.reader(file, delimiter=SEPARATORS.get(name, ","))
        writer = csv.writer(sink, delimiter=SEPARATORS.get(name, ","), quoting=csv.QUOTE_ALL)
        writer.writerows([header, *(with_answer(rows[place], place, *pair) for place, pair in enumerate(pairs))])
        return sink.getvalue().encode()
    if path.suffix == ".eval":
        sink_of_bytes = io.BytesIO()
        samples = json.loads(FILES["inspect_json"].read_bytes())["samples"]
        with zipfile.ZipFile(sink_of_bytes, "w") as log:
            for place, pair in enumerate(pairs):
                log.writestr(f"samples/{place}_epoch_1.json", json.dumps(with_answer(samples[place], place, *pair)))
        return sink_of_bytes.getvalue()
    if path.suffix == ".parquet":
        table = pq.read_table(path)
        rows = [with_answer(table.slice(place, 1).to_pylist()[0], place, *pair) for place, pair in enumerate(pairs)]
        buffer = pa.BufferOutputStream()
        pq.write_table(pa.Table.from_pylist(rows, table.schema), buffer, write_page_checksum=True)
        return bytes(buffer.getvalue())
    if path.suffix == ".jsonl":
        lines = path.read_bytes().split(b"\n")
        records = [with_answer(json.loads(lines[place]), place, *pair) for place, pair in enumerate(pairs)]
        return "".join(json.dumps(record, ensure_ascii=len(pairs) % 2 == 0) + "\n" for record in records).encode()
    document = json.loads(path.read_bytes())
    held = next((document[field] for field in ("samples", "data") if field in document), document)
    of_place = list(held.values()) if isinstance(held, dict) else list(held)
    answered = [with_answer(of_place[place], place, *pair) for place, pair in enumerate(pairs)]
    if isinstance(held, dict):
        return json.dumps(dict(zip(held, answered, strict=False)), indent=4).encode()
    held[:] = answered
    return json.dumps(document, indent=2, ensure_ascii=False).encode()


def check(path: Path, kind: str, pairs: Pairs) -> None:
    file = read_answers(path)
    assert file.format == ""
    records = list(file)
    assert file.format == kind
    assert [record.text for record in records if isinstance(record, Answer)] == [text for _, text in pairs]
    for place, (record, (name, _)) in enumerate(zip(records, pairs, strict=True)):
        assert isinstance(record, Answer)
        assert record.id == (None if kind in BY_PLACE | BY_PROMPT | BY_CELL else name)
        if kind in BY_CELL:
            assert record.coordinates is not None
            assert record.coordinates.length == 1000 * (place + 1)
            assert [needle.strip() for needle in record.coordinates.needles] == [name.strip()]
        assert record.position == (place if kind in BY_PLACE else None)
        if kind in BY_PROMPT:
            assert record.prompt_sha256 == prompt_digest(PROMPT + name)
        assert record.reference == ((REFERENCED[kind],) if kind in REFERENCED else None)
        assert (record.sample, record.error) == (0, None)


def test_every_format_has_an_example() -> None:
    assert set(KINDS.values()) == set(FORMATS)


@each("name", KINDS)
def test_examples_yield_the_same_six_answers_also_compressed_and_with_a_byte_order_mark(
    name: str, tmp_path: Path
) -> None:
    check(FILES[name], KINDS[name], PAIRS)
    if FILES[name].suffix in (".parquet", ".eval"):
        return
    data = FILES[name].read_bytes()
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
        check(path, KINDS[name], PAIRS)


ids = st.text(st.characters(exclude_categories=["Cs"]), min_size=1) | st.sampled_from(
    ["001", "1", "1e5", "12E3", "NA", "true", "null", "None", "nan", "2024-01-01", "18446744073709551617", " x ", "=1"]
)
texts = st.text(st.characters(exclude_categories=["Cs"])) | st.sampled_from(
    ["NA", "null", "None", "nan", "N/A", '""', '"', "'", "\r\n", "\n", ",", ";", "\t", "a\\", '":', "\\u003a", "\ufeff"]
)


@examples(100)
@given(st.sampled_from(list(KINDS)), st.lists(st.tuples(ids, texts), min_size=1, max_size=4))
@example("comma", [("001", "NA"), ("1", '""')])
@example("plain", [("a:b", ':":'), ("a", "\\u003a : \t:")])
@example("anthropic_batch", [("a", "ab"), ("b", "")])
def test_ids_and_texts_survive_every_format(tmp_path_factory: pytest.TempPathFactory, name: str, pairs: Pairs) -> None:
    path = tmp_path_factory.getbasetemp() / "trip"
    path.write_bytes(as_in_example(name, pairs))
    check(path, KINDS[name], pairs)
