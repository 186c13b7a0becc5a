"""Fetches the user's own corpora from addresses: of a file, such as `s3://bucket/essays.jsonl`, or of a folder.

    <cache>/<16 hex digits>/<name>/    the files; the digits are of the sha256 of the address and what the store says
    <cache>/<16 hex digits>/sha256/    the sha256 of each

The cache is `$XDG_CACHE_HOME/niah/corpora`, by default below ~/.cache; it can be removed at any time. A file in it is
used as long as the store says that the object is unchanged; from a store that does not say, it is fetched each time.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from niah_gen.corpora.declarations import DECLARATION, EXPECTED, of_first_kind, parse_declaration, suffix_of
from niah_gen.errors import CorpusError, LockedError
from niah_score.contract import canonical_json, file_sha256, is_safe_path, parse_toml, sha256_hex
from niah_score.machine.addresses import Address, StoredObject, fetch, objects_below, parse_address, read_object
from niah_score.machine.files import HeldError, locked, write_atomically

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
    state = canonical_json([address.text, *([name, *stored] for name, stored in wanted.items())])
    outer = cache_folder() / sha256_hex(state)[:16]
    folder = outer / ("file" if single else address.name)
    try:
        with locked(outer / "lock", _WAIT_SECONDS):
            for name, stored in wanted.items():
                _fetch(base / name, folder / name, stored, outer / "sha256" / name)
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
        raise CorpusError(f"{address}: no file of a corpus there; {EXPECTED}")
    wrong = [name for name in names if not is_safe_path(name)]
    if wrong:
        raise CorpusError(f"{address}: {wrong[0]!r} is not a valid file name on every system; rename it")
    return {name: objects[name] for name in names}


def _fetch(address: Address, path: Path, stored: StoredObject, digest: Path) -> None:
    """Fetch one file unless it is here already, with the sha256 that `digest` holds."""
    here = file_sha256(path).encode() if path.is_file() else None
    if stored.mark is not None and here and digest.is_file() and digest.read_bytes() == here:
        return
    aside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        arrived = fetch(address, aside)
        # An unchanged file is left alone: another process may be reading it.
        if arrived.encode() != here:
            aside.replace(path)
        digest.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(digest, arrived.encode())
    finally:
        aside.unlink(missing_ok=True)
