"""Records of log-probabilities of every kind are told apart by their fields and say the same of the same prompt."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

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
    (found,) = read(tmp_path, record, name=name)
    assert isinstance(found, LogProbRecord), found
    return found


def refused(tmp_path: Path, record: object) -> str:
    (found,) = read(tmp_path, record)
    assert isinstance(found, Malformed), found
    return found.message


@pytest.mark.parametrize("form", LOG_PROB_FORMATS.values(), ids=LOG_PROB_FORMATS)
def test_the_example_of_every_format_is_of_it_and_of_no_other(form: Any, tmp_path: Path) -> None:
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


def test_an_echoed_response_is_found_by_custom_id_by_an_id_beside_it_or_by_its_prompt(tmp_path: Path) -> None:
    batch = {"id": "batch_req_1", "custom_id": "a", "response": {"status_code": 200, "body": echo()}, "error": None}
    beside = {"id": "a", "response": echo()}
    for record in (batch, beside, {**echo(), "custom_id": "a"}):
        found = only(tmp_path, record)
        assert found.id == "a"
        assert found.found == TokenLogProbs((None, -2.5, -0.1), tuple(TOKENS), tuple(OFFSETS), counted=False)
    bare = only(tmp_path, echo())
    assert bare.id is None
    assert bare.prompt is not None


def test_a_token_generated_behind_the_prompt_is_none_of_it(tmp_path: Path) -> None:
    found = only(tmp_path, {**echo(), "usage": {"prompt_tokens": 2, "completion_tokens": 1}})
    assert isinstance(found.found, TokenLogProbs)
    assert found.found.generated == 1
    whole = only(tmp_path, {**echo(), "choices": [{**echo()["choices"][0], "text": "It is"}]})
    assert found.prompt == whole.prompt


def vllm(*items: object, **fields: Any) -> dict[str, Any]:
    return {"id": "a", "prompt_logprobs": [None, *items], **fields}


def item(token: int, value: float, text: str | None = " is") -> dict[str, Any]:
    return {str(token): {"logprob": value, "rank": 1, "decoded_token": text}}


def test_prompt_logprobs_of_the_server_and_of_the_offline_engine_say_the_same(tmp_path: Path) -> None:
    offline = vllm(item(318, -2.5), item(5433, -0.1, " 42"))
    served = {
        "id": "a",
        "response": {"id": "cmpl-1", "choices": [{"text": "!", "prompt_logprobs": offline["prompt_logprobs"]}]},
    }
    for record in (offline, served):
        found = only(tmp_path, record)
        assert (found.id, found.found) == ("a", TokenLogProbs((None, -2.5, -0.1), ("", " is", " 42")))


def test_of_several_tokens_at_a_place_the_prompts_is_told_by_its_ids_or_not_at_all(tmp_path: Path) -> None:
    several = {**item(262, -0.5, " the"), **item(318, -2.5)}
    found = only(tmp_path, vllm(several, prompt_token_ids=[1026, 318])).found
    assert isinstance(found, TokenLogProbs)
    assert found.values == (None, -2.5)
    assert "ask for prompt_logprobs=0" in refused(tmp_path, vllm(several))
    assert "lacks token 7" in refused(tmp_path, vllm(several, prompt_token_ids=[1026, 7]))
    assert "expected 2 ids" in refused(tmp_path, vllm(several, prompt_token_ids=[318]))


def test_what_servers_write_for_a_probability_of_zero_is_missing(tmp_path: Path) -> None:
    found = only(tmp_path, vllm(item(318, -9999.0))).found
    assert isinstance(found, TokenLogProbs)
    assert found.values == (None, None)


def sample(responses: Any, *arguments: str, **doc: Any) -> dict[str, Any]:
    asked = {f"arg_{number}": argument for number, argument in enumerate(arguments)}
    return {
        "doc_id": 0, "doc": {"id": "a", **doc}, "target": "", "arguments": {"gen_args_0": asked},
        "resps": [[responses]], "filtered_resps": [responses], "filter": "none",
    }  # fmt: skip


def test_a_sample_of_loglikelihood_is_a_sum_over_its_continuation(tmp_path: Path) -> None:
    found = only(tmp_path, sample(["-2.6", "False"], "It", " is", condition="needle"))
    assert found.found == SummedLogProbs(-2.6, context="It", text=" is")
    assert (found.id, found.condition) == ("a", "needle")


def test_a_rolling_sample_is_a_sum_over_the_whole_text(tmp_path: Path) -> None:
    found = only(tmp_path, sample("-12.5", "It is"))
    assert found.found == SummedLogProbs(-12.5, text="It is", rolling=True)


@pytest.mark.parametrize(("responses", "told"), [
    (["nan", "False"], "NaN"), (["-inf", "False"], "probability 0"), (["0.7", "True"], "at most 0"),
    (["It is 42."], "holds 'It is 42.'"), ([], "no sum"),
])  # fmt: skip
def test_a_sample_without_a_sum_is_refused(responses: list[str], told: str, tmp_path: Path) -> None:
    assert told in refused(tmp_path, sample(responses, "It", " is"))


def test_a_multiple_choice_document_is_refused(tmp_path: Path) -> None:
    record = {**sample(["-1", "False"], "It", " is"), "filtered_resps": [["-1", "False"], ["-2", "False"]]}
    assert "no multiple choice" in refused(tmp_path, record)


def test_rounding_above_zero_is_zero_and_no_more_than_that(tmp_path: Path) -> None:
    found = only(tmp_path, {"id": "a", "token_logprobs": [1e-6, -0.0, 0]}).found
    assert isinstance(found, TokenLogProbs)
    assert found.values == (0.0, 0.0, 0.0)
    assert "at most 0" in refused(tmp_path, {"id": "a", "token_logprobs": [0.001]})


def test_an_array_of_records_is_read_and_a_key_that_stands_twice_refused(tmp_path: Path) -> None:
    file = tmp_path / "file.json"
    file.write_text('[{"id":"a","token_logprobs":[null,-1.5]},{"id":"b","id":"c","token_logprobs":[null]},7]')
    first, second, third = read_log_probs(file)
    assert isinstance(first, LogProbRecord)
    assert first.id == "a"
    assert isinstance(second, Malformed)
    assert "appears twice" in second.message
    assert isinstance(third, Malformed)
    assert "not a JSON object" in third.message


def test_a_format_that_is_said_is_demanded(tmp_path: Path) -> None:
    (found,) = read(tmp_path, {"id": "a", "token_logprobs": [-1.0]}, name="vllm")
    assert isinstance(found, Malformed)
    assert "expected those of vllm" in found.message
    with pytest.raises(ScoreError, match="did you mean 'vllm'"):
        log_prob_format("vlm")


def test_every_format_is_on_its_page_with_its_example() -> None:
    page = (Path(__file__).parents[4] / "docs" / "perplexity.md").read_text("utf-8")
    for name, form in LOG_PROB_FORMATS.items():
        assert f"\n| `{name}` |" in page
        assert f"\n{form.example}\n" in page
