"""Chats become the request lines that each batch service documents."""

from __future__ import annotations

from typing import Any

from niah_score.contract import (
    BATCH_LIMITS,
    BATCH_REQUESTS,
    MAX_BATCH_BYTES,
    MAX_BATCH_REQUESTS,
    Message,
    RequestSettings,
)
from niah_score.formats import FORMATS

ASK: Message = {"role": "user", "content": "ASK"}
CHAT: list[Message] = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Hello."},
    {"role": "assistant", "content": "Hello!"},
    ASK,
]


def line(form: str, messages: list[Message], **settings: Any) -> dict[str, Any]:
    return BATCH_REQUESTS[form]("row-1", messages, RequestSettings(**{"model": "m", "max_tokens": 9, **settings}))


def test_a_chat_keeps_its_turns_in_every_service() -> None:
    assert line("openai-batch", CHAT)["body"]["messages"] == CHAT
    body = line("openai-responses", CHAT)["body"]
    assert (body["instructions"], body["input"]) == ("Be brief.", CHAT[1:])
    params = line("anthropic-batch", CHAT)["params"]
    assert (params["system"], params["messages"]) == ("Be brief.", CHAT[1:])
    request = line("gemini-batch", CHAT)["request"]
    assert request["systemInstruction"] == {"parts": [{"text": "Be brief."}]}
    assert [turn["role"] for turn in request["contents"]] == ["user", "model", "user"]
    assert [turn["parts"] for turn in request["contents"]] == [[{"text": turn["content"]}] for turn in CHAT[1:]]


def test_extra_fields_are_merged_into_the_request_and_none_removes_a_field() -> None:
    fields = {"temperature": None, "thinking": {"type": "enabled"}, "generationConfig": {"seed": 1}}
    batch_line = line("anthropic-batch", [ASK], temperature=0.0, fields=fields)
    assert batch_line["params"]["thinking"] == {"type": "enabled"}
    assert "temperature" not in batch_line["params"]
    request = line("gemini-batch", [ASK], temperature=0.0, fields=fields)["request"]
    assert request["generationConfig"] == {"maxOutputTokens": 9, "temperature": 0.0, "seed": 1}
    for form, within in (("openai-batch", "body"), ("openai-responses", "body")):
        assert line(form, [ASK], fields=fields)[within]["thinking"] == {"type": "enabled"}


def test_the_common_limits_suit_every_service() -> None:
    assert (MAX_BATCH_REQUESTS, MAX_BATCH_BYTES) == (50_000, 200_000_000)
    assert set(BATCH_REQUESTS) < set(BATCH_LIMITS) <= set(FORMATS)
