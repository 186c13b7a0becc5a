"""Reads what OpenAI-compatible completion servers and vLLM return: `echo` with `logprobs`, and `prompt_logprobs`.

A server's own id is not a row's. A record is a line of batch output (`custom_id`), a response with the row's id beside
it (`{"id": ..., "response": {...}}`), or a response that echoes the prompt.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from niah_score.formats.fields import as_list, as_object, echoed, id_text
from niah_score.formats.logprobs.plain import tokens_in
from niah_score.formats.logprobs.record import (
    LogProbFormat,
    LogProbRecord,
    TokenLogProbs,
    condition_of,
    log_probability,
    name_of,
    offsets_of,
    served,
    texts_of,
    whole_number,
)
from niah_score.formats.record import Record, UnreadableError, brief


def _body_of(record: Record) -> Mapping[str, Any]:
    """The response in a record, without what is wrapped around it."""
    response = as_object(record.get("response"))
    return as_object(response.get("body")) or response or record


def _row_id(record: Record) -> str | None:
    field = "custom_id" if "custom_id" in record else "id"
    is_servers_own = field == "id" and "choices" in record and not as_object(record.get("response"))
    name = None if is_servers_own else record.get(field)
    return None if name is None else id_text(name, field)


def _choice(body: Mapping[str, Any]) -> dict[str, Any]:
    choices = as_list(body.get("choices"))
    return as_object(choices[0]) if choices else {}


def _echo_in(record: Record) -> dict[str, Any]:
    return as_object(_choice(_body_of(record)).get("logprobs"))


def _prompt_logprobs_in(record: Record) -> object:
    body = _body_of(record)
    items = _choice(body).get("prompt_logprobs")
    return body.get("prompt_logprobs") if items is None else items


def _read_echo(record: Record, line: int) -> LogProbRecord:
    name, body = _row_id(record), _body_of(record)
    choice, logprobs = _choice(body), _echo_in(record)
    values = tuple(map(served, tokens_in(logprobs["token_logprobs"], "token_logprobs")))
    texts = texts_of(logprobs.get("tokens"), len(values), "tokens")
    offsets = offsets_of(logprobs.get("text_offset"), len(values), "text_offset")
    asked = whole_number(as_object(body.get("usage")).get("prompt_tokens"), "usage.prompt_tokens")
    generated = 0 if asked is None else max(0, len(values) - asked)
    prompt = None
    if name is None:
        text = choice.get("text")
        if not isinstance(text, str):
            raise UnreadableError("no row id and no echoed text; add the row's id to the record as custom_id")
        prompt = echoed(text[: offsets[-generated]] if generated and offsets is not None else text)
    log_probs = TokenLogProbs(values, texts, offsets, generated, asked is not None)
    return LogProbRecord(
        name, line, condition_of(record.get("condition")), log_probs,
        name_of(record.get("tokenizer"), "tokenizer"), prompt,
    )  # fmt: skip


def _read_prompt_logprobs(record: Record, line: int) -> LogProbRecord:
    name, body = _row_id(record), _body_of(record)
    items = _prompt_logprobs_in(record)
    if not isinstance(items, list) or not items:
        raise UnreadableError(f"prompt_logprobs is {brief(items)}; expected a list, one item per token")
    ids = body.get("prompt_token_ids", _choice(body).get("prompt_token_ids"))
    if ids is not None and (not isinstance(ids, list) or len(ids) != len(items)):
        raise UnreadableError(f"prompt_token_ids: expected {len(items)} ids, one for each item of prompt_logprobs")
    values, texts = [], []
    for number, item in enumerate(items):
        value, text = _of_token(item, None if ids is None else ids[number], f"prompt_logprobs[{number}]")
        values.append(served(value))
        texts.append(text)
    known = [text for text in texts[1:] if text is not None]
    whole = ("", *known) if len(known) == len(texts) - 1 else None
    prompt = None
    if name is None:
        given = body.get("prompt")
        prompt = echoed(given) if isinstance(given, str) else None
        if prompt is None:
            raise UnreadableError("no row id and no prompt; add the row's id to the record as custom_id")
    return LogProbRecord(
        name, line, condition_of(record.get("condition")), TokenLogProbs(tuple(values), whole),
        name_of(record.get("tokenizer"), "tokenizer"), prompt,
    )  # fmt: skip


def _of_token(item: object, token: object, field: str) -> tuple[float | None, str | None]:
    """The log-probability of the prompt's token among those of a place, and its text if it is given."""
    if item is None:
        return None, None
    if not isinstance(item, dict) or not item:
        raise UnreadableError(f"{field} is {brief(item)}; expected null, or an object by token id")
    if token is not None:
        if str(token) not in item:
            raise UnreadableError(f"{field} lacks token {brief(token)}, which prompt_token_ids names for it")
        entry = item[str(token)]
    elif len(item) == 1:
        (entry,) = item.values()
    else:
        # The order of the tokens is documented nowhere, so none is guessed.
        raise UnreadableError(
            f"{field} names {len(item)} tokens, and nothing says which is the prompt's; ask for prompt_logprobs=0, or "
            "keep prompt_token_ids in the record"
        )
    if not isinstance(entry, dict):
        return log_probability(entry, field), None
    text = entry.get("decoded_token")
    return log_probability(entry.get("logprob"), f"{field}.logprob"), text if isinstance(text, str) else None


OPENAI_ECHO = LogProbFormat(
    "openai-echo",
    "responses of OpenAI-compatible completion servers that were asked with echo and logprobs",
    '{"custom_id":"X","response":{"body":{"choices":[{"text":"It is","logprobs":{"tokens":["It"," is"],'
    '"token_logprobs":[null,-2.5],"text_offset":[0,2]}}],"usage":{"prompt_tokens":2}}}}',
    lambda record: "token_logprobs" in _echo_in(record),
    _read_echo,
)
VLLM = LogProbFormat(
    "vllm",
    "prompt_logprobs of vLLM, in responses of its server and in outputs of its offline engine",
    '{"id":"X","prompt_token_ids":[1026,318],"prompt_logprobs":[null,{"318":{"logprob":-2.5,"rank":7,'
    '"decoded_token":" is"}}]}',
    lambda record: isinstance(_prompt_logprobs_in(record), list),
    _read_prompt_logprobs,
)
