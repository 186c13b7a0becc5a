"""Fetches a dataset from an address into a folder of this machine, and checks it against its manifest."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from niah_score.contract import MANIFEST, ContractError, FileEntry, Manifest, open_dataset
from niah_score.errors import AddressError
from niah_score.machine.addresses import (
    Address,
    StoredObject,
    fetch,
    is_address,
    object_at,
    objects_below,
    parse_address,
    read_object,
    stored_sha256,
)
from niah_score.machine.files import write_atomically
from niah_score.machine.refusals import NO_ROOM
from niah_score.machine.scratch import scratch_folder
from niah_score.text.visible import one_line

_MOST_MANIFEST_BYTES = 1 << 28


@contextmanager
def dataset_here(text: str, *, everything: bool = False) -> Iterator[Path]:
    """A path, or for an address the path of a temporary copy of the dataset or the file at that address.

    Fetches the files with the rows, in the first format there is; or everything, and then files of the right size are
    not compared with the manifest. Errors name the address in place of the temporary folder. Raises AddressError,
    StoreError, ContractError (no dataset, or an object is not what its manifest says) and OSError.
    """
    if not is_address(text):
        yield Path(text)
        return
    address = parse_address(text)
    with scratch_folder() as scratch, named_by_address(scratch, address.parent):
        place = scratch / address.name
        if object_at(address / MANIFEST) is None and object_at(address) is not None:
            fetch(address, place)
        else:
            dataset = open_dataset(_fetch_manifest(address, place))
            for entry in dataset.manifest.files if everything else [file.entry for file in dataset.files()]:
                _fetch_entry(address, entry, place / entry.path, compare=not everything)
        yield place


def _fetch_entry(address: Address, entry: FileEntry, path: Path, *, compare: bool) -> None:
    """Fetch one file of a dataset; a missing one is skipped, because reading the folder reports it."""
    stored = object_at(address / entry.path)
    if stored is None:
        return
    sha256 = fetch(address / entry.path, path) if stored.bytes == entry.bytes else ""
    if not sha256 or (compare and sha256 != entry.sha256):
        raise ContractError(
            f"{address / entry.path}: is not the file that {MANIFEST} lists; `niah-gen verify {address}` finds all "
            "such files; copy the dataset again, or build it again"
        )


def object_problem(
    address: Address, entry: FileEntry, stored: StoredObject | None, mark: object = None, *, read: bool = True
) -> str | None:
    """What is wrong with an object of the dataset at an address, compared with its entry; None if it is intact.

    stored: what the store reports of it. mark: its mark when it was uploaded; an object with the same mark is not read
    back. read: if False, no object is read back, and one of the right size counts as intact.
    """
    name = one_line(entry.path)
    if stored is None:
        return f"{name}: missing"
    if stored.bytes != entry.bytes:
        return f"{name}: {stored.bytes} bytes, expected {entry.bytes}"
    if not read or (stored.mark is not None and stored.mark == mark):
        return None
    sha256 = stored_sha256(address / entry.path)
    return None if sha256 == entry.sha256 else f"{name}: sha256 is {sha256}, expected {entry.sha256}"


def manifest_at(address: Address) -> Manifest:
    """The manifest of a dataset at an address. Raises ContractError if there is none, or if it is not valid."""
    with manifest_here(address) as folder:
        return open_dataset(folder).manifest


@contextmanager
def manifest_here(address: Address) -> Iterator[Path]:
    """A temporary folder with the manifest of a dataset at an address, if it has one; errors name the address."""
    with scratch_folder() as scratch, named_by_address(scratch, address.parent):
        yield _fetch_manifest(address, scratch / address.name)


def _fetch_manifest(address: Address, folder: Path) -> Path:
    """Fetch the manifest of a dataset, if there is one, into a folder; returns the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    try:
        data = read_object(address / MANIFEST, _MOST_MANIFEST_BYTES)
    except AddressError:
        # If even the bucket does not exist, listing it raises an error that says so.
        if objects_below(address).get(MANIFEST) is not None:
            raise
    else:
        write_atomically(folder / MANIFEST, data)
    return folder


@contextmanager
def named_by_address(folder: Path, address: Address) -> Iterator[None]:
    """In errors, replace a folder of this machine by the address that its files came from.

    File names stay if this machine's disk is full: then it matters which disk that is.
    """
    try:
        yield
    except Exception as error:
        error.args = _renamed(error.args, str(folder), str(address))
        # Some errors make their sentences from attributes, when asked for.
        vars(error).update({name: _renamed(value, str(folder), str(address)) for name, value in vars(error).items()})
        if isinstance(error, OSError) and error.errno not in NO_ROOM:
            for name in ("filename", "filename2"):
                # Set only if it is a text: an OSError mentions a file name that was set, even to None.
                if isinstance(value := getattr(error, name), str):
                    setattr(error, name, _renamed(value, str(folder), str(address)))
        raise


def _renamed(value: Any, old: str, new: str) -> Any:
    """A text, or the texts of a tuple or list, with a name replaced; anything else unchanged."""
    if isinstance(value, str):
        return value.replace(old, new)
    if type(value) in (tuple, list):
        return type(value)(_renamed(one, old, new) for one in value)
    return value
