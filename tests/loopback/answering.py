"""Answers HTTP requests on the loopback as a test wants."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple


class Request(NamedTuple):
    method: str
    path: str
    headers: Message[str, str]
    body: bytes


@contextmanager
def answering(reply: Callable[[Request], tuple[int, bytes, Mapping[str, str]]]) -> Iterator[str]:
    """Answer each request with a status, a body and headers; yields the address of the server."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        # An answer is sent in one packet: of two, the second would wait 40 ms for the client to acknowledge the first.
        wbufsize = -1

        def answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            status, data, headers = reply(Request(self.command, self.path, self.headers, body))
            self.send_response(status)
            for name, value in {"Content-Length": str(len(data)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(data)

        do_GET = do_HEAD = do_POST = answer  # noqa: N815

        def log_message(self, format: str, *args: object) -> None:
            """Print nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
