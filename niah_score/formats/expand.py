"""Expands files, folders and patterns into answer files: each once, in the order in which they were given.

What lies in a folder or fits a pattern comes in the order of its names, with numbers as numbers.
"""

from __future__ import annotations

import glob
import re
from collections.abc import Sequence
from pathlib import Path, PurePath

from niah_score.errors import ScoreError
from niah_score.formats.standard_input import DASH

# In a folder much else may lie; a file that is named is read whatever its name.
_SUFFIXES = (".jsonl", ".json", ".csv", ".tsv", ".parquet", ".eval", ".ndjson")
_PACKED = (".gz", ".zst")
_DIGITS = re.compile(r"(\d+)")


def expand(patterns: Sequence[str | Path], what: str = "answer files") -> list[Path]:
    """The files that some paths, folders and patterns name, where they are named first. `-` is standard input.

    `what`: is expected there, for errors. Raises ScoreError for one that names nothing.
    """
    found: dict[Path, Path] = {}
    for pattern in patterns:
        for path in _named(pattern, what):
            found.setdefault(_real(path), path)
    if not found:
        raise ScoreError(f"no {what} named; expected files, folders or patterns")
    return list(found.values())


def _real(path: Path) -> Path:
    """The file that a path leads to, as far as it can be told: a path may lead around in a circle."""
    try:
        return path.resolve()
    except (OSError, RuntimeError):
        return path.absolute()


def _named(pattern: str | Path, what: str) -> list[Path]:
    if str(pattern) == DASH:
        return [Path(DASH)]
    try:
        path = Path(pattern).expanduser()
        if str(path) == DASH:  # ./- is a file
            path = path.absolute()
        if path.is_dir():
            return _in_folder(path, what)
        if path.exists() or path.is_symlink():
            return [path]
        matches = [Path(match) for match in glob.glob(str(path), recursive=True)]
    except (OSError, ValueError, RuntimeError) as error:
        raise ScoreError(f"{str(pattern)!r}: cannot be looked up ({error}); expected {what}") from None
    if not matches:
        raise ScoreError(f"{path}: no such file, folder or pattern with matches; expected {what}")
    matches.sort(key=_natural)
    files = [match for match in matches if not match.is_dir()]
    # A pattern that matches both files and folders means the files.
    return files or [file for match in matches for file in _in_folder(match, what)]


def _in_folder(folder: Path, what: str) -> list[Path]:
    files = [path for path in folder.rglob("*") if path.is_file() and may_hold_answers(path.relative_to(folder))]
    # lm-evaluation-harness writes its scores beside the samples.
    sampled = {path.parent for path in files if path.name.startswith("samples_")}
    files = [path for path in files if not (path.parent in sampled and path.name.startswith("results_"))]
    if not files:
        raise ScoreError(f"{folder}: no {what} in this folder; expected files with {', '.join(_SUFFIXES)}")
    return sorted(files, key=_natural)


def may_hold_answers(path: PurePath) -> bool:
    """Whether a file of some folder, by its path below it, is read as one of answers."""
    if any(part.startswith(".") for part in path.parts):
        return False
    name = path.name.lower()
    for suffix in _PACKED:
        name = name.removesuffix(suffix)
    return name.endswith(_SUFFIXES)


def _natural(path: Path) -> tuple[list[tuple[int, str]], str]:
    """OpenCompass numbers shards without leading zeros: X_2 comes before X_10."""
    parts = _DIGITS.split(str(path))
    return [(int(part), "") if place % 2 else (0, part) for place, part in enumerate(parts)], str(path)
