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
from base64 import b64encode
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from niah_score.contract import MANIFEST, ContractError, Manifest, open_dataset
from niah_score.errors import AddressError, StoreError
from niah_score.machine.files import NO_ROOM, scratch_folder

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
_ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://(.*)", re.DOTALL)
# Bytes of one request: enough for a fast network, not too much for memory.
_BLOCK_BYTES = 16 * 2**20
_MOST_MANIFEST_BYTES = 2**28
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
    if "@" in (rest.partition("/")[0] if scheme == "hf" and ":" not in rest else rest):
        wrong = "must not hold a user or a password (or @); the store's library reads them from the environment"
    elif set("?#;") & set(rest) or not rest.isprintable():
        wrong = "must not hold ?, #, ; or control characters"
    elif {"", ".", ".."} & set(rest.removeprefix("/").split("/")):
        wrong = f"must name a place, such as {scheme}://bucket/path, without empty parts, . or .. in it"
    else:
        return Address(f"{scheme}://{rest}")
    raise AddressError(f"{shown}: an address {wrong}")


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
        quoted = _quoted(error)
        if isinstance(error, OSError) and error.errno in NO_ROOM:
            raise
        if isinstance(error, ImportError):
            what = f"needs a library that is missing ({quoted}): pip install 'niah-kit[remote]', or the store's own"
        elif isinstance(error, PermissionError):
            what = f"the store refuses access ({quoted}); check the credentials in the environment"
        elif "Credential" in type(error).__name__ or "DefaultCredentials" in quoted:
            what = f"no credentials ({quoted}); the store's library looks for them in the environment"
        elif isinstance(error, ValueError) and quoted.startswith("Protocol not known"):
            what = "unknown kind of address; expected s3://, gs://, hf:// or another that fsspec supports"
        else:
            raise StoreError(f"{address}: the store cannot be used ({quoted}); try again") from error
        raise AddressError(f"{address}: {what}") from error


def _stored(about: dict[str, Any]) -> StoredObject | None:
    """What is said about an object; None for a folder."""
    if about.get("type", "file") != "file" or about["name"].endswith("/"):
        return None
    mark = next((about[name] for name in ("md5Hash", "lfs", "ETag", "etag") if about.get(name)), None)
    return StoredObject(int(about["size"] or 0), mark and str(mark).strip('"'))


def _objects(path: str, entries: dict[str, dict[str, Any]]) -> dict[str, StoredObject]:
    """The objects among a store's entries, by the part of their names after a path and a slash, sorted."""
    path = path.lstrip("/")
    names = {name.lstrip("/").removeprefix(path).removeprefix("/"): _stored(about) for name, about in entries.items()}
    return {name: stored for name, stored in sorted(names.items()) if stored is not None}


def objects_below(address: Address) -> dict[str, StoredObject]:
    """Every object whose name begins with an address and a slash, by the rest of its name, sorted.

    If the address is itself an object, that has the empty name. Empty if the bucket exists but holds nothing there.
    """
    with _store(address) as (system, path):
        return _objects(path, system.find(path, detail=True))


def matching(address: Address) -> tuple[Address, list[str]]:
    """The objects that match an address with `*` or `[...]`: what all names begin with, and their rests, sorted."""
    pattern = re.search(r"/[^/]*[*\[].*", address)
    rest = pattern[0] if pattern else ""
    with _store(address) as (system, path):
        return Address(address.removesuffix(rest)), [*_objects(path.removesuffix(rest), system.glob(path, detail=True))]


def object_at(address: Address) -> StoredObject | None:
    """What the store reports about an object; None if there is none, or no such bucket."""
    with _store(address) as (system, path):
        try:
            return _stored(system.info(path))
        except FileNotFoundError:
            return None


def _read_blocks(address: Address) -> Iterator[bytes]:
    """The bytes of an object, up to 16 MiB at a time. Raises AddressError if there is none."""
    with (
        _store(address) as (system, path),
        system.open(path, "rb", block_size=_BLOCK_BYTES, cache_type="none") as file,
    ):
        while block := file.read(_BLOCK_BYTES):
            yield block


def read_object(address: Address, most: int = 1 << 30) -> bytes:
    """A whole object. Raises AddressError if there is none, StoreError if it has more than `most` bytes."""
    data = b""
    for block in _read_blocks(address):
        data += block
        if len(data) > most:
            raise StoreError(f"{address}: is larger than {most:,} bytes, so it cannot be what was expected there")
    return data


def stored_sha256(address: Address) -> str:
    """sha256 of an object's bytes, read a block at a time."""
    digest = hashlib.sha256()
    for block in _read_blocks(address):
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
    """Copy a file to an address, overwriting what is there, and prove that it arrived.

    The store's checksum is compared with that of the file; if it reports none, the object is read back. Raises
    StoreError if other bytes have arrived.
    """
    md5, digest, size = hashlib.md5(usedforsecurity=False), hashlib.sha256(), 0
    with path.open("rb") as file:
        while block := file.read(_BLOCK_BYTES):
            md5.update(block)
            digest.update(block)
            size += len(block)
    with _store(address) as (system, goal):
        # Parts of a large file are sent concurrently, and kept in memory meanwhile.
        system.put_file(str(path), goal, **({"max_concurrency": 2} if address.startswith(("s3:", "s3a:")) else {}))
    stored, sha256 = object_at(address), digest.hexdigest()
    if stored is None or stored.bytes != size:
        there = "nothing is" if stored is None else f"{stored.bytes:,} bytes are"
        raise StoreError(f"{address}: {there} there after {size:,} were uploaded; run the same command again")
    checksums = (md5.hexdigest(), b64encode(md5.digest()).decode(), sha256)
    if not any(checksum in (stored.mark or "") for checksum in checksums) and stored_sha256(address) != sha256:
        raise StoreError(f"{address}: does not hold the bytes that were uploaded; run the same command again")


def fetch(address: Address, path: Path) -> str:
    """Copy an object to a file, making its folder, and return its sha256.

    Raises AddressError if there is no such object, and StoreError if it changes meanwhile, or the file cannot be
    written.
    """
    before, digest = object_at(address), hashlib.sha256()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as file:
            for block in _read_blocks(address):
                file.write(block)
                digest.update(block)
        size = path.stat().st_size
    except OSError as error:
        raise StoreError(
            f"{address}: cannot be saved in {path.parent} ({error.strerror or error}); make room there, or set TMPDIR "
            "(for corpora XDG_CACHE_HOME) to a folder on another disk"
        ) from None
    if before is None or before != object_at(address) or size != before.bytes:
        raise StoreError(f"{address}: changed while it was fetched; try again once nothing writes to it")
    return digest.hexdigest()


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
    objects = objects_below(address)
    with scratch_folder() as scratch, named_by_address(scratch, address.parent):
        place = scratch / address.name
        if "" in objects:
            fetch(address, place)
        else:
            dataset = open_dataset(_fetch_manifest(address, objects, place))
            for entry in dataset.manifest.files if everything else [file.entry for file in dataset.files()]:
                stored = objects.get(entry.path)
                if stored is None:
                    continue  # reading the folder reports it
                same_size = stored.bytes == entry.bytes
                sha256 = fetch(address / entry.path, place / entry.path) if same_size else ""
                if not same_size or (sha256 != entry.sha256 and not everything):
                    raise ContractError(
                        f"{address / entry.path}: is not the file that {MANIFEST} lists; `niah-gen verify {address}` "
                        "finds all such files; copy the dataset again, or build it again"
                    )
        yield place


def manifest_at(address: Address, objects: Collection[str]) -> Manifest:
    """The manifest of a dataset at an address with these objects. Raises ContractError if it has no valid one."""
    with manifest_here(address, objects) as folder:
        return open_dataset(folder).manifest


@contextmanager
def manifest_here(address: Address, objects: Collection[str]) -> Iterator[Path]:
    """A temporary folder with the manifest of a dataset at an address, if its objects include one.

    Errors name the address.
    """
    with scratch_folder() as scratch, named_by_address(scratch, address.parent):
        yield _fetch_manifest(address, objects, scratch / address.name)


def _fetch_manifest(address: Address, objects: Collection[str], folder: Path) -> Path:
    folder.mkdir(parents=True)
    if MANIFEST in objects:
        (folder / MANIFEST).write_bytes(read_object(address / MANIFEST, _MOST_MANIFEST_BYTES))
    return folder


@contextmanager
def named_by_address(folder: Path, address: Address) -> Iterator[None]:
    """In errors, replace a folder of this machine by the address that its files came from.

    File names stay if this machine's disk is full: then it matters which disk that is.
    """

    def renamed(value: Any) -> Any:
        if isinstance(value, list | tuple) and type(value) in (list, tuple):
            return type(value)(map(renamed, value))
        return value.replace(str(folder), str(address)) if isinstance(value, str) else value

    try:
        yield
    except Exception as error:
        error.args = renamed(error.args)
        # Some errors make their sentences from attributes, when asked for.
        vars(error).update({name: renamed(value) for name, value in vars(error).items()})
        if isinstance(error, OSError) and error.errno not in NO_ROOM and isinstance(error.filename, str):
            error.filename = renamed(error.filename)
        raise
