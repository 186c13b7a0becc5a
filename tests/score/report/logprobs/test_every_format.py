"""The same log-probabilities lead to the same figures in every format in which a stack writes them."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from made_log_probs import ids_of, log_probs, offsets_of, rows_of, token_records, windows, written

from niah_score.errors import ScoreError
from niah_score.report.logprobs.measure import Asked
from niah_score.report.logprobs.perplexity import PerplexityReport, perplexity

Row = dict[str, Any]
FIELDS: dict[str, Any] = {
    "lengths": [200, 300], "languages": ["en", "zh"], "options": {"tokens": 300, "documents": 3, "stride": 96}
}  # fmt: skip


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return windows(tmp_path_factory.mktemp("set"), **FIELDS)


@pytest.fixture(scope="module")
def expected(dataset: Path, tmp_path_factory: pytest.TempPathFactory) -> PerplexityReport:
    return perplexity(dataset, written(tmp_path_factory.mktemp("plain") / "p.jsonl", token_records(dataset)))


def values_of(row: Row) -> list[float | None]:
    return [None, *log_probs(ids_of(row["prompt"], "cl100k_base"))]


def texts_of(row: Row) -> list[str]:
    begins = offsets_of(row["prompt"], "cl100k_base")
    ends = [*begins[1:], len(row["prompt"])]
    return [row["prompt"][start:end] for start, end in zip(begins, ends, strict=True)]


def echo(row: Row) -> Row:
    """OpenAI's completions response to `echo` with `max_tokens` 1, which has one token more than the prompt."""
    logprobs = {
        "tokens": [*texts_of(row), "!"], "token_logprobs": [*values_of(row), -0.5],
        "text_offset": [*offsets_of(row["prompt"], "cl100k_base"), len(row["prompt"])], "top_logprobs": None,
    }  # fmt: skip
    choice = {"text": row["prompt"] + "!", "index": 0, "logprobs": logprobs, "finish_reason": "length"}
    usage = {"prompt_tokens": row["prompt_tokens"], "completion_tokens": 1}
    return {"id": "cmpl-1", "object": "text_completion", "choices": [choice], "usage": usage}


def batch_of_echo(row: Row) -> Row:
    return {"id": "batch_req", "custom_id": row["id"], "response": {"status_code": 200, "body": echo(row)}}


def prompt_logprobs(row: Row) -> list[Any]:
    ids, values = ids_of(row["prompt"], "cl100k_base"), values_of(row)
    return [None] + [
        {str(token): {"logprob": value, "rank": 1, "decoded_token": "?"}, "-1": {"logprob": -0.1, "rank": 2}}
        for token, value in zip(ids[1:], values[1:], strict=True)
    ]


def vllm_served(row: Row) -> Row:
    ids = ids_of(row["prompt"], "cl100k_base")
    choice = {"text": "!", "prompt_logprobs": prompt_logprobs(row), "prompt_token_ids": ids}
    return {"id": row["id"], "response": {"id": "cmpl-1", "choices": [choice]}}


def vllm_offline(row: Row) -> Row:
    ids = ids_of(row["prompt"], "cl100k_base")
    return {"prompt": row["prompt"], "prompt_token_ids": ids, "prompt_logprobs": prompt_logprobs(row), "id": row["id"]}


def lm_eval(row: Row) -> Row:
    span, tokens = row["target_span"], row["target_token_span"]
    total = sum(value or 0.0 for value in values_of(row)[tokens["start"] : tokens["end"]])
    asked = {"arg_0": row["prompt"][: span["start"]], "arg_1": row["prompt"][span["start"] :]}
    return {
        "doc_id": 0, "doc": {"id": row["id"]}, "target": "", "arguments": {"gen_args_0": asked},
        "resps": [[[str(total), "False"]]], "filtered_resps": [[str(total), "False"]], "filter": "none",
    }  # fmt: skip


@pytest.mark.parametrize("made", [echo, batch_of_echo, vllm_served, vllm_offline, lm_eval])
def test_every_format_leads_to_the_same_figures_as_plain_records(
    dataset: Path, expected: PerplexityReport, made: Callable[[Row], Row], tmp_path: Path
) -> None:
    file = written(tmp_path / "p.jsonl", [made(row) for row in rows_of(dataset)])
    report = perplexity(dataset, file, asked=Asked(tokenizer="cl100k_base"))
    assert (report.statuses, report.lines) == (expected.statuses, expected.lines)
    for one, other in zip(report.figures, expected.figures, strict=True):
        assert one.nll.value == pytest.approx(other.nll.value, abs=1e-12)
        assert one.bits.value == pytest.approx(other.bits.value, abs=1e-12)
        assert (one.tokens, one.bytes) == (other.tokens, other.bytes)


def test_lm_eval_sums_need_their_tokenizer_named_or_are_scored_by_bytes(
    dataset: Path, expected: PerplexityReport, tmp_path: Path
) -> None:
    file = written(tmp_path / "p.jsonl", [lm_eval(row) for row in rows_of(dataset)])
    with pytest.raises(ScoreError, match=r"neither how many tokens .* --tokenizer cl100k_base"):
        perplexity(dataset, file)
    report = perplexity(dataset, file, asked=Asked(per="byte"))
    assert [one.bits.value for one in report.figures] == pytest.approx([one.bits.value for one in expected.figures])


def test_a_generated_token_is_never_taken_for_one_of_the_prompt(dataset: Path, tmp_path: Path) -> None:
    records = [batch_of_echo(row) for row in rows_of(dataset)]
    for record in records:
        del record["response"]["body"]["usage"]
    file = written(tmp_path / "p.jsonl", records)
    with pytest.raises(ScoreError, match=r"without usage\.prompt_tokens none of them can be told"):
        perplexity(dataset, file)
    with pytest.raises(ScoreError, match="in characters, not in bytes"):
        perplexity(dataset, file, asked=Asked(per="byte"))


def test_a_sample_over_a_text_other_than_the_target_is_refused(dataset: Path, tmp_path: Path) -> None:
    row = rows_of(dataset)[0]
    other, shifted, rolling = lm_eval(row), lm_eval(row), lm_eval(row)
    other["arguments"]["gen_args_0"]["arg_1"] += "!"
    shifted["arguments"]["gen_args_0"]["arg_0"] = "Another beginning"
    rolling |= {"filtered_resps": ["-5.0"], "arguments": {"gen_args_0": {"arg_0": row["prompt"]}}}
    asked = Asked(per="byte", missing="exclude")
    for record, message in (
        (other, "over a text other than the row's target"), (shifted, "is not that of the row's prompt"),
        (rolling, "options.score=window"),
    ):  # fmt: skip
        with pytest.raises(ScoreError, match=message):
            perplexity(dataset, written(tmp_path / "p.jsonl", [record]), asked=asked)


def test_rolling_sums_are_accepted_for_windows_that_are_scored_whole(tmp_path: Path) -> None:
    options = {"tokens": 300, "documents": 3, "score": "window"}
    dataset = windows(tmp_path, lengths=[100], languages=["en"], options=options)
    records, nats, size = [], 0.0, 0
    for row in rows_of(dataset):
        # The harness puts the end-of-text token before the text, so that its first token is scored too.
        total = sum(log_probs([100257, *ids_of(row["prompt"], "cl100k_base")]))
        asked = {"gen_args_0": {"arg_0": row["prompt"]}}
        records.append({
            "doc_id": 0, "doc": {"id": row["id"]}, "arguments": asked, "resps": [[str(total)]],
            "filtered_resps": [str(total)],
        })  # fmt: skip
        nats, size = nats - total, size + len(row["prompt"].encode())
    (by_byte,) = perplexity(dataset, written(tmp_path / "p.jsonl", records), asked=Asked(per="byte")).figures
    assert by_byte.bits.value == pytest.approx(nats / math.log(2) / size, abs=1e-12)
    assert by_byte.bytes == size
    # The same with token lists that begin with that token.
    lists = [
        {"id": row["id"], "token_logprobs": [None, *log_probs([100257, *ids_of(row["prompt"], "cl100k_base")])]}
        for row in rows_of(dataset)
    ]
    (by_token,) = perplexity(dataset, written(tmp_path / "q.jsonl", lists)).figures
    assert by_token.nll.value == pytest.approx(nats / (by_token.tokens or 0), abs=1e-12)
