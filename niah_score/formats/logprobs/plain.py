"""Reads plain records of log-probabilities: one number per token, or their sum."""

from __future__ import annotations

from niah_score.formats.fields import id_text
from niah_score.formats.logprobs.record import (
    LogProbFormat,
    LogProbRecord,
    SummedLogProbs,
    TokenLogProbs,
    condition_of,
    log_probability,
    name_of,
    offsets_of,
    texts_of,
    whole_number,
)
from niah_score.formats.record import Record, UnreadableError, brief


def tokens_in(value: object, field: str) -> tuple[float | None, ...]:
    """A list of log-probabilities. Raises UnreadableError."""
    if not isinstance(value, list) or not value:
        raise UnreadableError(f"{field} is {brief(value)}; expected a list of log-probabilities, one per token")
    return tuple(log_probability(item, f"{field}[{number}]") for number, item in enumerate(value))


def _read_tokens(record: Record, line: int) -> LogProbRecord:
    values = tokens_in(record["token_logprobs"], "token_logprobs")
    log_probs = TokenLogProbs(
        values,
        texts_of(record.get("tokens"), len(values), "tokens"),
        offsets_of(record.get("text_offset"), len(values), "text_offset"),
    )
    return _record(record, line, log_probs)


def _read_sum(record: Record, line: int) -> LogProbRecord:
    summed = SummedLogProbs(
        log_probability(record["logprob_sum"], "logprob_sum"),
        whole_number(record.get("token_count"), "token_count"),
        whole_number(record.get("byte_count"), "byte_count"),
    )
    return _record(record, line, summed)


def _record(record: Record, line: int, log_probs: TokenLogProbs | SummedLogProbs) -> LogProbRecord:
    return LogProbRecord(
        id_text(record.get("id"), "id"), line, condition_of(record.get("condition")), log_probs,
        name_of(record.get("tokenizer"), "tokenizer"),
    )  # fmt: skip


TOKENS = LogProbFormat(
    "tokens",
    "plain records with one log-probability a token of the prompt, null where there is none",
    '{"id":"X","token_logprobs":[null,-2.5,-0.1]}',
    lambda record: "token_logprobs" in record and "id" in record,
    _read_tokens,
)
SUM = LogProbFormat(
    "sum",
    "plain records with the sum over exactly the target",
    '{"id":"X","logprob_sum":-2.6,"token_count":2,"byte_count":11}',
    lambda record: "logprob_sum" in record and "id" in record,
    _read_sum,
)
