"""Names the folders of one dataset on disk, and locks them for one writer at a time.

<name>/<version>-<digest8>/            the dataset
<name>/<version>-<digest8>.partial/    work in progress: `dataset/`, and `parts/` with a record per shard
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

from niah_gen.dataset.moving import finish_moving
from niah_gen.dataset.shards import ShardRecord
from niah_gen.errors import IntegrityError, LockedError
from niah_score.contract import CARD, MANIFEST
from niah_score.machine.files import (
    HeldError,
    locked,
    make_folder,
    remove_aside,
    remove_folder,
    remove_leftovers,
    write_atomically,
)

PARTIAL = ".partial"
# The file of a partial folder with what completing the dataset needs to know about its plan.
SHEET = "plan.json"
_WAIT_SECONDS = 5


@dataclass(frozen=True, slots=True)
class BuildFolders:
    """The folders of one dataset and of its unfinished build."""

    final: Path

    @property
    def partial(self) -> Path:
        return self.final.with_name(self.final.name + PARTIAL)

    @property
    def dataset(self) -> Path:
        return self.partial / "dataset"

    @property
    def parts(self) -> Path:
        return self.partial / "parts"

    def record(self, number: int) -> Path:
        """The record of a finished shard."""
        return self.parts / f"{number:05d}.json"

    def shard_folder(self) -> AbstractContextManager[Path]:
        """The folder to make the files of a shard in, where they stay."""
        return nullcontext(self.dataset)

    def keep(self, record: ShardRecord, folder: Path) -> None:
        """Write the record of a shard whose files are in `folder`."""
        write_atomically(self.record(record.number), record.to_bytes())


@contextmanager
def lock(target: BuildFolders, part: str | None = None, *, make: bool = True) -> Iterator[None]:
    """Lock a whole target, or one part of it, against other builders. Raises LockedError.

    A killed holder leaves no lock. Parts may be built at the same time, but not at the same time as the whole: that
    takes the lock of every part, too, and a part takes the whole's lock for a moment before it begins.
    make: whether to make the partial folder.
    """
    folder, name = target.final.parent, target.final.name
    refuse_links(target)
    whole = folder / f".{name}.build.lock"
    with ExitStack() as held:
        try:
            if part is None:
                held.enter_context(locked(whole))
                for path in sorted(folder.glob(f".{name}.part-*.lock")):
                    held.enter_context(locked(path))
                _prepare(target, make)
                # Nobody else is writing here, so anything half-written was left by a killed build.
                remove_leftovers(target.partial)
                remove_aside([target.final / CARD, target.final / MANIFEST])
            else:
                held.enter_context(locked(folder / f".{name}.{part}.lock"))
                # Other parts take it too, each for a moment.
                with locked(whole, _WAIT_SECONDS):
                    _prepare(target, make)
        except HeldError as error:
            raise LockedError(
                f"{target.final}: another process is building it ({error.path} is held); wait for it to end"
            ) from None
        yield


@contextmanager
def hold_finished(dataset: Path) -> Iterator[None]:
    """Lock a finished dataset, so that nobody builds it meanwhile. Raises LockedError.

    Locks nothing if the folder above is not writable, as nobody can be building there.
    """
    target = BuildFolders(Path(os.path.realpath(dataset)))
    if not target.final.is_dir() or not os.access(target.final.parent, os.W_OK):
        yield
        return
    with lock(target, make=False):
        yield


def refuse_links(target: BuildFolders) -> None:
    """Raise IntegrityError if a folder of a target is a link: files written there would land outside the target.

    Folders above may be links, as users may build on another disk.
    """
    for top in (target.final, target.partial, target.dataset, target.parts):
        if top.is_symlink():
            raise _linked(top)
    for top in (target.final, target.partial):
        for place, folders, _ in os.walk(top):
            for name in folders:
                if os.path.islink(path := os.path.join(place, name)):
                    raise _linked(Path(path))


def _linked(path: Path) -> IntegrityError:
    return IntegrityError(
        f"{path}: a symbolic link, which is not followed: what is built would land outside the folder; remove "
        "it, or build into another folder with --out"
    )


def _prepare(target: BuildFolders, make: bool) -> None:
    """Finish the moves that a killed command began; `make`: make the partial folder."""
    if finish_moving(target.partial, target.final):
        forget(target)
    if make:
        make_folder(target.dataset)
        make_folder(target.parts)


def forget(target: BuildFolders) -> None:
    """Remove the partial folder, plan.json last: until that is gone, the same command can continue."""
    for path in sorted(target.partial.iterdir(), key=lambda path: path.name == SHEET):
        if path.is_dir() and not path.is_symlink():
            remove_folder(path)
        else:
            path.unlink()
    target.partial.rmdir()
