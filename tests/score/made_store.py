"""A store behind fsspec at `made://` addresses that keeps objects in memory and fails where a test asks it to.

The test's listeners are told of every write (put, create, remove) and read before it happens.
"""

from __future__ import annotations

import io
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import md5
from typing import Any, ClassVar

import fsspec

BUCKET = "made://bucket"
# A password, a token or parameters in every place of an address, spelled well or not.
FORMS = (
    "https://u:{}@host/x", "https://u:{}/x@host/x", "https://{}@host/x", "https://u:a?{}@host/x", "https://host/x?{}",
    "https://host/x#{}", "https://host/x;token={}", "https://host/x?a@{}", "s3://k:{}@bucket/x", "http:/u:{}@host/x",
    "https:u:{}@host/x", "https:///u:{}@host/x", "http:/host/x?{}", "s3:/k:{}@bucket/x", "simplecache::https://u:{}@host/x",
    "zip://x::https://u:{}@host/x", "zip://x::https:/u:{}@host/x", "a b://u:{}@host", "://u:{}@host", "x::u:{}@host",
    "odd+one://u:{}@host/x;a?b#c", "https://u:{} with blanks@host/x",
)  # fmt: skip


class MadeStore(fsspec.AbstractFileSystem):  # type: ignore[misc]  # fsspec has no types
    """One store for all addresses, with one bucket called `bucket`."""

    protocol = "made"
    cachable = False
    objects: ClassVar[dict[str, bytes]] = {}
    # Whether the store states an ETag for its objects.
    tags: ClassVar[bool] = True
    on_write: ClassVar[Callable[[str, str], None] | None] = None
    on_read: ClassVar[Callable[[str], None] | None] = None
    # Changes bytes on their way in.
    spoil: ClassVar[Callable[[str, bytes], bytes] | None] = None
    lock: ClassVar[threading.Lock] = threading.Lock()

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        return path.removeprefix("made://").strip("/")

    def info(self, path: str, **_: object) -> dict[str, Any]:
        path = self._strip_protocol(path)
        self._bucket(path)
        if path in self.objects:
            return self._about(path)
        if any(name.startswith(f"{path}/") for name in self.objects):
            return {"name": path, "size": 0, "type": "directory"}
        raise FileNotFoundError(path)

    def find(
        self, path: str, maxdepth: object = None, withdirs: object = False, detail: bool = False, **_: object
    ) -> Any:
        path = self._strip_protocol(path)
        self._bucket(path)
        matches = [name for name in sorted(self.objects) if name == path or name.startswith(f"{path}/")]
        return {name: self._about(name) for name in matches} if detail else matches

    def glob(self, path: str, maxdepth: object = None, detail: bool = False, **_: object) -> Any:
        from fnmatch import fnmatch

        matches = self.find(path.partition("/")[0], detail=True)
        return {name: about for name, about in matches.items() if fnmatch(name, self._strip_protocol(path))}

    def _open(self, path: str, mode: str = "rb", **_: object) -> io.BytesIO:
        assert mode == "rb"
        path = self._strip_protocol(path)
        self._bucket(path)
        # A listener may remove itself in another thread.
        if listener := MadeStore.on_read:
            listener(path)
        if path not in self.objects:
            raise FileNotFoundError(path)
        return io.BytesIO(self.objects[path])

    def pipe_file(self, path: str, value: bytes, mode: str = "overwrite", **_: object) -> None:
        path = self._strip_protocol(path)
        self._bucket(path)
        if listener := MadeStore.on_write:
            listener("create" if mode == "create" else "put", path)
        with self.lock:
            if mode == "create" and path in self.objects:
                raise FileExistsError(path)
            self.objects[path] = spoil(path, value) if (spoil := MadeStore.spoil) else value

    def put_file(self, lpath: str, rpath: str, **_: object) -> None:
        with open(lpath, "rb") as file:
            self.pipe_file(rpath, file.read())

    def rm_file(self, path: str) -> None:
        path = self._strip_protocol(path)
        if listener := MadeStore.on_write:
            listener("remove", path)
        with self.lock:
            if self.objects.pop(path, None) is None:
                raise FileNotFoundError(path)

    def _about(self, path: str) -> dict[str, Any]:
        data = self.objects[path]
        tag = {"ETag": f'"{md5(data).hexdigest()}"'} if MadeStore.tags else {}
        return {"name": path, "size": len(data), "type": "file", **tag}

    def _bucket(self, path: str) -> None:
        if path.partition("/")[0] != "bucket":
            raise FileNotFoundError("The specified bucket does not exist")


@contextmanager
def made_store() -> Iterator[type[MadeStore]]:
    """The store, empty and without listeners."""
    fsspec.register_implementation("made", MadeStore, clobber=True)
    MadeStore.objects.clear()
    MadeStore.tags, MadeStore.on_write, MadeStore.on_read, MadeStore.spoil = True, None, None, None
    yield MadeStore
    MadeStore.objects.clear()
    MadeStore.tags, MadeStore.on_write, MadeStore.on_read, MadeStore.spoil = True, None, None, None


def below(store: type[MadeStore], place: str) -> dict[str, bytes]:
    """The objects below a place in the bucket, by the rest of their names."""
    top = f"bucket/{place}/"
    return {name.removeprefix(top): data for name, data in store.objects.items() if name.startswith(top)}
