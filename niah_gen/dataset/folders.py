"""Names the folders of one dataset, locks them for one writer at a time, and gives a complete dataset its name.

<name>/<version>-<digest8>/            the dataset
<name>/<version>-<digest8>.partial/    work in progress: `plan.json`, `dataset/`, and `parts/` with a record per file

The manifest is written into `dataset/` last. From then on the dataset is complete, and whoever holds its lock moves it
to its name: one rename, or file by file into a dataset that is there already, the manifest last. So a command that is
killed meanwhile does no harm: the next one finishes the moves.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from niah_gen.errors import IntegrityError, LockedError
from niah_score.contract import CARD, MANIFEST, PREVIEW, ContractError, open_dataset
from niah_score.machine.files import (
    HeldError,
    locked,
    make_folder,
    move_file,
    remove_aside,
    remove_folder,
    remove_leftovers,
    sync_folder,
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

    def record(self, number: int) -> Path:
        """The record of a data file that is written."""
        return self.partial / "parts" / f"{number:05d}.json"


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
    for top in (target.final, target.partial):
        places = [str(top)]
        for place, folders, _ in os.walk(top):
            places += [os.path.join(place, name) for name in folders]
        for linked in filter(os.path.islink, places):
            raise IntegrityError(
                f"{linked}: a symbolic link, which is not followed: what is built would land outside the folder; "
                "remove it, or build into another folder with --out"
            )


def is_moving(partial: Path) -> bool:
    """Whether a command ended while it was giving a complete dataset its name."""
    return (partial / "dataset" / MANIFEST).is_file()


def finish(target: BuildFolders) -> None:
    """Move a complete dataset to its name, and remove the partial folder; does nothing if it is not complete."""
    if not is_moving(target.partial):
        return
    try:
        listed = [entry.path for entry in open_dataset(target.dataset).manifest.files]
    except ContractError:
        listed = []
    here = [path for path in listed if _is_file(target.dataset / path)]
    if not listed or any(path not in here and not _is_file(target.final / path) for path in listed):
        # Damaged, or somebody has moved the dataset away since: it has to be built again.
        (target.dataset / MANIFEST).unlink()
        return
    if target.final.exists():
        # Until the manifest is replaced, the old one is valid for whoever reads rows: those files stay the same.
        here.sort(key=lambda path: ((target.final / path).exists(), path == CARD, path))
        for path in [*here, MANIFEST]:
            move_file(target.dataset / path, target.final / path)
        for preview in (target.final / PREVIEW).glob("*"):
            if f"{PREVIEW}/{preview.name}" not in listed:
                preview.unlink()  # in the format of a smaller set of formats
        sync_folder(target.final)
    else:
        target.dataset.rename(target.final)
    sync_folder(target.final.parent)
    forget(target)


def forget(target: BuildFolders) -> None:
    """Remove the partial folder, plan.json last: until that is gone, the same command can continue."""
    for path in sorted(target.partial.iterdir(), key=lambda path: path.name == SHEET):
        if path.is_dir() and not path.is_symlink():
            remove_folder(path)
        else:
            path.unlink()
    target.partial.rmdir()


def _is_file(path: Path) -> bool:
    return path.is_file() and not path.is_symlink()


def _prepare(target: BuildFolders, make: bool) -> None:
    finish(target)
    if make:
        make_folder(target.dataset)
        make_folder(target.record(0).parent)
