"""Files that replace others as a set: a kill or an error at any operation leaves old files, new files, or no head."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from failing_disk import KilledError, error, failing, killed

from niah_score.errors import LockedError, ResourceError, ScoreError
from niah_score.machine.staging import STAGING, FileSet, hold

NAMES = ("a", "b", "c", "head")
OLD = {"a": b"old", "c": b"old", "head": b"old"}
NEW = {"a": b"new", "b": b"new", "head": b"new"}
NOTE = {"note.txt": b"mine"}


def ours(folder: Path) -> list[str]:
    return [name for name in NAMES if (folder / name).exists()]


FILES = FileSet("letters", ours, "head")


def put(folder: Path, files: dict[str, bytes]) -> None:
    def fill(staging: Path) -> None:
        for name, data in files.items():
            (staging / name).write_bytes(data)

    with hold(folder, FILES, overwrite=True) as writer:
        writer.replace(fill)


def content_of(folder: Path) -> dict[str, bytes]:
    """Every file below a folder with its content."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if not path.is_dir()}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(os, "fsync", lambda handle: None)
    put(tmp_path / "out", OLD)
    (tmp_path / "out" / "note.txt").write_bytes(b"mine")
    return tmp_path / "out"


def test_files_are_replaced_and_nothing_else_is_left(folder: Path) -> None:
    assert content_of(folder) == {**OLD, **NOTE}
    put(folder, NEW)
    assert content_of(folder) == {**NEW, **NOTE}
    assert {path.name for path in folder.iterdir()} == {*NEW, *NOTE}


def number_of_operations(folder: Path) -> int:
    with failing(folder, -1, killed) as operations:
        put(folder, OLD)
    assert operations.done.count("os.rename head") == 2
    assert operations.done.index("fsync head") < operations.done.index("os.rename head")
    return len(operations.done)


def attempt(folder: Path, n: int, then: Callable[[], None], *, always: bool = False) -> BaseException | None:
    """The error with which putting new files ends if the n-th operation goes wrong; None if it succeeds."""
    try:
        with failing(folder, n, then, always=always):
            put(folder, NEW)
    except (ResourceError, KilledError) as problem:
        return problem
    return None


def in_place(folder: Path) -> dict[str, bytes]:
    """The files of a folder except for those in the hidden one."""
    files = {name: data for name, data in content_of(folder).items() if STAGING not in name}
    assert files.pop("note.txt") == b"mine"
    return files


@pytest.mark.parametrize("number", [errno.EIO, errno.ENOSPC])
def test_an_error_at_any_operation_leaves_the_old_files_or_the_new_ones(folder: Path, number: int) -> None:
    count = number_of_operations(folder)
    reported = 0
    for n in range(count):
        problem = attempt(folder, n, error(number))
        if problem:
            assert f"cannot be written to ({os.strerror(number)})" in str(problem)
            assert content_of(folder) == {**OLD, **NOTE}, n
            reported += 1
        else:  # only the tidying up after the last move may fail silently
            assert in_place(folder) == NEW, n
        put(folder, OLD)
        assert content_of(folder) == {**OLD, **NOTE}, n
    assert reported > count / 2


def times(count: int) -> Callable[[], None]:
    """A `then` that raises an error at each of its first `count` calls."""
    left = [error(errno.EIO)] * count
    return lambda: left.pop()() if left else None


@pytest.mark.parametrize(
    "make",
    [lambda: killed, lambda: error(errno.EROFS), lambda: times(2), lambda: times(3), lambda: times(6)],
    ids=["killed", "dead", "two errors", "three errors", "six errors"],
)
def test_a_kill_or_dead_disk_at_any_operation_leaves_unmixed_files_or_no_head_until_restored(
    folder: Path, make: Callable[[], Callable[[], None]]
) -> None:
    heads = set()
    for n in range(number_of_operations(folder)):
        attempt(folder, n, make(), always=True)
        files = in_place(folder)
        heads.add(files.get("head"))
        assert "head" not in files or files in (OLD, NEW), n
        restore(folder)
        assert content_of(folder) == {**(NEW if files.get("head") == b"new" else OLD), **NOTE}, n
        put(folder, OLD)
        assert content_of(folder) == {**OLD, **NOTE}, n
    assert heads == {b"old", None, b"new"} or make() is not killed


def restore(folder: Path) -> None:
    with hold(folder, FILES, overwrite=True):
        pass


def test_putting_old_files_back_may_itself_be_killed(folder: Path) -> None:
    tried = 0
    for n in range(number_of_operations(folder)):
        for m in range(30):
            attempt(folder, n, killed, always=True)
            if "head" in in_place(folder):
                break
            with suppress(KilledError), failing(folder, m, killed, always=True) as operations:
                restore(folder)
            restore(folder)
            assert content_of(folder) == {**OLD, **NOTE}, (n, m)
            tried += 1
            if len(operations.done) < m:
                break
        put(folder, OLD)
    assert tried > 100


def test_an_interrupt_while_files_are_made_leaves_the_old_ones(folder: Path) -> None:
    def interrupted(staging: Path) -> None:
        (staging / "a").write_bytes(b"half")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), hold(folder, FILES, overwrite=True) as writer:
        writer.replace(interrupted)
    assert content_of(folder) == {**OLD, **NOTE}
    assert not (folder / STAGING).exists()


def test_a_folder_created_for_nothing_is_removed_and_an_existing_one_stays(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    for folder in (tmp_path / "there", tmp_path / "a" / "b"):
        with hold(folder, FILES, overwrite=False):
            assert (folder / STAGING).is_dir()
    assert [path.name for path in tmp_path.iterdir()] == ["there"]
    assert list((tmp_path / "there").iterdir()) == []


def test_a_folder_has_one_writer_and_is_released_however_the_block_ends(folder: Path) -> None:
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt), hold(folder, FILES, overwrite=True):
            _interrupted_while_others_write_to(folder)
    assert content_of(folder) == {**OLD, **NOTE}


def _interrupted_while_others_write_to(folder: Path) -> None:
    with pytest.raises(LockedError, match="another process is writing letters there; wait for it to end") as refused:
        put(folder, NEW)
    assert refused.value.exit_code == 11
    raise KeyboardInterrupt


@pytest.mark.slow
def test_a_killed_writer_blocks_nobody_and_its_leftovers_are_removed(folder: Path) -> None:
    code = (
        "import os, signal, sys; from pathlib import Path; from niah_score.machine.staging import FileSet, hold\n"
        "with hold(Path(sys.argv[1]), FileSet('letters', lambda folder: [], 'head'), overwrite=True) as held:\n"
        "    (held.staging / 'before').mkdir(); (held.staging / 'before' / 'a').write_bytes(b'half')\n"
        "    print(flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        with pytest.raises(LockedError):
            put(folder, NEW)
        process.send_signal(signal.SIGKILL)
    assert {path.name for path in folder.iterdir()} == {STAGING, *OLD, *NOTE}
    put(folder, NEW)
    assert content_of(folder) == {**NEW, **NOTE}
    assert not (folder / STAGING).exists()


def test_a_link_or_file_in_place_of_the_hidden_folder_is_not_touched(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "file").write_bytes(b"mine")
    (folder / STAGING).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ScoreError, match="is not a folder, so niah-score did not create it; remove it"):
        put(folder, NEW)
    assert (tmp_path / "elsewhere" / "file").read_bytes() == b"mine"
    (folder / STAGING).unlink()
    (folder / STAGING).write_bytes(b"mine")
    with pytest.raises(ScoreError, match="did not create it"):
        put(folder, NEW)
    assert content_of(folder) == {**OLD, **NOTE, STAGING: b"mine"}


def test_links_left_by_a_killed_writer_are_removed_and_not_followed(folder: Path, tmp_path: Path) -> None:
    (folder / STAGING).mkdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "file").write_bytes(b"mine")
    (folder / STAGING / "before").symlink_to(tmp_path / "elsewhere")
    put(folder, NEW)
    assert content_of(folder) == {**NEW, **NOTE}
    assert (tmp_path / "elsewhere" / "file").read_bytes() == b"mine"
