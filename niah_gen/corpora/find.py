"""Finds corpora by name, path or address.

A corpus is a folder with a `corpus.toml`. A folder or a single file without one is a corpus too; its files are read in
sorted order and its language is recognised from them. Names are looked up in `$NIAH_CORPORA` (a path list), the user's
data folder, and the bundled corpora; `name/file-stem` is one file of a corpus.

From an address, such as `s3://bucket/essays.jsonl` or that of a folder, a corpus is fetched into a cache:

    <cache>/<16 hex digits>/<name>/       the files; the digits are of the sha256 of the address and what the store says
    <cache>/<16 hex digits>/sha256.json   the sha256 of each

The cache is `$XDG_CACHE_HOME/niah/corpora`, by default below ~/.cache; it can be removed at any time. What is in it is
used as long as the store says that the objects are unchanged; from a store that does not say, it is fetched each time.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple

from niah_gen.corpora import declarations
from niah_gen.corpora.declarations import DECLARATION, EXPECTED, CorpusFile, Declaration, known_corpora, stem_of
from niah_gen.errors import CorpusError, LockedError, suggestion
from niah_score.contract import canonical_json, file_sha256, is_safe_path, sha256_hex
from niah_score.errors import LockedError as HeldError
from niah_score.machine import stores
from niah_score.machine.files import STAGING, locked, write_atomically
from niah_score.machine.run import abandoned_by

CORPORA_VARIABLE = "NIAH_CORPORA"

_PACKAGE = Path(__file__).parents[1]


class Located(NamedTuple):
    """A corpus on disk: its name in recipes, its folder, and what is declared about it."""

    name: str
    folder: Path
    declaration: Declaration


def data_folder() -> Path:
    """Where the user's own corpora are installed: `$XDG_DATA_HOME/niah/corpora`, by default under ~/.local/share."""
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "niah" / "corpora"


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
    entries = [entry for folder in search_folders() if folder.is_dir() for entry in folder.iterdir() if entry.is_dir()]
    return sorted({one.name for one in entries if one.name in known_corpora() or (one / DECLARATION).is_file()})


def locate(spec: str) -> Located:
    """Find a corpus by name, `name/file-stem`, path, or address, from which it is fetched.

    A corpus known by name may also be a plain folder of that name; its files must then match the pins. Raises
    CorpusError saying where it looked, and for an address what `fetched_corpus` does.
    """
    if stores.is_address(spec):
        spec = str(fetched_corpus(spec))
    name, _, part = spec.partition("/")
    try:
        located = _find(spec, name, part)
    except (OSError, RuntimeError, ValueError):
        located = None  # too long for a path, a NUL in it, no such home
    if located:
        return located
    spec, name = spec[:100], name[:100]
    known = suggestion(name, [*installed_names(), *declarations.fetchable()])
    if name in declarations.fetchable():
        known = f"; run `niah-gen corpora fetch {name}`, with `--from FOLDER` if there is no network"
    raise CorpusError(
        f"corpus {spec!r}: not in ${CORPORA_VARIABLE}, {data_folder()} or the bundled corpora, and not a path{known}"
    )


def _find(spec: str, name: str, part: str) -> Located | None:
    is_path = spec.startswith((".", "/", "~")) or spec.endswith("/")
    for folder in () if is_path else search_folders():
        if located := _in_folder(folder, name):
            return _one_file(located, spec, part) if part else located
    path = Path(spec).expanduser()
    if path.is_dir():
        if located := _of_folder(path, path.resolve().name):
            return located
        raise CorpusError(f"{spec}: no file of a corpus in this folder; {EXPECTED}")
    if path.is_file():
        if declarations.suffix_of(path.name) is None:
            raise CorpusError(f"{spec}: {EXPECTED}")
        return Located(stem_of(path.name), path.parent, _no_declaration(stem_of(path.name), [path.name]))
    return None


def _in_folder(folder: Path, name: str) -> Located | None:
    inside = folder / name
    if not name or not is_safe_path(name):
        return None
    if not inside.is_dir():
        files = [f"{name}{suffix}" for suffix in declarations.SUFFIXES if (folder / f"{name}{suffix}").is_file()]
        return Located(name, folder, _no_declaration(name, files[:1])) if files else None
    if name in known_corpora() and not (inside / DECLARATION).is_file():
        return Located(name, inside, known_corpora()[name])
    return _of_folder(inside, name)


def read_declaration(folder: Path) -> Declaration | None:
    """What the corpus.toml in a folder declares; None without one. Raises CorpusError."""
    path = folder / DECLARATION
    return declarations.parse_declaration(path.read_bytes(), str(path)) if path.is_file() else None


def _of_folder(folder: Path, name: str) -> Located | None:
    if declaration := read_declaration(folder):
        # Under the folder's name, by which it is looked up.
        return Located(folder.resolve().name, folder, declaration)
    # While one is installed, its files are there before its corpus.toml.
    files = [] if (folder / STAGING).exists() else corpus_files(folder)
    return Located(name, folder, _no_declaration(name, files)) if files else None


def corpus_files(folder: Path) -> list[str]:
    """Names of the files in a folder that make up a corpus, sorted: those of the first kind (`of_first_kind`)."""
    return declarations.of_first_kind(sorted(entry.name for entry in folder.iterdir() if entry.is_file()))


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


@cache
def fetched_corpus(text: str) -> Path:
    """The local copy of the file or folder at an address, fetched at most once per process.

    From a folder, the files that its corpus.toml lists are fetched; without one, those that a plain folder is read as.
    Raises CorpusError if there is none, AddressError, StoreError, LockedError, and OSError.
    """
    address = stores.parse_address(text)
    objects = stores.objects_below(address)
    single = "" in objects
    wanted = {address.name: objects[""]} if single else _of_corpus(address, objects)
    base = address.parent if single else address
    state = canonical_json([address, *([name, *stored] for name, stored in wanted.items())])
    caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    outer = caches / "niah" / "corpora" / sha256_hex(state)[:16]
    folder = outer / ("file" if single else address.name)
    try:
        with locked(outer / "lock", 3600):
            here = {name: file_sha256(folder / name) for name in wanted if (folder / name).is_file()}
            sums, is_marked = outer / "sha256.json", all(stored.mark is not None for stored in wanted.values())
            if not (is_marked and sums.is_file() and sums.read_bytes() == canonical_json(here)):
                arrived = {name: _fetch(base / name, folder / name, here.get(name)) for name in wanted}
                write_atomically(sums, canonical_json(arrived))
    except HeldError:
        raise LockedError(f"{address}: another process has been fetching it for an hour; wait for it to end") from None
    return folder / address.name if single else folder


def _of_corpus(address: stores.Address, objects: Mapping[str, stores.StoredObject]) -> dict[str, stores.StoredObject]:
    """The objects below an address that a corpus is made of."""
    if DECLARATION in objects:
        data = stores.read_object(address / DECLARATION)
        names = [file.path for file in declarations.parse_declaration(data, str(address / DECLARATION)).files]
        if missing := [name for name in names if name not in objects]:
            raise CorpusError(f"{address}: {DECLARATION} lists {', '.join(missing[:5])}, which are not there")
        return {name: objects[name] for name in (DECLARATION, *names)}
    names = declarations.of_first_kind([name for name in objects if "/" not in name])
    if not names:
        raise CorpusError(f"{address}: no file of a corpus there; {EXPECTED}")
    if wrong := [name for name in names if not is_safe_path(name)]:
        raise CorpusError(f"{address}: {wrong[0]!r} is not a valid file name on every system; rename it")
    return {name: objects[name] for name in names}


def _fetch(address: stores.Address, path: Path, here: str | None) -> str:
    """Fetch one file; returns its sha256. One that is `here` already stays: another process may be reading it."""
    aside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with abandoned_by(partial(aside.unlink, missing_ok=True)):
            sha256 = stores.fetch(address, aside)
        if sha256 != here:
            aside.replace(path)
        return sha256
    finally:
        aside.unlink(missing_ok=True)
