"""Opening a dataset: its formats, and its files in row order."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from each import each

from niah_score.contract import (
    DATA_FORMATS,
    ContractError,
    Dataset,
    FileEntry,
    Manifest,
    TokenizerEntry,
    config_name,
    data_path,
    dataset_of,
    file_problem,
    open_dataset,
)


def dataset(folder: Path, paths: list[str]) -> Dataset:
    """A folder with only a manifest, which lists files of one row each and a card without rows."""
    files = [FileEntry(path, "0" * 64, 1, 10) for path in paths]
    card = FileEntry("README.md", "0" * 64, None, 10)
    tokenizer = TokenizerEntry("t", "0" * 64)
    manifest = Manifest(
        1, "n", "1", "p", "c", "g", tokenizer, (), len(files), 1,
        tuple(sorted([card, *files], key=lambda entry: entry.path)),
    )  # fmt: skip
    (folder / "manifest.json").write_bytes(manifest.to_json())
    return open_dataset(folder)


def test_files_are_sorted_by_language_length_and_number_and_not_by_name(tmp_path: Path) -> None:
    stems = [
        f"{config_name(language, length)}/test-{number:05d}-of-00011"
        for language in ("en", "zh")
        for length in (600, 1000, 1500, 2000, 16_000, 128_000, 1_000_000)
        for number in range(11)
    ]
    paths = [data_path("parquet", stem) for stem in stems]
    opened = dataset(tmp_path, random.Random(0).sample(paths, len(paths)))
    assert [file.entry.path for file in opened.files()] == paths
    assert sorted(paths) != paths
    assert [file.path for file in opened.files()] == [tmp_path / path for path in paths]
    assert {(file.config, file.number, file.of, file.rows) for file in opened.files()} == {
        (stem.split("/")[0], int(stem[-14:-9]), 11, 1) for stem in stems
    }


def test_known_formats_come_first_and_each_has_files_of_its_own(tmp_path: Path) -> None:
    stem = "en-1k/test-00000-of-00001"
    opened = dataset(tmp_path, [*(data_path(format, stem) for format in reversed(DATA_FORMATS)), "csv/en-1k/rows.csv"])
    assert opened.formats == (*DATA_FORMATS, "csv")
    for format in DATA_FORMATS:
        (file,) = opened.files(format)
        assert (file.format, file.entry.path) == (format, data_path(format, stem))
    assert opened.files() == opened.files("parquet")
    assert opened.files("arrow") == ()


def test_without_parquet_the_next_format_is_used_and_without_files_none(tmp_path: Path) -> None:
    jsonl = dataset(tmp_path, ["jsonl/en-1k/test-00000-of-00001.jsonl.zst", "jsonl/en-1k/test-00000-of-00001.jsonl"])
    assert [file.format for file in jsonl.files()] == ["jsonl"]
    empty = dataset(tmp_path, [])
    assert (empty.formats, empty.files()) == ((), ())


@each(
    ("path", "config"),
    [
        ("rows.jsonl", ""),
        ("data/en-700/part.parquet", "en-700"),
        ("jsonl/en-700/test-00000-of-00001.parquet", "en-700"),
        ("data/test-00000-of-00001.parquet", "data"),
        ("data/en-700/test-0-of-1.parquet", "en-700"),
    ],
)
def test_a_file_with_another_kind_of_name_has_no_number(path: str, config: str, tmp_path: Path) -> None:
    (file,) = dataset(tmp_path, [path]).files()
    assert (file.config, file.number, file.of) == (config, 0, 0)


def test_a_folder_without_a_manifest_is_not_a_dataset(tmp_path: Path) -> None:
    with pytest.raises(ContractError, match="not a finished dataset"):
        open_dataset(tmp_path)


def test_a_file_is_intact_or_missing_or_of_another_size_or_content(tmp_path: Path) -> None:
    entry = FileEntry("a", "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881", None, 1)
    assert file_problem(tmp_path, entry) == "a: missing"
    (tmp_path / "a").write_bytes(b"xx")
    assert file_problem(tmp_path, entry) == "a: 2 bytes, expected 1"
    (tmp_path / "a").write_bytes(b"y")
    assert (file_problem(tmp_path, entry) or "").startswith("a: sha256 is a1fce436")
    (tmp_path / "a").write_bytes(b"x")
    assert file_problem(tmp_path, entry) is None


def manifest_for(digest8: str, version: str, *paths: str) -> bytes:
    files = tuple(FileEntry(path, "0" * 64, 1, 10) for path in paths)
    tokenizer = TokenizerEntry("t", "0" * 64)
    return Manifest(1, "n", version, digest8 + "0" * 56, "c", "g", tokenizer, (), 1, 1, files).to_json()


@each(
    ("name", "version", "fits"),
    [
        ("1.0.0-0badc0de", "1.0.0", True),
        ("1.0.0-0badc0d3", "1.0.0", False),
        ("1.0-rc-0badc0d3", "1.0-rc", False),
        ("mine-20261121", "1.0.0", True),
        ("copy", "1.0.0", True),
        ("1.0.0-0badc0de.partial", "1.0.0", True),
        ("1.0.0-0BADC0D3", "1.0.0", True),
    ],
)
def test_a_folder_named_after_another_dataset_is_refused(
    name: str, version: str, fits: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / name
    folder.mkdir()
    (folder / "manifest.json").write_bytes(manifest_for("0badc0de", version))
    monkeypatch.chdir(folder)
    for path in (folder, Path()):
        if fits:
            assert open_dataset(path).manifest.digest8 == "0badc0de"
        else:
            with pytest.raises(ContractError, match=r"the name says dataset 0badc0d3, manifest\.json says 0badc0de"):
                open_dataset(path)


def test_the_dataset_of_a_data_file_is_recognised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = "data/en-1k/test-00000-of-00001.parquet"
    (tmp_path / path).parent.mkdir(parents=True)
    (tmp_path / "manifest.json").write_bytes(manifest_for("0badc0de", "1", path, "rows.jsonl"))
    for name in (path, "rows.jsonl"):
        owner = dataset_of(tmp_path / name)
        assert owner is not None
        assert (owner[0].folder, owner[1].entry.path) == (tmp_path, name)
    assert dataset_of(tmp_path / "data" / "en-1k" / "test-00001-of-00001.parquet") is None
    assert dataset_of(tmp_path / "a" / "b" / "c" / "d" / "rows.jsonl") is None
    monkeypatch.chdir(tmp_path / "data" / "en-1k")
    assert dataset_of("../../rows.jsonl") is not None
    (tmp_path / "manifest.json").write_bytes(b"{}")
    assert dataset_of(tmp_path / "rows.jsonl") is None
    with pytest.raises(ContractError, match=r"manifest\.json: not a manifest"):
        dataset_of(tmp_path / path)
