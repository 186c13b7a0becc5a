"""How the stacks spell ids, texts, ends, errors and prompts: parsed values in, the values of an Answer out."""

from __future__ import annotations

import re
from typing import Any

from niah_score.contract import Message, canonical_json, prompt_digest
from niah_score.formats.record import (
    Answer,
    Choice,
    Format,
    Identity,
    InexactError,
    Record,
    Said,
    UnreadableError,
    brief,
)

ERROR_CHARACTERS = 500

# Lower case; anything else means that the record does not say.
FINISHES = {
    "stop": "stop",
    "completed": "stop",
    "complete": "stop",
    "eos": "stop",
    "eos_token": "stop",
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_calls": "stop",
    "tool_use": "stop",
    "function_call": "stop",
    "length": "truncated",
    "max_tokens": "truncated",
    "max_output_tokens": "truncated",
    "max_length": "truncated",
    "model_length": "truncated",
    "model_context_window_exceeded": "truncated",
    "incomplete": "truncated",
    "truncated": "truncated",
    "content_filter": "refused",
    "refusal": "refused",
    "refused": "refused",
    "safety": "refused",
    "recitation": "refused",
    "blocklist": "refused",
    "prohibited_content": "refused",
    "spii": "refused",
}
# Ends that are the stack's failure, not the model's.
_FAILURES = ("abort", "error")
_SURROGATE = re.compile("[\ud800-\udfff]")


def id_text(value: object, field: str) -> str:
    """An id as text: a string as it stands, an integer by its digits. Raises UnreadableError."""
    if isinstance(value, str):
        if value:
            return value
        raise UnreadableError(f"{field} is empty; expected the id of a row")
    if isinstance(value, float):
        raise InexactError(f"{field} is the number {value!r}; expected the id of a row, as text or a whole number")
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    what = "null" if value is None else _kind(value)
    raise UnreadableError(f"{field} is {what}; expected the id of a row, as text or a whole number")


def answer_text(value: object, field: str) -> str | None:
    """A text, null, content parts (joined) or chat messages (the last of the assistant). Raises UnreadableError."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, list):
        if all(isinstance(part, dict) and isinstance(part.get("type"), str) for part in value):
            return _joined_parts(value, field)
        if all(isinstance(part, dict) and isinstance(part.get("role"), str) for part in value):
            for message in reversed(value):
                if message["role"] in ("assistant", "model", "BOT"):
                    return answer_text(message.get("content"), f"{field}.content")
            raise UnreadableError(f"the answer is not text: {field} holds chat messages, none of them the assistant's")
    raise UnreadableError(
        f"the answer is not text: {field} is {_kind(value)}; expected a string, null, a list of content parts or a "
        "list of chat messages"
    )


def _joined_parts(parts: list[dict[str, Any]], field: str) -> str:
    texts = [part.get("text") for part in parts if part["type"] in ("text", "output_text")]
    if not all(isinstance(text, str) for text in texts):
        raise UnreadableError(f"the answer is not text: a text part of {field} has no string `text`")
    return "".join(text for text in texts if isinstance(text, str))


def _kind(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return f"the number {brief(value)}"
    if isinstance(value, dict):
        return "an object"
    return "a list of something else" if isinstance(value, list) else type(value).__name__


def optional_text(value: object) -> str | None:
    """A non-empty text, or None for anything else."""
    return value if isinstance(value, str) and value else None


def finish_of(value: object) -> str:
    """How an answer ended: "stop", "truncated", "refused", or "" where the value does not say."""
    if not isinstance(value, str):
        return ""
    return FINISHES.get(value) or FINISHES.get(value.lower().rpartition(".")[2], "")


def failure_of(value: object) -> str | None:
    """The error that a finish reason tells of: the request was given up, not answered."""
    return f"finish reason {value!r}" if isinstance(value, str) and value.lower() in _FAILURES else None


def error_line(value: object) -> str | None:
    """An error as one line of at most 500 characters; None where there is none."""
    # A number under this name is a measure, such as an error rate.
    if not value or (isinstance(value, int | float) and not isinstance(value, bool)):
        return None
    if isinstance(value, dict):
        inner = value.get("error")
        if isinstance(inner, dict | str) and inner:
            return error_line(inner)
        head = next((value[name] for name in ("code", "type", "status") if value.get(name) not in (None, "")), None)
        message = value.get("message")
        if isinstance(message, str) and message:
            value = message if head is None else f"{head}: {message}"
        elif head is not None:
            value = str(head)
    text = value if isinstance(value, str) else canonical_json(value).decode()
    return " ".join(text.split())[:ERROR_CHARACTERS] or None


def messages_digest(messages: list[Message]) -> str | None:
    """The digest of an echoed chat; of a single user message the digest of its text, as joins know it by both."""
    if not messages:
        return None
    if len(messages) == 1 and messages[0]["role"] == "user":
        return prompt_digest(messages[0]["content"])
    return prompt_digest(messages)


def chat_sha256(echoed: object) -> str | None:
    """The digest of an echoed text as one message of the user; of one such message, that of it.

    Stacks that are sent a chat of one message often echo its text alone.
    """
    if (
        isinstance(echoed, list)
        and len(echoed) == 1
        and isinstance(echoed[0], dict)
        and echoed[0].get("role") == "user"
    ):
        echoed = echoed[0].get("content")
    return prompt_digest([Message(role="user", content=echoed)]) if isinstance(echoed, str) and echoed else None


def prompt_sha256(value: object) -> str | None:
    """The digest of an echoed prompt, a text or chat messages; None for anything else."""
    if isinstance(value, str):
        return prompt_digest(value) if value else None
    if not isinstance(value, list):
        return None
    messages = []
    for item in value:
        if not isinstance(item, dict) or not isinstance(item.get("role"), str):
            return None
        content = item.get("content")
        if isinstance(content, list):
            try:
                content = answer_text(content, "content")
            except UnreadableError:
                return None
        if not isinstance(content, str):
            return None
        messages.append(Message(role=item["role"], content=content))
    return messages_digest(messages)


def references(value: object) -> tuple[str, ...] | None:
    """The references that a record carries: a text, or texts in lists; None where it carries none."""
    found = tuple(_flat(value))
    return found or None


def _flat(value: object) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, list):
        return [text for item in value for text in _flat(item)]
    return [str(value)] if isinstance(value, int) and not isinstance(value, bool) else []


def sample_number(value: object, field: str) -> int:
    """A sample's number; 0 where none is stated. Raises UnreadableError."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 10:
        return int(value)
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 10**9:
        return value
    if isinstance(value, int | float):
        raise UnreadableError(f"{field} is {brief(value)}; expected the number of a sample, from 0")
    return 0


_MISSING = object()


def at(record: Record, path: str) -> Any:
    """The value at a dotted path such as `choices.0.message.content`. Raises UnreadableError if there is none."""
    found = _at(record, path)
    if found is _MISSING:
        raise UnreadableError(f"no field {path!r}; found {keys_of(record)}")
    return found


def has(record: Record, path: str) -> bool:
    """Whether there is a value at a dotted path."""
    return _at(record, path) is not _MISSING


def _at(record: Record, path: str) -> Any:
    if path in record:
        return record[path]
    value: Any = record
    for part in path.split("."):
        if isinstance(value, dict) and part in value:
            value = value[part]
        elif (
            isinstance(value, list) and part.isascii() and part.isdigit() and len(part) < 10 and int(part) < len(value)
        ):
            value = value[int(part)]
        else:
            return _MISSING
    return value


def keys_of(record: Record) -> str:
    """The fields of a record for a message: the first 20."""
    shown = ", ".join(brief(key) for key in list(record)[:20])
    return f"{shown}, ..." if len(record) > 20 else shown or "no fields"


def without_surrogates(text: str) -> str:
    """The text with U+FFFD for each half of a surrogate pair, which no UTF-8 can spell."""
    return _SURROGATE.sub("\ufffd", text)


def answers_of(kind: Format, record: Record, line: int, index: int, choice: Choice) -> list[Answer]:
    """The answers of one record, `index` its place among the file's records. Raises UnreadableError."""
    samples = kind.said(record) if choice.text_field is None else [_chosen_said(kind, record, choice.text_field)]
    whose = (
        kind.identify(record, index) if choice.id_field is None else _chosen_id(kind, record, index, choice.id_field)
    )
    if whose.id is None and whose.prompt_sha256 is None and whose.position is None:
        raise UnreadableError(
            f"no id: none of the fields that hold one is there; found {keys_of(record)}; name it with --id-field"
        )
    return [
        Answer(
            whose.id,
            said.text,
            said.reasoning,
            said.finish,
            said.error,
            whose.prompt_sha256,
            whose.position,
            whose.sample + number,
            line,
            whose.reference,
            whose.chat_sha256,
        )
        for number, said in enumerate(samples)
    ]


def _chosen_said(kind: Format, record: Record, field: str) -> Said:
    text = answer_text(at(record, field), field)
    try:
        return kind.said(record)[0]._replace(text=text)
    except (UnreadableError, IndexError):
        return Said(text)


def _chosen_id(kind: Format, record: Record, index: int, field: str) -> Identity:
    chosen = id_text(at(record, field), field)
    try:
        return kind.identify(record, index)._replace(id=chosen, position=None)
    except UnreadableError:
        return Identity(chosen)
