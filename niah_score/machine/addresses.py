"""Reads and writes objects at addresses such as `s3://bucket/path`, through fsspec and the library of each store.

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
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from niah_score.errors import AddressError, StoreError
from niah_score.machine.refusals import NO_ROOM

_SCHEMES = (
    "https?|ftps?|sftp|ssh|s3a?|r2|gs|gcs|hf|az|adl|abfss?|wasbs?|oci|hdfs|webhdfs|file|local|memory|zip|tar|dbfs|smb|"
    "github|gitlab|dropbox|simplecache|filecache|blockcache|cached|reference|data"
)
# `http:/x` of any scheme, and `https:x` of a known one.
_MISTYPED = re.compile(rf"[a-z][a-z0-9+.-]+:/|(?:{_SCHEMES}):", re.IGNORECASE)
_DRIVE = re.compile(r"[A-Za-z]:[\\/]")
# In sentences. A quoted address ends at its quote, another one at white space.
_IN_TEXT = re.compile(
    r"""(?P<quote>['"]?)(?<![A-Za-z0-9+.-])(?:[a-z][a-z0-9+.-]*::)*(?:[a-z][a-z0-9+.-]+:/|(?:https?|s3a?|gs|hf):)"""
    r"""(?:(?<=['"])[^'"\n]*|[^\s'"]*)""",
    re.IGNORECASE,
)
_SCHEME = re.compile(r"(?:[a-z][a-z0-9+.-]*::)*[a-z][a-z0-9+.-]*:/{0,3}", re.IGNORECASE)
_SECRET = re.compile("[?#;]")
_MOST_SHOWN = 200


def looks_like_address(text: str) -> bool:
    """Whether a text is an address, a chain of them (`zip://x::s3://y`), or one with a mistyped scheme (`s3:/x`).

    A path of something that exists, and a path that begins with a drive, are none.
    """
    if not ("://" in text or "::" in text or _MISTYPED.match(text)) or _DRIVE.match(text):
        return False
    try:
        return not os.path.lexists(text)
    except ValueError:
        return True


def shown_address(text: str) -> str:
    """An address for a message: without user, password, parameters, query and fragment, wherever they stand in it."""
    scheme = _SCHEME.match(text)
    start = scheme[0] if scheme else ""
    # A password may hold any character, so all up to the last @ may be one.
    before, _, rest = text[len(start) :].rpartition("@")
    if _SECRET.search(before):
        return f"{start}..."  # the @ may be a part of a query, or the ? of a password
    shown = start + _SECRET.split(rest, maxsplit=1)[0][:_MOST_SHOWN]
    if "::" in shown[len(start) :]:  # another address follows
        first, _, others = shown[len(start) :].partition("::")
        return f"{start}{first}::{shown_address(others)}"
    return shown


def without_secrets(sentence: str) -> str:
    """A sentence in which every address is shown as `shown_address` does."""
    return _IN_TEXT.sub(_shown_match, sentence)


def _shown_match(match: re.Match[str]) -> str:
    quote = match["quote"]
    address = match[0][len(quote) :]
    if "@" not in address and not _SECRET.search(address):
        return match[0]
    # The punctuation that ends the clause is the sentence's.
    end = address[len(address.rstrip(".,:;)")) :]
    return quote + shown_address(address.removesuffix(end)) + end


_ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://(.*)", re.DOTALL)
# Bytes of one request: enough for a fast network, not too much for memory.
_BLOCK_BYTES = 16 * 1024 * 1024
# Characters of a library's error that a message quotes.
_MOST_QUOTED = 300
_MAGIC = "*["
_LOCAL = ("file", "local")
_S3 = ("s3", "s3a")


@dataclass(frozen=True, slots=True)
class Address:
    """Where an object is, or what the names of several begin with. `text` does not end with a slash."""

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
    """What a store reports about an object. `mark` changes with its bytes (`etag:...`, `md5:...`); None if unknown."""

    bytes: int
    mark: str | None


def is_address(text: object) -> bool:
    """Whether a value is an address, perhaps one that `parse_address` refuses, and not a path."""
    return isinstance(text, str) and looks_like_address(text)


def is_address_as_path(path: object) -> bool:
    """Whether a path was made from an address: `Path("s3://a/b")` is `s3:/a/b`."""
    return isinstance(path, Path) and looks_like_address(path.as_posix())


def refuse_addresses(values: Iterable[object]) -> None:
    """Raise AddressError for an invalid address among a command's arguments, and for one in place of a local path."""
    for value in values:
        for one in value if isinstance(value, list | tuple) else (value,):
            if isinstance(one, str) and is_address(one):
                parse_address(one)
            elif is_address_as_path(one):
                raise AddressError(
                    f"{shown_address(one.as_posix().replace(':/', '://', 1))}: is an address, but a local path is "
                    "expected here; download it first with the store's own client"
                )


def parse_address(text: str) -> Address:
    """Read an address. Raises AddressError if it holds a user, a password, parameters or a query, or has no path."""
    match = _ADDRESS.fullmatch(text)
    shown = shown_address(text)
    if match is None or "::" in text:
        raise AddressError(f"{shown!r}: neither an address such as s3://bucket/path nor a path that exists")
    scheme, rest = match[1].lower(), match[2].rstrip("/")
    # On the Hub, a revision follows the repository's name after an @.
    if "@" in (rest.partition("/")[0] if scheme == "hf" and ":" not in rest else rest):
        raise AddressError(
            f"{shown}: an address must not hold a user or a password (or @); the store's library reads them from the "
            "environment"
        )
    if set("?#;") & set(rest) or not rest.isprintable():
        raise AddressError(f"{shown}: an address must not hold ?, #, ; or control characters")
    if not rest.strip("/"):
        raise AddressError(f"{scheme}://: names no place; expected an address such as {scheme}://bucket/path")
    if {"", ".", ".."} & set(rest.removeprefix("/").split("/")):
        raise AddressError(f"{shown}: an address must not have empty parts, . or .. in it")
    return Address(f"{scheme}://{rest}")


def objects_below(address: Address) -> dict[str, StoredObject]:
    """Every object whose name begins with an address and a slash, by the rest of its name, sorted.

    If the address is itself an object, that has the empty name. Empty if the bucket exists but holds nothing there.
    """
    with _store_errors(address):
        system, path = _opened(address)
        entries = system.find(path, detail=True)
    objects = {
        _below(path, name): _stored(about)
        for name, about in entries.items()
        if about.get("type", "file") == "file" and not name.endswith("/")
    }
    return dict(sorted(objects.items()))


def object_at(address: Address) -> StoredObject | None:
    """What the store reports about an object; None if there is none, or no such bucket."""
    with _store_errors(address):
        system, path = _opened(address)
        try:
            about = system.info(path)
        except FileNotFoundError:
            return None
    return _stored(about) if about.get("type", "file") == "file" else None


def matching(address: Address) -> tuple[Address, list[str]]:
    """The objects that match an address with `*` or `[...]`: what all names begin with, and their rests, sorted."""
    parts = address.text.split("/")
    plain = next((number for number, part in enumerate(parts) if set(part) & set(_MAGIC)), len(parts))
    base = Address("/".join(parts[:plain]))
    with _store_errors(address):
        system, path = _opened(address)
        entries = system.glob(path, detail=True)
        names = [name for name, about in entries.items() if about.get("type", "file") == "file"]
        return base, sorted(_below(_opened(base)[1], name) for name in names)


def is_pattern(address: Address) -> bool:
    """Whether an address has `*` or `[...]` in it."""
    return bool(set(address.text) & set(_MAGIC))


def read_blocks(address: Address) -> Iterator[bytes]:
    """The bytes of an object, up to 16 MiB at a time. Raises AddressError if there is none."""
    with _store_errors(address):
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
            raise StoreError(f"{address}: is larger than {most:,} bytes, so it cannot be what was expected there")
        blocks.append(block)
    return b"".join(blocks)


def stored_sha256(address: Address) -> str:
    """sha256 of an object's bytes, read a block at a time."""
    digest = hashlib.sha256()
    for block in read_blocks(address):
        digest.update(block)
    return digest.hexdigest()


def put_new_object(address: Address, data: bytes) -> bool:
    """Write a small object unless there is one already; returns whether it was written.

    Stores that can (S3, Google Cloud Storage and compatible ones) refuse to overwrite, so that only one of two
    simultaneous writers succeeds. With others, the object is looked up just before.
    """
    with _store_errors(address):
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
    """Copy a file to an address, overwriting what is there; returns what the store reports of it, once proved intact.

    The store's checksum is compared with that of the file; if it reports none, the object is read back. Raises
    StoreError if other bytes have arrived.
    """
    md5, sha256 = _file_digests(path)
    with _store_errors(address):
        system, goal = _opened(address)
        # Parts of a large file are sent concurrently, and kept in memory meanwhile.
        more = {"max_concurrency": 2} if address.scheme in _S3 else {}
        system.put_file(str(path), goal, **more)
    stored = object_at(address)
    size = path.stat().st_size
    if stored is None or stored.bytes != size:
        there = "nothing is" if stored is None else f"{stored.bytes:,} bytes are"
        raise StoreError(f"{address}: {there} there after {size:,} were uploaded; run the same command again")
    if stored.mark not in (f"md5:{md5}", f"etag:{md5}", f"sha256:{sha256}") and stored_sha256(address) != sha256:
        raise StoreError(f"{address}: does not hold the bytes that were uploaded; run the same command again")
    return stored


def fetch(address: Address, path: Path) -> str:
    """Copy an object to a file, making its folder, and return its sha256; compares the store's checksum, if any.

    Raises AddressError if there is no such object, and StoreError if the bytes differ from the store's, the object
    changes meanwhile, or the file cannot be written.
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
            f"{address}: cannot be saved in {path.parent} ({error.strerror or error}); make room there, or set TMPDIR "
            "(for corpora XDG_CACHE_HOME) to a folder on another disk"
        ) from None
    after = object_at(address)
    if before is None or before != after or size != before.bytes:
        raise StoreError(f"{address}: changed while it was fetched; try again once nothing writes to it")
    kind, _, stated = (before.mark or "").partition(":")
    if stated not in {"md5": (md5.hexdigest(),), "sha256": (sha256.hexdigest(),)}.get(kind, (stated,)):
        raise StoreError(f"{address}: the bytes that arrived are not those that the store reports; try again")
    return sha256.hexdigest()


def remove_objects(addresses: Iterable[Address]) -> None:
    """Remove objects in the given order; missing ones are ignored."""
    for address in addresses:
        with _store_errors(address):
            system, path = _opened(address)
            try:
                system.rm_file(path)
            except FileNotFoundError:
                continue


def _opened(address: Address) -> tuple[Any, str]:
    """The file system of an address, and the address's path in it. Listings are not cached."""
    import fsspec.core

    more: dict[str, Any] = {"auto_mkdir": True} if address.scheme in _LOCAL else {}
    system, path = fsspec.core.url_to_fs(address.text, use_listings_cache=False, **more)
    system.invalidate_cache()
    return system, path.rstrip("/")


def _below(path: str, name: str) -> str:
    """The part of a name after a path and a slash; empty for the path itself."""
    path, name = path.lstrip("/"), name.lstrip("/")
    return "" if name == path else name.removeprefix(f"{path}/")


def _stored(about: Mapping[str, Any]) -> StoredObject:
    return StoredObject(int(about["size"] or 0), _mark(about))


def _mark(about: Mapping[str, Any]) -> str | None:
    """What a store reports that changes with an object's bytes: a checksum, or else an entity tag."""
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
def _store_errors(address: Address) -> Iterator[None]:
    """Turn errors of a store or its library into AddressError or StoreError, with a sentence."""
    try:
        yield
    except (AddressError, StoreError):
        raise
    except ImportError as error:
        if (isinstance(error, ModuleNotFoundError) and error.name == "fsspec") or address.scheme in _S3:
            missing = "needs libraries that are not installed: pip install 'niah-kit[remote]'"
        else:
            missing = f"needs a library that is not installed: {_quoted(error)}"
        raise AddressError(f"{address}: {missing}") from None
    except FileNotFoundError:
        raise AddressError(f"{address}: not found; check the bucket and the path") from None
    except PermissionError as error:
        raise AddressError(
            f"{address}: the store refuses access ({_quoted(error)}); check the credentials in the environment and "
            "their permissions"
        ) from None
    except Exception as error:
        # fsspec uses a dozen libraries, each with its own errors.
        quoted, kind = _quoted(error), type(error).__name__
        if isinstance(error, OSError) and error.errno in NO_ROOM:
            raise
        if "Credential" in kind or "DefaultCredentials" in quoted:
            raise AddressError(
                f"{address}: no credentials ({quoted}); the store's library looks for them in the environment, such as "
                "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
            ) from error
        if isinstance(error, ValueError) and quoted.startswith("Protocol not known"):
            raise AddressError(
                f"{address}: unknown kind of address; expected s3://, gs://, hf:// or another that fsspec supports"
            ) from error
        raise StoreError(f"{address}: the store cannot be used ({quoted}); try again") from error


def _quoted(error: BaseException) -> str:
    """An error on one line, without anything that may be secret."""
    text = " ".join(str(error).split()) or type(error).__name__
    text = without_secrets(text)
    for name, value in os.environ.items():
        if len(value) >= 8 and re.search("SECRET|TOKEN|PASSWORD|KEY", name.upper()):
            text = text.replace(value, "...")
    return text if len(text) <= _MOST_QUOTED else f"{text[:_MOST_QUOTED]} ..."
