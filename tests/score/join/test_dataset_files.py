"""Only what the manifest lists is read: a flipped bit never changes rows unnoticed or ends in a traceback."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from each import each
from made import CONTRACT, WriteLines, made
from made_commands import contract_answers, run
from made_datasets import folder_of, list_files, with_fields

from niah_score.contract import DATA_FORMATS, MANIFEST, ContractError, read_manifest
from niah_score.errors import IntegrityError, ScoreError
from niah_score.join import rows as rows_module
from niah_score.join.rows import each_intact, find_files, read_rows
from niah_score.machine.files import file_state

RUNS = 500


@pytest.fixture(params=DATA_FORMATS)
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return folder_of(request.param, tmp_path / "dataset")


def flipped(path: Path, bit: int) -> None:
    data = bytearray(path.read_bytes())
    data[bit // 8] ^= 1 << bit % 8
    path.write_bytes(data)


def hunt(folder: Path, flips: int, write_lines: WriteLines) -> None:
    """Flip bits of all that scoring reads, one at a time: each ends in exit code 4 and a message, or is harmless."""
    answers = write_lines("answers.jsonl", contract_answers())
    out = folder.parent / "out"
    assert run("score", folder, answers, "--out", out).returncode == 0
    whole = (out / "scores.parquet").read_bytes()
    files = [folder / MANIFEST, *find_files(folder).files]
    rng = random.Random(f"{folder.name} {files[1].name}")
    for _ in range(flips):
        (path,) = rng.choices(files, [file.stat().st_size for file in files])
        bit = rng.randrange(8 * path.stat().st_size)
        before = path.read_bytes()
        flipped(path, bit)
        done = run("score", folder, answers, "--out", out, "--overwrite")
        if done.returncode == 0:
            assert path.name == MANIFEST, (path, bit)
            assert (out / "scores.parquet").read_bytes() == whole, (path, bit)
        else:
            message = done.stderr.strip()
            assert done.returncode == 4, (path, bit, message)
            assert message.startswith("niah-score: "), (path, bit, message)
            assert path.name in message, (path, bit, message)
        path.write_bytes(before)


@pytest.mark.slow
def test_a_flipped_bit_never_changes_scores_silently_or_ends_in_a_traceback(
    folder: Path, write_lines: WriteLines
) -> None:
    hunt(folder, 20, write_lines)


@pytest.mark.soak
def test_many_flipped_bits_never_change_scores_silently_or_end_in_a_traceback(
    folder: Path, write_lines: WriteLines
) -> None:
    hunt(folder, RUNS, write_lines)


def test_every_format_of_a_dataset_has_the_same_name_digest_and_ids(folder: Path) -> None:
    whole = read_rows(CONTRACT)
    rows = read_rows(folder)
    assert (rows.name, rows.digest8) == (whole.name, whole.digest8)
    assert rows.digest8 == read_manifest(CONTRACT).plan_digest[:8]
    assert rows.table["id"].equals(whole.table["id"])


def test_a_damaged_file_is_named_with_a_remedy(folder: Path) -> None:
    last = [*find_files(folder).files][-1]
    flipped(last, 8 * last.stat().st_size // 2)
    with pytest.raises(IntegrityError, match=rf"{last.name}: sha256 is .*copy the dataset again, or build it again"):
        read_rows(folder)


def test_a_single_file_is_checked_if_a_manifest_above_it_lists_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = next(iter(find_files(folder).files))
    rows = read_rows(file)
    assert (rows.manifest, rows.name) == (None, "test-00000-of-00001")
    flipped(file, 4004)
    monkeypatch.chdir(file.parent)
    for path in (file, Path(file.name)):
        with pytest.raises(IntegrityError, match=r"sha256 is"):
            read_rows(path)
    (folder / MANIFEST).write_bytes((folder / MANIFEST).read_bytes()[:-50])
    with pytest.raises(ContractError, match=r"manifest\.json: cannot be read as JSON"):
        read_rows(file)


def test_a_file_that_holds_all_rows_has_the_name_of_its_dataset(tmp_path: Path) -> None:
    folder = folder_of("jsonl", tmp_path / "dataset")
    one, other = find_files(folder).files
    one.write_bytes(one.read_bytes() + other.read_bytes())
    shutil.rmtree(other.parent)
    list_files(folder)
    whole, alone = read_rows(folder), read_rows(one)
    assert (alone.name, alone.digest8, alone.manifest) == (whole.name, whole.digest8, whole.manifest)


@pytest.mark.parametrize("manifest", [b"", b"{}", b'{"schema_version": 1}', b'{"name": "a web page"}', None])
def test_a_hand_made_file_is_read_below_a_manifest_that_does_not_list_it(
    manifest: bytes | None, write_lines: WriteLines, tmp_path: Path
) -> None:
    folder_of("jsonl", tmp_path)
    if manifest is not None:
        (tmp_path / MANIFEST).write_bytes(manifest)
    (tmp_path / "mine").mkdir()
    assert read_rows(write_lines("mine/rows.jsonl", made(3))).name == "rows"


def test_a_manifest_that_lists_no_files_is_refused(tmp_path: Path) -> None:
    with_fields(folder_of("jsonl", tmp_path / "d"), files=[])
    with pytest.raises(ScoreError, match="holds no rows"):
        read_rows(tmp_path / "d")


def _replace(path: Path) -> None:
    (path.parent / "new").write_bytes(path.read_bytes())
    (path.parent / "new").replace(path)


def _write_the_same(path: Path) -> None:
    path.write_bytes(path.read_bytes())


def _move_away_and_back(path: Path) -> None:
    path.rename(path.parent / "away")
    (path.parent / "away").rename(path)


def _put_back_its_time(path: Path) -> None:
    about = path.stat()
    _write_the_same(path)
    os.utime(path, ns=(about.st_atime_ns, about.st_mtime_ns))


@each("change", [_replace, _write_the_same, _move_away_and_back, _put_back_its_time, Path.unlink])
@each("listed", [True, False])
def test_a_file_that_changes_while_it_is_read_is_refused(
    change: Callable[[Path], None], listed: bool, tmp_path: Path
) -> None:
    files = find_files(folder_of("jsonl", tmp_path / "dataset"))
    path = next(iter(files.files))
    if not listed:
        path = tmp_path / "rows.jsonl"
        path.write_bytes(b"x")
        files = find_files(path)
    os.utime(path, ns=(0, 0))
    before = file_state(path)

    def read(file: Path) -> list[int]:
        if file == path:
            change(path)
            while path.exists() and file_state(path) == before:  # within one tick of the system's clock
                change(path)
        return [1]

    with pytest.raises(IntegrityError, match="changed while it was read; score again"):
        list(each_intact(files, read))


def test_a_file_is_not_read_before_it_is_checked(tmp_path: Path) -> None:
    files = find_files(folder_of("jsonl", tmp_path / "dataset"))
    flipped([*files.files][1], 8)
    seen: list[Path] = []

    def read(path: Path) -> list[int]:
        seen.append(path)
        return []

    with pytest.raises(IntegrityError):
        list(each_intact(files, read))
    assert seen == [next(iter(files.files))]


def test_an_error_of_the_disk_is_not_blamed_on_the_dataset(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def damaged_disk(*_: object) -> str:
        raise OSError(5, os.strerror(5))

    monkeypatch.setattr(rows_module, "file_problem", damaged_disk)
    with pytest.raises(OSError, match=r"Input/output error: '.*\.jsonl'"):
        read_rows(folder_of("jsonl", tmp_path / "dataset"))
