"""The dataset folder: its manifest and which ones are refused, its formats, and its files in row order."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from niah_score.contract import (
    MANIFEST,
    SCHEMA_VERSION,
    ContractError,
    CorpusEntry,
    FileEntry,
    Manifest,
    PartEntry,
    TokenizerEntry,
    config_name,
    data_path,
    open_dataset,
    read_manifest,
    sealed,
)

MINE = Manifest(
    schema_version=SCHEMA_VERSION,
    name="名字",
    version="1.0.0",
    plan_digest="0badc0de" + "a" * 56,
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


def write(folder: Path, content: object) -> Path:
    """A folder with a manifest of this content."""
    folder.mkdir(exist_ok=True)
    data = content if isinstance(content, bytes) else json.dumps(content).encode()
    (folder / MANIFEST).write_bytes(data)
    return folder


def record(**changes: object) -> dict[str, Any]:
    """The manifest with some fields changed, as somebody would make it by hand: without its own sha256."""
    fields = {**json.loads(MINE.to_json()), **changes}
    del fields["self_sha256"]
    return fields


def with_files(*paths: str) -> bytes:
    """A manifest that lists files of one row each."""
    return replace(MINE, files=tuple(FileEntry(path, "0" * 64, 1, 10) for path in sorted(paths))).to_json()


def test_a_manifest_reads_back_the_same(tmp_path: Path) -> None:
    parts = (PartEntry("single", 0.4, 700), PartEntry("链", 2, 20), PartEntry("anchor", 0, 0))
    for manifest in (MINE, replace(MINE, parts=parts), replace(MINE, notes=("one", "two"))):
        assert read_manifest(write(tmp_path, manifest.to_json())) == manifest
    assert MINE.to_json().endswith(b"}\n")
    assert "名字".encode() in MINE.to_json()
    assert "parts" not in json.loads(MINE.to_json())
    older = record(parts=[])
    del older["notes"]
    assert read_manifest(write(tmp_path, older)) == MINE
    assert len({MINE, replace(MINE), replace(MINE, rows=11)}) == 2


def test_fields_of_later_releases_are_ignored_and_sealed(tmp_path: Path) -> None:
    later = record(note="new", tokenizer={**record()["tokenizer"], "kind": "bpe"})
    later["files"][0]["page_index"] = True
    assert read_manifest(write(tmp_path, later)) == MINE
    assert read_manifest(write(tmp_path, sealed(later))) == MINE
    with pytest.raises(ContractError, match=r"manifest\.json: damaged, or changed since it was written"):
        read_manifest(write(tmp_path, {**sealed(later), "note": "other"}))


_NO_ENTRIES: tuple[object, ...] = (None, 5, "x", [5], [[]], [{}])


def refused() -> list[tuple[object, str]]:
    """What no manifest holds, and what is said about it."""
    of = f"not a manifest of schema version {SCHEMA_VERSION}"
    parts = [{"name": "a", "weight": 1, "rows": 2}, {"name": "b", "weight": 1, "rows": 2}]
    wrong_parts: list[tuple[dict[str, object], str]] = [
        ({"weight": -0.1}, "the weight -0.1, expected a finite number"), ({"weight": float("nan")}, "NaN is not valid"),
        ({"weight": 10**400}, "the weight 1000"), ({"weight": True}, "weight is True"), ({"name": None}, "name is"),
        ({"weight": "1"}, "weight is '1'"), ({"rows": -1}, "rows is -1, expected 0 or more"),
        ({"rows": 1.5}, "rows is 1.5"), ({"name": "b"}, "different names"),
    ]  # fmt: skip
    file, apart = record()["files"][0], "is not a file of its own inside the folder on every system"
    texts = (b"", b"{", b"\xef\xbb\xbf{}", b"[" * 200_000, b"\xff\xfe", b'{"a": 1, "a": 2}')
    fields = set(Manifest.__slots__) - {"notes", "parts"}
    entries = [(field, value) for field in ("tokenizer", "corpora", "files", "parts") for value in _NO_ENTRIES]
    return [
        *((text, "not a manifest of schema version") for text in texts),
        *((text, of) for text in (b"null", b"[]", b'"text"', b"5")),
        ({"schema_version": 17, "everything": "else is different"}, "schema_version 17 is newer than 1"),
        *((record(schema_version=version), of) for version in ("1", 2.0, 1.5, None, 0, -1, [1], True)),
        *(({name: value for name, value in record().items() if name != field}, of) for field in sorted(fields)),
        *((record(**{field: value}), of) for field, value in entries),
        *((record(parts=[{**parts[0], **wrong}, parts[1]]), words) for wrong, words in wrong_parts),
        *((record(files=[{**file, "path": path}]), apart) for path in ("../x", "/etc/passwd", "a\\b", "data/nul.x")),
        (record(files=[file, {**file, "path": file["path"].upper()}]), "is not a file of its own inside the folder"),
        *((record(files=[{**file, "path": path}]), of) for path in (5, None, ["a"])),
        (record(plan_digest="../x"), "is not a digest"),
        (record(name="\ud800"), "lone surrogate"),
    ]


def test_what_is_not_a_manifest_is_refused_with_its_path(tmp_path: Path) -> None:
    for content, message in refused():
        with pytest.raises(ContractError, match=r"manifest\.json: ") as raised:
            read_manifest(write(tmp_path, content))
        assert message in str(raised.value), (str(content)[:100], raised.value)
    with pytest.raises(ContractError, match=r"no manifest\.json, so this is not a finished dataset"):
        read_manifest(tmp_path / "nowhere")


def test_files_are_sorted_by_language_length_and_number_and_not_by_name(tmp_path: Path) -> None:
    stems = [
        f"{config_name(language, length)}/test-{number:05d}-of-00011"
        for language in ("en", "zh")
        for length in (600, 1000, 1500, 2000, 16_000, 128_000, 1_000_000)
        for number in range(11)
    ]
    paths = [data_path("parquet", stem) for stem in stems]
    opened = open_dataset(write(tmp_path, with_files(*random.Random(0).sample(paths, len(paths)))))
    assert [file.entry.path for file in opened.files()] == paths
    assert sorted(paths) != paths
    assert [(file.path, file.config, file.rows) for file in opened.files()] == [
        (tmp_path / path, path.split("/")[1], 1) for path in paths
    ]


def test_a_folder_named_after_another_dataset_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    named = ("1.0.0-0badc0de", "mine-20261121", "copy", "1.0.0-0badc0de.partial", "1.0.0-0BADC0D3", "1.0.0-0badc0d3")
    for name in named:
        folder = write(tmp_path / name, MINE.to_json())
        monkeypatch.chdir(folder)
        for path in (folder, Path()):
            if name != "1.0.0-0badc0d3":
                assert open_dataset(path).manifest == MINE
                continue
            with pytest.raises(ContractError, match=r"the name says dataset 0badc0d3, manifest\.json says 0badc0de"):
                open_dataset(path)
