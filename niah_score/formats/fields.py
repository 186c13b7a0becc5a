"""Reads ids, texts, finish reasons, errors and prompts in the spellings of all stacks.

The functions know the values of all stacks, but no field names: those belong to the formats.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from typing import Any

import orjson

from niah_score.contract import Message, prompt_digest
from niah_score.formats.record import EchoedPrompt, Identity, Record, UnreadableError, brief

ERROR_CHARACTERS = 500

# Finish reasons in lower case; with any other value the record does not say how the answer ended.
_FINISHES = {
    "stop": "stop completed complete eos eos_token end_turn stop_sequence tool_calls tool_use function_call",
    "truncated": "length max_tokens max_output_tokens max_length model_length model_context_window_exceeded incomplete "
    "truncated",
    "refused": "content_filter refusal refused safety recitation blocklist prohibited_content spii",
}
_FINISH_OF = {word: finish for finish, words in _FINISHES.items() for word in words.split()}
# Finish reasons that mean the stack failed, not the model.
_FAILURES = ("abort", "error")
# What the chat templates of model families begin and end with: control tokens or names of roles.
_TEMPLATE_BEGINS = re.compile(
    r"\s*(?:<\|[^<>|\s]{1,40}\|>|<｜[^<>｜\n]{1,40}｜>|<(?:s|bos|BOS_TOKEN|start_of_turn|seed:bos|role)>|\]~[b!]"
    r"|\[(?:INST|gMASK|SYSTEM_PROMPT|AVAILABLE_TOOLS)\]|(?:USER|Human|### (?:Instruction|Human|User)):"
    r"|A chat between |Below is an instruction )"
)
_TEMPLATE_ENDS = re.compile(
    r"(?:(?:\|>|｜>|<start_of_turn>)\s*(?:model|assistant|user)?|\[/INST\]"
    r"|(?:ASSISTANT|Assistant|### (?:Response|Assistant)):)\s*(?:<think>\s*(?:</think>\s*)?)?\Z"
)
_TEMPLATE_END = 80


def field_of(fields: Collection[str], names: tuple[str, ...]) -> str | None:
    """The first of some names that is among a record's fields."""
    for name in names:
        if name in fields:
            return name
    return None


def id_text(value: object, field: str) -> str:
    """An id as text: a string unchanged, an integer as its digits. Raises UnreadableError."""
    if isinstance(value, str) and value:
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    raise UnreadableError(f"{field} is {brief(value)}; expected the id of a row, as text or a whole number")


def answer_text(value: object, field: str) -> str | None:
    """The text in a string, null, content parts (joined) or chat messages (the assistant's last).

    Raises UnreadableError.
    """
    if value is None or isinstance(value, str):
        return value
    parts = [as_object(part) for part in as_list(value)]
    if isinstance(value, list) and all(isinstance(part.get("type"), str) for part in parts):
        texts = [part.get("text") for part in parts if part["type"] in ("text", "output_text")]
        if not all(isinstance(text, str) for text in texts):
            raise UnreadableError(f"the answer is not text: a text part of {field} has no string `text`")
        return "".join(map(str, texts))
    if parts and all(isinstance(part.get("role"), str) for part in parts):
        for message in reversed(parts):
            if message["role"] in ("assistant", "model", "BOT"):
                return answer_text(message.get("content"), f"{field}.content")
    raise UnreadableError(
        f"the answer is not text: {field} is {brief(value)}; expected a string, null, a list of content parts or "
        "a list of chat messages with one of the assistant"
    )


def optional_text(value: object) -> str | None:
    """A non-empty text, or None for anything else."""
    return value if isinstance(value, str) and value else None


def finish_of(value: object) -> str:
    """How an answer ended: "stop", "truncated", "refused", or "" where the value does not say."""
    if not isinstance(value, str):
        return ""
    return _FINISH_OF.get(value) or _FINISH_OF.get(value.lower().rpartition(".")[2], "")


def failure_of(value: object) -> str | None:
    """The error if a finish reason means that the request failed; None if not."""
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
        head = next((str(value[name]) for name in ("code", "type", "status") if value.get(name) not in (None, "")), "")
        value = ": ".join(filter(None, (head, optional_text(value.get("message"))))) or value
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)
    return " ".join(text.split())[:ERROR_CHARACTERS] or None


def echoed(value: object) -> EchoedPrompt | None:
    """The digests of an echoed prompt, a text or chat messages; None for anything else, and for an empty one."""
    if isinstance(value, str):
        chat = [Message(role="user", content=value)]
        return EchoedPrompt(prompt_digest(value), prompt_digest(chat), in_template(value)) if value else None
    messages = _messages(value)
    if not messages:
        return None
    if len(messages) == 1 and messages[0]["role"] == "user":
        return EchoedPrompt(prompt_digest(messages[0]["content"]), prompt_digest(messages), False)
    return EchoedPrompt(prompt_digest(messages), None, False)


def _messages(value: object) -> list[Message] | None:
    """Chat messages, text parts joined; None for anything else."""
    messages = []
    for item in as_list(value):
        role, content = as_object(item).get("role"), as_object(item).get("content")
        if isinstance(content, list):
            try:
                content = answer_text(content, "content")
            except UnreadableError:
                return None
        if not isinstance(role, str) or not isinstance(content, str):
            return None
        messages.append(Message(role=role, content=content))
    return messages


def in_template(text: str) -> bool:
    """Whether a text looks like a prompt in a model's chat template."""
    return bool(_TEMPLATE_BEGINS.match(text) or _TEMPLATE_ENDS.search(text[-_TEMPLATE_END:].rstrip()))


def references(value: object) -> tuple[str, ...] | None:
    """The references in a record: a text, or texts in lists; None if there are none."""
    return tuple(_flat(value)) or None


def _flat(value: object) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, list):
        return [text for item in value for text in _flat(item)]
    return [str(value)] if isinstance(value, int) and not isinstance(value, bool) else []


def whole_number(value: object, field: str, default: int | None = None) -> int:
    """A whole number from 0, also as text; the default, if any, for what is no number. Raises UnreadableError."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 16:
        value = int(value)
    if default is not None and not isinstance(value, int | float):
        return default
    if type(value) is not int or not 0 <= value < 2**53:
        raise UnreadableError(f"{field} is {brief(value)}; expected a whole number from 0")
    return value


def epoch_number(value: object, field: str) -> int:
    """A sample's number by its epoch; epochs count from 1, as in Inspect. Raises UnreadableError."""
    return max(0, whole_number(value, field, 0) - 1)


def by_order(record: dict[str, Any], field: str, index: int, reference: object) -> Identity:
    """The identity of a record in a file in the dataset's order: its place, and its id if that is a text."""
    return Identity(optional_text(record.get(field)), None, index, references(reference))


def as_object(value: object) -> dict[str, Any]:
    """The value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def at(record: object, path: str, default: Any = None) -> Any:
    """The value at a dotted path such as `choices.0.message.content`; the default if there is none."""
    if isinstance(record, dict) and path in record:
        return record[path]
    for part in path.split("."):
        if isinstance(record, dict):
            record = record.get(part, default)
        elif isinstance(record, list) and part.isascii() and part.isdigit() and len(part) < 10:
            record = next(iter(record[int(part) :]), default)
        else:
            return default
    return record


def inner(record: object, path: str) -> dict[str, Any]:
    """The object at a dotted path; an empty one if there is none."""
    return as_object(at(record, path))


def first_of(record: Record, names: tuple[str, ...]) -> Any:
    """The value of the first of some fields that a record has; None if it has none."""
    name = field_of(record, names)
    return None if name is None else record[name]


def thoughts_in(content: object, field: str) -> str | None:
    """The texts that the parts of an answer hold in a field, one below the other; None if there are none."""
    texts = [text for part in as_list(content) if isinstance(text := as_object(part).get(field), str)]
    return "\n".join(texts) or None


def as_list(value: object) -> list[Any]:
    """The value if it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def json_or_none(text: str) -> Any:
    """The value of JSON within a text; None if it is something else."""
    try:
        return orjson.loads(text)
    except ValueError:
        return None
