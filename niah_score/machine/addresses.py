"""Reads and writes objects at addresses such as `s3://bucket/path`, through fsspec and the library of each store.

An address is told from a path by its `scheme://`. Credentials come from where the store's own library looks for them
(environment, profile, instance); none is ever taken from an address, so none can get into a message or a file. fsspec
is loaded with the first address that is used.

A store has neither renames nor locks. What it has is enough: an object appears whole or not at all, and most stores
say a checksum of what they hold, or can refuse to write where something is.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from niah_score.errors import AddressError, StoreError

_ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://(.*)", re.DOTALL)
# What is left of an address that was taken for a path.
_AS_PATH = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/[^/]")
# One request each: large enough for a fast network, small enough for memory.
_BLOCK_BYTES = 16 * 1024 * 1024
_MOST_SAID = 300
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_MAGIC = "*["
_LOCAL = ("file", "local")
_S3 = ("s3", "s3a")
# Users and passwords of URLs, and what follows their path: either may be secret.
_USER = re.compile(r"//[^/\s\"'@]*@")
_QUERY = re.compile(r"(://[^\s\"'?]*)\?[^\s\"']*")


@dataclass(frozen=True, slots=True)
class Address:
    """Where an object is, or what the names of several begin with. `text` has no slash at its end."""

    text: str

    def __str__(self) -> str:
        return self.text

    def __truediv__(self, below: str) -> Address:
        return Address(f"{self.text}/{below}")

    @property
    def name(self) -> str:
        """What follows the last slash."""
        return self.text.rpartition("/")[2]

    @property
    def parent(self) -> Address:
        """All before the last slash."""
        return Address(self.text.rpartition("/")[0])

    @property
    def scheme(self) -> str:
        return self.text.partition("://")[0].lower()


class StoredObject(NamedTuple):
    """What a store says of an object. `mark` changes with its bytes (`etag:...`, `md5:...`); None if there is none."""

    bytes: int
    mark: str | None


def is_address(text: object) -> bool:
    """Whether a text is an address, not a path."""
    return isinstance(text, str) and _ADDRESS.match(text) is not None


def is_address_as_path(path: object) -> bool:
    """Whether a path is what became of an address: `Path("s3://a/b")` is `s3:/a/b`."""
    return isinstance(path, Path) and _AS_PATH.match(path.as_posix()) is not None and not path.exists()


def refuse_addresses(values: Iterable[object]) -> None:
    """Raise AddressError for a path among some arguments of a command that an address was given for."""
    for value in values:
        for one in value if isinstance(value, list | tuple) else (value,):
            if is_address_as_path(one):
                raise AddressError(
                    f"{_USER.sub('//', one.as_posix().replace(':/', '://', 1))}: is an address, and a path on this "
                    "machine is expected here; fetch it first, with the client of its store"
                )


def parse_address(text: str) -> Address:
    """Read an address. Raises AddressError for one with a user, a password or a query in it, or without a path."""
    match = _ADDRESS.fullmatch(text)
    if match is None:
        raise AddressError(f"{text!r:.200}: expected an address such as s3://bucket/path")
    scheme, rest = match[1].lower(), match[2].rstrip("/")
    place = rest.partition("/")[0]
    if "@" in place:
        raise AddressError(
            f"{scheme}://...@{place.rpartition('@')[2]}: an address must not hold a user or a password; the "
            "library of the store reads them from the environment"
        )
    shown = f"{scheme}://{rest.partition('?')[0][:200]}"
    if "?" in rest or "#" in rest or not rest.isprintable():
        raise AddressError(f"{shown}: an address must not hold ?, # or control characters")
    if not rest.strip("/"):
        raise AddressError(f"{scheme}://: names no place; expected an address such as {scheme}://bucket/path")
    if {"", ".", ".."} & set(rest.removeprefix("/").split("/")):
        raise AddressError(f"{shown}: an address must not have empty parts, . or .. in it")
    return Address(f"{scheme}://{rest}")


def objects_below(address: Address) -> dict[str, StoredObject]:
    """Every object whose name begins with an address and a slash, by the rest of its name, sorted.

    An address that is itself an object has the empty name. None is there where the bucket is and nothing else.
    """
    with _told(address):
        system, path = _opened(address)
        found = system.find(path, detail=True)
    listed = {}
    for name, about in found.items():
        if about.get("type", "file") == "file" and not name.endswith("/"):
            listed[_below(path, name)] = _stored(about)
    return dict(sorted(listed.items()))


def object_at(address: Address) -> StoredObject | None:
    """What the store says of an object; None if there is none. A bucket that does not exist holds none."""
    with _told(address):
        system, path = _opened(address)
        try:
            about = system.info(path)
        except FileNotFoundError:
            return None
    return _stored(about) if about.get("type", "file") == "file" else None


def matching(address: Address) -> tuple[Address, list[str]]:
    """The objects that an address with `*` or `[...]` in it matches, sorted: what they all begin with, and the rest."""
    parts = address.text.split("/")
    plain = next((number for number, part in enumerate(parts) if set(part) & set(_MAGIC)), len(parts))
    base = Address("/".join(parts[:plain]))
    with _told(address):
        system, path = _opened(address)
        found = system.glob(path, detail=True)
        names = [name for name, about in found.items() if about.get("type", "file") == "file"]
        return base, sorted(_below(_opened(base)[1], name) for name in names)


def is_pattern(address: Address) -> bool:
    """Whether an address has `*` or `[...]` in it."""
    return bool(set(address.text) & set(_MAGIC))


def read_blocks(address: Address) -> Iterator[bytes]:
    """The bytes of an object, some 16 MiB at a time. Raises AddressError if there is none."""
    with _told(address):
        system, path = _opened(address)
        with system.open(path, "rb", block_size=_BLOCK_BYTES, cache_type="none") as file:
            while block := file.read(_BLOCK_BYTES):
                yield block


def read_object(address: Address, most: int = 1 << 30) -> bytes:
    """A whole object. Raises AddressError if there is none, StoreError if it has more than `most` bytes."""
    blocks, size = [], 0
    for block in read_blocks(address):
        size += len(block)
        if size > most:
            raise StoreError(f"{address}: is larger than {most:,} bytes, so it is not what was expected there")
        blocks.append(block)
    return b"".join(blocks)


def stored_sha256(address: Address) -> str:
    """sha256 of an object's bytes, read a block at a time."""
    digest = hashlib.sha256()
    for block in read_blocks(address):
        digest.update(block)
    return digest.hexdigest()


def put_object(address: Address, data: bytes) -> None:
    """Write a small object, over one that is there."""
    with _told(address):
        system, path = _opened(address)
        system.pipe_file(path, data)


def put_new_object(address: Address, data: bytes) -> bool:
    """Write a small object where none is; False, and nothing is written, where one is.

    The store itself refuses where it can (S3, Google Cloud Storage, and what speaks like them), so that of two writers
    at once one alone succeeds. Elsewhere it is looked up just before.
    """
    with _told(address):
        system, path = _opened(address)
        if system.exists(path):
            return False
        try:
            system.pipe_file(path, data, mode="create")
        except FileExistsError:
            return False
        except (NotImplementedError, TypeError):  # the store's library knows no such mode
            system.pipe_file(path, data)
    return True


def upload(path: Path, address: Address) -> StoredObject:
    """Copy a file to an address, over what is there; returns what the store says of it once it is proved to be whole.

    The store's own MD5 is compared with that of the file; where it states none, the object is read back. Raises
    StoreError if other bytes have arrived.
    """
    md5, sha256 = _file_digests(path)
    with _told(address):
        system, goal = _opened(address)
        # Parts of a large file are sent at once, and are in memory while they are.
        more = {"max_concurrency": 2} if address.scheme in _S3 else {}
        system.put_file(str(path), goal, **more)
    stored = object_at(address)
    size = path.stat().st_size
    if stored is None or stored.bytes != size:
        there = "nothing is" if stored is None else f"{stored.bytes:,} bytes are"
        raise StoreError(f"{address}: {there} there after {size:,} were uploaded; run the same command again")
    if stored.mark not in (f"md5:{md5}", f"etag:{md5}", f"sha256:{sha256}") and stored_sha256(address) != sha256:
        raise StoreError(f"{address}: holds other bytes than were uploaded; run the same command again")
    return stored


def fetch(address: Address, path: Path) -> None:
    """Copy an object to a file, whose folder is made; where the store states a checksum, it is compared.

    Raises AddressError where there is none, and StoreError where the bytes are not the store's, where the object
    changes meanwhile, or where the file cannot be written.
    """
    before = object_at(address)
    md5, sha256 = hashlib.md5(usedforsecurity=False), hashlib.sha256()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as file:
            for block in read_blocks(address):
                file.write(block)
                md5.update(block)
                sha256.update(block)
        size = path.stat().st_size
    except OSError as error:
        raise StoreError(
            f"{address}: cannot be kept in {path.parent} ({error.strerror or error}); make room there, or set TMPDIR "
            "(for corpora XDG_CACHE_HOME) to a folder on another disk"
        ) from None
    after = object_at(address)
    if before is None or before != after or size != before.bytes:
        raise StoreError(f"{address}: changed while it was fetched; try again once nothing writes to it")
    kind, _, stated = (before.mark or "").partition(":")
    if stated not in {"md5": (md5.hexdigest(),), "sha256": (sha256.hexdigest(),)}.get(kind, (stated,)):
        raise StoreError(f"{address}: other bytes have arrived than the store says it holds; try again")


def remove_objects(addresses: Iterable[Address]) -> None:
    """Remove objects, in this order; one that is not there is no matter."""
    for address in addresses:
        with _told(address):
            system, path = _opened(address)
            try:
                system.rm_file(path)
            except FileNotFoundError:
                continue


def _opened(address: Address) -> tuple[Any, str]:
    """The file system of an address, and what it calls the address. Nothing is remembered of what was listed."""
    import fsspec.core

    more: dict[str, Any] = {"auto_mkdir": True} if address.scheme in _LOCAL else {}
    system, path = fsspec.core.url_to_fs(address.text, use_listings_cache=False, **more)
    system.invalidate_cache()
    return system, path.rstrip("/")


def _below(path: str, name: str) -> str:
    """What follows a path and a slash in a name; empty for the path itself."""
    path, name = path.lstrip("/"), name.lstrip("/")
    return "" if name == path else name.removeprefix(f"{path}/")


def _stored(about: Mapping[str, Any]) -> StoredObject:
    return StoredObject(int(about["size"] or 0), _mark(about))


def _mark(about: Mapping[str, Any]) -> str | None:
    """What a store says that changes with an object's bytes: a checksum, or else an entity tag."""
    if isinstance(md5 := about.get("md5Hash"), str):  # Google Cloud Storage
        import base64

        return f"md5:{base64.b64decode(md5).hex()}"
    lfs = about.get("lfs")  # the Hub
    sha256 = lfs.get("sha256") if isinstance(lfs, Mapping) else getattr(lfs, "sha256", None)
    if isinstance(sha256, str):
        return f"sha256:{sha256}"
    for name in ("ETag", "etag"):
        if isinstance(tag := about.get(name), str) and tag.strip('"'):
            return "etag:" + tag.strip('"')
    return None


def _file_digests(path: Path) -> tuple[str, str]:
    """MD5 and sha256 of a file, in one pass."""
    md5, sha256 = hashlib.md5(usedforsecurity=False), hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            md5.update(block)
            sha256.update(block)
    return md5.hexdigest(), sha256.hexdigest()


@contextmanager
def _told(address: Address) -> Iterator[None]:
    """What a store or its library refuses, as a sentence."""
    try:
        yield
    except (AddressError, StoreError):
        raise
    except ImportError as error:
        if (isinstance(error, ModuleNotFoundError) and error.name == "fsspec") or address.scheme in _S3:
            missing = "needs libraries that are not installed: pip install 'niah-kit[remote]'"
        else:
            missing = f"needs a library that is not installed: {_said(error)}"
        raise AddressError(f"{address}: {missing}") from None
    except FileNotFoundError:
        raise AddressError(f"{address}: not there; check the bucket and the path") from None
    except PermissionError as error:
        raise AddressError(
            f"{address}: the store refuses access ({_said(error)}); check the credentials in the environment, and what "
            "they are allowed to do"
        ) from None
    except Exception as error:
        # A dozen libraries lie below it, each with errors of its own.
        said, kind = _said(error), type(error).__name__
        if isinstance(error, OSError) and error.errno in _FULL:
            raise
        if "Credential" in kind or "DefaultCredentials" in said:
            raise AddressError(
                f"{address}: no credentials ({said}); the store's library looks for them in the environment, such as "
                "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
            ) from error
        if isinstance(error, ValueError) and said.startswith("Protocol not known"):
            raise AddressError(
                f"{address}: no such kind of address; expected s3://, gs://, hf:// or another of fsspec's"
            ) from error
        raise StoreError(f"{address}: the store cannot be used ({said}); try again") from error


def _said(error: BaseException) -> str:
    """An error in one line, without what may be secret."""
    said = " ".join(str(error).split()) or type(error).__name__
    said = _QUERY.sub(r"\1", _USER.sub("//", said))
    for name, value in os.environ.items():
        if len(value) >= 8 and re.search("SECRET|TOKEN|PASSWORD|KEY", name.upper()):
            said = said.replace(value, "...")
    return said if len(said) <= _MOST_SAID else f"{said[:_MOST_SAID]} ..."
