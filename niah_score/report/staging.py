"""Replaces the files of a folder as one: a writer at a time, and no kill and no error leaves a mix that looks whole.

    <folder>/.niah-score-staging/           made by the writer, gone when it is done; its `lock` says that it writes
    <folder>/.niah-score-staging/before/    the old files while the new ones are moved in

New files are written and synced in the hidden folder. Then the old ones are moved aside, first the one that stands for
all of them, and the new ones are moved in, that one last: without it a reader knows that the others may not belong
together. An error on the way puts the old files back. A process that is killed leaves the old files as they were or, if
it was moving files, a folder that readers refuse until the next writer has put the old files back, which it does first.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from niah_score.errors import LockedError, ResourceError, ScoreError
from niah_score.machine.files import HeldError, locked, sync_file, sync_folder

STAGING = ".niah-score-staging"
_LOCK = "lock"
_BEFORE = "before"


class FileSet(NamedTuple):
    """Files that are written together. `content`: what they are, in a word; `names`: those of them in a folder.

    `head`: the file that stands for all of them; without it, none counts.
    """

    content: str
    names: Callable[[Path], Sequence[str]]
    head: str


class HeldFolder(NamedTuple):
    """A folder that no other process writes such files into; `staging`: a folder in it for new ones."""

    folder: Path
    files: FileSet
    staging: Path

    def replace(self, fill: Callable[[Path], None]) -> Path:
        """Let `fill` write files into an empty folder, then put them in the place of those that are there.

        Returns the folder. Raises ResourceError where it cannot be written to; it holds the same files as before then.
        """
        with _told(self.folder):
            _empty(self.staging)
            fill(self.staging)
            new = self.files.names(self.staging)
            for name in new:
                sync_file(self.staging / name)
            _exchange(self.folder, self.staging, self.files.names(self.folder), new, self.files.head)
        return self.folder

    def replace_one(self, name: str, data: bytes) -> None:
        """Put one file in the place of the one that is there. Raises ResourceError where that cannot be done."""
        with _told(self.folder):
            staged = self.staging / name
            staged.write_bytes(data)
            sync_file(staged)
            staged.replace(self.folder / name)
            sync_folder(self.folder)


@contextmanager
def hold(folder: Path, files: FileSet, *, overwrite: bool) -> Iterator[HeldFolder]:
    """Be the only process that writes such files into a folder, which is made if need be, and goes if it stays empty.

    Raises ScoreError where the folder is a file, or holds such files already and may not be overwritten; LockedError
    where another process holds it; ResourceError where it cannot be written to.
    """
    if folder.exists() and not folder.is_dir():
        raise ScoreError(f"{folder}: is a file; --out takes a folder")
    staging = folder / STAGING
    if staging.is_symlink() or (staging.exists() and not staging.is_dir()):
        raise ScoreError(f"{staging}: is no folder, so it is none of ours; remove it, or choose another --out")
    with ExitStack() as stack:
        stack.callback(_remove_empty, [staging, *(path for path in (folder, *folder.parents) if not path.exists())])
        try:
            with _told(folder):
                stack.enter_context(locked(staging / _LOCK, remove=True))
        except HeldError:
            raise LockedError(
                f"{folder}: another process writes {files.content} there; wait for it to end, or choose another --out"
            ) from None
        stack.callback(_tidy, folder, staging, files)
        with _told(folder):
            _restore(folder, staging, files)
            there = files.names(folder)
        if there and not overwrite:
            raise ScoreError(
                f"{folder}: holds {files.content} already ({there[0]}); choose another --out, or say --overwrite"
            )
        yield HeldFolder(folder, files, staging)


@contextmanager
def _told(folder: Path) -> Iterator[None]:
    """What the system refuses, as a sentence."""
    try:
        yield
    except OSError as error:
        raise ResourceError(f"{folder}: cannot be written to ({error.strerror or error})") from None


def _empty(staging: Path) -> None:
    """Remove everything in a staging folder but its lock."""
    for path in staging.iterdir():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        elif path.name != _LOCK:
            path.unlink()


def _tidy(folder: Path, staging: Path, files: FileSet) -> None:
    """Empty a staging folder, unless old files are in it and cannot be put back now: then the next writer does that."""
    with suppress(OSError):
        _restore(folder, staging, files)
        _empty(staging)


def _remove_empty(folders: Sequence[Path]) -> None:
    for folder in folders:
        with suppress(OSError):
            folder.rmdir()


def _restore(folder: Path, staging: Path, files: FileSet) -> None:
    """Put back old files that a writer had moved aside when it was killed, unless the new ones are all there."""
    before = staging / _BEFORE
    # A link there is none of ours: files of another folder are not moved into this one.
    if before.is_symlink() or (folder / files.head).exists() or not (before / files.head).exists():
        return
    old = files.names(before)
    # Once new files come in, no old one is left there. Those that tell so go last: this too may be killed.
    new = files.names(folder) if any((folder / name).exists() for name in old) else []
    for name in sorted(new, key=lambda name: name in old):
        (folder / name).unlink()
    for name in sorted(old, key=lambda name: name == files.head):
        (before / name).replace(folder / name)
    sync_folder(folder)


def _exchange(folder: Path, staging: Path, old: Sequence[str], new: Sequence[str], head: str) -> None:
    """Move old files aside and new ones in; if anything fails on the way, undo it."""
    before = staging / _BEFORE
    before.mkdir()
    moved: list[tuple[Path, Path]] = []

    def move(names: Sequence[str], source: Path, goal: Path) -> None:
        for name in names:
            moved.append((source / name, goal / name))
            (source / name).replace(goal / name)
        sync_folder(folder)

    try:
        # Synced in between, so that a power failure cannot bring the head back among files of another run either.
        move([head] if head in old else [], folder, before)
        move([name for name in old if name != head], folder, before)
        move([name for name in new if name != head], staging, folder)
        move([head], staging, folder)
    except BaseException:
        _undo(moved)
        raise


def _undo(moved: Sequence[tuple[Path, Path]]) -> None:
    """Move files back, the last one first. Stops where that fails: the old head, moved first, is then not back."""
    with suppress(OSError):
        for source, goal in reversed(moved):
            if not source.exists():  # else the last move is what failed
                goal.replace(source)
