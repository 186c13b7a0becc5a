"""The places of one dataset on disk, and who may write there.

<name>/<version>-<digest8>/            the dataset
<name>/<version>-<digest8>.partial/    work in progress: `dataset/`, and `parts/` with a record per shard
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from niah_gen.errors import LockedError

PARTIAL = ".partial"
_LOOK_IN_SECONDS = 5


@dataclass(frozen=True, slots=True)
class Target:
    """The places of one dataset on disk."""

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


@contextmanager
def lock(target: Target, part: str | None = None) -> Iterator[None]:
    """Hold a target alone, or one part of it. Raises LockedError; a killed holder leaves no lock.

    Parts are built beside each other, but not beside the whole: that takes every part's lock as well, and a part looks
    in at the whole's lock before it begins.
    """
    import filelock

    folder, name = target.final.parent, target.final.name
    folder.mkdir(parents=True, exist_ok=True)
    whole = folder / f".{name}.build.lock"
    with ExitStack() as held:
        try:
            if part is None:
                held.enter_context(filelock.FileLock(whole, timeout=0))
                for path in sorted(folder.glob(f".{name}.part-*.lock")):
                    held.enter_context(filelock.FileLock(path, timeout=0))
                _prepare(target)
                # Nobody else is writing here, so what is half-written was left by a killed build.
                for leftover in target.dataset.rglob(".*.tmp"):
                    leftover.unlink(missing_ok=True)
            else:
                held.enter_context(filelock.FileLock(folder / f".{name}.{part}.lock", timeout=0))
                # Other parts look in too, each for a moment.
                with filelock.FileLock(whole, timeout=_LOOK_IN_SECONDS):
                    _prepare(target)
        except filelock.Timeout as error:
            raise LockedError(
                f"{target.final}: another process is building it ({error.lock_file} is held); wait for it to end"
            ) from None
        yield


def _prepare(target: Target) -> None:
    """Make the partial folder."""
    target.dataset.mkdir(parents=True, exist_ok=True)
    target.parts.mkdir(exist_ok=True)


def sweep(folder: Path, wanted: set[str]) -> None:
    """Remove files that are not part of the dataset: what a killed build left, or a dying worker of it still wrote."""
    for path in folder.rglob("*"):
        if path.is_file() and path.relative_to(folder).as_posix() not in wanted:
            path.unlink()


def forget_empty(target: Target) -> None:
    """Remove the partial folder unless parts are in it: they may belong to another format that is being built."""
    for folder in (target.dataset, target.parts, target.partial):
        try:
            folder.rmdir()
        except OSError:
            return
