"""Runs uploaded batch files as OpenAI's batch service does, into a file of answers and one of errors."""

from __future__ import annotations

import json
from collections.abc import Callable
from email import message_from_bytes
from email.message import Message
from typing import Any

Json = dict[str, Any]
Answer = Callable[[str, Json], tuple[int, Json]]


class Batches:
    """The files and batches of a server. `answer`: the status and the body for a path and a request."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self._files: dict[str, bytes] = {}
        self._batches: dict[str, Json] = {}

    def upload(self, kind: str, data: bytes) -> Json:
        """Keep the file of a form that was sent."""
        form = message_from_bytes(b"Content-Type: " + kind.encode() + b"\r\n\r\n" + data)
        (sent,) = (part for part in form.walk() if part.get_filename())
        return self._keep(_bytes(sent), "batch")

    def run(self, order: Json) -> Json:
        """Answer the lines of a file in reverse order, since a batch may be answered in any order."""
        good: list[str] = []
        bad: list[str] = []
        for line in reversed(self._files[order["input_file_id"]].splitlines()):
            request = json.loads(line)
            assert (request["method"], request["url"]) == ("POST", order["endpoint"])
            status, body = self._answer(request["url"], request["body"])
            answered = {"status_code": status, "request_id": "req_1", "body": body}
            record = {"id": "batch_req_1", "custom_id": request["custom_id"], "response": answered, "error": None}
            (good if status == 200 else bad).append(json.dumps(record))
        name = f"batch_{len(self._batches)}"
        self._batches[name] = {
            "id": name, "object": "batch", "status": "completed", "created_at": 0, **order,
            "output_file_id": self._result(good), "error_file_id": self._result(bad),
        }  # fmt: skip
        return self._batches[name]

    def batch(self, name: str) -> Json:
        return self._batches[name]

    def content(self, name: str) -> bytes:
        return self._files[name]

    def _result(self, lines: list[str]) -> str | None:
        """The id of a file of results; without lines there is none."""
        name: str | None = self._keep("".join(f"{line}\n" for line in lines).encode(), "batch_output")["id"]
        return name if lines else None

    def _keep(self, data: bytes, purpose: str) -> Json:
        name = f"file-{len(self._files)}"
        self._files[name] = data
        return {
            "id": name, "object": "file", "bytes": len(data), "created_at": 0, "filename": "f.jsonl",
            "purpose": purpose, "status": "processed",
        }  # fmt: skip


def _bytes(part: Message) -> bytes:
    payload = part.get_payload(decode=True)
    assert isinstance(payload, bytes)
    return payload
