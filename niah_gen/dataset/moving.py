"""Moves the files of a completed build over those of a dataset that is there, in a way that no kill can spoil.

    <dataset>.partial/dataset/       the new files, all of them written and synced
    <dataset>.partial/moving.json    the list of those that are moved, written before the first move

Files are moved under new names first and the manifest last. Until then the old manifest stands, and every file with
rows that it lists is what it was: only such files are moved that the dataset lacks, or holds damaged. Whoever holds the
dataset's lock next finishes the moves before doing anything else.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from niah_score.contract import CARD, MANIFEST, canonical_json, is_safe_path
from niah_score.machine.files import move_file, sync_folder, write_atomically

JOURNAL = "moving.json"
NEW = "dataset"


def move_in(partial: Path, final: Path, paths: Iterable[str], gone: Iterable[str]) -> None:
    """Move new files and, last, the manifest over those of a dataset, and remove files that it no longer has.

    `paths`: of the files that are moved, beside the manifest. Raises OSError; `finish_moving` goes on then.
    """
    move = sorted(set(paths) - {MANIFEST}, key=lambda path: ((final / path).exists(), path == CARD, path))
    write_atomically(partial / JOURNAL, canonical_json({"move": [*move, MANIFEST], "gone": sorted(gone)}))
    finish_moving(partial, final)


def is_moving(partial: Path) -> bool:
    """Whether a command that moved files in ended before it was done."""
    return (partial / JOURNAL).is_file()


def finish_moving(partial: Path, final: Path) -> bool:
    """Finish what `move_in` began, if it was killed; whether there was anything to finish. Raises OSError."""
    found = _read(partial / JOURNAL)
    if found is None:
        return False
    move, gone = found
    # Whoever moved the dataset away since then has to build it again.
    if (final / MANIFEST).is_file() and all(_lies(partial / NEW / path) or _lies(final / path) for path in move):
        for path in move:
            if _lies(partial / NEW / path):
                move_file(partial / NEW / path, final / path)
        for path in gone:
            (final / path).unlink(missing_ok=True)
        sync_folder(final)
    (partial / JOURNAL).unlink()
    return True


def _lies(path: Path) -> bool:
    return path.is_file() and not path.is_symlink()


def _read(path: Path) -> tuple[list[str], list[str]] | None:
    """The paths in a list of moves; None where there is none."""
    try:
        record = json.loads(path.read_bytes())
        move, gone = list(record["move"]), list(record["gone"])
    except FileNotFoundError:
        return None
    except (ValueError, TypeError, KeyError, RecursionError):
        return [], []
    return (move, gone) if all(isinstance(name, str) and is_safe_path(name) for name in move + gone) else ([], [])
