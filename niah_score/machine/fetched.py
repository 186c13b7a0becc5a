"""Fetches a dataset from an address into a folder of this machine, proved by its manifest."""

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
    """The path that a text is; or of an address, a temporary folder with the dataset, or the file, that is there.

    Fetched are the files with the rows, in the first format there is; or everything, and then files of the right size
    are not compared with the manifest. An error that names the folder names the address instead. Raises AddressError,
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
    """Fetch one file of a dataset. One that is missing is skipped: reading the folder reports it."""
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
    """What is wrong with an object of the dataset at an address against its entry; None if it is intact.

    stored: what the store says of it. mark: what it said when it was uploaded; an object with the same mark is not read
    back. read: without it, none is, and an object of the right size counts as intact.
    """
    name = one_line(entry.path)
    if stored is None:
        return f"{name}: missing"
    if stored.bytes != entry.bytes:
        return f"{name}: {stored.bytes} bytes, expected {entry.bytes}"
    if not read or (stored.mark is not None and stored.mark == mark):
        return None
    found = stored_sha256(address / entry.path)
    return None if found == entry.sha256 else f"{name}: sha256 is {found}, expected {entry.sha256}"


def manifest_at(address: Address) -> Manifest:
    """The manifest of a dataset at an address. Raises ContractError where there is none, or none that is valid."""
    with manifest_here(address) as folder:
        return open_dataset(folder).manifest


@contextmanager
def manifest_here(address: Address) -> Iterator[Path]:
    """A temporary folder with the manifest of a dataset at an address, if it has one; errors name the address."""
    with scratch_folder() as scratch, named_by_address(scratch, address.parent):
        yield _fetch_manifest(address, scratch / address.name)


def _fetch_manifest(address: Address, folder: Path) -> Path:
    """Fetch the manifest of a dataset into a folder; nothing where there is none."""
    folder.mkdir(parents=True, exist_ok=True)
    try:
        data = read_object(address / MANIFEST, _MOST_MANIFEST_BYTES)
    except AddressError:
        # Where even the bucket is not there, listing it says so.
        if objects_below(address).get(MANIFEST) is not None:
            raise
    else:
        write_atomically(folder / MANIFEST, data)
    return folder


@contextmanager
def named_by_address(folder: Path, address: Address) -> Iterator[None]:
    """In errors, name what lies in a folder of this machine by the address that it came from.

    Not where the disk of this machine is full: which one is what matters then.
    """
    try:
        yield
    except Exception as error:
        error.args = _renamed(error.args, str(folder), str(address))
        # Sentences that are made when they are asked for.
        vars(error).update({name: _renamed(value, str(folder), str(address)) for name, value in vars(error).items()})
        if isinstance(error, OSError) and error.errno not in NO_ROOM:
            for name in ("filename", "filename2"):
                # One that is set, be it to None, is told.
                if isinstance(value := getattr(error, name), str):
                    setattr(error, name, _renamed(value, str(folder), str(address)))
        raise


def _renamed(value: Any, old: str, new: str) -> Any:
    """A text, or the texts of a tuple or list, with one name in the place of another; anything else as it is."""
    if isinstance(value, str):
        return value.replace(old, new)
    if type(value) in (tuple, list):
        return type(value)(_renamed(one, old, new) for one in value)
    return value
