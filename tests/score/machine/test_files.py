"""Files appear whole or not at all; a kill or an error leaves the old set, the new set, or none that looks complete."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from each import each
from failing_disk import KilledError, error, failing, killed

from niah_score.errors import LockedError, ScoreError
from niah_score.machine.files import (
    STAGING,
    atomic_file,
    hold,
    locked,
    refusal,
    remove_aside,
    write_atomically,
)


def content_of(folder: Path) -> dict[str, bytes]:
    """Every file below a folder with its content."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


# One file ------------------------------------------------------------------------------------------------------------


def test_a_file_appears_with_its_folder_once_it_is_complete_and_synced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a" / "b.txt"
    synced: list[tuple[bool, bool]] = []
    monkeypatch.setattr(
        os, "fsync", lambda file: synced.append((Path(f"/proc/self/fd/{file}").is_dir(), path.exists()))
    )
    with atomic_file(path) as file:
        file.write(b"half")
        assert not path.exists()
        file.write(b" and half")
    assert content_of(tmp_path) == {"a/b.txt": b"half and half"}
    # The file before it has its name, its folder afterwards.
    assert synced == [(False, False), (True, True)]


def test_a_failed_write_leaves_the_old_file_and_names_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.txt"
    write_atomically(path, b"old")

    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left on device") as raised:
        write_atomically(path, b"new")
    assert raised.value.filename == str(path)
    assert content_of(tmp_path) == {"a.txt": b"old"}


@pytest.mark.slow
def test_the_next_writer_overwrites_what_a_killed_one_left_and_follows_no_link(tmp_path: Path) -> None:
    path = tmp_path / "b.txt"
    code = (
        "import os, signal, sys; from pathlib import Path; from niah_score.machine.files import atomic_file\n"
        "with atomic_file(Path(sys.argv[1])) as file:\n"
        "    file.write(b'x' * 9999); file.flush(); os.kill(os.getpid(), signal.SIGKILL)"
    )
    for _ in range(2):
        subprocess.run([sys.executable, "-c", code, str(path)], check=False)
        assert set(content_of(tmp_path)) == {".b.txt.tmp", ".b.txt.lock"}
    write_atomically(path, b"new")
    (tmp_path / ".b.txt.tmp").symlink_to(path)
    write_atomically(path, b"newer")
    assert content_of(tmp_path) == {"b.txt": b"newer"}
    subprocess.run([sys.executable, "-c", code, str(path)], check=False)
    remove_aside([path])
    assert content_of(tmp_path) == {"b.txt": b"newer"}


# Locks ---------------------------------------------------------------------------------------------------------------


def test_a_lock_has_one_holder_and_leaves_no_file_however_the_block_ends(tmp_path: Path) -> None:
    path = tmp_path / "below" / "lock"
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt), locked(path):  # noqa: PT012
            with pytest.raises(LockedError, match="lock: is held by another process"), locked(path):
                pass
            raise KeyboardInterrupt
        assert content_of(tmp_path) == {}


@each("number", [errno.ENOSYS, errno.ENOTSUP, errno.ENOLCK])
def test_on_a_file_system_without_locks_everybody_gets_one(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fcntl.flock", lambda handle, operation: error(number)())
    with locked(tmp_path / "lock"), locked(tmp_path / "lock"):
        pass
    assert content_of(tmp_path) == {}


# Sets of files -------------------------------------------------------------------------------------------------------

# Users name such files on systems that allow them.
NAMES = ("a", "heat:map.png", "aux.png", "head")
OLD = {"a": b"old", "aux.png": b"old", "head": b"old"}
NEW = {"a": b"new", "heat:map.png": b"new", "head": b"new"}
NOTE = {"note.txt": b"mine"}


def ours(folder: Path) -> list[str]:
    return [name for name in NAMES if (folder / name).exists()]


def put(folder: Path, files: dict[str, bytes]) -> None:
    def fill(staging: Path) -> None:
        for name, data in files.items():
            (staging / name).write_bytes(data)

    with hold(folder, "letters", ours, head="head", overwrite=True) as replace:
        replace(fill)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(os, "fsync", lambda handle: None)
    put(tmp_path / "out", OLD)
    (tmp_path / "out" / "note.txt").write_bytes(b"mine")
    return tmp_path / "out"


def in_place(folder: Path) -> dict[str, bytes]:
    """The files of a folder except for those in the hidden one."""
    files = {name: data for name, data in content_of(folder).items() if STAGING not in name}
    assert files.pop("note.txt") == b"mine"
    return files


def attempt(folder: Path, n: int, then: Callable[[], None], *, always: bool = False) -> BaseException | None:
    """The error with which putting new files ends if the n-th operation goes wrong; None if it succeeds."""
    try:
        with failing(folder, n, then, always=always):
            put(folder, NEW)
    except (OSError, KilledError) as problem:
        return problem
    return None


def number_of_operations(folder: Path) -> int:
    with failing(folder, -1, killed) as operations:
        put(folder, OLD)
    assert operations.done.index("fsync head") < operations.done.index("os.rename head")
    return len(operations.done)


def test_files_are_replaced_and_nothing_else_is_left(folder: Path) -> None:
    assert content_of(folder) == {**OLD, **NOTE}
    put(folder, NEW)
    assert content_of(folder) == {**NEW, **NOTE}
    assert {path.name for path in folder.iterdir()} == {*NEW, *NOTE}
    with pytest.raises(ScoreError, match=r"already holds letters \(a\); choose another --out, or use --overwrite"):
        hold(folder, "letters", ours).__enter__()


@pytest.mark.parametrize("number", [errno.EIO, errno.ENOSPC])
def test_an_error_at_any_operation_leaves_the_old_files_or_the_new_ones_or_their_plan(
    folder: Path, number: int
) -> None:
    reported = 0
    count = number_of_operations(folder)
    for n in range(count):
        problem = attempt(folder, n, error(number))
        if problem:
            assert os.strerror(number) in str(problem)
            assert in_place(folder) == OLD or (folder / STAGING / "plan.json").exists(), n
            reported += 1
        else:
            assert in_place(folder) == NEW, n
        put(folder, OLD)
        assert content_of(folder) == {**OLD, **NOTE}, n
    assert reported > count / 4


@pytest.mark.parametrize("then", [killed, error(errno.EROFS)], ids=["killed", "dead"])
def test_a_kill_or_dead_disk_at_any_operation_leaves_no_mix_that_looks_complete(
    folder: Path, then: Callable[[], None]
) -> None:
    heads = []
    for n in range(number_of_operations(folder)):
        attempt(folder, n, then, always=True)
        files = in_place(folder)
        heads.append(files.get("head"))
        assert "head" not in files or files in (OLD, NEW), n
        planned = (folder / STAGING / "plan.json").exists()
        assert "head" in files or planned, n
        # The next writer, which may itself be killed at first, moves in what was planned.
        for m in range(n % 3):
            with suppress(KilledError, OSError), failing(folder, m * 5 + n % 5, then, always=True):
                finish(folder)
        finish(folder)
        assert content_of(folder) == {**(NEW if planned or heads[-1] == b"new" else OLD), **NOTE}, n
        put(folder, OLD)
        assert content_of(folder) == {**OLD, **NOTE}, n
    assert {b"old", None, b"new"} >= {*heads} >= {b"old", None}


def finish(folder: Path) -> None:
    with hold(folder, "numbers", lambda place: [], overwrite=True):
        pass


def test_an_error_about_another_place_an_interrupt_and_a_mistake_of_ours_leave_the_old_files(folder: Path) -> None:
    def read_beside(staging: Path) -> None:
        Path(f"{folder}-2/a").read_bytes()

    def interrupted(staging: Path) -> None:
        (staging / "a").write_bytes(b"half")
        raise KeyboardInterrupt

    def without_head(staging: Path) -> None:
        (staging / "a").write_bytes(b"new")

    for fill, kind in (
        (read_beside, FileNotFoundError), (interrupted, KeyboardInterrupt), (without_head, AssertionError),
    ):  # fmt: skip
        with pytest.raises(kind), hold(folder, "letters", ours, head="head", overwrite=True) as replace:
            replace(fill)
        assert content_of(folder) == {**OLD, **NOTE}
        assert not (folder / STAGING).exists()


def test_a_link_or_file_in_place_of_the_hidden_folder_is_not_touched(folder: Path, tmp_path: Path) -> None:
    mine = tmp_path / "elsewhere" / "a"
    mine.parent.mkdir()
    mine.write_bytes(b"mine")
    (folder / STAGING).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ScoreError, match="is not a folder, so niah-score did not create it; remove it"):
        put(folder, NEW)
    (folder / STAGING).unlink()
    (folder / STAGING).mkdir()
    for linked, plan in (
        (True, '{"head": "a", "removed": []}'),
        (False, '{"head": "a", "removed": ["../elsewhere/a"]}'),
        (False, "["),
    ):
        if linked:
            (folder / STAGING / "new").symlink_to(tmp_path / "elsewhere")
        else:
            write_atomically(folder / STAGING / "new" / "a", b"odd")
        (folder / STAGING / "plan.json").write_text(plan)
        put(folder, NEW)
        assert content_of(folder) == {**NEW, **NOTE}
        assert mine.read_bytes() == b"mine"
        (folder / STAGING).mkdir()


# What is refused -----------------------------------------------------------------------------------------------------


@each(
    ("problem", "message"),
    [
        (OSError(errno.EDQUOT, "-", "a", None, "b"), "a -> b: Disk quota exceeded; make room, or choose a folder on"),
        (OSError(errno.EIO, "-"), "Input/output error"),
        (OSError(errno.ENOENT, "-", b"x\xff"), "x\udcff: No such file or directory"),
        (OSError("odd"), "odd"),
    ],
)
def test_a_refusal_of_the_system_names_the_file_and_says_what_to_do(problem: OSError, message: str) -> None:
    assert refusal(problem).startswith(message)
    assert "None" not in refusal(problem)
