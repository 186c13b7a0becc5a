"""Replaces the files of a folder together: writes them beside their place, and moves them when all are whole."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from niah_score.errors import ResourceError, ScoreError


def write_together(
    folder: Path, ours: Callable[[Path], list[str]], fill: Callable[[Path], None], *, content: str, overwrite: bool
) -> Path:
    """Let `fill` write files into a hidden folder, then move them to `folder` and remove those of an earlier run.

    `ours`: the names of our files that a folder holds, in the order in which they are moved. `content`: what they are,
    in a word. Raises ScoreError where the folder is a file, or holds such files already and may not be overwritten;
    ResourceError where it cannot be written to.
    """
    if folder.exists() and not folder.is_dir():
        raise ScoreError(f"{folder}: is a file; --out takes a folder")
    try:
        there = ours(folder) if folder.exists() else []
        if there and not overwrite:
            raise ScoreError(
                f"{folder}: holds {content} already ({there[0]}); choose another --out, or say --overwrite"
            )
        folder.mkdir(parents=True, exist_ok=True)
        staging = Path(tempfile.mkdtemp(prefix=".niah-score-", dir=folder))
        try:
            fill(staging)
            written = ours(staging)
            for name in written:
                os.replace(staging / name, folder / name)
            for name in set(there) - set(written):
                (folder / name).unlink()
        finally:
            shutil.rmtree(staging, ignore_errors=True)
    except OSError as error:
        raise ResourceError(f"{folder}: cannot be written to ({error.strerror})") from None
    return folder
