"""Log-probability records of every format are recognised by their fields and agree about the same prompt."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from each import each

from niah_score.errors import ScoreError
from niah_score.formats.logprobs.read import LOG_PROB_FORMATS, log_prob_format, read_log_probs
from niah_score.formats.logprobs.record import LogProbRecord, SummedLogProbs, TokenLogProbs
from niah_score.formats.record import Malformed

TOKENS, OFFSETS, VALUES = ["It", " is", " 42"], [0, 2, 5], [None, -2.5, -0.1]


def read(tmp_path: Path, *records: object, name: str | None = None) -> list[LogProbRecord | Malformed]:
    file = tmp_path / "file.jsonl"
    file.write_text("".join(json.dumps(record) + "\n" for record in records), "utf-8")
    return list(read_log_probs(file, log_prob_format(name)))


def only(tmp_path: Path, record: object, name: str | None = None) -> LogProbRecord:
    (parsed,) = read(tmp_path, record, name=name)
    assert isinstance(parsed, LogProbRecord), parsed
    return parsed


def refused(tmp_path: Path, record: object) -> str:
    (parsed,) = read(tmp_path, record)
    assert isinstance(parsed, Malformed), parsed
    return parsed.message


@each("form", LOG_PROB_FORMATS.values())
def test_the_example_of_every_format_is_recognised_as_that_format(form: Any, tmp_path: Path) -> None:
    record = json.loads(form.example)
    assert next(other.name for other in LOG_PROB_FORMATS.values() if other.matches(record)) == form.name
    assert only(tmp_path, record).id == "X"
    assert only(tmp_path, record, form.name).id == "X"


def echo(**fields: Any) -> dict[str, Any]:
    logprobs = {"tokens": TOKENS, "token_logprobs": VALUES, "text_offset": OFFSETS, "top_logprobs": [None, {}, {}]}
    return {
        "id": "cmpl-7",
        "object": "text_completion",
        "choices": [{"text": "It is 42", "logprobs": logprobs, **fields}],
    }


def test_an_echoed_response_is_identified_by_custom_id_outer_id_or_prompt(tmp_path: Path) -> None:
    batch = {"id": "batch_req_1", "custom_id": "a", "response": {"status_code": 200, "body": echo()}, "error": None}
    beside = {"id": "a", "response": echo()}
    for record in (batch, beside, {**echo(), "custom_id": "a"}):
        parsed = only(tmp_path, record)
        assert parsed.id == "a"
        assert parsed.found == TokenLogProbs((None, -2.5, -0.1), tuple(TOKENS), tuple(OFFSETS), counted=False)
    bare = only(tmp_path, echo())
    assert bare.id is None
    assert bare.prompt is not None


def test_a_token_generated_after_the_prompt_is_not_part_of_it(tmp_path: Path) -> None:
    parsed = only(tmp_path, {**echo(), "usage": {"prompt_tokens": 2, "completion_tokens": 1}})
    assert isinstance(parsed.found, TokenLogProbs)
    assert parsed.found.generated == 1
    whole = only(tmp_path, {**echo(), "choices": [{**echo()["choices"][0], "text": "It is"}]})
    assert parsed.prompt == whole.prompt


def vllm(*items: object, **fields: Any) -> dict[str, Any]:
    return {"id": "a", "prompt_logprobs": [None, *items], **fields}


def item(token: int, value: float, text: str | None = " is") -> dict[str, Any]:
    return {str(token): {"logprob": value, "rank": 1, "decoded_token": text}}


def test_prompt_logprobs_of_the_server_and_of_the_offline_engine_agree(tmp_path: Path) -> None:
    offline = vllm(item(318, -2.5), item(5433, -0.1, " 42"))
    served = {
        "id": "a",
        "response": {"id": "cmpl-1", "choices": [{"text": "!", "prompt_logprobs": offline["prompt_logprobs"]}]},
    }
    for record in (offline, served):
        parsed = only(tmp_path, record)
        assert (parsed.id, parsed.found) == ("a", TokenLogProbs((None, -2.5, -0.1), ("", " is", " 42")))


def test_the_prompt_token_among_several_is_chosen_by_id_or_refused(tmp_path: Path) -> None:
    several = {**item(262, -0.5, " the"), **item(318, -2.5)}
    log_probs = only(tmp_path, vllm(several, prompt_token_ids=[1026, 318])).found
    assert isinstance(log_probs, TokenLogProbs)
    assert log_probs.values == (None, -2.5)
    assert "ask for prompt_logprobs=0" in refused(tmp_path, vllm(several))
    assert "lacks token 7" in refused(tmp_path, vllm(several, prompt_token_ids=[1026, 7]))
    assert "expected 2 ids" in refused(tmp_path, vllm(several, prompt_token_ids=[318]))


def test_the_value_that_servers_write_for_probability_zero_counts_as_missing(tmp_path: Path) -> None:
    log_probs = only(tmp_path, vllm(item(318, -9999.0))).found
    assert isinstance(log_probs, TokenLogProbs)
    assert log_probs.values == (None, None)


def sample(responses: Any, *arguments: str, **doc: Any) -> dict[str, Any]:
    named = {f"arg_{number}": argument for number, argument in enumerate(arguments)}
    return {
        "doc_id": 0, "doc": {"id": "a", **doc}, "target": "", "arguments": {"gen_args_0": named},
        "resps": [[responses]], "filtered_resps": [responses], "filter": "none",
    }  # fmt: skip


def test_a_loglikelihood_sample_is_a_sum_over_its_continuation(tmp_path: Path) -> None:
    parsed = only(tmp_path, sample(["-2.6", "False"], "It", " is", condition="needle"))
    assert parsed.found == SummedLogProbs(-2.6, context="It", text=" is")
    assert (parsed.id, parsed.condition) == ("a", "needle")


def test_a_rolling_sample_is_a_sum_over_the_whole_text(tmp_path: Path) -> None:
    parsed = only(tmp_path, sample("-12.5", "It is"))
    assert parsed.found == SummedLogProbs(-12.5, text="It is", rolling=True)


@each(("responses", "message"), [
    (["nan", "False"], "NaN"), (["-inf", "False"], "probability 0"), (["0.7", "True"], "at most 0"),
    (["It is 42."], "holds 'It is 42.'"), ([], "no sum"),
])  # fmt: skip
def test_a_sample_without_a_valid_sum_is_refused(responses: list[str], message: str, tmp_path: Path) -> None:
    assert message in refused(tmp_path, sample(responses, "It", " is"))


def test_a_multiple_choice_document_is_refused(tmp_path: Path) -> None:
    record = {**sample(["-1", "False"], "It", " is"), "filtered_resps": [["-1", "False"], ["-2", "False"]]}
    assert "no multiple choice" in refused(tmp_path, record)


def test_only_rounding_errors_above_zero_count_as_zero(tmp_path: Path) -> None:
    log_probs = only(tmp_path, {"id": "a", "token_logprobs": [1e-6, -0.0, 0]}).found
    assert isinstance(log_probs, TokenLogProbs)
    assert log_probs.values == (0.0, 0.0, 0.0)
    assert "at most 0" in refused(tmp_path, {"id": "a", "token_logprobs": [0.001]})


def test_arrays_are_read_and_records_with_duplicate_keys_are_malformed(tmp_path: Path) -> None:
    file = tmp_path / "file.json"
    file.write_text('[{"id":"a","token_logprobs":[null,-1.5]},{"id":"b","id":"c","token_logprobs":[null]},7]')
    first, second, third = read_log_probs(file)
    assert isinstance(first, LogProbRecord)
    assert first.id == "a"
    assert isinstance(second, Malformed)
    assert "appears twice" in second.message
    assert isinstance(third, Malformed)
    assert "not a JSON object" in third.message


def test_records_must_be_of_the_format_that_is_named(tmp_path: Path) -> None:
    (record,) = read(tmp_path, {"id": "a", "token_logprobs": [-1.0]}, name="vllm")
    assert isinstance(record, Malformed)
    assert "expected those of vllm" in record.message
    with pytest.raises(ScoreError, match="did you mean 'vllm'"):
        log_prob_format("vlm")


def test_the_docs_list_every_format_with_its_example() -> None:
    page = (Path(__file__).parents[4] / "docs" / "perplexity.md").read_text("utf-8")
    for name, form in LOG_PROB_FORMATS.items():
        assert f"\n| `{name}` |" in page
        assert f"\n{form.example}\n" in page
