"""Finds the user's files that a recipe's options name, such as a published needle set that may not be redistributed."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, get_args, get_type_hints

from niah_gen.corpora.find import CORPORA_VARIABLE, search_folders
from niah_gen.errors import RecipeError
from niah_score.contract import file_sha256


class OwnFile(str):
    """An option that names a file of the user's: a path, or a file name to look up.

    A resolved recipe records the file's name and its sha256, never the path.
    """

    __slots__ = ()


def own_file(spec: str) -> Path:
    """The file that an option names: a path, or a name in one of the folders where corpora are looked up.

    Raises RecipeError that says where it was searched for.
    """
    candidates = [Path(spec).expanduser(), *(folder / spec for folder in search_folders())]
    for path in candidates:
        try:
            if path.is_file():
                return path
        except (OSError, ValueError):  # too long for a path, or a NUL in it
            continue
    raise RecipeError(
        [
            f"file {spec[:200]!r}: no such file, here or in a folder of ${CORPORA_VARIABLE}; give its path, or add its "
            "folder to that list"
        ]
    )


def file_pin(spec: str) -> str:
    """The name under which a recipe pins a file: `file` and the file's name."""
    return f"file {Path(spec).name}"


def own_file_digest(spec: str) -> str:
    """sha256 of the file that an option names. Raises RecipeError if it cannot be read."""
    path = own_file(spec)
    status = path.stat()
    return _digest(path, status.st_mtime_ns, status.st_size)


@lru_cache(maxsize=64)
def _digest(path: Path, changed: int, size: int) -> str:
    try:
        return file_sha256(path)
    except OSError as error:
        raise RecipeError([f"file {path}: cannot be read ({error.strerror})"]) from None


def own_files(kind: type, options: Mapping[str, Any]) -> dict[str, list[str]]:
    """The files that options name, by option. `kind`: the family's options class; `options`: its values."""
    files = {}
    for name, hint in get_type_hints(kind).items():
        if OwnFile in _parts_of(hint) and options.get(name):
            value = options[name]
            files[name] = [value] if isinstance(value, str) else list(value)
    return files


def named(kind: type, options: Mapping[str, Any]) -> dict[str, Any]:
    """Options as a resolved recipe records them, with only the names of the user's files."""
    names = {option: [Path(spec).name for spec in specs] for option, specs in own_files(kind, options).items()}
    return {
        option: value if option not in names else (names[option][0] if isinstance(value, str) else names[option])
        for option, value in options.items()
    }


def _parts_of(hint: Any) -> set[Any]:
    parts = {hint}
    for inner in get_args(hint):
        parts |= _parts_of(inner)
    return parts
