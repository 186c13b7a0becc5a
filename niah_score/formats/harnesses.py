"""Reads what harnesses log: lm-evaluation-harness, Inspect, lighteval, OpenCompass, RULER, HELMET and LongBench."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import orjson

from niah_score.contract import Message, sha256_hex
from niah_score.formats.fields import (
    answer_text,
    as_list,
    as_object,
    by_order,
    echoed,
    epoch_number,
    error_line,
    finish_of,
    first_item,
    id_text,
    optional_text,
    place_number,
    references,
)
from niah_score.formats.record import Completion, Format, Identity, Record, UnreadableError

# lm-evaluation-harness ------------------------------------------------------------------------------------------------


def _is_lm_eval(record: Record) -> bool:
    return "doc_id" in record and "doc" in record and ("resps" in record or "filtered_resps" in record)


def _lm_eval_identity(record: Record, index: int) -> Identity:
    doc = as_object(record.get("doc"))
    prompt = echoed(_first_argument(record.get("arguments")))
    reference = references(record.get("target"))
    if "id" in doc:
        return Identity(id_text(doc["id"], "doc.id"), prompt, None, reference)
    return Identity(None, prompt, place_number(record.get("doc_id"), "doc_id"), reference)


def _first_argument(arguments: object) -> object:
    """The prompt as it was sent: under a name, or in lists in older releases. Chats are JSON in a list."""
    if isinstance(arguments, dict):
        prompt = as_object(arguments.get("gen_args_0")).get("arg_0")
    else:
        prompt = first_item(first_item(arguments))
    chat = first_item(prompt)
    if isinstance(chat, str):
        try:
            return orjson.loads(chat)
        except ValueError:
            return None
    return prompt


def _lm_eval_completions(record: Record) -> list[Completion]:
    """All samples of the filter `none`, which itself keeps only the first; the output of another filter, unchanged."""
    raw, filtered = first_item(record.get("resps")), first_item(record.get("filtered_resps"))
    # Generated answers are texts, log-likelihoods are pairs.
    generated = isinstance(raw, list) and all(isinstance(text, str) for text in raw)
    if generated and len(raw) > 1 and record.get("filter", "none") == "none":
        texts = raw
    elif generated and isinstance(filtered, list):
        texts = filtered
    elif filtered is not None:
        texts = [filtered]
    else:
        texts = [first_item(raw)]
    return [Completion(answer_text(text, "filtered_resps")) for text in texts] or [Completion(None)]


def _of_one_filter(records: Iterator[Any]) -> Callable[[Any], bool]:
    """Selects the records of one filter, since several repeat the same answers: `none` if there is one, else the first.

    Most files begin with `none`, so that one record is enough.
    """
    filters = (record.get("filter", "none") for record in records if _is_sample(record))
    first = next(filters, "none")
    chosen = "none" if first == "none" or "none" in filters else first
    return lambda record: not _is_sample(record) or record.get("filter", "none") == chosen


def _is_sample(record: Any) -> bool:
    return isinstance(record, dict) and _is_lm_eval(record)


LM_EVAL = Format(
    name="lm-eval",
    what="lm-evaluation-harness samples_*.jsonl (--log_samples)",
    example=(
        '{"doc_id":0,"doc":{"id":"X"},"target":"42","arguments":{"gen_args_0":{"arg_0":"..."}},'
        '"resps":[["It is 42."]],"filtered_resps":["It is 42."],"filter":"none"}'
    ),
    matches=_is_lm_eval,
    identify=_lm_eval_identity,
    completions=_lm_eval_completions,
    by_id=True,
    answer_records=_of_one_filter,
)


# Inspect --------------------------------------------------------------------------------------------------------------


def _is_inspect(record: Record) -> bool:
    return "id" in record and "epoch" in record and isinstance(record.get("output"), dict)


def _inspect_identity(record: Record, index: int) -> Identity:
    # Inspect numbers samples without an id 1, 2, ...; then the input identifies the row.
    name, target, epoch = id_text(record.get("id"), "id"), references(record.get("target")), record.get("epoch")
    return Identity(name, echoed(_inspect_input(record)), None, target, epoch_number(epoch, "epoch"))


def _inspect_input(record: Record) -> object:
    """The prompt of the sample; a long text may be among the attachments."""
    value = record.get("input")
    if isinstance(value, str) and value.startswith("attachment://"):
        return as_object(record.get("attachments")).get(value.removeprefix("attachment://"))
    return value


def _inspect_completions(record: Record) -> list[Completion]:
    output = as_object(record.get("output"))
    choice = as_object(first_item(output.get("choices")))
    content = as_object(choice.get("message")).get("content")
    text = answer_text(output.get("completion", content), "output.completion")
    thoughts = [part["reasoning"] for part in as_list(content) if isinstance(as_object(part).get("reasoning"), str)]
    error = error_line(record.get("error")) or error_line(output.get("error"))
    finish = finish_of(choice.get("stop_reason"))
    if record.get("limit") and finish != "refused":
        finish = "truncated"
    # A failed sample has an empty completion.
    return [Completion(None if error and not text else text, "\n".join(thoughts) or None, finish, error)]


def _inspect_samples(document: object) -> list[Any] | None:
    """The samples of an Inspect log in JSON; None if the document is not one."""
    if isinstance(document, dict) and isinstance(document.get("eval"), dict):
        samples = document.get("samples")
        if isinstance(samples, list):
            return samples
        return [] if "version" in document and samples is None else None
    return None


_SAMPLE = (
    '{"id":"X","epoch":1,"input":"...","target":"42","output":{"completion":"It is 42.","choices":[{"stop_reason":'
    '"stop"}]}}'
)
INSPECT_JSON = Format(
    name="inspect-json",
    what="Inspect log in JSON (--log-format json)",
    example='{"version":2,"status":"success","eval":{},"samples":[' + _SAMPLE + "]}",
    matches=_is_inspect,
    identify=_inspect_identity,
    completions=_inspect_completions,
    documents=_inspect_samples,
)
INSPECT_EVAL = Format(
    name="inspect-eval",
    what="Inspect log in its own format: a zip with samples/*.json",
    example=_SAMPLE,
    container="zip",
    matches=_is_inspect,
    identify=_inspect_identity,
    completions=_inspect_completions,
    members=("samples/", "header.json", "_journal/start.json"),
)


# lighteval ------------------------------------------------------------------------------------------------------------


# The names of a record's two parts: as written from release 0.11 on, and as in the documentation.
_LIGHTEVAL_PARTS = (("doc", "model_response"), ("__doc__", "__model_response__"))
# The columns by which flat details, from releases 0.8 to 0.10, are recognised.
_LIGHTEVAL_FLAT = ("example", "predictions", "specifics")


def _is_lighteval(record: Record) -> bool:
    return any(record.keys() >= set(names) for names in (*_LIGHTEVAL_PARTS, _LIGHTEVAL_FLAT))


def _lighteval_part(record: Record, place: int) -> tuple[str, dict[str, Any]]:
    """The name and the value of the document (0) or of the model's response (1); empty in flat records."""
    name = next((names[place] for names in _LIGHTEVAL_PARTS if names[place] in record), _LIGHTEVAL_PARTS[0][place])
    return name, as_object(record.get(name))


def _lighteval_identity(record: Record, index: int) -> Identity:
    name, doc = _lighteval_part(record, 0)
    # The prompt of the task. What was sent may be in a chat template, which only older releases record.
    prompt = echoed(doc.get("query", record.get("example")))
    reference = _lighteval_gold(doc) or references(record.get("gold"))
    specific = as_object(doc.get("specific", record.get("specifics")))
    if specific.get("id") is not None:
        return Identity(id_text(specific["id"], f"{name}.specific.id"), prompt, None, reference)
    named = doc.get("id")
    if isinstance(named, str) and named and not named.isdigit():
        return Identity(named, prompt, None, reference)
    # lighteval's own ids are the places of the rows.
    return Identity(None, prompt, place_number(named, f"{name}.id") if named not in (None, "") else index, reference)


def _lighteval_gold(doc: dict[str, Any]) -> tuple[str, ...] | None:
    choices, gold = doc.get("choices"), doc.get("gold_index")
    if not isinstance(choices, list):
        return None
    places = gold if isinstance(gold, list) else [gold]
    return references([choices[place] for place in places if isinstance(place, int) and 0 <= place < len(choices)])


def _lighteval_completions(record: Record) -> list[Completion]:
    name, response = _lighteval_part(record, 1)
    field = "predictions" if "predictions" in record else f"{name}.text"
    texts = record.get("predictions", response.get("text"))
    if not isinstance(texts, list):
        raise UnreadableError(f"the answer is not text: {field} is not a list; expected generated texts")
    thoughts = response.get("reasonings")
    if not isinstance(thoughts, list) or len(thoughts) != len(texts):
        thoughts = [None] * len(texts)
    return [
        Completion(answer_text(text, field), optional_text(thought))
        for text, thought in zip(texts, thoughts, strict=True)
    ] or [Completion(None)]


def _lighteval_layout(doc: str, response: str) -> tuple[str, ...]:
    read = [f"{doc}.{name}" for name in ("id", "query", "specific.id", "choices", "gold_index")]
    return (*read, f"{response}.text.", f"{response}.reasonings.")


LIGHTEVAL = Format(
    name="lighteval",
    what="lighteval details in Parquet (--save-details)",
    example='{"doc":{"query":"...","id":"0","specific":{"id":"X"}},"model_response":{"text":["It is 42."]}}',
    container="parquet",
    matches=_is_lighteval,
    identify=_lighteval_identity,
    completions=_lighteval_completions,
    layouts=(
        *(_lighteval_layout(*names) for names in _LIGHTEVAL_PARTS),
        ("example", "predictions", "gold.", "specifics.id"),
    ),
)


# OpenCompass ----------------------------------------------------------------------------------------------------------


_OPENCOMPASS_ROLES = {"HUMAN": "user", "BOT": "assistant", "SYSTEM": "system"}


def _is_opencompass(record: Record) -> bool:
    return "origin_prompt" in record and "prediction" in record


def _opencompass_identity(record: Record, index: int) -> Identity:
    place = record["idx"] if "idx" in record else record.get("index", index)
    prompt = record.get("origin_prompt")
    prompt = _opencompass_messages(prompt) if isinstance(prompt, list) else prompt
    gold = record.get("gold")
    if isinstance(gold, dict) and gold.get("id") is not None:
        # As in our exports for OpenCompass; other datasets have no ids.
        return Identity(id_text(gold["id"], "gold.id"), echoed(prompt), None, references(gold.get("answers")))
    return Identity(None, echoed(prompt), place_number(place, "idx"), references(gold))


def _opencompass_messages(turns: list[Any]) -> list[Message] | None:
    """The prompt as chat messages; None if a turn holds anything but text."""
    messages = []
    for turn in turns:
        role, text = as_object(turn).get("role"), as_object(turn).get("prompt")
        if not isinstance(role, str) or not isinstance(text, str):
            return None
        messages.append(Message(role=_OPENCOMPASS_ROLES.get(role, role), content=text))
    return messages


def _opencompass_completions(record: Record) -> list[Completion]:
    prediction = record.get("prediction")
    if isinstance(prediction, list) and prediction and all(isinstance(text, str) for text in prediction):
        return [Completion(text) for text in prediction]
    return [Completion(answer_text(prediction, "prediction"))]


def _opencompass_records(document: object) -> list[Any] | None:
    """The records of an OpenCompass prediction file, their keys as `idx`; None if the document is not one."""
    if not isinstance(document, dict) or not document:
        return None
    if not all(key.isascii() and key.isdigit() and len(key) < 16 for key in document):
        return None
    if not any(isinstance(value, dict) and _is_opencompass(value) for value in document.values()):
        return None
    return [{**value, "idx": int(key)} if isinstance(value, dict) else value for key, value in document.items()]


OPENCOMPASS = Format(
    name="opencompass",
    what="OpenCompass predictions/<model>/<dataset>.json, shards and tmp_ files as well",
    example='{"0":{"origin_prompt":[{"role":"HUMAN","prompt":"..."}],"prediction":"It is 42.","gold":"42"}}',
    matches=_is_opencompass,
    identify=_opencompass_identity,
    completions=_opencompass_completions,
    documents=_opencompass_records,
)


# RULER ----------------------------------------------------------------------------------------------------------------


# How the answer prefixes of all tasks begin. None has a line end.
_RULER_PREFIXES = (" The special magic ", " Answer:")


def _is_ruler(record: Record) -> bool:
    return "pred" in record and isinstance(record.get("outputs"), list)


def _ruler_identity(record: Record, index: int) -> Identity:
    # Not the record's `index`: the scripts reuse that variable, so it is not a row number.
    identity = by_order(record, "id", index, record.get("outputs"))
    sent = record.get("input")
    prompt = echoed(sent)
    if prompt is not None and isinstance(sent, str):
        at = max(map(sent.rfind, _RULER_PREFIXES))
        if at > 0 and "\n" not in sent[at:]:
            prompt = prompt._replace(chat_sha256=sha256_hex(sent[:at].encode()))
    return identity._replace(prompt=prompt)


def _ruler_completions(record: Record) -> list[Completion]:
    return [Completion(answer_text(record.get("pred"), "pred"))]


RULER = Format(
    name="ruler",
    what="RULER predictions (pred/<task>.jsonl)",
    example='{"index":0,"pred":"It is 42.","input":"...","outputs":["42"],"others":{},"truncation":-1,"length":8000}',
    matches=_is_ruler,
    identify=_ruler_identity,
    completions=_ruler_completions,
)


# HELMET ---------------------------------------------------------------------------------------------------------------


def _is_helmet(record: Record) -> bool:
    return "output" in record and ("output_len" in record or "parsed_output" in record)


def _helmet_identity(record: Record, index: int) -> Identity:
    return by_order(record, "id", index, record.get("answer"))


def _helmet_completions(record: Record) -> list[Completion]:
    if "output" not in record:
        raise UnreadableError("no field 'output'; expected the answer's text in it")
    return [Completion(answer_text(record["output"], "output"), optional_text(record.get("thoughts")))]


def _helmet_records(document: object) -> list[Any] | None:
    """The records of a HELMET output; None if the document is not one."""
    if isinstance(document, dict) and ("args" in document or "metrics" in document):
        data = document.get("data")
        return data if isinstance(data, list) else None
    return None


HELMET = Format(
    name="helmet",
    what="HELMET output/<model>/*.json",
    example='{"args":{},"data":[{"input_text":"...","output":"It is 42.","answer":"42","output_len":5}],"metrics":{}}',
    matches=_is_helmet,
    identify=_helmet_identity,
    completions=_helmet_completions,
    documents=_helmet_records,
)


# LongBench ------------------------------------------------------------------------------------------------------------


def _is_longbench(record: Record) -> bool:
    if "_id" in record:
        return ("response" in record or "response_cot" in record) and ("judge" in record or "pred" in record)
    return "pred" in record and "answers" in record and ("all_classes" in record or "length" in record)


def _longbench_identity(record: Record, index: int) -> Identity:
    return by_order(record, "_id", index, record.get("answers", record.get("answer")))


def _longbench_completions(record: Record) -> list[Completion]:
    # In the second version, `pred` is only the letter extracted from the response.
    names = ("response", "response_cot") if "_id" in record else ("pred",)
    name = next((name for name in names if name in record), names[0])
    return [Completion(answer_text(record.get(name), name))]


LONGBENCH = Format(
    name="longbench",
    what="LongBench predictions, first and second version",
    example='{"pred":"It is 42.","answers":["42"],"all_classes":null,"length":8000}',
    matches=_is_longbench,
    identify=_longbench_identity,
    completions=_longbench_completions,
)
