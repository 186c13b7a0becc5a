"""Fetches a dataset from an address into a folder of this machine, proved by its manifest."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from niah_score.contract import MANIFEST, ContractError, Dataset, FileEntry, Manifest, file_sha256, open_dataset
from niah_score.errors import AddressError
from niah_score.machine.addresses import Address, fetch, object_at, parse_address, read_object
from niah_score.machine.files import write_atomically
from niah_score.machine.scratch import scratch_folder

_MOST_MANIFEST_BYTES = 1 << 28


@contextmanager
def fetched_dataset(text: str, wanted: Callable[[Dataset], list[FileEntry]] | None = None) -> Iterator[Path]:
    """A dataset at an address as a folder of this machine, gone at the end; or one of its data files by itself.

    wanted: the files to fetch; by default those with the rows in the first format there is. An error that names the
    folder names the address instead. Raises AddressError, StoreError, ContractError (no dataset, or an object is not
    what its manifest says) and OSError.
    """
    address = parse_address(text)
    with scratch_folder() as scratch, _named(scratch, address):
        if object_at(address / MANIFEST) is None and object_at(address) is not None:
            path = scratch / address.name
            fetch(address, path)
            yield path
            return
        folder = scratch / address.name
        dataset = open_at(address, folder)
        for entry in _rows_of(dataset) if wanted is None else wanted(dataset):
            path = folder / entry.path
            if object_at(address / entry.path) is None:
                continue  # who reads the folder finds it missing, and says so
            fetch(address / entry.path, path)
            if file_sha256(path) != entry.sha256:
                raise ContractError(
                    f"{address / entry.path}: its sha256 is not what {MANIFEST} says; `niah-gen verify {address}` "
                    "finds all such files; build the dataset again, or copy it again"
                )
        yield folder


def manifest_at(address: Address) -> Manifest:
    """The manifest of a dataset at an address. Raises ContractError where there is none, or none that is valid."""
    with scratch_folder() as scratch, _named(scratch, address):
        return open_at(address, scratch / address.name).manifest


def open_at(address: Address, folder: Path) -> Dataset:
    """Fetch the manifest of a dataset into a folder, and open it: its files are listed and not there."""
    folder.mkdir(parents=True, exist_ok=True)
    try:
        data = read_object(address / MANIFEST, _MOST_MANIFEST_BYTES)
    except AddressError:
        if object_at(address / MANIFEST) is not None:
            raise
    else:
        write_atomically(folder / MANIFEST, data)
    return open_dataset(folder)


def _rows_of(dataset: Dataset) -> list[FileEntry]:
    return [file.entry for file in dataset.files()]


@contextmanager
def _named(scratch: Path, address: Address) -> Iterator[None]:
    """In errors, say the address for what lies in a scratch folder."""
    try:
        yield
    except Exception as error:
        if error.args and isinstance(error.args[0], str):
            said = error.args[0].replace(str(scratch / address.name), str(address))
            error.args = (said.replace(f"{scratch}/", f"{address.parent}/"), *error.args[1:])
        raise
