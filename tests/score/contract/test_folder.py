"""The dataset folder in Python: canonical JSON, digests, the manifest, and which manifests are refused."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from each import each
from hypothesis import given
from hypothesis import strategies as st
from properties import examples

from niah_score.contract import (
    COLUMNS,
    MANIFEST,
    REPEATING_COLUMNS,
    ROW_ID,
    SCHEMA_VERSION,
    ContractError,
    CorpusEntry,
    FileEntry,
    Manifest,
    Message,
    PartEntry,
    TokenizerEntry,
    canonical_json,
    config_name,
    content_digest,
    file_sha256,
    is_safe_path,
    prompt_digest,
    read_manifest,
    row_schema,
    seal_is_broken,
    sealed,
    sha256_hex,
)

steady = examples(200)

# Canonical JSON -----------------------------------------------------------------------------------------------------

texts = st.text(st.characters(codec="utf-8") | st.sampled_from('"\\/\x00\x1f\x7f\n\u2028\ufffd😀'), max_size=20)
numbers = st.integers(-(2**63), 2**63 - 1) | st.floats(0, 1_000_000).filter(lambda x: x == 0 or x >= 1e-4)
row_like = st.dictionaries(
    texts,
    st.recursive(
        st.none() | st.booleans() | texts | numbers,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
        max_leaves=6,
    ),
    max_size=5,
)


def plain_json(value: object) -> bytes:
    """Canonical JSON as anyone can write it without our code."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode()


@steady
@given(value=row_like)
def test_canonical_json_is_what_the_standard_library_writes(value: dict[str, Any]) -> None:
    assert canonical_json(value) == plain_json(value)


@each("tokens", [3, 1000, 999_999, 1_000_001, 2_000_000, 10_000_000])
def test_the_depth_of_one_token_is_written_as_by_the_standard_library(tokens: int) -> None:
    """Above a million tokens, a depth of one token is below 0.0001, where JSON writers begin to differ."""
    assert canonical_json({"needle_depths": [100 / tokens]}) == plain_json({"needle_depths": [100 / tokens]})


def test_canonical_json_keeps_every_character_and_sorts_by_code_point() -> None:
    assert canonical_json({"b": "é中😀\u2028", "a": 1, "B": None}) == '{"B":null,"a":1,"b":"é中😀\u2028"}'.encode()
    assert canonical_json('"\\\x00\x1f\x7f/') == b'"\\"\\\\\\u0000\\u001f\x7f/"'


# Digests ------------------------------------------------------------------------------------------------------------


def test_a_prompt_digest_covers_its_text_or_its_messages() -> None:
    assert prompt_digest("中") == hashlib.sha256("中".encode()).hexdigest()
    messages = [Message(role="user", content="中")]
    expected = hashlib.sha256('[{"content":"中","role":"user"}]'.encode()).hexdigest()
    assert prompt_digest(messages) == expected


def test_the_content_digest_covers_the_rows_digests_in_order() -> None:
    digests = [sha256_hex(bytes([number])) for number in range(3)]
    assert content_digest(digests) == hashlib.sha256("".join(f"{item}\n" for item in digests).encode()).hexdigest()
    assert content_digest(reversed(digests)) != content_digest(digests)
    assert content_digest([]) == hashlib.sha256(b"").hexdigest()


def test_the_sha256_of_a_file_covers_its_raw_bytes(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"\r\n\x00" * 100_000)
    assert file_sha256(tmp_path / "file") == hashlib.sha256(b"\r\n\x00" * 100_000).hexdigest()


# Names and schema ---------------------------------------------------------------------------------------------------


@each(
    ("language", "length", "name"),
    [
        ("zh", 8000, "zh-8k"),
        ("en", 1500, "en-1500"),
        ("en", 1000, "en-1k"),
        ("en", 999, "en-999"),
        ("en", 200_000, "en-200k"),
        ("en", 1_000_000, "en-1m"),
        ("en", 1_500_000, "en-1500k"),
        ("zh", 2_000_000, "zh-2m"),
        ("en", 1, "en-1"),
    ],
)
def test_a_config_is_named_by_language_and_length(language: str, length: int, name: str) -> None:
    assert config_name(language, length) == name


def test_no_two_lengths_share_a_config() -> None:
    lengths = [*range(1, 3000), *range(10_000, 3_000_000, 500)]
    assert len({config_name("en", length) for length in lengths}) == len(set(lengths))


def test_the_prompt_is_the_last_column_and_the_version_is_in_the_schema() -> None:
    assert COLUMNS[0] == "id"
    assert COLUMNS[-1] == "prompt"
    for form, kind in (("text", pa.large_string()), ("chat", None)):
        schema = row_schema("chat" if form == "chat" else "text")
        assert tuple(schema.names) == COLUMNS
        assert schema.metadata == {b"niah_schema_version": str(SCHEMA_VERSION).encode()}
        prompt = schema.field("prompt").type
        assert prompt == kind if kind else pa.types.is_list(prompt)
    assert set(REPEATING_COLUMNS) < set(COLUMNS)
    assert not {"prompt", "id"} & set(REPEATING_COLUMNS)


@each("wrong", ["", "a" * 65, "a b", "a/b", "é", "a.b", "a\n"])
def test_a_row_id_uses_only_characters_that_every_batch_api_accepts(wrong: str) -> None:
    assert ROW_ID.fullmatch("Az09_-")
    assert not ROW_ID.fullmatch(wrong)


# The manifest -------------------------------------------------------------------------------------------------------

MINE = Manifest(
    schema_version=SCHEMA_VERSION,
    name="名字",
    version="1.0.0",
    plan_digest="a" * 64,
    content_digest="b" * 64,
    generator_version="0.1.0",
    tokenizer=TokenizerEntry("cl100k_base", "c" * 64),
    corpora=(CorpusEntry("en_essays", 12, "d" * 64, 12, 20_000, 0.0, "CC0-1.0", "written"),),
    rows=10,
    tokens=80_000,
    files=(
        FileEntry("data/en-8k/test-00000-of-00001.parquet", "e" * 64, 10, 5),
        FileEntry("README.md", "f" * 64, None, 1),
    ),
)


def write(folder: Path, record: object) -> Path:
    (folder / MANIFEST).write_text(record if isinstance(record, str) else json.dumps(record), "utf-8")
    return folder


def record(**changes: object) -> dict[str, Any]:
    """The manifest with some fields changed, as somebody would make it by hand: without its own sha256."""
    fields = {**json.loads(MINE.to_json()), **changes}
    del fields["self_sha256"]
    return fields


def test_a_manifest_reads_back_the_same(tmp_path: Path) -> None:
    (tmp_path / MANIFEST).write_bytes(MINE.to_json())
    assert read_manifest(tmp_path) == MINE
    assert MINE.to_json().endswith(b"}\n")
    assert "名字".encode() in MINE.to_json()


def test_fields_of_later_releases_are_ignored(tmp_path: Path) -> None:
    later = record(note="new", tokenizer={**record()["tokenizer"], "kind": "bpe"})
    later["files"][0]["page_index"] = True
    later["corpora"][0]["url"] = "https://example.com"
    assert read_manifest(write(tmp_path, later)) == MINE


def test_the_seal_of_a_later_release_covers_the_fields_it_adds(tmp_path: Path) -> None:
    later = record(note="new")
    assert read_manifest(write(tmp_path, sealed(later))) == MINE
    with pytest.raises(ContractError, match="damaged, or changed"):
        read_manifest(write(tmp_path, {**sealed(later), "note": "other"}))


@each(
    "fields",
    [{"name": "名子"}, {"rows": 11}, {"content_digest": "0" + "b" * 63}, {"tokens": 80_001}, {"notes": ["x"]}],
)
def test_a_changed_field_is_detected_by_the_manifests_own_sha256(tmp_path: Path, fields: dict[str, object]) -> None:
    with pytest.raises(ContractError, match=r"manifest\.json: damaged, or changed since it was written"):
        read_manifest(write(tmp_path, {**json.loads(MINE.to_json()), **fields}))


@steady
@given(bit=st.integers(0, 8 * len(MINE.to_json()) - 1))
def test_a_flipped_bit_of_the_manifest_is_detected_or_changes_nothing(bit: int) -> None:
    data = bytearray(MINE.to_json())
    data[bit // 8] ^= 1 << bit % 8
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / MANIFEST).write_bytes(data)
        try:
            manifest = read_manifest(Path(folder))
        except ContractError:
            return
    assert manifest == MINE


def test_a_seal_covers_all_other_fields_in_any_json_layout() -> None:
    whole = sealed({"b": 0.1 + 0.2, "a": {"字": [1, None]}, "self_sha256": "old"})
    assert list(whole) == ["b", "a", "self_sha256"]
    assert sealed(whole) == whole
    for text in (json.dumps(whole), json.dumps(whole, indent=2, sort_keys=True, ensure_ascii=False)):
        assert not seal_is_broken(json.loads(text))
    assert seal_is_broken({**whole, "b": 0.3})
    assert seal_is_broken({**whole, "c": None})
    assert seal_is_broken({**whole, "self_sha256": None})
    assert seal_is_broken({**whole, "a": "\ud800"})
    assert not seal_is_broken({"a": 1})


def test_a_folder_without_a_manifest_is_not_a_dataset(tmp_path: Path) -> None:
    with pytest.raises(ContractError, match=r"no manifest\.json, so this is not a finished dataset"):
        read_manifest(tmp_path)
    with pytest.raises(ContractError, match="not a finished dataset"):
        read_manifest(tmp_path / "nowhere")


@each("version", [2, 17])
def test_a_newer_schema_version_is_refused_and_named(tmp_path: Path, version: int) -> None:
    newer = {"schema_version": version, "everything": "else is different"}
    with pytest.raises(ContractError, match=f"schema_version {version} is newer than the {SCHEMA_VERSION}.*upgrade"):
        read_manifest(write(tmp_path, newer))


@each("version", ["1", "2", 2.0, 1.5, None, 0, -1, [1]])
def test_an_invalid_schema_version_is_refused(tmp_path: Path, version: object) -> None:
    with pytest.raises(ContractError):
        read_manifest(write(tmp_path, record(schema_version=version)))


@each(
    "content",
    ["", "{", "null", "[]", '"text"', "5", "\ufeff{}", "[" * 200_000, "nan"],
)
def test_a_file_that_is_not_a_manifest_is_refused_with_its_path(tmp_path: Path, content: str) -> None:
    with pytest.raises(ContractError, match=r"manifest\.json"):
        read_manifest(write(tmp_path, content))


def test_bytes_that_are_not_text_are_refused(tmp_path: Path) -> None:
    (tmp_path / MANIFEST).write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ContractError, match="cannot be read as JSON"):
        read_manifest(tmp_path)


@each("error", [errno.EACCES, errno.EIO, errno.EMFILE])
def test_a_manifest_that_the_system_cannot_read_is_not_called_damaged(
    error: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(path: Path, most: int) -> bytes:
        raise OSError(error, os.strerror(error), str(path))

    monkeypatch.setattr("niah_score.contract.dataset.read_regular", refused)
    message = f"manifest.json: cannot be read ({os.strerror(error)}); check the file and its permissions"
    with pytest.raises(ContractError, match=re.escape(message)):
        read_manifest(tmp_path)


def test_a_manifest_from_before_there_were_notes_has_none(tmp_path: Path) -> None:
    less = record()
    del less["notes"]
    assert read_manifest(write(tmp_path, less)).notes == ()


def test_a_manifest_without_parts_is_written_without_the_field() -> None:
    assert "parts" not in json.loads(MINE.to_json())


def test_the_parts_of_a_dataset_read_back_with_their_weights(tmp_path: Path) -> None:
    parts = (PartEntry("single", 0.4, 700), PartEntry("链", 2, 20), PartEntry("anchor", 0, 0))
    (tmp_path / MANIFEST).write_bytes(replace(MINE, parts=parts).to_json())
    assert read_manifest(tmp_path) == replace(MINE, parts=parts)
    assert read_manifest(write(tmp_path, record(parts=[]))) == MINE


@each(
    ("fields", "message"),
    [
        ({"weight": -0.1}, "the weight -0.1, expected a finite number"),
        ({"weight": float("nan")}, "NaN is not valid JSON"),
        ({"weight": float("inf")}, "Infinity is not valid JSON"),
        ({"weight": 10**400}, "the weight 1000"),
        ({"weight": True}, "weight is True"),
        ({"weight": "1"}, "weight is '1'"),
        ({"weight": None}, "weight is None"),
        ({"name": None}, "name is None"),
        ({"rows": -1}, "rows is -1, expected 0 or more"),
        ({"rows": 1.5}, "rows is 1.5"),
        ({"name": "b"}, "different names"),
    ],
)
def test_an_invalid_part_is_refused(tmp_path: Path, fields: dict[str, object], message: str) -> None:
    parts = [{"name": "a", "weight": 1, "rows": 2, **fields}, {"name": "b", "weight": 1, "rows": 2}]
    with pytest.raises(ContractError, match=message):
        read_manifest(write(tmp_path, record(parts=parts)))


@each("field", sorted(set(Manifest.__slots__) - {"notes", "parts"}))
def test_a_manifest_without_one_of_its_fields_is_refused(tmp_path: Path, field: str) -> None:
    less = record()
    del less[field]
    with pytest.raises(ContractError, match=r"manifest\.json: .* manifest of"):
        read_manifest(write(tmp_path, less))


@each("field", ["tokenizer", "corpora", "files", "parts"])
@each("value", [None, 5, "text", [5], [[]], [{}]])
def test_entries_of_the_wrong_type_are_refused(tmp_path: Path, field: str, value: object) -> None:
    with pytest.raises(ContractError, match="not a manifest"):
        read_manifest(write(tmp_path, record(**{field: value})))


HOSTILE = [
    "/etc/passwd",
    "../outside",
    "data/../../outside",
    "a/..",
    "..",
    "",
    ".",
    "C:/x",
    "C:x",
    "a\\b",
    "..\\x",
    "\\\\host\\x",
    "a\0b",
    "a\nb",
    "//host/x",
    "file:///x",
    "a//b",
    "./a",
    "a/./b",
    "a/",
    "...",
    "data/nul.parquet",
    "COM1/x",
    "a /x",
    "a\x1bb",
    "n" * 300,
    "/".join(["nnnnnnnn"] * 200),
]


@each("path", HOSTILE)
def test_a_path_that_leaves_the_folder_is_refused(tmp_path: Path, path: str) -> None:
    assert not is_safe_path(path)
    hostile = record(files=[{**record()["files"][0], "path": path}])
    with pytest.raises(ContractError, match="does not stay inside the folder"):
        read_manifest(write(tmp_path, hostile))


@each("path", [5, None, ["a"], {}])
def test_a_path_that_is_not_a_string_is_refused(tmp_path: Path, path: object) -> None:
    with pytest.raises(ContractError):
        read_manifest(write(tmp_path, record(files=[{**record()["files"][0], "path": path}])))


@each("path", ["README.md", "data/en-8k/test-00000-of-00001.parquet", "a/b..c", "...a", "中文/x"])
def test_a_path_that_stays_inside_is_safe(path: str) -> None:
    assert is_safe_path(path)


@steady
@given(parts=st.lists(st.sampled_from(["..", ".", "a", "", "b c", "\\", "C:"]), max_size=5))
def test_a_safe_path_resolves_inside_its_folder(parts: list[str]) -> None:
    path = "/".join(parts)
    if is_safe_path(path):
        folder = Path("/some/folder")
        resolved = Path(*[part for part in (folder / path).parts if part != "."])
        assert folder in resolved.parents
        assert ".." not in resolved.parts


def test_manifests_compare_and_hash_by_value(tmp_path: Path) -> None:
    assert replace(MINE, rows=11) != MINE
    assert hash(MINE) == hash(replace(MINE))
