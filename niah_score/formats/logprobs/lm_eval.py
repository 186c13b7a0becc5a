"""Reads lm-evaluation-harness samples of loglikelihood and loglikelihood_rolling tasks."""

from __future__ import annotations

from niah_score.formats.fields import as_list, as_object, echoed, first_item, id_text
from niah_score.formats.logprobs.record import (
    LogProbFormat,
    LogProbRecord,
    SummedLogProbs,
    condition_of,
    log_probability,
)
from niah_score.formats.record import Record, UnreadableError, brief


def _matches(record: Record) -> bool:
    return "doc_id" in record and "doc" in record and "filtered_resps" in record


def _read(record: Record, line: int) -> LogProbRecord:
    responses = as_list(record["filtered_resps"])
    if len(responses) != 1:
        raise UnreadableError(
            f"filtered_resps has {len(responses)} items; expected one request per document, no multiple choice"
        )
    # The harness logs values as texts: a pair of a sum and whether the text is the most likely one, or the sum alone.
    response = responses[0]
    rolling = not isinstance(response, list)
    total = _number(response if isinstance(response, str | int | float) else first_item(response))
    arguments = as_object(as_object(record.get("arguments")).get("gen_args_0"))
    context, text = arguments.get("arg_0"), arguments.get("arg_1")
    if rolling:
        context, text = None, context
    doc = as_object(record["doc"])
    name = id_text(doc["id"], "doc.id") if "id" in doc else None
    summed = SummedLogProbs(
        total, context=context if isinstance(context, str) else None, text=text if isinstance(text, str) else None,
        rolling=rolling,
    )  # fmt: skip
    prompt = None if name is not None else echoed((summed.context or "") + (summed.text or ""))
    if name is None and prompt is None:
        raise UnreadableError("no doc.id, and no arguments with the prompt; log samples with --log_samples")
    return LogProbRecord(name, line, condition_of(doc.get("condition")), summed, prompt=prompt)


def _number(value: object) -> float | None:
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            raise UnreadableError(
                f"filtered_resps holds {brief(value)}; expected the sum of log-probabilities"
            ) from None
    if value is None:
        raise UnreadableError("filtered_resps holds no sum of log-probabilities")
    return log_probability(value, "filtered_resps")


LM_EVAL = LogProbFormat(
    "lm-eval",
    "lm-evaluation-harness samples_*.jsonl of loglikelihood and loglikelihood_rolling tasks (--log_samples)",
    '{"doc_id":0,"doc":{"id":"X"},"arguments":{"gen_args_0":{"arg_0":"It","arg_1":" is"}},'
    '"resps":[[["-2.6","False"]]],"filtered_resps":[["-2.6","False"]]}',
    _matches,
    _read,
)
