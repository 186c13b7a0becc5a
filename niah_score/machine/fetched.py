"""Fetches a dataset from an address into a folder of this machine, proved by its manifest."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from niah_score.contract import MANIFEST, ContractError, FileEntry, Manifest, file_sha256, open_dataset
from niah_score.errors import AddressError
from niah_score.machine.addresses import (
    Address,
    fetch,
    is_address,
    object_at,
    objects_below,
    parse_address,
    read_object,
)
from niah_score.machine.files import write_atomically
from niah_score.machine.scratch import scratch_folder

_MOST_MANIFEST_BYTES = 1 << 28


@contextmanager
def dataset_here(text: str, *, everything: bool = False) -> Iterator[Path]:
    """The path that a text is; or of an address, a temporary folder with the dataset, or the file, that is there.

    Fetched are the files with the rows, in the first format there is, or everything. An error that names the folder
    names the address instead. Raises AddressError, StoreError, ContractError (no dataset, or an object is not what its
    manifest says) and OSError.
    """
    if not is_address(text):
        yield Path(text)
        return
    address = parse_address(text)
    with scratch_folder() as scratch, naming(scratch, address.parent):
        place = scratch / address.name
        if object_at(address / MANIFEST) is None and object_at(address) is not None:
            fetch(address, place)
        else:
            dataset = open_dataset(_fetch_manifest(address, place))
            for entry in dataset.manifest.files if everything else [file.entry for file in dataset.files()]:
                _fetch_entry(address, entry, place / entry.path)
        yield place


def _fetch_entry(address: Address, entry: FileEntry, path: Path) -> None:
    """Fetch one file of a dataset. One that is missing is left for who reads the folder, who says so."""
    stored = object_at(address / entry.path)
    if stored is None:
        return
    if stored.bytes == entry.bytes:
        fetch(address / entry.path, path)
    if stored.bytes != entry.bytes or file_sha256(path) != entry.sha256:
        raise ContractError(
            f"{address / entry.path}: is not the file that {MANIFEST} lists; `niah-gen verify {address}` finds all "
            "such files; copy the dataset again, or build it again"
        )


def manifest_at(address: Address) -> Manifest:
    """The manifest of a dataset at an address. Raises ContractError where there is none, or none that is valid."""
    with manifest_here(address) as folder:
        return open_dataset(folder).manifest


@contextmanager
def manifest_here(address: Address) -> Iterator[Path]:
    """A temporary folder with the manifest of a dataset at an address, if it has one; errors name the address."""
    with scratch_folder() as scratch, naming(scratch, address.parent):
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
def naming(folder: Path, address: Address) -> Iterator[None]:
    """In errors, name what lies in a folder of this machine by the address that it came from."""
    try:
        yield
    except Exception as error:
        if error.args and isinstance(error.args[0], str):
            error.args = (error.args[0].replace(str(folder), str(address)), *error.args[1:])
        raise
