"""Fetches the user's own corpora from addresses: of a file, such as `s3://bucket/essays.jsonl`, or of a folder.

    <cache>/<16 hex digits of the address's sha256>/<name>/        the files
    <cache>/<16 hex digits of the address's sha256>/fetched.json   what the store said of each, and its sha256

The cache is `$XDG_CACHE_HOME/niah/corpora`, by default below ~/.cache; it can be removed at any time. A file in it is
reused as long as the store says that the object is unchanged and the file still has the bytes that were fetched.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from niah_gen.corpora.declarations import DECLARATION, SUFFIXES, of_first_kind, parse_declaration, suffix_of
from niah_gen.errors import CorpusError, LockedError
from niah_score.contract import canonical_json, file_sha256, is_safe_path, parse_toml, sha256_hex
from niah_score.machine.addresses import Address, StoredObject, fetch, objects_below, parse_address, read_object
from niah_score.machine.files import HeldError, locked, remove_all_but, write_atomically

_STATE = "fetched.json"
_MOST_DECLARATION_BYTES = 1 << 24
# How long to wait for another process that is fetching the same corpus.
_WAIT_SECONDS = 3600


@cache
def fetched_corpus(text: str) -> Path:
    """The local copy of the file or folder at an address, fetched at most once per process.

    From a folder, the files that its corpus.toml lists are fetched; without one, those that a plain folder is read as.
    Raises CorpusError if there is none, AddressError, StoreError, LockedError, and OSError.
    """
    address = parse_address(text)
    objects = objects_below(address)
    single = "" in objects
    wanted = {address.name: objects[""]} if single else _of_corpus(address, objects)
    base = address.parent if single else address
    outer = cache_folder() / sha256_hex(address.text.encode())[:16]
    folder = outer / ("file" if single else address.name)
    try:
        with locked(outer / "lock", _WAIT_SECONDS):
            known = _state(outer)
            fetched = {
                name: _fetched(base / name, folder / name, stored, known.get(name)) for name, stored in wanted.items()
            }
            remove_all_but(folder, set(wanted))
            write_atomically(outer / _STATE, canonical_json(fetched))
    except HeldError:
        raise LockedError(f"{address}: another process has been fetching it for an hour; wait for it to end") from None
    return folder / address.name if single else folder


def cache_folder() -> Path:
    """Where fetched corpora are kept: `$XDG_CACHE_HOME/niah/corpora`, by default below ~/.cache."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "niah" / "corpora"


def _of_corpus(address: Address, objects: Mapping[str, StoredObject]) -> dict[str, StoredObject]:
    """The objects below an address that a corpus is made of."""
    if DECLARATION in objects:
        where = str(address / DECLARATION)
        try:
            text = read_object(address / DECLARATION, _MOST_DECLARATION_BYTES).decode()
            declared = [file.path for file in parse_declaration(parse_toml(text), where).files]
        except ValueError as error:
            raise CorpusError(f"{where}: not valid TOML ({error})") from None
        missing = [name for name in declared if name not in objects]
        if missing:
            raise CorpusError(f"{address}: {DECLARATION} lists {', '.join(missing[:5])}, which are not there")
        names = [DECLARATION, *declared]
    else:
        names = of_first_kind([name for name in objects if "/" not in name and suffix_of(name)])
    if not names:
        raise CorpusError(f"{address}: no {', '.join(SUFFIXES)} file there")
    wrong = [name for name in names if not is_safe_path(name)]
    if wrong:
        raise CorpusError(f"{address}: {wrong[0]!r} is not a valid file name on every system; rename it")
    return {name: objects[name] for name in names}


def _state(outer: Path) -> Mapping[str, Any]:
    """What is recorded about the fetched files; nothing if that cannot be read."""
    try:
        state = json.loads((outer / _STATE).read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return state if isinstance(state, dict) else {}


def _fetched(address: Address, path: Path, stored: StoredObject, before: object) -> dict[str, Any]:
    """Fetch one file unless it is here already; returns what to record about it."""
    here = file_sha256(path) if path.is_file() else None
    record = {"mark": stored.mark, "bytes": stored.bytes, "sha256": here}
    if stored.mark is not None and before == record:
        return record
    aside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        arrived = fetch(address, aside)
        # An unchanged file is left alone: another process may be reading it.
        if arrived != here:
            aside.replace(path)
    finally:
        aside.unlink(missing_ok=True)
    return record | {"sha256": arrived}
