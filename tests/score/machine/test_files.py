"""Files that appear whole or not at all, and locks that one process holds."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import IO

import pytest

from niah_score.machine.files import (
    HeldError,
    atomic_file,
    locked,
    move_file,
    remove_all_but,
    remove_leftovers,
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


def test_what_fails_leaves_the_old_file_and_nothing_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    write_atomically(path, b"old")
    with pytest.raises(KeyboardInterrupt), atomic_file(path) as file:
        _interrupted(file)
    assert path.read_bytes() == b"old"
    assert names(tmp_path) == {"a.txt"}


def test_a_file_is_synced_before_it_has_its_name_and_its_folder_after(
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


def test_what_a_killed_writer_left_is_removed_and_nothing_else(tmp_path: Path) -> None:
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


def test_a_file_is_moved_over_another_one_into_a_new_folder(tmp_path: Path) -> None:
    write_atomically(tmp_path / "a", b"new")
    write_atomically(tmp_path / "below" / "b", b"old")
    move_file(tmp_path / "a", tmp_path / "below" / "b")
    move_file(tmp_path / "below" / "b", tmp_path / "other" / "c")
    assert names(tmp_path) == {"below", "other", "other/c"}
    assert (tmp_path / "other" / "c").read_bytes() == b"new"


def test_only_wanted_files_and_their_folders_stay(tmp_path: Path) -> None:
    for name in ("a", "b/c", "b/d", "e/f/g", "h/a"):
        write_atomically(tmp_path / name, b"x")
    (tmp_path / "b" / "link").symlink_to(tmp_path / "h", target_is_directory=True)
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    remove_all_but(tmp_path, {"a", "b/c"})
    assert names(tmp_path) == {"a", "b", "b/c"}


def test_a_lock_is_held_by_one_and_given_back_however_the_block_ends(tmp_path: Path) -> None:
    path = tmp_path / "below" / "lock"
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt), locked(path):
            _interrupted_while_others_ask_for(path)


def _interrupted_while_others_ask_for(path: Path) -> None:
    with pytest.raises(HeldError, match="is held by another process") as held, locked(path):
        pass
    assert held.value.path == path
    raise KeyboardInterrupt


def _interrupted(file: IO[bytes]) -> None:
    file.write(b"new")
    raise KeyboardInterrupt
