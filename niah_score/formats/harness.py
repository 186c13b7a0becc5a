"""Samples of the evaluation harnesses: lm-evaluation-harness, Inspect, lighteval, OpenCompass."""

from __future__ import annotations

from typing import Any

from niah_score.contract import Message
from niah_score.formats.fields import (
    answer_text,
    chat_sha256,
    error_line,
    finish_of,
    id_text,
    messages_digest,
    optional_text,
    prompt_sha256,
    references,
    sample_number,
)
from niah_score.formats.record import Format, Identity, Record, Said, UnreadableError


def _is_lm_eval(record: Record) -> bool:
    return "doc_id" in record and "doc" in record and ("resps" in record or "filtered_resps" in record)


def _lm_eval_identity(record: Record, index: int) -> Identity:
    doc = _object(record.get("doc"))
    prompt = prompt_sha256(_first_argument(record.get("arguments")))
    reference = references(record.get("target"))
    if "id" in doc:
        return Identity(id_text(doc["id"], "doc.id"), prompt, None, reference)
    return Identity(None, prompt, _place(record.get("doc_id"), "doc_id"), reference)


def _first_argument(arguments: object) -> str | None:
    """The prompt, where it was logged as plain text: by name, or in lists by older releases."""
    if isinstance(arguments, dict):
        found = _object(arguments.get("gen_args_0")).get("arg_0")
    else:
        found = _first(_first(arguments))
    return found if isinstance(found, str) else None


def _lm_eval_said(record: Record) -> list[Said]:
    """All samples of the filter `none`, which takes the first; what another filter made of them, as it stands."""
    raw, filtered = _first(record.get("resps")), _first(record.get("filtered_resps"))
    # Log-likelihoods are pairs where generated texts are texts.
    generated = isinstance(raw, list) and all(isinstance(text, str) for text in raw)
    if generated and len(raw) > 1 and record.get("filter", "none") == "none":
        found = raw
    elif generated and isinstance(filtered, list):
        found = filtered
    elif filtered is not None:
        found = [filtered]
    else:
        found = [_first(raw)]
    return [Said(answer_text(text, "filtered_resps")) for text in found] or [Said(None)]


def filter_of(record: object) -> str | None:
    """The filter whose line a record of lm-evaluation-harness is; None for any other record."""
    if isinstance(record, dict) and _is_lm_eval(record):
        return str(record.get("filter", "none"))
    return None


def _is_inspect(record: Record) -> bool:
    return "id" in record and "epoch" in record and isinstance(record.get("output"), dict)


def _inspect_identity(record: Record, index: int) -> Identity:
    return Identity(
        id_text(record.get("id"), "id"),
        prompt_sha256(record.get("input")),
        None,
        references(record.get("target")),
        sample_number(record.get("epoch"), "epoch"),
    )


def _inspect_said(record: Record) -> list[Said]:
    output = _object(record.get("output"))
    choice = _object(_first(output.get("choices")))
    content = _object(choice.get("message")).get("content")
    text = answer_text(output.get("completion", content), "output.completion")
    thoughts = [
        part["reasoning"]
        for part in (content if isinstance(content, list) else [])
        if isinstance(_object(part).get("reasoning"), str)
    ]
    error = error_line(record.get("error")) or error_line(output.get("error"))
    finish = finish_of(choice.get("stop_reason"))
    if record.get("limit") and finish != "refused":
        finish = "truncated"
    # A sample that failed holds an empty completion.
    return [Said(None if error and not text else text, "\n".join(thoughts) or None, finish, error)]


def inspect_samples(document: object) -> list[Any] | None:
    """The samples of an Inspect log in JSON; None if the document is none."""
    if isinstance(document, dict) and isinstance(document.get("eval"), dict):
        samples = document.get("samples")
        if isinstance(samples, list):
            return samples
        return [] if "version" in document and samples is None else None
    return None


def _is_lighteval(record: Record) -> bool:
    return "__doc__" in record and "__model_response__" in record


def _lighteval_identity(record: Record, index: int) -> Identity:
    doc = _object(record.get("__doc__"))
    prompt = prompt_sha256(doc.get("query"))
    reference = _lighteval_gold(doc)
    specific = _object(doc.get("specific"))
    if specific.get("id") is not None:
        return Identity(id_text(specific["id"], "__doc__.specific.id"), prompt, None, reference)
    named = doc.get("id")
    if isinstance(named, str) and named and not named.isdigit():
        return Identity(named, prompt, None, reference)
    # Its own ids are the places of the rows.
    return Identity(None, prompt, _place(named, "__doc__.id") if named not in (None, "") else index, reference)


def _lighteval_gold(doc: dict[str, Any]) -> tuple[str, ...] | None:
    choices, gold = doc.get("choices"), doc.get("gold_index")
    if not isinstance(choices, list):
        return None
    places = gold if isinstance(gold, list) else [gold]
    return references([choices[place] for place in places if isinstance(place, int) and 0 <= place < len(choices)])


def _lighteval_said(record: Record) -> list[Said]:
    response = _object(record.get("__model_response__"))
    texts = response.get("text")
    if not isinstance(texts, list):
        raise UnreadableError("the answer is not text: __model_response__.text is no list; expected generated texts")
    thoughts = response.get("reasonings")
    if not isinstance(thoughts, list) or len(thoughts) != len(texts):
        thoughts = [None] * len(texts)
    return [
        Said(answer_text(text, "__model_response__.text"), optional_text(thought))
        for text, thought in zip(texts, thoughts, strict=True)
    ] or [Said(None)]


def _is_opencompass(record: Record) -> bool:
    return "origin_prompt" in record and "prediction" in record


def _opencompass_identity(record: Record, index: int) -> Identity:
    place = record["idx"] if "idx" in record else record.get("index", index)
    prompt, chat = _origin_prompts(record.get("origin_prompt"))
    return Identity(None, prompt, _place(place, "idx"), references(record.get("gold")), 0, chat)


_ROLES = {"HUMAN": "user", "BOT": "assistant", "SYSTEM": "system"}


def _origin_prompts(value: object) -> tuple[str | None, str | None]:
    """The digests of an echoed prompt: as it stands, and as one message of the user."""
    if not isinstance(value, list):
        return prompt_sha256(value), chat_sha256(value)
    messages = []
    for turn in value:
        role, text = _object(turn).get("role"), _object(turn).get("prompt")
        if not isinstance(role, str) or not isinstance(text, str):
            return None, None
        messages.append(Message(role=_ROLES.get(role, role), content=text))
    alone = messages[0]["content"] if len(messages) == 1 and messages[0]["role"] == "user" else None
    return messages_digest(messages), chat_sha256(alone)


def _opencompass_said(record: Record) -> list[Said]:
    found = record.get("prediction")
    if isinstance(found, list) and found and all(isinstance(text, str) for text in found):
        return [Said(text) for text in found]
    return [Said(answer_text(found, "prediction"))]


def opencompass_records(document: object) -> list[Any] | None:
    """The records of an OpenCompass prediction file, their keys as `idx`; None if the document is none."""
    if not isinstance(document, dict) or not document:
        return None
    if not all(key.isascii() and key.isdigit() and len(key) < 16 for key in document):
        return None
    if not any(isinstance(value, dict) and _is_opencompass(value) for value in document.values()):
        return None
    return [{**value, "idx": int(key)} if isinstance(value, dict) else value for key, value in document.items()]


def _place(value: object, field: str) -> int:
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 16:
        return int(value)
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53:
        return value
    raise UnreadableError(f"{field} is no place in the dataset; expected a whole number from 0")


def _object(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _first(value: object) -> Any:
    return value[0] if isinstance(value, list) and value else None


LM_EVAL = Format(
    "lm-eval",
    "lm-evaluation-harness samples_*.jsonl (--log_samples)",
    '{"doc_id":0,"doc":{"id":"X"},"target":"42","arguments":{"gen_args_0":{"arg_0":"..."}},'
    '"resps":[["It is 42."]],"filtered_resps":["It is 42."],"filter":"none"}',
    "json",
    _is_lm_eval,
    _lm_eval_identity,
    _lm_eval_said,
    by_id=True,
)
INSPECT_JSON = Format(
    "inspect-json",
    "Inspect log in JSON (--log-format json)",
    '{"version":2,"status":"success","eval":{},"samples":[{"id":"X","epoch":1,"input":"...","target":"42",'
    '"output":{"completion":"It is 42.","choices":[{"stop_reason":"stop"}]}}]}',
    "json",
    _is_inspect,
    _inspect_identity,
    _inspect_said,
)
INSPECT_EVAL = Format(
    "inspect-eval",
    "Inspect log in its own format: a zip with samples/*.json",
    '{"id":"X","epoch":1,"input":"...","target":"42","output":{"completion":"It is 42.","choices":'
    '[{"stop_reason":"stop"}]}}',
    "zip",
    _is_inspect,
    _inspect_identity,
    _inspect_said,
)
LIGHTEVAL = Format(
    "lighteval",
    "lighteval details in Parquet (--save-details)",
    '{"__doc__":{"query":"...","id":"0","specific":{"id":"X"}},"__model_response__":{"text":["It is 42."]}}',
    "parquet",
    _is_lighteval,
    _lighteval_identity,
    _lighteval_said,
)
OPENCOMPASS = Format(
    "opencompass",
    "OpenCompass predictions/<model>/<dataset>.json, shards and tmp_ files as well",
    '{"0":{"origin_prompt":[{"role":"HUMAN","prompt":"..."}],"prediction":"It is 42.","gold":"42"}}',
    "json",
    _is_opencompass,
    _opencompass_identity,
    _opencompass_said,
)
