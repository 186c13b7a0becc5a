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
BY_PLACE = {"opencompass", "ruler", "scbench", "helmet", "longbench", "ordered"}
BY_PROMPT = {"vertex-batch", "opencompass", "ruler"}
BY_CELL = {"gkamradt", "needlehaystack2"}
REFERENCED = dict.fromkeys(
    ["lm-eval", "inspect-json", "inspect-eval", "lighteval", "ruler", "scbench", "helmet", "longbench",
     "needlehaystack2", "ordered"], "42",
) | {"opencompass": "42*key"}  # fmt: skip


def with_answers(value: Any, pairs: Pairs) -> Any:
    """A value of an example with its ids and texts replaced, also where these come in parts; the last text stays."""
    if isinstance(value, dict):
        return {key: with_answers(one, pairs) for key, one in value.items()}
    if isinstance(value, list):
        return [with_answers(one, pairs) for one in value]
    if not isinstance(value, str):
        return value
    for (_, old), (_, new) in zip(PAIRS[:-1], pairs[:-1], strict=True):
        if value in (old, old[:3], old[3:]):
            return {old: new, old[:3]: new[:3], old[3:]: new[3:]}[value]
    for (old, _), (name, _) in zip(PAIRS, pairs, strict=True):
        value = value.replace(old, name)
    return value


def as_in_example(name: str, pairs: Pairs) -> bytes:
    """A file like an example, with other answers."""
    path = FILES[name]
    if path.suffix in (".csv", ".tsv"):
        sink = io.StringIO(newline="")
        with path.open(encoding="utf-8", newline="") as file:
            rows = list(csv.reader(file, delimiter=SEPARATORS.get(name, ",")))
        writer = csv.writer(sink, delimiter=SEPARATORS.get(name, ","), quoting=csv.QUOTE_ALL)
        writer.writerows(with_answers(rows, pairs))
        return sink.getvalue().encode()
    if path.suffix == ".eval":
        zipped = io.BytesIO()
        with zipfile.ZipFile(zipped, "w") as log:
            for place, sample in enumerate(json.loads(FILES["inspect_json"].read_bytes())["samples"]):
                log.writestr(f"samples/{place}_epoch_1.json", json.dumps(with_answers(sample, pairs)))
        return zipped.getvalue()
    if path.suffix == ".parquet":
        table, buffer = pq.read_table(path), pa.BufferOutputStream()
        changed = pa.Table.from_pylist(with_answers(table.to_pylist(), pairs), table.schema)
        pq.write_table(changed, buffer, write_page_checksum=True)
        return bytes(buffer.getvalue())
    escaped = len(pairs[0][1]) % 2 == 0
    if path.suffix == ".jsonl":
        records = [with_answers(json.loads(line), pairs) for line in path.read_bytes().splitlines()]
        return "".join(json.dumps(record, ensure_ascii=escaped) + "\n" for record in records).encode()
    return json.dumps(with_answers(json.loads(path.read_bytes()), pairs), indent=2, ensure_ascii=escaped).encode()


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
@given(st.sampled_from(list(KINDS)), st.lists(st.tuples(ids, texts), min_size=5, max_size=5))
@example("comma", [("001", "NA"), ("1", '""'), ("a", "b"), ("b", ""), ("c", "")])
@example("plain", [("a:b", ':":'), ("a", "\\u003a : \t:"), ("b", "c"), ("c", ""), ("d", "")])
@example("anthropic_batch", [("a", "ab"), ("b", ""), ("c", ""), ("d", ""), ("e", "")])
def test_ids_and_texts_survive_every_format(tmp_path_factory: pytest.TempPathFactory, name: str, pairs: Pairs) -> None:
    path = tmp_path_factory.getbasetemp() / "trip"
    path.write_bytes(as_in_example(name, [*pairs, PAIRS[-1]]))
    check(path, KINDS[name], [*pairs, PAIRS[-1]])
