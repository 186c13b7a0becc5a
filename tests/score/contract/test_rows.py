"""Columns, names and digests: version 1 of the schema, which every release has to keep, and canonical JSON."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pyarrow.parquet as pq

from niah_score.contract import (
    COLUMNS,
    REPEATING_COLUMNS,
    ROW_ID,
    SCHEMA_VERSION,
    Message,
    canonical_json,
    config_name,
    content_digest,
    file_sha256,
    is_safe_path,
    open_dataset,
    prompt_digest,
    row_schema,
    seal_is_broken,
    sealed,
    sha256_hex,
)

FROZEN = Path(__file__).parents[2] / "contract" / "frozen"


def test_version_1_has_the_columns_of_the_frozen_dataset_and_no_others() -> None:
    assert open_dataset(FROZEN).manifest.schema_version == SCHEMA_VERSION == 1
    text, chat = row_schema("text"), row_schema("chat")
    assert text.metadata == chat.metadata == {b"niah_schema_version": b"1"}
    for path in sorted(FROZEN.glob("data/*/*.parquet")):
        types = [(field.name, str(field.type).replace("element:", "item:")) for field in pq.read_schema(path)]
        assert types == [(field.name, str(field.type)) for field in chat]
    for path in sorted(FROZEN.glob("jsonl/*/*.jsonl")):
        for line in path.read_text("utf-8").splitlines():
            assert tuple(json.loads(line)) == COLUMNS
    assert [*text][:-1] == [*chat][:-1]
    assert str(text.field("prompt").type) == "large_string"
    assert set(REPEATING_COLUMNS) < {*COLUMNS} - {"prompt", "id"}


def test_canonical_json_keeps_every_character_and_small_depths_and_sorts_by_code_point() -> None:
    assert canonical_json({"b": "é中😀\u2028", "a": 1, "B": None}) == '{"B":null,"a":1,"b":"é中😀\u2028"}'.encode()
    assert canonical_json('"\\\x00\x1f\x7f/') == b'"\\"\\\\\\u0000\\u001f\x7f/"'
    # Above a million tokens, a depth of one token is below 0.0001, where JSON writers begin to differ.
    assert canonical_json([100 / 10_000_000, 100 / 999_999]) == b"[1e-05,0.0001000001000001]"


def test_digests_cover_prompts_rows_in_order_and_raw_bytes(tmp_path: Path) -> None:
    assert prompt_digest("中") == hashlib.sha256("中".encode()).hexdigest()
    expected = hashlib.sha256('[{"content":"中","role":"user"}]'.encode()).hexdigest()
    assert prompt_digest([Message(role="user", content="中")]) == expected
    digests = [sha256_hex(bytes([number])) for number in range(3)]
    assert content_digest(digests) == hashlib.sha256("".join(f"{item}\n" for item in digests).encode()).hexdigest()
    assert content_digest(reversed(digests)) != content_digest(digests)
    (tmp_path / "file").write_bytes(b"\r\n\x00" * 100_000)
    assert file_sha256(tmp_path / "file") == hashlib.sha256(b"\r\n\x00" * 100_000).hexdigest()


def test_a_seal_covers_all_other_fields_in_any_json_layout() -> None:
    whole = sealed({"b": 0.1 + 0.2, "a": {"字": [1, None]}, "self_sha256": "old"})
    assert list(whole) == ["b", "a", "self_sha256"]
    assert sealed(whole) == whole
    for text in (json.dumps(whole), json.dumps(whole, indent=2, sort_keys=True, ensure_ascii=False)):
        assert not seal_is_broken(json.loads(text))
    for changed in ({"b": 0.3}, {"c": None}, {"self_sha256": None}, {"a": "\ud800"}):
        assert seal_is_broken({**whole, **changed}), changed
    assert not seal_is_broken({"a": 1})


def test_configs_are_named_by_language_and_length_all_differently() -> None:
    named = {8000: "8k", 1500: "1500", 999: "999", 200_000: "200k", 1_000_000: "1m", 1_500_000: "1500k", 1: "1"}
    assert {length: config_name("en", length) for length in named} == {k: f"en-{name}" for k, name in named.items()}
    assert config_name("zh", None) == "zh"
    lengths = {*range(1, 3000), *range(10_000, 3_000_000, 500)}
    assert len({config_name("en", length) for length in lengths}) == len(lengths)


HOSTILE = (
    "/etc/passwd", "../outside", "data/../../outside", "a/..", "..", "", ".", "C:/x", "C:x", "a\\b", "..\\x",
    "\\\\host\\x", "a\0b", "a\nb", "//host/x", "file:///x", "a//b", "./a", "a/./b", "a/", "...", "data/nul.parquet",
    "COM1/x", "a /x", "a\x1bb", "n" * 300, "/".join(["nnnnnnnn"] * 200),
)  # fmt: skip


def test_ids_and_paths_use_only_what_every_system_accepts() -> None:
    assert ROW_ID.fullmatch("Az09_-")
    assert [wrong for wrong in ("", "a" * 65, "a b", "a/b", "é", "a.b", "a\n") if ROW_ID.fullmatch(wrong)] == []
    assert [path for path in HOSTILE if is_safe_path(path)] == []
    safe = ("README.md", "data/en-8k/test-00000-of-00001.parquet", "a/b..c", "...a", "中文/x")
    assert [path for path in safe if not is_safe_path(path)] == []
