"""A server on the loopback that speaks OpenAI's API and answers a dataset's prompts by a plan.

A request is matched to its row by its prompt. A prompt that a client has changed on the way is answered with HTTP 400
and kept among the server's `strangers`.
"""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

from planned_batches import Batches

Json = dict[str, Any]


class Outcome(NamedTuple):
    """How a row is answered. `text` and `reasoning` may hold `{right}`, the row's first answer.

    status, score: what the scorer must report, unless the row is a control. finish: the reason that the server states.
    failures: how many times it answers HTTP 500 first. seconds: how long it waits.
    """

    text: str
    status: str = "ok"
    score: float = 0.0
    reasoning: str | None = None
    finish: str = "stop"
    failures: float = 0
    seconds: float = 0.0


OUTCOMES: Mapping[str, Outcome] = {
    "right": Outcome("{right}", score=100.0),
    "wrong": Outcome("Zebra."),
    "empty": Outcome("", "empty"),
    "truncated": Outcome("It is", "truncated", finish="length"),
    "refusing": Outcome("", "refused", finish="content_filter"),
    "thinking": Outcome("<think>Is it a zebra?\n\nNo.</think>\n\n{right}", score=100.0),
    "reasoning": Outcome("{right}", score=100.0, reasoning="Is it a zebra?"),
    "two paragraphs": Outcome("Let me see.\n\n{right}", score=100.0),
    "slow": Outcome("{right}", score=100.0, seconds=0.3),
    "stumbling": Outcome("{right}", score=100.0, failures=1),
    "failing": Outcome("", "error", failures=float("inf")),
}


# Without what is asked again and again until a harness gives up.
SURVIVED = [name for name in OUTCOMES if name != "failing"]
# Of harnesses that log neither truncation nor refusals.
_UNRECORDED = {"truncated": "ok", "refused": "empty"}


class Expected(NamedTuple):
    """What the scorer must report for a row."""

    status: str
    score: float


def plan(rows: Sequence[Mapping[str, Any]], outcomes: Sequence[str]) -> dict[str, str]:
    """The outcome of each row, by its id: the given ones in turn."""
    return {row["id"]: outcomes[number % len(outcomes)] for number, row in enumerate(rows)}


def expected(rows: Sequence[Mapping[str, Any]], plans: Mapping[str, str], logged: bool = True) -> dict[str, Expected]:
    """What the scorer must report for each row. On an `absent` control the right answer scores 0: it names no fact.

    logged: whether the harness logs truncation and refusals.
    """
    by_id = {}
    for row in rows:
        outcome = OUTCOMES[plans[row["id"]]]
        status = outcome.status if logged else _UNRECORDED.get(outcome.status, outcome.status)
        by_id[row["id"]] = Expected(status, 0.0 if row["control"] == "absent" else outcome.score)
    return by_id


class PlannedServer(ThreadingHTTPServer):
    """Answers the rows by a plan. `system`: a message that every request begins with.

    asked: how often each row was asked. bodies: its last request. strangers: requests that match no row's prompt.
    """

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, rows: Sequence[Mapping[str, Any]], plans: Mapping[str, str], system: str | None = None) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.rows = {_key(_messages(row["prompt"], system)): row for row in rows}
        self.plans = dict(plans)
        self.asked: Counter[str] = Counter()
        self.bodies: dict[str, Json] = {}
        self.strangers: list[Json] = []
        self.batches = Batches(self.answer)
        self.lock = threading.Lock()

    @property
    def url(self) -> str:
        """The base URL, which ends in `/v1`."""
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    def row_of(self, body: Json) -> Mapping[str, Any] | None:
        """The row that a request asks. A bare text made by a chat template need only contain the row's messages."""
        messages = _asked(body)
        if isinstance(messages, list):
            return self.rows.get(_key(messages))
        exact = self.rows.get(_key([{"role": "user", "content": messages}]))
        containing = (
            row for row in self.rows.values() if all(one["content"] in messages for one in _messages(row["prompt"]))
        )
        return exact or next(containing, None)

    def answer(self, path: str, body: Json) -> tuple[int, Json]:
        """The HTTP status and the body of the answer to a request."""
        row = self.row_of(body)
        with self.lock:
            if row is None:
                self.strangers.append(body)
                return 400, _error("this asks no row's prompt")
            self.asked[row["id"]] += 1
            self.bodies[row["id"]] = body
            attempts = self.asked[row["id"]]
        outcome = OUTCOMES[self.plans[row["id"]]]
        time.sleep(outcome.seconds)
        if attempts <= outcome.failures:
            return 500, _error("overloaded")
        right = row["answers"][0]
        text = outcome.text.format(right=right)
        make = {"/v1/chat/completions": _chat, "/v1/completions": _completion, "/v1/responses": _response}[path]
        return 200, make(text, outcome)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore clients that hang up."""


@contextmanager
def serving(
    rows: Sequence[Mapping[str, Any]], plans: Mapping[str, str], system: str | None = None
) -> Iterator[PlannedServer]:
    """A server that runs while the block does. In the end, every request must have matched a row."""
    with PlannedServer(rows, plans, system) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
    assert server.strangers == []


def _messages(prompt: Any, system: str | None = None) -> list[Json]:
    given = [{"role": "user", "content": prompt}] if isinstance(prompt, str) else list(prompt)
    return [*([{"role": "system", "content": system}] if system else []), *given]


def _key(messages: Sequence[Mapping[str, Any]]) -> str:
    return json.dumps([(message["role"], _text(message["content"])) for message in messages])


def _text(content: Any) -> str:
    """The text of a message, which some clients send in parts."""
    return content if isinstance(content, str) else "".join(part["text"] for part in content)


def _asked(body: Json) -> str | list[Json]:
    """The messages that a request sends, or its bare text."""
    if "prompt" in body:
        # Some clients send a list with a single prompt.
        (prompt,) = [body["prompt"]] if isinstance(body["prompt"], str) else body["prompt"]
        assert isinstance(prompt, str), "tokens in place of a text"
        return prompt
    given = body["messages"] if "messages" in body else body["input"]
    messages = _messages(given, body.get("instructions"))
    return [{"role": one["role"].replace("developer", "system"), "content": one["content"]} for one in messages]


def _error(message: str) -> Json:
    return {"error": {"message": message, "type": "server_error", "code": None, "param": None}}


_USAGE = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}


def _chat(text: str, outcome: Outcome) -> Json:
    message: Json = {"role": "assistant", "content": text, "refusal": None}
    if outcome.reasoning:
        message["reasoning_content"] = outcome.reasoning
    choice = {"index": 0, "message": message, "finish_reason": outcome.finish, "logprobs": None}
    return {
        "id": "chatcmpl-1", "object": "chat.completion", "created": 0, "model": "planned", "choices": [choice],
        "usage": _USAGE,
    }  # fmt: skip


def _completion(text: str, outcome: Outcome) -> Json:
    choice = {"index": 0, "text": text, "finish_reason": outcome.finish, "logprobs": None}
    return {
        "id": "cmpl-1", "object": "text_completion", "created": 0, "model": "planned", "choices": [choice],
        "usage": _USAGE,
    }  # fmt: skip


def _response(text: str, outcome: Outcome) -> Json:
    part: Json = {"type": "output_text", "text": text, "annotations": []}
    if outcome.finish == "content_filter":
        part = {"type": "refusal", "refusal": "I cannot."}
    message = {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed", "content": [part]}
    thought = {"id": "rs_1", "type": "reasoning", "summary": [{"type": "summary_text", "text": outcome.reasoning}]}
    cut = outcome.finish == "length"
    return {
        "id": "resp_1", "object": "response", "created_at": 0, "model": "planned",
        "status": "incomplete" if cut else "completed", "output": [*([thought] if outcome.reasoning else []), message],
        "incomplete_details": {"reason": "max_output_tokens"} if cut else None, "error": None, "instructions": None,
        "metadata": {}, "parallel_tool_calls": False, "temperature": 0.0, "tool_choice": "auto", "tools": [],
        "top_p": 1.0,
    }  # fmt: skip


class _Handler(BaseHTTPRequestHandler):
    server: PlannedServer

    def do_POST(self) -> None:
        data = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path == "/v1/files":
            return self._reply(200, self.server.batches.upload(self.headers["Content-Type"], data))
        if self.path == "/v1/batches":
            return self._reply(200, self.server.batches.run(json.loads(data)))
        return self._reply(*self.server.answer(self.path, json.loads(data)))

    def do_GET(self) -> None:
        if self.path.endswith("/content"):
            return self._send(200, self.server.batches.content(self.path.split("/")[-2]), "application/octet-stream")
        if self.path.startswith("/v1/batches/"):
            return self._reply(200, self.server.batches.batch(self.path.rpartition("/")[2]))
        return self._reply(404, _error(f"nothing is at {self.path}"))

    def _reply(self, status: int, body: Json) -> None:
        self._send(status, json.dumps(body).encode(), "application/json")

    def _send(self, status: int, data: bytes, kind: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing."""
