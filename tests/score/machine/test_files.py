"""Files that appear whole or not at all, and locks that one process holds."""

from __future__ import annotations

import errno
import fcntl
import os
import subprocess
import sys
from pathlib import Path
from typing import IO

import pytest
from each import each

from niah_score.machine import files
from niah_score.machine.files import (
    HeldError,
    atomic_file,
    locked,
    move_file,
    remove_all_but,
    remove_leftovers,
    sync_file,
    write_atomically,
)


def names(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*")}


def test_a_file_appears_with_its_folder_once_it_is_complete(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b.txt"
    with atomic_file(path) as file:
        file.write(b"half")
        assert not path.exists()
        file.write(b" and half")
    assert path.read_bytes() == b"half and half"
    assert names(tmp_path) == {"a", "a/b.txt"}


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    write_atomically(path, b"old")
    with pytest.raises(KeyboardInterrupt), atomic_file(path) as file:
        _interrupted(file)
    assert path.read_bytes() == b"old"
    assert names(tmp_path) == {"a.txt"}


def test_a_file_is_synced_before_it_gets_its_name_and_its_folder_after(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.txt"
    synced: list[tuple[bool, bool]] = []
    fsync = os.fsync

    def noted(handle: int) -> None:
        synced.append((os.path.samestat(os.fstat(handle), tmp_path.stat()), path.exists()))
        fsync(handle)

    monkeypatch.setattr(os, "fsync", noted)
    write_atomically(path, b"x")
    assert synced == [(False, False), (True, True)]


@pytest.mark.slow
def test_only_the_leftovers_of_a_killed_writer_are_removed(tmp_path: Path) -> None:
    code = (
        "import os, signal, sys; from pathlib import Path; from niah_score.machine.files import atomic_file\n"
        "with atomic_file(Path(sys.argv[1])) as file: os.kill(os.getpid(), signal.SIGKILL)"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "a" / "b.txt")], check=False)
    write_atomically(tmp_path / "a" / "c.tmp", b"x")
    write_atomically(tmp_path / "a" / ".hidden", b"x")
    assert len(names(tmp_path)) == 4
    remove_leftovers(tmp_path)
    assert names(tmp_path) == {"a", "a/c.tmp", "a/.hidden"}


@pytest.mark.slow
def test_the_leftovers_of_a_killed_writer_are_overwritten_by_the_next_one(tmp_path: Path) -> None:
    path = tmp_path / "b.txt"
    code = (
        "import os, signal, sys; from pathlib import Path; from niah_score.machine.files import atomic_file\n"
        "with atomic_file(Path(sys.argv[1])) as file:\n"
        "    file.write(b'x' * 9999); file.flush(); os.kill(os.getpid(), signal.SIGKILL)"
    )
    subprocess.run([sys.executable, "-c", code, str(path)], check=False)
    assert [path.name for path in tmp_path.iterdir()] == [f".b.txt.{files._host()}.tmp"]
    write_atomically(path, b"new")
    assert names(tmp_path) == {"b.txt"}
    assert path.read_bytes() == b"new"


def test_two_writers_of_a_file_do_not_disturb_each_other(tmp_path: Path) -> None:
    path = tmp_path / "b.txt"
    with atomic_file(path) as file:
        file.write(b"one")
        write_atomically(path, b"two")
        assert path.read_bytes() == b"two"
    assert path.read_bytes() == b"one"
    assert names(tmp_path) == {"b.txt"}


def test_a_link_in_place_of_the_temporary_file_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "mine").write_bytes(b"mine")
    (tmp_path / f".b.txt.{files._host()}.tmp").symlink_to(tmp_path / "mine")
    write_atomically(tmp_path / "b.txt", b"new")
    assert names(tmp_path) == {"mine", "b.txt"}
    assert (tmp_path / "mine").read_bytes() == b"mine"


def test_an_error_while_writing_names_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left on device") as raised:
        write_atomically(tmp_path / "b.txt", b"new")
    assert raised.value.filename == str(tmp_path / "b.txt")
    assert names(tmp_path) == set()


def test_a_file_is_moved_over_another_one_or_into_a_new_folder(tmp_path: Path) -> None:
    write_atomically(tmp_path / "a", b"new")
    write_atomically(tmp_path / "below" / "b", b"old")
    move_file(tmp_path / "a", tmp_path / "below" / "b")
    move_file(tmp_path / "below" / "b", tmp_path / "other" / "c")
    assert names(tmp_path) == {"below", "other", "other/c"}
    assert (tmp_path / "other" / "c").read_bytes() == b"new"


def test_all_but_the_named_files_and_their_folders_are_removed(tmp_path: Path) -> None:
    for name in ("a", "b/c", "b/d", "e/f/g", "h/a"):
        write_atomically(tmp_path / name, b"x")
    (tmp_path / "b" / "link").symlink_to(tmp_path / "h", target_is_directory=True)
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    remove_all_but(tmp_path, {"a", "b/c"})
    assert names(tmp_path) == {"a", "b", "b/c"}


def test_a_lock_has_one_holder_and_is_released_however_the_block_ends(tmp_path: Path) -> None:
    path = tmp_path / "below" / "lock"
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt), locked(path):
            _interrupted_while_others_ask_for(path)


def _interrupted_while_others_ask_for(path: Path) -> None:
    with pytest.raises(HeldError, match="is held by another process") as refused, locked(path):
        pass
    assert refused.value.path == path
    raise KeyboardInterrupt


def _interrupted(file: IO[bytes]) -> None:
    file.write(b"new")
    raise KeyboardInterrupt


def test_the_file_of_a_lock_is_removed_on_release(tmp_path: Path) -> None:
    path = tmp_path / "below" / "lock"
    for _ in range(2):
        with locked(path):
            with pytest.raises(HeldError), locked(path):
                pass
            assert path.exists()
        assert names(tmp_path) == {"below"}


def test_a_lock_on_a_file_that_its_holder_removed_is_taken_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when a process opens the file, and the holder removes it and lets go before the process locks it."""
    path = tmp_path / "lock"
    lock = files._lock
    taken: list[bool] = []

    def removed_meanwhile(handle: int) -> bool | None:
        if not taken:
            path.unlink()
        taken.append(True)
        return lock(handle)

    monkeypatch.setattr(files, "_lock", removed_meanwhile)
    with locked(path):
        assert len(taken) == 2
        assert path.exists()
        with pytest.raises(HeldError), locked(path):
            pass


@pytest.mark.slow
def test_a_held_lock_is_refused_at_once_or_waited_for_on_request(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from niah_score.machine.files import locked\n"
        "with locked(Path(sys.argv[1])): print(flush=True); sys.stdin.readline()"
    )
    path = tmp_path / "lock"
    with subprocess.Popen([sys.executable, "-c", code, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdout.readline()
        with pytest.raises(HeldError), locked(path):
            pass
        process.stdin.close()
        with locked(path, 60):
            pass


@each("number", [errno.ENOSYS, errno.ENOTSUP, errno.ENOLCK])
def test_every_lock_is_granted_on_a_file_system_without_locks(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none_here(*_: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(fcntl, "flock", none_here)
    with locked(tmp_path / "lock"), locked(tmp_path / "lock"):
        pass


def test_a_lock_that_fails_for_any_other_reason_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(fcntl, "flock", broken)
    with pytest.raises(OSError, match="Input/output"), locked(tmp_path / "lock"):
        pass
    (tmp_path / "lock").touch()
    with pytest.raises(NotADirectoryError), locked(tmp_path / "lock" / "below" / "lock"):
        pass


def test_syncing_a_file_does_not_change_it(tmp_path: Path) -> None:
    write_atomically(tmp_path / "a", b"x" * 5000)
    sync_file(tmp_path / "a")
    assert (tmp_path / "a").read_bytes() == b"x" * 5000
