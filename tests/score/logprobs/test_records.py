"""Records of log-probabilities are recognised by their fields, read as their stack means them, or refused by name."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from niah_score.formats.record import Malformed
from niah_score.logprobs.records import FORMATS, LogProbs, read_log_probs

PAGE = (Path(__file__).parents[3] / "docs" / "perplexity.md").read_text("utf-8")
TOKENS, OFFSETS, VALUES = ["It", " is", " 42"], [0, 2, 5], [None, -2.5, -0.1]


def read(tmp_path: Path, *records: object, form: str | None = None) -> list[LogProbs | Malformed]:
    file = tmp_path / "file.jsonl"
    lines = (record if isinstance(record, str) else json.dumps(record) for record in records)
    file.write_text("\n".join(lines), "utf-8")
    return list(read_log_probs(file, form))


def only(tmp_path: Path, record: object, form: str | None = None) -> LogProbs:
    (parsed,) = read(tmp_path, record, form=form)
    assert isinstance(parsed, LogProbs), parsed
    return parsed


def echo(**fields: Any) -> dict[str, Any]:
    logprobs = {"tokens": TOKENS, "token_logprobs": VALUES, "text_offset": OFFSETS, "top_logprobs": [None, {}, {}]}
    return {"id": "cmpl-7", "choices": [{"text": "It is 42", "logprobs": logprobs}], **fields}


def vllm(*items: object, **fields: Any) -> dict[str, Any]:
    return {"id": "a", "prompt_logprobs": [None, *items], **fields}


def item(token: int, value: float | None, text: str | None = " is") -> dict[str, Any]:
    return {str(token): {"logprob": value, "rank": 1, "decoded_token": text}}


def sample(responses: Any, *arguments: str, **doc: Any) -> dict[str, Any]:
    named = {f"arg_{number}": argument for number, argument in enumerate(arguments)}
    asked = {"gen_args_0": named}
    return {"doc_id": 0, "doc": {"id": "a", **doc}, "arguments": asked, "filtered_resps": [responses]}


def test_the_docs_list_every_format_with_an_example_that_is_recognised_as_it(tmp_path: Path) -> None:
    examples = [json.loads(line) for line in re.findall(r"^\{.*\}$", PAGE, re.MULTILINE)]
    found = {name: record for record in examples for name, (matches, _) in reversed(FORMATS.items()) if matches(record)}
    assert len(examples) == len(FORMATS)
    for name in FORMATS:
        assert f"\n| `{name}` |" in PAGE
        assert only(tmp_path, found[name]) == only(tmp_path, found[name], name)
        assert only(tmp_path, found[name]).id == "X"
    (other,) = read(tmp_path, found["tokens"], form="vllm")
    assert isinstance(other, Malformed)
    assert "expected those of vllm" in other.message


def test_an_echoed_response_is_identified_by_custom_id_outer_id_or_prompt(tmp_path: Path) -> None:
    batch = {"id": "batch_req_1", "custom_id": "a", "response": {"status_code": 200, "body": echo()}, "error": None}
    for record in (batch, {"id": "a", "response": echo()}, echo(custom_id="a")):
        parsed = only(tmp_path, record)
        assert (parsed.id, parsed.prompt, parsed.counted) == ("a", None, False)
        assert (parsed.values, parsed.texts, parsed.offsets) == (VALUES, TOKENS, OFFSETS)
    assert (only(tmp_path, echo()).id, only(tmp_path, echo()).prompt) == (None, "It is 42")


def test_a_token_generated_after_the_prompt_is_not_part_of_it(tmp_path: Path) -> None:
    parsed = only(tmp_path, echo(usage={"prompt_tokens": 2, "completion_tokens": 1}))
    assert (parsed.prompt, parsed.values, parsed.texts) == ("It is", VALUES[:2], TOKENS[:2])
    assert (parsed.offsets, parsed.counted) == (OFFSETS[:2], True)


def test_prompt_logprobs_of_the_server_and_of_the_offline_engine_agree(tmp_path: Path) -> None:
    offline = vllm(item(318, -2.5), item(5433, -0.1, " 42"))
    choice = {"text": "!", "prompt_logprobs": offline["prompt_logprobs"]}
    for record in (offline, {"id": "a", "response": {"id": "cmpl-1", "choices": [choice]}}):
        parsed = only(tmp_path, record)
        assert (parsed.id, parsed.values, parsed.texts) == ("a", VALUES, ["", " is", " 42"])


def test_the_prompt_token_among_several_is_chosen_by_its_id(tmp_path: Path) -> None:
    several = {**item(262, -0.5, " the"), **item(318, -2.5)}
    assert only(tmp_path, vllm(several, prompt_token_ids=[1026, 318])).values == [None, -2.5]


def test_probabilities_of_zero_are_missing_and_only_rounding_errors_above_one_count_as_one(tmp_path: Path) -> None:
    assert only(tmp_path, vllm(item(318, -9999.0), item(7, None))).values == [None, None, None]
    assert only(tmp_path, {"id": "a", "token_logprobs": [1e-6, -0.0, 0, -9999]}).values == [0.0, 0.0, 0.0, None]


def test_a_sample_is_a_sum_over_its_continuation_or_a_rolling_one_over_the_whole_text(tmp_path: Path) -> None:
    parsed = only(tmp_path, sample(["-2.6", "False"], "It", " is", condition="needle"))
    assert (parsed.id, parsed.condition, parsed.total) == ("a", "needle", -2.6)
    assert (parsed.context, parsed.text) == ("It", " is")
    rolling = only(tmp_path, sample("-12.5", "It is"))
    assert (rolling.total, rolling.context, rolling.text) == (-12.5, "", "It is")
    unnamed = {**sample(["-1", "True"], "It", " is"), "doc": {}}
    assert only(tmp_path, unnamed).prompt == "It is"


def test_records_that_cannot_be_used_say_why(tmp_path: Path) -> None:
    tokens: dict[str, Any] = {"id": "a", "token_logprobs": [None, -1.0]}
    summed: dict[str, Any] = {"id": "a", "logprob_sum": -1.0}
    several = {**item(262, -0.5), **item(318, -2.5)}
    cases: list[tuple[Any, str]] = [
        ('{"id":"a","token_logprobs":[null,NaN]}', "[1] is nan; expected a log-probability"),
        ('{"id":"a","token_logprobs":[null,-Infinity]}', "[1] is -inf; expected"),
        ('{"id":"a","token_logprobs":[null,1e999]}', "expected a log-probability"),
        ('{"id":"a","token_logprobs":[null,-1.0],"token_logprobs":[null,-2.0]}', "appears twice"),
        ('{"id":"a","token_logprobs":[null,-1.0]', "breaks off"), ("[1", "breaks off"), ('"a"', "not a JSON object"),
        ('{"id":"a","logprob_sum":-1%s}' % ("0" * 400), "expected a log-probability"),
        *(({**tokens, "token_logprobs": [None, wrong]}, "expected a log-probability")
          for wrong in (0.001, 0.5, "-1.0", True, [-1.0])),
        ({**tokens, "token_logprobs": []}, "expected a list of log-probabilities"),
        ({**tokens, "token_logprobs": "-1"}, "expected a list of log-probabilities"),
        ({**tokens, "tokens": ["a"]}, "tokens: expected a list of 2 texts"),
        ({**tokens, "text_offset": [5, 2]}, "text_offset: expected a list of 2 whole numbers in ascending order"),
        ({**tokens, "tokenizer": 7}, "tokenizer is 7"), ({**tokens, "condition": "any"}, "condition is 'any'"),
        ({**tokens, "id": ""}, "id is ''"), ({**tokens, "id": 1.5}, "id is 1.5"),
        ({**summed, "token_count": -4}, "token_count is -4; expected a whole number"),
        ({"id": "a", "text": "It is 42."}, "no log-probabilities in it: found"),
        (echo(choices=[{"logprobs": {"token_logprobs": VALUES}}]), "no row id and no echoed prompt"),
        (vllm(several), "ask for prompt_logprobs=0"), (vllm(several, prompt_token_ids=[1026, 7]), "not the prompt's 7"),
        (vllm(several, prompt_token_ids=[318]), "expected 2 ids"), (vllm({"1": 3}), "expected null, or objects"),
        (sample(["nan", "False"]), "filtered_resps is nan"), (sample(["0.7", "True"]), "filtered_resps is 0.7"),
        (sample(["It is 42."]), "holds 'It is 42.'"), (sample([]), "holds None"),
        ({**sample(["-1"]), "filtered_resps": [["-1"], ["-2"]]}, "no multiple choice"),
        ({**sample(["-1"]), "doc": {}}, "log samples with --log_samples"),
    ]  # fmt: skip
    wrong: list[tuple[Any, object]] = []
    for record, message in cases:
        (parsed, *_) = read(tmp_path, record) if record != "[1" else read(tmp_path, '{"a":1}', record)[1:]
        if not isinstance(parsed, Malformed) or message not in parsed.message:
            wrong.append((record, parsed))
    assert wrong == []


def test_the_records_of_an_array_are_judged_one_by_one(tmp_path: Path) -> None:
    first, second = read(tmp_path, '[{"id":"a","token_logprobs":[null,-1.5]},7]')
    assert isinstance(first, LogProbs)
    assert isinstance(second, Malformed)
    assert "not a JSON object" in second.message
