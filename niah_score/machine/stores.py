"""Gets and puts objects at addresses such as `s3://bucket/path`, through fsspec, and fetches datasets from there.

An address differs from a path by its `scheme://`. Credentials come from where the store's own library looks for them
(environment, profile, instance); none is ever taken from an address, so none can get into a message or a file. fsspec
is loaded when the first address is used.

A store has neither renames nor locks. What it has is enough: an object appears whole or not at all, and most stores
report a checksum of an object, or can refuse to overwrite one.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from niah_score.contract import MANIFEST, Manifest, file_sha256, open_dataset, parse_manifest
from niah_score.errors import AddressError, StoreError
from niah_score.machine.files import NO_ROOM, naming, scratch_folder

# `http:/x` of any scheme, and `https:x` of a known one.
_MISTYPED = re.compile("[a-z][a-z0-9+.-]+:/|(https?|ftps?|sftp|ssh|s3a?|gs|gcs|hf|az|abfss?|hdfs|file):", re.IGNORECASE)
_DRIVE = re.compile(r"[A-Za-z]:[\\/]")
# In sentences. A quoted address ends at its quote, another one at white space.
_IN_TEXT = re.compile(
    r"""(?P<quote>['"]?)(?<![A-Za-z0-9+.-])(?:[a-z][a-z0-9+.-]*::)*(?:[a-z][a-z0-9+.-]+:/|(?:https?|s3a?|gs|hf):)"""
    r"""(?:(?<=['"])[^'"\n]*|[^\s'"]*)""",
    re.IGNORECASE,
)
_SCHEME = re.compile(r"(?:[a-z][a-z0-9+.-]*::)*[a-z][a-z0-9+.-]*:/{0,3}", re.IGNORECASE)
# Errors that the address or the environment causes, by their names and what they say.
_OF_ADDRESS = re.compile("Credential|Protocol not known")
_ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://(.*)", re.DOTALL)
# Bytes of one request: enough for a fast network, not too much for memory.
_BLOCK_BYTES = 16 * 2**20
# Of an object that is read as a whole: a manifest of a million files.
_MOST_BYTES = 2**28
# Characters of an address, or of a library's error, that a message quotes.
_MOST_SHOWN = 300


def is_address(text: object) -> bool:
    """Whether a value is an address, a chain of them (`zip://x::s3://y`), or one with a mistyped scheme (`s3:/x`).

    A path of something that exists, and a path that begins with a drive, are none.
    """
    if not isinstance(text, str) or _DRIVE.match(text):
        return False
    return bool("://" in text or "::" in text or _MISTYPED.match(text)) and ("\0" in text or not os.path.lexists(text))


def shown_address(text: str) -> str:
    """An address for a message: up to its parameters, query or fragment, and only the scheme if it may hold a password.

    A password may hold any character, so all around an @ may be one.
    """
    scheme = _SCHEME.match(text)
    return f"{scheme[0] if scheme else ''}..." if "@" in text else re.split("[?#;]", text)[0][:_MOST_SHOWN]


def without_secrets(sentence: str) -> str:
    """A sentence in which every address is shown as `shown_address` does."""

    def shown(match: re.Match[str]) -> str:
        address = match[0][len(match["quote"]) :]
        # The punctuation that ends the clause is the sentence's.
        return match["quote"] + shown_address(plain := address.rstrip(".,:;)")) + address[len(plain) :]

    return _IN_TEXT.sub(shown, sentence)


class Address(str):
    """Where an object is, or what the names of several begin with; does not end with a slash."""

    __slots__ = ()

    def __truediv__(self, below: str) -> Address:
        return Address(f"{self}/{below}")

    @property
    def name(self) -> str:
        """What follows the last slash."""
        return self.rpartition("/")[2]

    @property
    def parent(self) -> Address:
        """All before the last slash."""
        return Address(self.rpartition("/")[0])


class StoredObject(NamedTuple):
    """What a store reports about an object. `mark`: an ETag, MD5 or sha256, which changes with its bytes, if any."""

    bytes: int
    mark: str | None


def parse_address(text: str) -> Address:
    """Read an address. Raises AddressError if it holds a user, a password, parameters or a query, or has no path."""
    match, shown = _ADDRESS.fullmatch(text), shown_address(text)
    if match is None or "::" in text:
        raise AddressError(f"{shown!r}: neither an address such as s3://bucket/path nor a path that exists")
    scheme, rest = match[1].lower(), match[2].rstrip("/")
    # On the Hub, a revision follows the repository's name after an @.
    has_user = "@" in (rest.partition("/")[0] if scheme == "hf" and ":" not in rest else rest)
    has_gap = not {"", ".", ".."}.isdisjoint(rest.removeprefix("/").split("/"))
    if has_user or has_gap or set("?#;") & set(rest) or not rest.isprintable():
        raise AddressError(
            f"{shown}: an address must name a place, such as {scheme}://bucket/path, without empty parts, . or .., "
            "without ?, #, ; or control characters, and without a user or a password (or @), which the store's library "
            "reads from the environment"
        )
    return Address(f"{scheme}://{rest}")


def is_address_as_path(path: object) -> bool:
    """Whether a path was made from an address: `Path("s3://a/b")` is `s3:/a/b`."""
    return isinstance(path, Path) and is_address(path.as_posix())


def refuse_addresses(values: Iterable[object]) -> None:
    """Raise AddressError for an invalid address among a command's arguments, and for one in place of a local path."""
    for value in values:
        if isinstance(value, list | tuple):
            refuse_addresses(value)
        elif is_address(value):
            parse_address(str(value))
        elif is_address_as_path(value):
            raise AddressError(
                f"{shown_address(str(value).replace(':/', '://', 1))}: is an address, but a local path is expected "
                "here; download it first with the store's own client"
            )


@contextmanager
def _store(address: Address) -> Iterator[tuple[Any, str]]:
    """The file system of an address, and the address's path in it. Listings are not cached.

    Turns errors of a store or its library into AddressError or StoreError, with a sentence.
    """
    try:
        import fsspec.core

        more: dict[str, Any] = {"auto_mkdir": True} if address.startswith(("file:", "local:")) else {}
        system, path = fsspec.core.url_to_fs(str(address), use_listings_cache=False, **more)
        system.invalidate_cache()
        yield system, path.rstrip("/")
    except (AddressError, StoreError):
        raise
    except FileNotFoundError:
        raise AddressError(f"{address}: not found; check the bucket and the path") from None
    except Exception as error:
        # fsspec uses a dozen libraries, each with its own errors.
        if isinstance(error, OSError) and error.errno in NO_ROOM:
            raise
        quoted = _quoted(error)
        if isinstance(error, ImportError | PermissionError) or _OF_ADDRESS.search(f"{type(error).__name__} {quoted}"):
            raise AddressError(
                f"{address}: cannot be used ({quoted}); check the address, the credentials in the environment, and the "
                "store's library (pip install 'niah-kit[remote]' installs that of s3://)"
            ) from error
        raise StoreError(f"{address}: the store cannot be used ({quoted}); try again") from error


def _stored(about: dict[str, Any]) -> StoredObject | None:
    """What is said about an object; None for a folder."""
    if about.get("type", "file") != "file" or about["name"].endswith("/"):
        return None
    mark = next((about[name] for name in ("md5Hash", "lfs", "ETag", "etag") if about.get(name)), None)
    return StoredObject(int(about["size"] or 0), mark and str(mark).strip('"'))


def objects_below(address: Address) -> dict[str, StoredObject]:
    """Every object whose name begins with an address and a slash, by the rest of its name, sorted.

    If the address is itself an object, that has the empty name. Empty if the bucket exists but holds nothing there.
    """
    with _store(address) as (system, path):
        top, found = path.lstrip("/"), system.find(path, detail=True)
        # Of a single object, some stores list nothing but its name.
        found = {name: about if "name" in about else system.info(name) for name, about in found.items()}
    names = {name.lstrip("/").removeprefix(top).removeprefix("/"): _stored(about) for name, about in found.items()}
    return {name: stored for name, stored in sorted(names.items()) if stored is not None}


def _read_blocks(address: Address) -> Iterator[bytes]:
    """The bytes of an object, up to 16 MiB at a time.

    Raises AddressError if there is none, StoreError if it changes meanwhile.
    """
    read = 0
    with _store(address) as (system, path):
        before = _stored(system.info(path))
        with system.open(path, "rb", block_size=_BLOCK_BYTES, cache_type="none") as file:
            while block := file.read(_BLOCK_BYTES):
                read += len(block)
                yield block
        system.invalidate_cache()
        if before != _stored(system.info(path)) or (before and before.bytes not in (0, read)):
            raise StoreError(f"{address}: changed while it was fetched; try again once nothing writes to it")


def read_object(address: Address) -> bytes:
    """A whole object. Raises AddressError if there is none, StoreError if it has more than 256 MiB."""
    data = b""
    for block in _read_blocks(address):
        data += block
        if len(data) > _MOST_BYTES:
            raise StoreError(f"{address}: is larger than {_MOST_BYTES:,} bytes, so it is not what was expected there")
    return data


def stored_sha256(address: Address) -> str:
    """sha256 of an object's bytes, read a block at a time."""
    digest = hashlib.sha256()
    for block in _read_blocks(address):
        digest.update(block)
    return digest.hexdigest()


def fetch(address: Address, path: Path) -> str:
    """Copy an object to a file, making its folder, and return its sha256.

    Raises AddressError if there is no such object, StoreError if it changes meanwhile, and OSError that names the file.
    """
    digest = hashlib.sha256()
    path.parent.mkdir(parents=True, exist_ok=True)
    with naming(path), path.open("wb") as file:
        for block in _read_blocks(address):
            file.write(block)
            digest.update(block)
    return digest.hexdigest()


def put_new_object(address: Address, data: bytes) -> bool:
    """Write a small object unless there is one already; returns whether it was written.

    Stores that can (S3, Google Cloud Storage and compatible ones) refuse to overwrite, so that only one of two
    simultaneous writers succeeds. With others, the object is looked up just before.
    """
    with _store(address) as (system, path), suppress(FileExistsError):
        if not system.exists(path):
            try:
                system.pipe_file(path, data, mode="create")
            except (NotImplementedError, TypeError):  # the store's library knows no such mode
                system.pipe_file(path, data)
            return True
    return False


def upload(path: Path, address: Address) -> None:
    """Copy a file to an address, overwriting what is there, and read it back to prove that it arrived.

    Raises StoreError if other bytes are there.
    """
    with _store(address) as (system, goal):
        # Parts of a large file are sent concurrently, and kept in memory meanwhile.
        system.put_file(str(path), goal, **({"max_concurrency": 2} if address.startswith(("s3:", "s3a:")) else {}))
    if stored_sha256(address) != file_sha256(path):
        raise StoreError(f"{address}: does not hold the bytes that were uploaded; run the same command again")


def remove_objects(addresses: Iterable[Address]) -> None:
    """Remove objects in the given order; missing ones are ignored."""
    for address in addresses:
        with _store(address) as (system, path), suppress(FileNotFoundError):
            system.rm_file(path)


def _quoted(error: BaseException) -> str:
    """An error on one line, without anything that may be secret."""
    text = without_secrets(" ".join(str(error).split()) or type(error).__name__)
    for name, value in os.environ.items():
        if len(value) >= 8 and re.search("SECRET|TOKEN|PASSWORD|KEY", name.upper()):
            text = text.replace(value, "...")
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]} ..."


def manifest_at(address: Address, objects: Collection[str]) -> tuple[Manifest, str | None]:
    """The manifest of a dataset at an address with these objects, and a sentence if a seal is missing.

    Raises ContractError if it has no valid one.
    """
    return parse_manifest(read_object(address / MANIFEST) if MANIFEST in objects else None, address)


@contextmanager
def copies_of(address: Address) -> Iterator[Path]:
    """A temporary folder for copies of what is below an address. Errors name the address in place of the folder.

    File names stay if this machine's disk is full: then it matters which disk that is.
    """
    with scratch_folder() as folder:
        try:
            yield folder
        except Exception as error:
            here, there = str(folder), str(address)
            error.args = tuple(one.replace(here, there) if isinstance(one, str) else one for one in error.args)
            if isinstance(error, OSError) and error.errno not in NO_ROOM and isinstance(error.filename, str):
                error.filename = error.filename.replace(here, there)
            raise


@contextmanager
def dataset_here(text: str, *, everything: bool = False) -> Iterator[Path]:
    """A path, or for an address the path of a temporary copy of the dataset or the file at that address.

    Fetches the files with the rows, in the first format there is, or everything. Errors name the address in place of
    the temporary folder. Raises AddressError, StoreError, ContractError (no dataset) and OSError.
    """
    if not is_address(text):
        yield Path(text)
        return
    address = parse_address(text)
    objects = objects_below(address)
    with copies_of(address.parent) as scratch:
        place = scratch / address.name
        if "" in objects:
            fetch(address, place)
        else:
            if MANIFEST in objects:
                fetch(address / MANIFEST, place / MANIFEST)
            dataset = open_dataset(place)
            for entry in dataset.manifest.files if everything else [file.entry for file in dataset.files()]:
                if entry.path in objects:  # reading the folder reports the others
                    fetch(address / entry.path, place / entry.path)
        yield place
