"""Finds corpora by name, path or address.

A corpus is a folder with a `corpus.toml`. A folder or a single file without one is a corpus too; its files are read in
sorted order and its language is recognised from them. Names are looked up in `$NIAH_CORPORA` (a path list), the user's
data folder, and the bundled corpora; `name/file-stem` is one file of a corpus.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from niah_gen.corpora.at_address import fetched_corpus
from niah_gen.corpora.declarations import (
    DECLARATION,
    EXPECTED,
    SUFFIXES,
    CorpusFile,
    Declaration,
    fetchable,
    known_corpora,
    of_first_kind,
    parse_declaration,
    stem_of,
    suffix_of,
)
from niah_gen.errors import CorpusError, suggestion
from niah_score.contract import is_safe_path, parse_toml
from niah_score.machine.addresses import is_address

CORPORA_VARIABLE = "NIAH_CORPORA"

_PACKAGE = Path(__file__).parents[1]


@dataclass(frozen=True, slots=True)
class Located:
    """A corpus on disk: its name in recipes, its folder, and what is declared about it."""

    name: str
    folder: Path
    declaration: Declaration


def data_folder() -> Path:
    """Where the user's own corpora are installed: `$XDG_DATA_HOME/niah/corpora`, by default under ~/.local/share."""
    base = os.environ.get("XDG_DATA_HOME")
    return (Path(base) if base else Path.home() / ".local" / "share") / "niah" / "corpora"


def bundled_folder() -> Path:
    """The corpora that come with the package; in a checkout they are beside it."""
    installed = _PACKAGE / "bundled_corpora"
    return installed if installed.is_dir() else _PACKAGE.parent / "corpora"


def search_folders() -> list[Path]:
    """Folders in which a corpus name is looked up, first match wins."""
    listed = [Path(part) for part in os.environ.get(CORPORA_VARIABLE, "").split(os.pathsep) if part]
    own = data_folder()
    # Nobody named it, so if it may not be read, such as another user's, it counts as empty.
    return [*listed, *([own] if os.access(own, os.R_OK | os.X_OK) else []), bundled_folder()]


def installed_names() -> list[str]:
    """Names of all corpora that can be found now, sorted."""
    names = set()
    for folder in search_folders():
        for entry in folder.iterdir() if folder.is_dir() else ():
            known = entry.is_dir() and entry.name in known_corpora()
            # A name with a dot in front is what a fetch is still staging.
            if (known or (entry / DECLARATION).is_file()) and not entry.name.startswith("."):
                names.add(entry.name)
    return sorted(names)


def locate(spec: str) -> Located:
    """Find a corpus by name, `name/file-stem`, path, or address, from which it is fetched.

    A corpus known by name may also be a plain folder of that name; its files must then match the pins. Raises
    CorpusError saying where it looked, and for an address what `fetched_corpus` does.
    """
    if is_address(spec):
        spec = str(fetched_corpus(spec))
    name, _, part = spec.partition("/")
    try:
        located = _find(spec, name, part)
    except (OSError, RuntimeError, ValueError):
        located = None  # too long for a path, a NUL in it, no such home
    if located:
        return located
    spec, name = spec[:100], name[:100]
    if name in fetchable():
        raise CorpusError(
            f"corpus {spec!r} is not on this machine; run `niah-gen corpora fetch {name}`, or, without network, "
            f"`niah-gen corpora fetch {name} --from FOLDER`, or put its folder's parent into ${CORPORA_VARIABLE}"
        )
    raise CorpusError(
        f"corpus {spec!r}: not in ${CORPORA_VARIABLE}, {data_folder()} or the bundled corpora, and not a path"
        + suggestion(name, [*installed_names(), *fetchable()])
    )


def _find(spec: str, name: str, part: str) -> Located | None:
    is_path = spec.startswith((".", "/", "~")) or spec.endswith("/")
    for folder in () if is_path else search_folders():
        if located := _in_folder(folder, name):
            return _one_file(located, spec, part) if part else located
    path = Path(spec).expanduser()
    if path.is_dir():
        if located := _declared(path) or _undeclared(path, path.resolve().name):
            return located
        raise CorpusError(f"{spec}: no file of a corpus in this folder; {EXPECTED}")
    if path.is_file():
        if suffix_of(path.name) is None:
            raise CorpusError(f"{spec}: {EXPECTED}")
        stem = stem_of(path.name)
        return Located(stem, path.parent, _no_declaration(stem, [path.name]))
    return None


def _in_folder(folder: Path, name: str) -> Located | None:
    if not name or not is_safe_path(name):
        return None
    inside = folder / name
    if inside.is_dir():
        if name in known_corpora() and not (inside / DECLARATION).is_file():
            return Located(name, inside, known_corpora()[name])
        return _declared(inside) or _undeclared(inside, name)
    files = [f"{name}{suffix}" for suffix in SUFFIXES if (folder / f"{name}{suffix}").is_file()]
    return Located(name, folder, _no_declaration(name, files[:1])) if files else None


def read_declaration(folder: Path) -> Declaration | None:
    """What the corpus.toml in a folder declares; None without one. Raises CorpusError."""
    path = folder / DECLARATION
    if not path.is_file():
        return None
    try:
        return parse_declaration(parse_toml(path.read_text("utf-8")), str(path))
    except (ValueError, RecursionError) as error:
        raise CorpusError(f"{path}: not valid TOML ({error})") from None


def _declared(folder: Path) -> Located | None:
    declaration = read_declaration(folder)
    # Under the folder's name, by which it is looked up.
    return Located(folder.resolve().name, folder, declaration) if declaration else None


def _undeclared(folder: Path, name: str) -> Located | None:
    files = corpus_files(folder)
    return Located(name, folder, _no_declaration(name, files)) if files else None


def corpus_files(folder: Path) -> list[str]:
    """Names of the files in a folder that make up a corpus, sorted: those of the first kind (`of_first_kind`)."""
    return of_first_kind(sorted(entry.name for entry in folder.iterdir() if entry.is_file()))


def _no_declaration(name: str, files: Sequence[str]) -> Declaration:
    for file in files:
        if any("\ud800" <= char <= "\udfff" for char in file):
            raise CorpusError(f"corpus {name!r}: the name of the file {file!r} is not UTF-8; rename it")
    return Declaration(name, None, "not stated", "local files", tuple(CorpusFile(file, None) for file in files))


def _one_file(located: Located, spec: str, part: str) -> Located:
    declared = located.declaration
    for file in declared.files:
        if part in (file.path, Path(file.path).stem, stem_of(file.path)):
            narrowed = replace(declared, name=spec, files=(file,), url=None)
            return Located(f"{located.name}/{stem_of(file.path)}", located.folder, narrowed)
    stems = [stem_of(file.path) for file in declared.files]
    raise CorpusError(f"corpus {spec!r}: {located.folder} has no file {part!r}" + suggestion(part, stems))
