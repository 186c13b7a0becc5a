"""Serves an S3 store on the loopback, and lets a test act at each request that writes to it."""

from __future__ import annotations

import io
import logging
import socket
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from typing import Any, NamedTuple

import s3fs
from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import ThreadedWSGIServer, WSGIRequestHandler

BUCKET = "niah-tests"
KEY, SECRET = "AKIDEXAMPLE0EXAMPLE0", "nobody-may-ever-read-this-secret"


class Write(NamedTuple):
    """A request that changes something: the `number`th since the test began to listen, from 1."""

    number: int
    method: str
    path: str


# Called before and after each write. A status returned before it is sent instead of carrying it out.
Listener = Callable[[Write, str], int | None]


class _OneRequest(WSGIRequestHandler):  # type: ignore[misc]  # untyped where werkzeug is not installed
    """Closes a connection after one request, so that an open connection is a request under way."""

    protocol_version = "HTTP/1.0"


class _Server(ThreadedWSGIServer):  # type: ignore[misc]
    """Knows which connections are open, from the moment each is accepted."""

    def __init__(self, application: Any) -> None:
        super().__init__("127.0.0.1", 0, application, handler=_OneRequest)
        self._changed = threading.Condition()
        self._open: set[Any] = set()
        self._accepted: set[Any] = set()

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._changed:
            self._open.add(request)
            self._accepted.add(client_address)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        super().shutdown_request(request)
        with self._changed:
            self._open.discard(request)
            self._changed.notify_all()

    def settle(self) -> None:
        """Wait for all requests that clients have begun, including those that this server has not accepted yet."""
        # Connections are accepted in the order in which they were made, so all earlier ones come before this one.
        with socket.create_connection(self.server_address[:2]) as last:
            own = last.getsockname()
        with self._changed:
            self._changed.wait_for(lambda: own in self._accepted and not self._open)


class ObjectStore:
    """A store with one bucket. `listener` is called at every write; paths that contain `refused` get a 403."""

    def __init__(self) -> None:
        logging.getLogger("werkzeug").setLevel(logging.ERROR)
        self._moto = DomainDispatcherApplication(create_backend_app)
        self._server = _Server(self._answer)
        self._lock = threading.Lock()
        self._writes = 0
        self.listener: Listener | None = None
        self.spoil: Callable[[str, bytes], bytes] | None = None
        self.refused = ""
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self.environment = {
            "AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET, "AWS_ENDPOINT_URL": self.url,
            "AWS_DEFAULT_REGION": "us-east-1", "AWS_EC2_METADATA_DISABLED": "true",
        }  # fmt: skip
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self.files = s3fs.S3FileSystem(key=KEY, secret=SECRET, endpoint_url=self.url, use_listings_cache=False)
        self.files.mkdir(BUCKET)

    def objects(self, below: str = "") -> dict[str, str]:
        """sha256 of every object, by its name below a place in the bucket."""
        top = f"{BUCKET}/{below}".rstrip("/")
        return {name.removeprefix(f"{top}/"): sha256(self.files.cat_file(name)).hexdigest() for name in self.names(top)}

    def names(self, top: str = BUCKET) -> list[str]:
        """The names of all objects below a place, the bucket included."""
        return sorted(self.files.find(top))

    def listen(self, listener: Listener | None) -> None:
        """Count writes from zero again, and call a listener at each."""
        with self._lock:
            self._writes, self.listener = 0, listener

    def empty(self) -> None:
        """Remove all objects."""
        for name in self.names():
            self.files.rm_file(name)

    def close(self) -> None:
        self._server.shutdown()

    def settle(self) -> None:
        """Wait until no request is under way, such as those of a process that was killed."""
        self._server.settle()

    def _answer(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        path = environ["PATH_INFO"]
        if self.refused and self.refused in path:
            return _error(start_response, 403, "AccessDenied")[: environ["REQUEST_METHOD"] != "HEAD"]
        if environ["REQUEST_METHOD"] not in ("PUT", "POST", "DELETE"):
            return self._carried_out(environ, start_response)
        if self.spoil is not None and environ["REQUEST_METHOD"] == "PUT":
            body = environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"]))
            environ["wsgi.input"] = io.BytesIO(self.spoil(path, body))
        with self._lock:
            self._writes += 1
            write = Write(self._writes, environ["REQUEST_METHOD"], path)
            listener = self.listener
        status = listener(write, "before") if listener else None
        if status is not None:
            return _error(start_response, status, "InternalError")
        answer = self._carried_out(environ, start_response)
        if listener:
            listener(write, "after")
        return answer

    def _carried_out(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        return list(self._moto(environ, start_response))


def _error(start_response: Any, status: int, code: str) -> list[bytes]:
    start_response(f"{status} {code}", [("Content-Type", "application/xml")])
    return [f"<Error><Code>{code}</Code><Message>{code} for this request</Message></Error>".encode()]


@contextmanager
def serving_objects() -> Iterator[ObjectStore]:
    """A store that runs while the block does."""
    store = ObjectStore()
    try:
        yield store
    finally:
        store.close()
