"""Moves the files of a completed build into an existing dataset; being killed at any point does no harm.

    <dataset>.partial/dataset/       the new files, all of them written and synced
    <dataset>.partial/moving.json    the list of files to move, written before the first move

Files with new names are moved first, the manifest last. Until then the old manifest is valid, and so is every file with
rows that it lists: only missing and damaged files are moved. Whoever holds the dataset's lock next finishes the moves
before doing anything else.
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
    """Move new files and, last, the manifest into a dataset, and remove the files that it no longer has.

    `paths`: the files to move besides the manifest. Raises OSError, after which `finish_moving` continues.
    """
    move = sorted(set(paths) - {MANIFEST}, key=lambda path: ((final / path).exists(), path == CARD, path))
    write_atomically(partial / JOURNAL, canonical_json({"move": [*move, MANIFEST], "gone": sorted(gone)}))
    finish_moving(partial, final)


def is_moving(partial: Path) -> bool:
    """Whether a command ended while it was moving files in."""
    return (partial / JOURNAL).is_file()


def finish_moving(partial: Path, final: Path) -> bool:
    """Finish the moves of a killed `move_in`; returns whether there were any to finish. Raises OSError."""
    journal = _read(partial / JOURNAL)
    if journal is None:
        return False
    move, gone = journal
    # If somebody has moved the dataset away since, it has to be built again.
    if (final / MANIFEST).is_file() and all(_is_file(partial / NEW / path) or _is_file(final / path) for path in move):
        for path in move:
            if _is_file(partial / NEW / path):
                move_file(partial / NEW / path, final / path)
        for path in gone:
            (final / path).unlink(missing_ok=True)
        sync_folder(final)
    (partial / JOURNAL).unlink()
    return True


def _is_file(path: Path) -> bool:
    return path.is_file() and not path.is_symlink()


def _read(path: Path) -> tuple[list[str], list[str]] | None:
    """The paths to move and to remove; None if there is no list, and none of either if it is damaged."""
    try:
        record = json.loads(path.read_bytes())
        move, gone = list(record["move"]), list(record["gone"])
    except FileNotFoundError:
        return None
    except (ValueError, TypeError, KeyError, RecursionError):
        return [], []
    return (move, gone) if all(isinstance(name, str) and is_safe_path(name) for name in move + gone) else ([], [])
