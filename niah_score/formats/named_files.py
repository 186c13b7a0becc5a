"""Finds the answer files that paths, folders, patterns and addresses name, each once, in the order given.

Files of a folder or pattern are sorted by name, numbers in it by value.
"""

from __future__ import annotations

import fnmatch
import glob
import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path, PurePath, PurePosixPath

from niah_score.errors import AddressError, ScoreError
from niah_score.machine.files import is_refused
from niah_score.machine.stores import Address, copies_of, fetch, is_address, objects_below, parse_address
from niah_score.text.visible import without_surrogates

# Folders may hold other files too; a file that is named itself is read whatever its suffix.
_SUFFIXES = (".jsonl", ".json", ".csv", ".tsv", ".parquet", ".eval", ".ndjson")
_PACKED = (".gz", ".zst")
_DIGITS = re.compile(r"(\d+)")


def expand(patterns: Sequence[str | Path], what: str = "answer files") -> list[Path]:
    """The files that paths, folders and patterns name, each where it is named first.

    `what`: the kind of files expected, for errors. Raises ScoreError if a path or pattern names none.
    """
    paths: dict[str, Path] = {}
    for pattern in patterns:
        for path in _named(pattern, what):
            paths.setdefault(os.path.realpath(path), path)
    if not paths:
        raise ScoreError(f"no {what} named; expected files, folders or patterns")
    return list(paths.values())


def model_of(given: str | None, files: str | Path | Sequence[str | Path]) -> str:
    """The name of the model: the one given, else that of the first file; `model` for a pattern."""
    first = files if isinstance(files, str | Path) else next(iter(files), "")
    name = Path(str(first)).name.partition(".")[0]
    usable = name.strip("-") and not glob.has_magic(name)
    return without_surrogates(given or (name if usable else "model"))


def _named(pattern: str | Path, what: str) -> list[Path]:
    try:
        path = Path(pattern).expanduser()
        if path.is_dir():
            return _in_folder(path, what)
        if path.exists() or path.is_symlink():
            return [path]
        matches = [Path(match) for match in glob.glob(str(path), recursive=True)]
    except (OSError, ValueError, RuntimeError) as error:
        if is_refused(error):
            raise
        raise ScoreError(f"{str(pattern)!r}: cannot be looked up ({error}); expected {what}") from None
    if not matches:
        raise ScoreError(f"{path}: no such file, folder or pattern with matches; expected {what}")
    matches.sort(key=_natural)
    files = [match for match in matches if not match.is_dir()]
    # If a pattern matches both files and folders, the files are meant.
    return files or [file for match in matches for file in _in_folder(match, what)]


def _in_folder(folder: Path, what: str) -> list[Path]:
    files = [path for path in folder.rglob("*") if path.is_file() and _may_hold_answers(path.relative_to(folder))]
    if not files:
        raise ScoreError(f"{folder}: no {what} in this folder; expected files with {', '.join(_SUFFIXES)}")
    return sorted(files, key=_natural)


def _may_hold_answers(path: PurePath) -> bool:
    """Whether a file in a folder is read as an answer file, by its path relative to the folder."""
    if any(part.startswith(".") for part in path.parts):
        return False
    name = path.name.lower()
    for suffix in _PACKED:
        name = name.removesuffix(suffix)
    return name.endswith(_SUFFIXES)


def _natural(path: Path) -> tuple[list[tuple[int, str]], str]:
    """Sorts X_2 before X_10: OpenCompass numbers shards without leading zeros."""
    parts = _DIGITS.split(str(path))
    return [(int(part), "") if place % 2 else (0, part) for place, part in enumerate(parts)], str(path)


# Addresses ------------------------------------------------------------------------------------------------------------


@contextmanager
def answers_here(predictions: Sequence[str]) -> Iterator[tuple[list[str], Callable[[str], str]]]:
    """Fetch the predictions that are addresses: of objects, of folders, or with a pattern (`*`, `[...]`) at the end.

    Yields the predictions for `evaluate`, each address replaced by its local copy, which keeps its name; and a function
    that replaces the paths of copies in a text by their addresses. Errors name the addresses. Raises AddressError if
    nothing is there, StoreError, and OSError.
    """
    with ExitStack() as stack:
        places: list[tuple[Path, Address]] = []
        named = []
        for text in predictions:
            if is_address(text):
                address = parse_address(text)
                base, names = _objects_of(address)
                folder = stack.enter_context(copies_of(base))
                for name in names:
                    fetch(base / name, folder / name)
                here = glob.escape(str(folder)) if glob.has_magic(address.name) else str(folder)
                text = here + address.removeprefix(base)
                places.append((folder, base))
            named.append(text)

        def said(text: str) -> str:
            for folder, address in places:
                text = text.replace(str(folder), str(address))
            return text

        yield named, said


def _objects_of(address: Address) -> tuple[Address, list[str]]:
    """The answer files at an address: an address that all their names begin with, and the rests of their names.

    Raises AddressError if there are none.
    """
    base = address.parent
    if glob.has_magic(address.name):
        names = [name for name in fnmatch.filter(objects_below(base), address.name) if "/" not in name]
    else:
        below = objects_below(address)
        wanted = [name for name in below if _may_hold_answers(PurePosixPath(name))]
        names = [address.name] if "" in below else [f"{address.name}/{name}" for name in wanted]
    if not names:
        raise AddressError(f"{address}: no object there; expected answer files")
    for name in names:
        # Object keys can hold anything; none may lead out of the folder.
        if name.startswith("/") or ".." in PurePosixPath(name).parts or set(name) & set("\\\0"):
            raise AddressError(f"{base}: {name!r:.200} cannot be a file name; rename the object, or leave it out")
    return base, names
