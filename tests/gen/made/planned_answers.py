"""Answers exported requests by a plan, as each service would, and reads which prompt each request sends."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

Json = dict[str, Any]
# Status and keyword score of a row, by how its answer ends.
PLAN = {"right": ("ok", 100.0), "wrong": ("ok", 0.0), "empty": ("empty", 0.0), "failed": ("error", 0.0)}


class Planned(NamedTuple):
    """How an answer ends, and its text."""

    outcome: str
    text: str


class Asked(NamedTuple):
    """One request: the id of its row, the messages it sends, and the most tokens that its answer may have."""

    id: str
    messages: list[Json]
    max_tokens: int


class Service(NamedTuple):
    """How one service is asked and how it answers; `answer` makes the answer to one request."""

    requests: Callable[[Path], list[Json]]
    asked: Callable[[Json], Asked]
    answer: Callable[[Json, Planned], Json]


def planned(number: int, row: Json) -> Planned:
    """The planned answer to the row with a number."""
    outcome = list(PLAN)[number % len(PLAN)]
    right = row["answers"][0]
    return Planned(outcome, {"right": right, "wrong": "Zebra."}.get(outcome, ""))


def _lines(folder: Path) -> list[Json]:
    return [json.loads(line) for file in sorted(folder.glob("*.jsonl")) for line in file.read_bytes().splitlines()]


def _bodies(folder: Path) -> list[Json]:
    return [request for file in sorted(folder.glob("*.json")) for request in json.loads(file.read_bytes())["requests"]]


def _failed_batch(request: Json) -> Json:
    error = {"message": "overloaded", "code": "server_error"}
    return {"id": "b", "custom_id": request["custom_id"], "response": {"status_code": 500, "body": {"error": error}}}


def _chat_answer(request: Json, plan: Planned, prefix: str = "batch_") -> Json:
    if plan.outcome == "failed":
        return _failed_batch(request)
    choice = {"index": 0, "message": {"role": "assistant", "content": plan.text}, "finish_reason": "stop"}
    body = {"object": "chat.completion", "choices": [choice]}
    response = {"status_code": 200, "request_id": "r", "body": body}
    return {"id": f"{prefix}1", "custom_id": request["custom_id"], "response": response, "error": None}


def _vllm_answer(request: Json, plan: Planned) -> Json:
    return _chat_answer(request, plan, "vllm-")


def _responses_answer(request: Json, plan: Planned) -> Json:
    if plan.outcome == "failed":
        return _failed_batch(request)
    part: Json = {"type": "output_text", "text": plan.text}
    body: Json = {"object": "response", "status": "completed", "output": [{"type": "message", "content": [part]}]}
    return {"custom_id": request["custom_id"], "response": {"status_code": 200, "body": body}, "error": None}


def _anthropic_answer(request: Json, plan: Planned) -> Json:
    if plan.outcome == "failed":
        return {"custom_id": request["custom_id"], "result": {"type": "expired"}}
    message = {"content": [{"type": "text", "text": plan.text}], "stop_reason": "end_turn"}
    return {"custom_id": request["custom_id"], "result": {"type": "succeeded", "message": message}}


def _gemini_answer(request: Json, plan: Planned) -> Json:
    if plan.outcome == "failed":
        return {"key": request["key"], "error": {"code": 500, "message": "internal"}}
    candidate = {"content": {"parts": [{"text": plan.text}]}, "finishReason": "STOP"}
    return {"key": request["key"], "response": {"candidates": [candidate]}}


def _vertex_answer(request: Json, plan: Planned) -> Json:
    """The answer repeats the request, without its key."""
    answer = _gemini_answer(request, plan)
    if plan.outcome == "failed":
        return {"status": "internal error", "request": request["request"]}
    return {"status": "", "request": request["request"], "response": answer["response"]}


def _plain(name: str, plan: Planned) -> Json:
    if plan.outcome == "failed":
        return {"id": name, "error": "overloaded"}
    return {"id": name, "prediction": plan.text, "finish_reason": "stop"}


def _chat_asked(request: Json) -> Asked:
    body = request["body"]
    assert (request["method"], request["url"]) == ("POST", "/v1/chat/completions")
    return Asked(request["custom_id"], body["messages"], body.get("max_completion_tokens") or body["max_tokens"])


def _responses_asked(request: Json) -> Asked:
    body = request["body"]
    sent = body["input"]
    turns = [{"role": "user", "content": sent}] if isinstance(sent, str) else sent
    return Asked(request["custom_id"], _with_system(body.get("instructions"), turns), body["max_output_tokens"])


def _anthropic_asked(request: Json) -> Asked:
    params = request["params"]
    return Asked(request["custom_id"], _with_system(params.get("system"), params["messages"]), params["max_tokens"])


def _gemini_asked(request: Json) -> Asked:
    sent = request["request"]
    turns = [
        {"role": {"model": "assistant"}.get(turn["role"], turn["role"]), "content": turn["parts"][0]["text"]}
        for turn in sent["contents"]
    ]
    system = sent["systemInstruction"]["parts"][0]["text"] if "systemInstruction" in sent else None
    return Asked(request["key"], _with_system(system, turns), sent["generationConfig"]["maxOutputTokens"])


def _with_system(system: str | None, turns: list[Json]) -> list[Json]:
    return [*([{"role": "system", "content": system}] if system else []), *turns]


def _example_asked(example: Json) -> Asked:
    inputs = example["inputs"]
    messages = inputs.get("messages") or [{"role": "user", "content": inputs["prompt"]}]
    return Asked(inputs["id"], messages, inputs["max_new_tokens"])


SERVICES = {
    "openai-batch": Service(_lines, _chat_asked, _chat_answer),
    "openai-batch responses": Service(_lines, _responses_asked, _responses_answer),
    "vllm": Service(_lines, _chat_asked, _vllm_answer),
    "anthropic": Service(_bodies, _anthropic_asked, _anthropic_answer),
    "gemini": Service(_lines, _gemini_asked, _gemini_answer),
    "vertex": Service(_lines, _gemini_asked, _vertex_answer),
    "langsmith": Service(_lines, _example_asked, lambda example, plan: _plain(example["inputs"]["id"], plan)),
}


def answer_all(service: Service, requests: list[Json], plans: dict[str, Planned], file: Path) -> None:
    """Write the answers to some requests, in reverse order."""
    lines = [json.dumps(service.answer(request, plans[service.asked(request).id])) for request in requests]
    file.write_text("\n".join(reversed(lines)) + "\n", "utf-8")
