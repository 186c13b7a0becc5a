"""Writes files whole or not at all, replaces sets of them, holds locks, and says what the system or a limit refuses.

    with atomic_file(path) as file: ...                          one file, which appears complete and synced
    with hold(folder, "scores", names) as replace: replace(fill)     all files of a run, one writer at a time

A set is replaced in three steps, so that no kill leaves a mix that looks complete:

    <folder>/.niah-staging/new/          the new files, complete and synced
    <folder>/.niah-staging/plan.json     from now on the new files count: their head, and which old ones are removed
    <folder>/                            the old head is removed, the new files are moved in, their head last

Without its head, a reader knows that the other files may not belong together. If a writer is killed before the plan is
there, the old files are as they were; afterwards the next writer, whatever it writes, first finishes the moves.
"""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from functools import partial
from pathlib import Path
from typing import IO

from niah_score.errors import IntegrityError, LockedError, ScoreError

# Out of room: the disk is full, or the user's quota, or the limit on a file's size is reached.
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
# The argument is to blame: it names something that does not exist, or is of another kind.
NAMED_WRONGLY = (
    errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.EEXIST, errno.ENAMETOOLONG, errno.ELOOP, errno.EINVAL,
    errno.ENOTEMPTY, errno.EXDEV, errno.ENXIO, errno.ENODEV, errno.ESPIPE,
)  # fmt: skip
# What libraries say when the system gives them no memory, no thread or no file.
_NO_MEMORY = re.compile(
    "cannot allocate memory|(failed|unable) to allocate|memory allocation|out of memory|(malloc|realloc) of size|"
    "can't start new thread|cannot create thread|failed to launch worker thread|threadpoolbuilderror|"
    "failed to map segment|not enough memory|resource temporarily unavailable|memoryerror|too many open files"
)


def is_of_memory(error: BaseException) -> bool:
    """Whether memory or threads ran out, in Python or as libraries report it (Rust panics, failed mappings)."""
    if isinstance(error, OSError) and error.errno is not None:
        return error.errno in (errno.ENOMEM, errno.EAGAIN)
    # A ValueError may quote what was read.
    said = not isinstance(error, ValueError) and _NO_MEMORY.search(str(error).lower())
    return isinstance(error, MemoryError) or bool(said)


def is_refused(error: BaseException) -> bool:
    """Whether the system refused something, whichever library reports it; the file being read is then not to blame."""
    named_wrongly = not isinstance(error, OSError) or error.errno in (None, *NAMED_WRONGLY)
    return is_of_memory(error) or not named_wrongly


@contextmanager
def naming(path: Path, *aside: Path) -> Iterator[None]:
    """Let errors of the system name a file, if they name none (as in writing to an open file) or one of `aside`."""
    try:
        yield
    except OSError as error:
        if error.errno is None or error.filename not in (None, *map(str, aside)):
            raise
        raise OSError(error.errno, error.strerror or os.strerror(error.errno), str(path)) from error


@contextmanager
def reading(name: Path) -> Iterator[None]:
    """Report errors of reading a file under its name.

    Raises ScoreError if the name or what it leads to is to blame; OSError if the system refuses to read the file, which
    may then be intact.
    """
    try:
        with naming(name):
            yield
    except OSError as error:
        if is_refused(error):
            raise
        raise ScoreError(f"{name}: cannot be read ({error.strerror or error})") from None


def refusal(error: OSError) -> str:
    """An error of the system as a sentence: the file, what was refused, and what to do if there is no room."""
    names = [os.fsdecode(name) for name in (error.filename, error.filename2) if isinstance(name, str | bytes)]
    # The system's words, without what libraries add.
    reason = os.strerror(error.errno) if error.errno else str(error) or type(error).__name__
    advice = "; make room, or choose a folder on another disk" if error.errno in NO_ROOM else ""
    return ": ".join(filter(None, (" -> ".join(names), reason))) + advice


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """An empty folder for this process alone, below the system's temporary folder ($TMPDIR); removed at the end."""
    with tempfile.TemporaryDirectory(prefix="niah-", ignore_cleanup_errors=True) as folder:
        yield Path(folder)


@contextmanager
def locked(path: Path, seconds: float = 0) -> Iterator[None]:
    """Hold a lock file exclusively, waiting for it at most `seconds`. Makes the folder it is in. Raises LockedError.

    The lock is the system's and ends with the process that holds it, however that ends. The file of a killed holder
    stays until the next one takes it.
    """
    from filelock import FileLock, Timeout

    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        held: AbstractContextManager[object] = FileLock(path, timeout=seconds, fallback_to_soft=False).acquire()
    except Timeout:
        raise LockedError(f"{path}: is held by another process; wait for it to end, or write elsewhere") from None
    except OSError as error:
        if error.errno not in (errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP):
            raise
        held = nullcontext()  # on a file system without locks, everybody gets one
    with held:
        try:
            yield
        finally:
            # Removed while it is held: who has opened it already sees that it has lost its name, and tries again.
            with suppress(OSError):
                path.unlink()


@contextmanager
def atomic_file(path: Path) -> Iterator[IO[bytes]]:
    """A file that appears under its name complete and synced, or not at all. Makes the folder it is in.

    It is written as `.NAME.tmp`: the next writer of the same file overwrites what a killed one left, and waits for one
    that is still writing. Errors of the system name the file itself.
    """
    aside, lock = _asides(path)
    with naming(path, aside, lock):
        with locked(lock, 3600):
            try:
                aside.unlink(missing_ok=True)  # never through a link that somebody put there
                with aside.open("xb") as file:
                    yield file
                    file.flush()
                    os.fsync(file.fileno())
                aside.replace(path)
            finally:
                with suppress(OSError):
                    aside.unlink(missing_ok=True)
        sync_folder(path.parent)


def _asides(path: Path) -> tuple[Path, Path]:
    """What a writer of a file makes beside it: the file until it is complete, and a lock."""
    return path.with_name(f".{path.name}.tmp"), path.with_name(f".{path.name}.lock")


def remove_aside(paths: Iterable[Path]) -> None:
    """Remove what killed writers of these files left beside them. Nobody else may be writing them."""
    for path in paths:
        for left in _asides(path):
            left.unlink(missing_ok=True)


def write_atomically(path: Path, data: bytes) -> None:
    """Write a file that appears complete and synced, or not at all."""
    with atomic_file(path) as file:
        file.write(data)


def move_file(source: Path, goal: Path) -> None:
    """Move a file on the same disk durably, overwriting one of that name and making the folder."""
    goal.parent.mkdir(parents=True, exist_ok=True)
    source.replace(goal)
    sync_folder(goal.parent)


def sync_folder(folder: Path) -> None:
    """Make renames in a folder durable, if the system can."""
    if os.name == "posix":
        _sync(folder, os.O_RDONLY)


def _sync(path: Path, flags: int) -> None:
    with naming(path):
        handle = os.open(path, flags)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def file_state(path: Path) -> tuple[int, ...]:
    """What changes when a file is written to, replaced, or moved away and back: its device, inode, size and times.

    The times (ns) are its mtime and its ctime; the second cannot be set back.
    """
    about = path.stat()
    return about.st_dev, about.st_ino, about.st_size, about.st_mtime_ns, about.st_ctime_ns


@contextmanager
def unchanged(path: Path) -> Iterator[None]:
    """Raise IntegrityError if a file that is read in the block is changed or replaced meanwhile.

    Also in place of a ScoreError of the block, as the change may be its reason. A removed file still has its contents.
    """
    before = file_state(path) if path.exists() else None
    failed: ScoreError | None = None
    try:
        yield
    except ScoreError as error:
        failed = error
    if path.exists() and file_state(path) != before:
        raise IntegrityError(
            f"{path}: was changed or replaced while it was read, so what was read may be of two versions; nothing was "
            "scored: score it again once nothing writes to it"
        )
    if failed is not None:
        raise failed


def remove_folder(folder: Path) -> None:
    """Remove a folder, if it exists, and everything in it. Raises OSError that names it."""
    try:
        shutil.rmtree(folder)
    except FileNotFoundError:
        pass
    except OSError as error:
        # rmtree removes files relative to an open folder, and its errors do not name that.
        raise OSError(error.errno, error.strerror, str(folder)) from error


def remove_all_but(folder: Path, wanted: Collection[str]) -> None:
    """Remove every file below a folder whose relative POSIX path is not wanted, and the folders left empty."""
    for path in sorted(folder.rglob("*"), reverse=True):
        if path.is_dir() and not path.is_symlink():
            _remove_empty([path])
        elif path.relative_to(folder).as_posix() not in wanted:
            path.unlink()


def _remove_empty(folders: Iterable[Path]) -> None:
    for folder in folders:
        with suppress(OSError):
            folder.rmdir()


STAGING = ".niah-staging"
_NEW, _PLAN = "new", "plan.json"
# Lets a function write files into an empty folder, then replaces those in the folder that is held with them.
Replace = Callable[[Callable[[Path], object]], Path]


@contextmanager
def hold(
    folder: Path,
    content: str,
    names: Callable[[Path], Sequence[str]],
    *,
    head: str | None = None,
    overwrite: bool = False,
) -> Iterator[Replace]:
    """Be the only process that writes such files into a folder, which is made if missing, and removed if left empty.

    content: what the files are, in a word. names: lists those in a folder, by paths relative to it, with slashes. head:
    the file without which none of the others counts; by default the first of the new ones.

    Yields a function that replaces the files and returns the folder; it raises OSError if that fails, and what its
    argument raises. Raises ScoreError if the folder is a file, or already holds such files without `overwrite`;
    LockedError if another process holds it; OSError.
    """
    if folder.exists() and not folder.is_dir():
        raise ScoreError(f"{folder}: is a file; expected a folder")
    staging = folder / STAGING
    if staging.is_symlink() or (staging.exists() and not staging.is_dir()):
        raise ScoreError(
            f"{staging}: is not a folder, so niah-score did not create it; remove it, or choose another --out"
        )
    with ExitStack() as stack:
        stack.callback(_remove_empty, [staging, *(path for path in (folder, *folder.parents) if not path.exists())])
        stack.enter_context(locked(staging / "lock"))
        stack.callback(_clear, staging)
        _finish(folder)
        _clear(staging)
        if (present := names(folder)) and not overwrite:
            raise ScoreError(
                f"{folder}: already holds {content} ({present[0]}); choose another --out, or use --overwrite"
            )
        yield partial(_replace, folder, names, head)


def _replace(
    folder: Path, names: Callable[[Path], Sequence[str]], head: str | None, fill: Callable[[Path], object]
) -> Path:
    new = folder / STAGING / _NEW
    with naming(folder):
        new.mkdir()
        fill(new)
        files = _files_below(new)
        for name in files:
            _sync(new / name, os.O_RDWR)
        if files:
            head = head or files[0]
            assert head in files, f"{head} is not among the files"
            removed = sorted({*names(folder)} - {*files} | {head}, key=lambda name: (name != head, name))
            write_atomically(folder / STAGING / _PLAN, json.dumps({"head": head, "removed": removed}).encode())
            _finish(folder)
    return folder


def _finish(folder: Path) -> None:
    """Move in what is planned, after the old head is removed and before the new head; does nothing without a plan."""
    plan, new = folder / STAGING / _PLAN, folder / STAGING / _NEW
    try:
        planned = json.loads(plan.read_bytes())
        head, removed = planned["head"], planned["removed"]
        # Nobody vouches for a folder that came from elsewhere.
        known = not new.is_symlink() and all(_lies_below(folder / name, folder) for name in (head, *removed))
    except FileNotFoundError:
        return
    except (ValueError, TypeError, KeyError, RecursionError):
        known = False
    if known and (new / head).exists():
        for name in removed:
            with suppress(FileNotFoundError):
                (folder / name).unlink()
                sync_folder((folder / name).parent)
        for name in sorted(_files_below(new), key=lambda name: name == head):
            move_file(new / name, folder / name)
        parents = {parent for name in removed for parent in (folder / name).parents}
        _remove_empty(sorted((parent for parent in parents if _lies_below(parent, folder)), reverse=True))
    plan.unlink()


def _files_below(folder: Path) -> list[str]:
    """The files below a folder by their relative paths, with slashes, sorted."""
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir())


def _lies_below(path: str | Path, folder: Path) -> bool:
    """Whether a path, whatever dots are in it, leads below a folder."""
    return "\0" not in str(path) and Path(os.path.abspath(folder)) in Path(os.path.abspath(path)).parents


def _clear(staging: Path) -> None:
    """Remove everything in a staging folder but its lock, or files that are planned to be moved in."""
    with suppress(OSError):
        for path in () if (staging / _PLAN).exists() else staging.iterdir():
            if path.is_dir() and not path.is_symlink():
                remove_folder(path)
            elif path.name != "lock":
                path.unlink()
