"""Replaces the files of a folder together, one writer at a time; no kill or error leaves a mix that looks complete.

    <folder>/.niah-staging/            made by the writer and removed at the end; its `lock` shows that it is writing
    <folder>/.niah-staging/new/        the new files until they are moved in
    <folder>/.niah-staging/before/     the old files while the new ones are moved in
    <folder>/.niah-staging/plan.json   which files are old and which new, while they are moved

New files are written and synced in the hidden folder. Then the old ones are moved aside, the head first, and the new
ones are moved in, the head last: without the head, a reader knows that the other files may not belong together. An
error during this puts the old files back. What a killed process has moved, the next writer moves back before it does
anything else, whatever it writes itself: the plan says which files are old and which new.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from niah_score.contract import is_safe_path
from niah_score.errors import LockedError, ResourceError, ScoreError
from niah_score.machine.files import HeldError, locked, make_folder, remove_folder, sync_file, sync_folder
from niah_score.machine.refusals import advice, naming, reason

STAGING = ".niah-staging"
_LOCK = "lock"
_NEW = "new"
_BEFORE = "before"
_PLAN = "plan.json"


class FileSet(NamedTuple):
    """Files that are written together. `content`: what they are, in a word; `names`: lists those in a folder.

    `head`: the file without which none of the others counts; by default the first of the new ones. Names are paths
    relative to the folder, with slashes.
    """

    content: str
    names: Callable[[Path], Sequence[str]]
    head: str | None = None


class HeldFolder(NamedTuple):
    """A folder into which no other process writes such files; `staging`: a folder in it for new ones."""

    folder: Path
    files: FileSet
    staging: Path

    def replace(self, fill: Callable[[Path], None]) -> Path:
        """Let `fill` write files into an empty folder, then replace the present files with them.

        Returns the folder. Raises ResourceError if it cannot be written to, and what `fill` raises, such as an OSError
        of a file that it reads elsewhere; the folder then holds the same files as before.
        """
        with _folder_errors(self.folder):
            _empty(self.staging)
            place = self.staging / _NEW
            place.mkdir()
            fill(place)
            new = sorted(path.relative_to(place).as_posix() for path in place.rglob("*") if not path.is_dir())
            for name in new:
                sync_file(place / name)
            if new:
                head = self.files.head or new[0]
                plan = _Plan(head, tuple(self.files.names(self.folder)), tuple(new))
                _exchange(self.folder, self.staging, plan)
        return self.folder

    def replace_one(self, name: str, data: bytes) -> None:
        """Replace one file. Raises ResourceError if that fails."""
        with _folder_errors(self.folder):
            staged = self.staging / name
            with naming(self.folder / name, staged):
                staged.write_bytes(data)
                sync_file(staged)
                staged.replace(self.folder / name)
            sync_folder(self.folder)


class _Plan(NamedTuple):
    """Which files are exchanged: the old ones, the new ones, and `head`, the new one that is moved last."""

    head: str
    old: tuple[str, ...]
    new: tuple[str, ...]


@contextmanager
def hold(folder: Path, files: FileSet, *, overwrite: bool) -> Iterator[HeldFolder]:
    """Be the only process that writes such files into a folder, which is made if missing, and removed if left empty.

    Raises ScoreError if the folder is a file, or already holds such files without `overwrite`; LockedError if another
    process holds it; ResourceError if it cannot be written to.
    """
    if folder.exists() and not folder.is_dir():
        raise ScoreError(f"{folder}: is a file; --out takes a folder")
    staging = folder / STAGING
    if staging.is_symlink() or (staging.exists() and not staging.is_dir()):
        raise ScoreError(
            f"{staging}: is not a folder, so niah-score did not create it; remove it, or choose another --out"
        )
    with ExitStack() as stack:
        stack.callback(_remove_empty, [staging, *(path for path in (folder, *folder.parents) if not path.exists())])
        try:
            with _folder_errors(folder):
                stack.enter_context(locked(staging / _LOCK))
        except HeldError:
            raise LockedError(
                f"{folder}: another process is writing {files.content} there; wait for it to end, or choose another "
                "--out"
            ) from None
        stack.callback(_tidy, folder, staging)
        with _folder_errors(folder):
            _restore(folder, staging)
            present = files.names(folder)
        if present and not overwrite:
            raise ScoreError(
                f"{folder}: already holds {files.content} ({present[0]}); choose another --out, or use --overwrite"
            )
        yield HeldFolder(folder, files, staging)


@contextmanager
def _folder_errors(folder: Path) -> Iterator[None]:
    """Turn an OSError in a folder into a ResourceError with a sentence; raise others unchanged."""
    try:
        yield
    except OSError as error:
        if isinstance(error.filename, str) and not _overlap(Path(error.filename), folder):
            raise
        sentence = f"{_place(folder, error)}: cannot be written to ({reason(error)})"
        raise ResourceError(f"{sentence}; {todo}" if (todo := advice(error, folder)) else sentence) from None


def _overlap(path: Path, folder: Path) -> bool:
    """Whether a path is in a folder, or the folder in it."""
    one, other = Path(os.path.abspath(path)), Path(os.path.abspath(folder))
    return one.is_relative_to(other) or other.is_relative_to(one)


def _place(folder: Path, error: OSError) -> Path:
    """The file that an error is about, by its final name; or the folder."""
    if isinstance(error.filename, str) and (path := Path(error.filename)).is_relative_to(folder):
        parts = path.relative_to(folder).parts
        return folder.joinpath(*(parts[2:] if parts[:1] == (STAGING,) else parts))
    return folder


def _empty(staging: Path) -> None:
    """Remove everything in a staging folder but its lock; the plan first, because without it nothing is put back."""
    (staging / _PLAN).unlink(missing_ok=True)
    for path in staging.iterdir():
        if path.is_dir() and not path.is_symlink():
            remove_folder(path)
        elif path.name != _LOCK:
            path.unlink()


def _tidy(folder: Path, staging: Path) -> None:
    """Empty a staging folder. If old files in it cannot be put back now, they are left for the next writer to do so."""
    with suppress(OSError):
        _restore(folder, staging)
        _empty(staging)


def _remove_empty(folders: Sequence[Path]) -> None:
    for folder in folders:
        with suppress(OSError):
            folder.rmdir()


def _restore(folder: Path, staging: Path) -> None:
    """Put back the old files that a killed writer had moved aside, unless all new ones are in place."""
    plan = _read_plan(staging / _PLAN)
    before, new = staging / _BEFORE, staging / _NEW
    # The head is moved in last.
    if plan is None or before.is_symlink() or new.is_symlink() or not (new / plan.head).exists():
        return
    folders = {folder}
    for name in plan.new:
        # Remove it if it was moved in, but not if it is an old file of that name that has been put back.
        if not (new / name).exists() and (name not in plan.old or (before / name).exists()):
            (folder / name).unlink(missing_ok=True)
            folders.add((folder / name).parent)
    for name in sorted(plan.old, key=lambda name: name == plan.head):
        if (before / name).exists():
            (before / name).replace(folder / name)
            folders.add((folder / name).parent)
    for changed in folders:
        sync_folder(changed)
    _remove_empty_below(folder, plan.new)


def _read_plan(path: Path) -> _Plan | None:
    """The plan of a killed writer; None if it had not written one, and so had moved nothing."""
    try:
        record = json.loads(path.read_bytes())
        plan = _Plan(record["head"], tuple(record["old"]), tuple(record["new"]))
    except (FileNotFoundError, ValueError, TypeError, KeyError, RecursionError):
        return None
    names = (plan.head, *plan.old, *plan.new)
    return plan if all(isinstance(name, str) and is_safe_path(name) for name in names) else None


def _exchange(folder: Path, staging: Path, plan: _Plan) -> None:
    """Move old files aside and new ones in; if anything fails, undo it."""
    before = staging / _BEFORE
    before.mkdir()
    with naming(folder):
        (staging / _PLAN).write_text(json.dumps(plan._asdict()), "utf-8")
    sync_file(staging / _PLAN)
    sync_folder(staging)
    moved: list[tuple[Path, Path]] = []

    def move(names: Sequence[str], source: Path, goal: Path) -> None:
        for name in names:
            make_folder((goal / name).parent)
            moved.append((source / name, goal / name))
            (source / name).replace(goal / name)
        for changed in {goal, *((goal / name).parent for name in names)}:
            sync_folder(changed)

    try:
        # Each step is synced, so that even a power failure cannot leave the head among files of another run.
        move([plan.head] if plan.head in plan.old else [], folder, before)
        move([name for name in plan.old if name != plan.head], folder, before)
        move([name for name in plan.new if name != plan.head], staging / _NEW, folder)
        move([plan.head], staging / _NEW, folder)
    except BaseException:
        _undo(moved)
        with suppress(OSError):
            _remove_empty_below(folder, plan.new)
        raise
    _remove_empty_below(folder, plan.old)


def _undo(moved: Sequence[tuple[Path, Path]]) -> None:
    """Move files back, the last one first. Stops at an error; the old head, moved aside first, is then not yet back."""
    with suppress(OSError):
        for source, goal in reversed(moved):
            if not source.exists():  # otherwise this is the move that failed
                goal.replace(source)


def _remove_empty_below(folder: Path, names: Sequence[str]) -> None:
    """Remove those folders of moved files that are now empty."""
    parents = {parent for name in names for parent in (folder / name).parents if parent.is_relative_to(folder)}
    _remove_empty(sorted(parents - {folder}, reverse=True))
