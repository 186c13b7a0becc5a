"""Reads files of log-probabilities; the kind of each record is recognised by its fields.

A server's own id is not a row's. What a server returns is a line of batch output (`custom_id`), a response with the
row's id beside it (`{"id": ..., "response": {...}}`), or a response that echoes the prompt.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from niah_score.errors import ScoreError
from niah_score.formats.containers import NOT_AN_OBJECT, json_document, json_lines
from niah_score.formats.fields import as_list, as_object, at, id_text
from niah_score.formats.record import Malformed, Record, UnreadableError, brief, keys_of
from niah_score.formats.streams import Source, opened
from niah_score.formats.tables import parquet_rows

# What a record is about: the row's own prompt or, for the gain of a context, the question alone or with only needles.
CONDITIONS = ("full", "alone", "needle")
# Rounding in half precision can put log-probabilities of certain tokens a little above 0.
_ROUNDING = 1e-4
# Rows of a Parquet file to hold at once, with the log-probabilities of whole prompts.
_BATCH = 64
# What servers write for a token of probability 0, whose logarithm JSON cannot hold.
_LEAST = -9999.0


class LogProbs(NamedTuple):
    """What one record says. `id`: of the row; `prompt`: the echoed one, if there is no id. `line`: from 1.

    `values`: natural logarithms of the probabilities of a text's tokens, None where the stack gave none; `texts`: of
    the tokens; `offsets`: the code point at which each begins; `counted`: whether it is known that all are the text's.

    If `values` is None, `total` is the sum over a text, None if the stack gave none; `tokens`, `bytes`: the size of
    that text; `context`, `text`: what came before it, and the text itself. Whatever a record does not state is None.
    """

    id: str | None
    line: int
    condition: str
    tokenizer: str | None
    prompt: str | None = None
    values: Sequence[float | None] | None = None
    texts: Sequence[str] | None = None
    offsets: Sequence[int] | None = None
    counted: bool = True
    total: float | None = None
    tokens: int | None = None
    bytes: int | None = None
    context: str | None = None
    text: str | None = None


def read_log_probs(path: Path, form: str | None = None) -> Iterator[LogProbs | Malformed]:
    """The records of a file: JSON Lines, a JSON array or Parquet; plain, .gz or .zst. `form`: the format of all.

    Raises ScoreError if the file cannot be read, IntegrityError if it changes meanwhile.
    """
    with opened(path) as source:
        for line, value in _values(path, source):
            try:
                yield _record(value, line, form)
            except UnreadableError as error:
                yield Malformed(line, str(error))


def _record(value: object, line: int, form: str | None) -> LogProbs:
    if isinstance(value, UnreadableError):
        raise value
    if not isinstance(value, dict):
        raise UnreadableError(NOT_AN_OBJECT)
    for name, (matches, read) in FORMATS.items():
        if form in (None, name) and matches(value):
            return read(value, line)
    expected = f"those of {form}" if form else f"one of {', '.join(FORMATS)}"
    raise UnreadableError(f"no log-probabilities in it: found {keys_of(value)}; expected {expected}")


def _values(path: Path, source: Source) -> Iterator[tuple[int, Any]]:
    """Every record with its line, or why it cannot be parsed."""
    if source.first == b"PK\x03\x04":
        raise ScoreError(f"{path}: a zip; expected JSON Lines or Parquet with log-probabilities")
    if source.first == b"PAR1":
        for number, row in parquet_rows(source, _BATCH):
            yield number, {name: value for name, value in row.items() if value is not None}
    elif source.head(400)[:1] == b"[":
        yield from enumerate(json_document(source, ())[1], 1)
    else:
        yield from json_lines(source)


# Fields ---------------------------------------------------------------------------------------------------------------


def _log_probability(value: object, field: str) -> float | None:
    if value is None:
        return None
    # NaN is in no order, and of -inf, a token of probability 0, no mean can be taken.
    if type(value) not in (int, float) or not -1e300 < value <= _ROUNDING:  # type: ignore[operator]
        expected = "a log-probability: a finite number of at most 0 (no probability, not negated), or null"
        raise UnreadableError(f"{field} is {brief(value)}; expected {expected}")
    return min(float(value), 0.0)  # type: ignore[arg-type]


def _of_token(value: object, field: str) -> float | None:
    number = _log_probability(value, field)
    return None if number is not None and number <= _LEAST else number


def _whole_number(value: object, field: str) -> int | None:
    if value is not None and (type(value) is not int or not 0 <= value < 2**53):
        raise UnreadableError(f"{field} is {brief(value)}; expected a whole number of at least 0")
    return value


def _listed(record: Record) -> dict[str, Any]:
    """The log-probability of each token, with the tokens' texts and places if they are there."""
    given, texts, offsets = record["token_logprobs"], record.get("tokens"), record.get("text_offset")
    if not isinstance(given, list) or not given:
        raise UnreadableError(f"token_logprobs is {brief(given)}; expected a list of log-probabilities, one per token")
    values = [_of_token(item, f"token_logprobs[{number}]") for number, item in enumerate(given)]
    for field, items, what, of in (
        ("tokens", texts, "texts", str), ("text_offset", offsets, "whole numbers in ascending order", int)
    ):  # fmt: skip
        if items is not None and not _is_list(items, of, len(values)):
            raise UnreadableError(f"{field}: expected a list of {len(values)} {what}, one for each log-probability")
    return {"values": values, "texts": texts, "offsets": offsets}


def _is_list(items: object, of: type, count: int) -> bool:
    """Whether a value is a list of so many texts, or of numbers in ascending order."""
    if not isinstance(items, list) or len(items) != count or any(type(item) is not of for item in items):
        return False
    return of is str or items == sorted(items)


def _begun(record: Record, line: int, name: str | None, **found: Any) -> LogProbs:
    """A record with what any may state: its condition and its tokenizer."""
    condition, tokenizer = record.get("condition"), record.get("tokenizer")
    if condition not in (None, *CONDITIONS):
        raise UnreadableError(f"condition is {brief(condition)}; expected {', '.join(CONDITIONS)}")
    if tokenizer is not None and not (isinstance(tokenizer, str) and tokenizer):
        raise UnreadableError(f"tokenizer is {brief(tokenizer)}; expected a name")
    return LogProbs(name, line, condition or CONDITIONS[0], tokenizer, **found)


# Formats --------------------------------------------------------------------------------------------------------------


def _plain_tokens(record: Record, line: int) -> LogProbs:
    return _begun(record, line, id_text(record["id"], "id"), **_listed(record))


def _plain_sum(record: Record, line: int) -> LogProbs:
    total = _log_probability(record["logprob_sum"], "logprob_sum")
    tokens, size = (_whole_number(record.get(field), field) for field in ("token_count", "byte_count"))
    return _begun(record, line, id_text(record["id"], "id"), total=total, tokens=tokens, bytes=size)


def _lm_eval(record: Record, line: int) -> LogProbs:
    responses, doc = as_list(record["filtered_resps"]), as_object(record["doc"])
    if len(responses) != 1:
        raise UnreadableError(f"filtered_resps has {len(responses)} items; expected one request, no multiple choice")
    # The harness logs values as texts: a pair of a sum and whether the text is the most likely one; of whole texts,
    # the sum alone.
    rolling = not isinstance(responses[0], list)
    total = responses[0] if rolling else at(responses[0], "0")
    try:
        total = _log_probability(float(total), "filtered_resps")
    except (TypeError, ValueError):
        raise UnreadableError(f"filtered_resps holds {brief(total)}; expected the sum of log-probabilities") from None
    asked = as_object(as_object(record.get("arguments")).get("gen_args_0"))
    context, text = ("", asked.get("arg_0")) if rolling else (asked.get("arg_0"), asked.get("arg_1"))
    prompt = None if "id" in doc else f"{context or ''}{text or ''}"
    if prompt == "":
        raise UnreadableError("no doc.id, and no arguments with the prompt; log samples with --log_samples")
    name = id_text(doc["id"], "doc.id") if "id" in doc else None
    about = {"condition": doc.get("condition")}
    return _begun(about, line, name, prompt=prompt, total=total, context=context, text=text)


def _body(record: Record) -> Record:
    """The response in a record, without what is wrapped around it."""
    response = as_object(record.get("response"))
    return as_object(response.get("body")) or response or record


def _choice(record: Record) -> Record:
    return as_object(at(_body(record), "choices.0"))


def _row_id(record: Record) -> str | None:
    field = "custom_id" if "custom_id" in record else "id"
    is_servers_own = field == "id" and "choices" in record and not as_object(record.get("response"))
    return None if is_servers_own or record.get(field) is None else id_text(record[field], field)


def _served(record: Record, line: int, prompt: object, **found: Any) -> LogProbs:
    """A server's record, of the row with its id, or else with the prompt that it echoes."""
    name = _row_id(record)
    if name is None and not (isinstance(prompt, str) and prompt):
        raise UnreadableError("no row id and no echoed prompt; add the row's id to the record as custom_id")
    return _begun(record, line, name, prompt=None if name else prompt, **found)


def _echo(record: Record, line: int) -> LogProbs:
    text, found = _choice(record).get("text"), _listed(_choice(record)["logprobs"])
    asked = _whole_number(as_object(_body(record).get("usage")).get("prompt_tokens"), "usage.prompt_tokens")
    if asked is not None and asked < len(found["values"]):
        # The last tokens were generated after the prompt.
        if isinstance(text, str) and found["offsets"] is not None:
            text = text[: found["offsets"][asked]]
        found = {field: items and items[:asked] for field, items in found.items()}
    return _served(record, line, text, counted=asked is not None, **found)


def _prompt_logprobs(record: Record) -> list[Any]:
    return as_list(_choice(record).get("prompt_logprobs")) or as_list(_body(record).get("prompt_logprobs"))


def _vllm(record: Record, line: int) -> LogProbs:
    items, body = _prompt_logprobs(record), _body(record)
    ids = body.get("prompt_token_ids", _choice(record).get("prompt_token_ids", [None] * len(items)))
    if not isinstance(ids, list) or len(ids) != len(items):
        raise UnreadableError(f"prompt_token_ids: expected {len(items)} ids, one for each item of prompt_logprobs")
    fields = [f"prompt_logprobs[{number}]" for number in range(len(items))]
    entries = [_entry(*one) for one in zip(items, ids, fields, strict=True)]
    values = [_of_token(entry.get("logprob"), field) for entry, field in zip(entries, fields, strict=True)]
    # The first token has no entry, since nothing precedes it.
    texts = ["", *(entry.get("decoded_token") for entry in entries[1:])]
    known = texts if _is_list(texts, str, len(items)) else None
    return _served(record, line, body.get("prompt"), values=values, texts=known)


def _entry(item: object, token: object, field: str) -> Record:
    """What is said of the prompt's token among those of a place; empty if nothing is."""
    if item is None:
        return {}
    if not isinstance(item, dict) or not all(isinstance(entry, dict) for entry in item.values()):
        raise UnreadableError(f"{field} is {brief(item)}; expected null, or objects by token id")
    if token is not None and str(token) in item:
        return as_object(item[str(token)])
    if token is None and len(item) == 1:
        return as_object(*item.values())
    # The order of the tokens is documented nowhere, so none is guessed.
    raise UnreadableError(
        f"{field} holds {len(item)} tokens, and not the prompt's {brief(token)}; ask for prompt_logprobs=0, or keep "
        "prompt_token_ids in the record"
    )


# By name: whether a record is of a format, and how it is read, given its line. The first format that matches a record
# reads it; the plain ones have field names that no stack uses.
FORMATS: dict[str, tuple[Callable[[Record], bool], Callable[[Record, int], LogProbs]]] = {
    "lm-eval": (lambda record: {"doc_id", "doc", "filtered_resps"} <= record.keys(), _lm_eval),
    "openai-echo": (lambda record: "token_logprobs" in as_object(_choice(record).get("logprobs")), _echo),
    "vllm": (lambda record: bool(_prompt_logprobs(record)), _vllm),
    "tokens": (lambda record: {"token_logprobs", "id"} <= record.keys(), _plain_tokens),
    "sum": (lambda record: {"logprob_sum", "id"} <= record.keys(), _plain_sum),
}
