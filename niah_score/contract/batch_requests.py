"""Spells chat messages as request lines of the batch services of OpenAI, Anthropic and Google.

A line is what the service documents for its batch files; the answer files that come back are read by
niah_score/formats/batch.py under the same format names. Nothing is sent anywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from niah_score.contract.rows import Message

# OpenAI takes 50,000 requests and 200 MB a file, Anthropic 100,000 and 256 MB, Gemini 2 GB: what all of them take.
MAX_BATCH_REQUESTS = 50_000
MAX_BATCH_BYTES = 200_000_000


class RequestSettings(NamedTuple):
    """What all requests of a batch have in common.

    `max_tokens`: of a reply. `temperature`: None leaves it out, for models that allow none.
    """

    model: str
    max_tokens: int
    temperature: float | None = None

    @property
    def sampling(self) -> dict[str, float]:
        """The temperature, if any, as all four services spell it."""
        return {} if self.temperature is None else {"temperature": self.temperature}


def _openai_chat(name: str, messages: Sequence[Message], settings: RequestSettings) -> dict[str, Any]:
    body = {
        "model": settings.model,
        "messages": list(messages),
        "max_completion_tokens": settings.max_tokens,
        **settings.sampling,
    }
    return {"custom_id": name, "method": "POST", "url": "/v1/chat/completions", "body": body}


def _openai_responses(name: str, messages: Sequence[Message], settings: RequestSettings) -> dict[str, Any]:
    system, turns = _without_system(messages)
    # A single message of the user has a shorter spelling.
    said = turns[0]["content"] if len(turns) == 1 and turns[0]["role"] == "user" else turns
    instructions = {"instructions": system} if system else {}
    limits = {"max_output_tokens": settings.max_tokens, **settings.sampling}
    body = {"model": settings.model, **instructions, "input": said, **limits}
    return {"custom_id": name, "method": "POST", "url": "/v1/responses", "body": body}


def _anthropic(name: str, messages: Sequence[Message], settings: RequestSettings) -> dict[str, Any]:
    system, turns = _without_system(messages)
    limits = {"max_tokens": settings.max_tokens, **settings.sampling}
    params = {"model": settings.model, **limits, **({"system": system} if system else {}), "messages": turns}
    return {"custom_id": name, "params": params}


def _gemini(name: str, messages: Sequence[Message], settings: RequestSettings) -> dict[str, Any]:
    system, turns = _without_system(messages)
    instruction = {"systemInstruction": {"parts": [{"text": system}]}} if system else {}
    contents = [
        {"role": "model" if turn["role"] == "assistant" else "user", "parts": [{"text": turn["content"]}]}
        for turn in turns
    ]
    limits = {"maxOutputTokens": settings.max_tokens, **settings.sampling}
    return {"key": name, "request": {**instruction, "contents": contents, "generationConfig": limits}}


def _without_system(messages: Sequence[Message]) -> tuple[str, list[Message]]:
    """The text of the system messages, and the other messages."""
    system = "\n\n".join(message["content"] for message in messages if message["role"] == "system")
    return system, [message for message in messages if message["role"] != "system"]


# One line for an id, its messages and the settings; named as niah_score.formats names the files that come back.
BATCH_REQUESTS: dict[str, Callable[[str, Sequence[Message], RequestSettings], dict[str, Any]]] = {
    "openai-batch": _openai_chat,
    "openai-responses": _openai_responses,
    "anthropic-batch": _anthropic,
    "gemini-batch": _gemini,
}
