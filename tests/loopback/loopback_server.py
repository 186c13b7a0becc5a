"""A loopback server that speaks the OpenAI API and knows the right answers, for testing its clients."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

PATIENCE = 60.0  # the longest wait in any test, in seconds

Body = dict[str, Any]


def completion(text: str | None, **more: Any) -> bytes:
    """A chat completion."""
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop", **more}
    return json.dumps({"object": "chat.completion", "choices": [choice], "usage": {"prompt_tokens": 7}}).encode()


class Server(ThreadingHTTPServer):
    """A loopback server that knows the right answers. `behave(server, handler, row id, try)` may send its own reply and
    return True."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, truth: list[dict[str, Any]]) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.answers = {row["prompt"]: (row["id"], row["answers"][0]) for row in truth}
        self.behave: Callable[[Server, Handler, str, int], bool] = lambda *_: False
        self.asked: Counter[str] = Counter()
        self.bodies: dict[str, Body] = {}
        self.paths: set[str] = set()
        self.keys: set[str | None] = set()
        self.times: list[float] = []
        self.changed = threading.Condition()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    def wait_for(self, condition: Callable[[], bool]) -> bool:
        with self.changed:
            return self.changed.wait_for(condition, PATIENCE)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print nothing: killing clients is part of the tests."""


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        server = self.server
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        prompt = body.get("prompt") or body["messages"][-1]["content"]
        row_id, answer = server.answers.get(prompt, ("unknown", "unknown"))
        with server.changed:
            server.asked[row_id] += 1
            tried = server.asked[row_id]
            assert sum(server.asked.values()) < 500, "a runner that never ends"
            server.bodies[row_id] = body
            server.paths.add(self.path)
            server.keys.add(self.headers["Authorization"])
            server.times.append(time.monotonic())
            server.changed.notify_all()
        if not server.behave(server, self, row_id, tried):
            self.reply(200, completion(answer))

    def reply(self, status: int, body: bytes, **headers: str) -> bool:
        with self.server.changed:
            self.server.changed.notify_all()
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)
        return True

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing."""


@contextmanager
def serving(truth: list[dict[str, Any]]) -> Iterator[Server]:
    """Run a server until the block ends. truth: rows with id, prompt and answers."""
    with Server(truth) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        yield server
        server.shutdown()
