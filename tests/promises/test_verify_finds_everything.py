"""Every flipped bit and every missing, cut, swapped, renamed or extra file is found, and never scored."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from made import ROOT
from made_datasets import copied, folder_of, list_files, with_manifest

from niah_gen.checks.hashes import verify
from niah_gen.dataset.read import rows_in
from niah_score.contract import MANIFEST, ContractError, read_manifest
from niah_score.errors import ScoreError
from niah_score.join.rows import Rows, read_rows

FROZEN = ROOT / "tests" / "contract" / "frozen"
FLIPS, SOAK_FLIPS = 10, 500
# Each kind of file, and the format of the rows in the dataset that contains it.
KINDS = {
    "data/*/*.parquet": "parquet", "jsonl/*/*.jsonl": "jsonl", "jsonl/*/*.jsonl.gz": "jsonl.gz",
    "jsonl/*/*.jsonl.zst": "jsonl.zst", "README.md": "parquet", "recipe.toml": "parquet",
    "preview/*.parquet": "parquet", MANIFEST: "parquet",
}  # fmt: skip
# The scorer opens none of these, so damage to them cannot affect a score.
NOT_READ = ("README.md", "recipe.toml", "preview/*.parquet")


def intact(kind: str, folder: Path) -> Path:
    """A dataset folder with files of a kind, and everything else that a build writes."""
    folder_of(KINDS[kind], folder)
    for name in ("README.md", "recipe.toml", "preview/test.parquet"):
        (folder / name).parent.mkdir(exist_ok=True)
        shutil.copy(FROZEN / name, folder / name)
    manifest = read_manifest(list_files(folder))
    data = [entry for entry in manifest.files if entry.path.startswith(("data/", "jsonl/"))]
    rows = {entry.path: sum(1 for _ in rows_in(folder / entry.path)) for entry in data}
    files = tuple(replace(entry, rows=rows.get(entry.path)) for entry in manifest.files)
    with_manifest(folder, replace(manifest, files=files))
    assert verify(folder)[1] == []
    return folder


def is_found(folder: Path) -> bool:
    """Whether `niah-gen verify` would end with exit code 4."""
    try:
        return bool(verify(folder)[1])
    except ContractError:
        return True


def read(folder: Path) -> Rows | Exception:
    """What the scorer reads from a dataset, or the error with which it refuses it."""
    try:
        return read_rows(folder)
    except (ScoreError, ContractError) as error:
        return error


def hunt(kind: str, folder: Path, flips: int) -> None:
    """Flip bits in the files of a kind, one at a time: each is found, and none is scored."""
    files = sorted(intact(kind, folder).glob(kind))
    rows = read_rows(folder)
    manifest = read_manifest(folder)
    draw = random.Random(kind)
    harmless = 0
    for _ in range(flips):
        path = draw.choice(files)
        data = path.read_bytes()
        bit = draw.randrange(8 * len(data))
        path.write_bytes(data[: bit // 8] + bytes([data[bit // 8] ^ 1 << bit % 8]) + data[bit // 8 + 1 :])
        if not is_found(folder):
            # The manifest still says the same: only its white space or the key of its own digest changed.
            assert (path.name, read_manifest(folder)) == (MANIFEST, manifest), (path, bit)
            harmless += 1
        scored = read(folder)
        if isinstance(scored, Exception):
            assert getattr(scored, "exit_code", 4) == 4, (path, bit, scored)
            assert path.name in str(scored) or str(folder) in str(scored), (path, bit, scored)
            assert kind not in NOT_READ, (path, bit, scored)
        else:
            assert kind in (*NOT_READ, MANIFEST), (path, bit)
            assert scored.table.equals(rows.table), (path, bit)
            assert scored.targets.equals(rows.targets), (path, bit)
        path.write_bytes(data)
    assert harmless <= flips / 20, f"{harmless} of {flips} flips of {kind} are not found, and change nothing"


@pytest.mark.parametrize("kind", KINDS)
def test_a_flipped_bit_is_found_and_never_scored(kind: str, tmp_path: Path) -> None:
    hunt(kind, tmp_path / "dataset", FLIPS)


@pytest.mark.soak
@pytest.mark.parametrize("kind", KINDS)
def test_all_500_flipped_bits_are_found_and_none_is_scored(kind: str, tmp_path: Path) -> None:
    hunt(kind, tmp_path / "dataset", SOAK_FLIPS)


def _truncated(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def _swapped(path: Path) -> None:
    other = next(file for file in sorted(path.parents[2].rglob("*.*")) if file.is_file() and file != path)
    data = path.read_bytes()
    path.write_bytes(other.read_bytes())
    other.write_bytes(data)


def _to_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def _to_link(path: Path) -> None:
    away = path.parents[3] / "away"
    path.rename(away)
    path.symlink_to(away)


DAMAGES: dict[str, Callable[[Path], object]] = {
    "deleted": lambda path: path.unlink(),
    "cut": _truncated,
    "emptied": lambda path: path.write_bytes(b""),
    "longer": lambda path: path.write_bytes(path.read_bytes() + b"\n"),
    "renamed": lambda path: path.rename(path.with_name(f"x{path.name}")),
    "doubled": lambda path: shutil.copy(path, path.with_name(f"x{path.name}")),
    "hidden beside it": lambda path: path.with_name(f".{path.name}.swp").write_bytes(b""),
    "a folder": _to_folder,
    "a link": _to_link,
    "swapped": _swapped,
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_damaged_moved_or_extra_file_is_found(kind: str, tmp_path: Path) -> None:
    clean = intact(kind, tmp_path / "clean")
    rows, manifest = read_rows(clean), read_manifest(clean)
    for damage, do in DAMAGES.items():
        folder = copied(clean, tmp_path / damage / "a" / "dataset")
        do(sorted(folder.glob(kind))[0])
        same = (kind, damage) in ((MANIFEST, "cut"), (MANIFEST, "longer"))
        assert is_found(folder) or (same and read_manifest(folder) == manifest), damage
        if kind in NOT_READ and damage == "swapped":
            continue  # swapped with a file that the scorer reads
        # The scorer reads the same bytes as before, though perhaps through a link.
        if same or kind in NOT_READ or damage in ("doubled", "hidden beside it", "a link"):
            assert read_rows(folder).table.equals(rows.table), damage
            continue
        with pytest.raises((ScoreError, ContractError)):
            read_rows(folder)
