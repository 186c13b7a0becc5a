"""Makes dataset folders of any format out of the contract dataset."""

from __future__ import annotations

import gzip
import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import zstandard
from made import CONTRACT

from niah_score.contract import MANIFEST, FileEntry, Manifest, file_sha256, read_manifest, sealed


def packed(data: bytes, format: str) -> bytes:
    """The bytes of a JSONL file packed as another format, with the checksums that builds write."""
    if format == "jsonl.gz":
        return gzip.compress(data, mtime=0)
    return zstandard.ZstdCompressor(write_checksum=True).compress(data) if format == "jsonl.zst" else data


def folder_of(format: str, folder: Path) -> Path:
    """The contract dataset as a folder of one format, with a manifest as a build writes it."""
    source = "data" if format == "parquet" else "jsonl"
    for file in sorted((CONTRACT / source).rglob("test-*")):
        goal = folder / source / file.parent.name / f"{file.name.partition('.')[0]}.{format}"
        goal.parent.mkdir(parents=True)
        goal.write_bytes(packed(file.read_bytes(), format))
    return list_files(folder)


def list_files(folder: Path, **fields: Any) -> Path:
    """Write the contract's manifest with other fields, and with the files of a folder, all but the last of one row."""
    manifest = replace(read_manifest(CONTRACT), **fields)
    paths = [path for path in sorted(folder.rglob("*")) if path.is_file() and path.name != MANIFEST]
    rows = [1] * (len(paths) - 1) + [manifest.rows - len(paths) + 1]
    files = tuple(
        FileEntry(path.relative_to(folder).as_posix(), file_sha256(path), count, path.stat().st_size)
        for path, count in zip(paths, rows, strict=True)
    )
    return with_manifest(folder, replace(manifest, files=files))


def with_manifest(folder: Path, manifest: Manifest) -> Path:
    """The folder with another manifest."""
    (folder / MANIFEST).write_bytes(manifest.to_json())
    return folder


def with_fields(folder: Path, **fields: object) -> Path:
    """The folder with fields of its manifest replaced, whatever their type."""
    record = {**json.loads((folder / MANIFEST).read_bytes()), **fields}
    (folder / MANIFEST).write_text(json.dumps(sealed(record)))
    return folder


def copied(folder: Path, goal: Path) -> Path:
    """A copy of a dataset folder that may be damaged."""
    return Path(shutil.copytree(folder, goal))
