"""How many tokens of a prompt a server read is found where its documentation puts it, and anything else is no number.

The shapes are those of the stacks' documentation and source: llama.cpp's, Ollama's and vLLM's servers, SGLang's
`/generate`, TGI's `/generate` with `decoder_input_details`, the APIs of OpenAI, Anthropic and Google, Inspect's
ModelUsage, HELMET's output and LangSmith's runs.
"""

from __future__ import annotations

import io
from typing import Any

import polars as pl
from answer_files import Read, batch, chat, only
from each import each
from hypothesis import given
from hypothesis import strategies as st
from properties import examples

from niah_score.formats.usage import prompt_tokens_read

Record = dict[str, Any]
READ = 8011


def openai(**usage: Any) -> Record:
    return batch(chat(), usage={"completion_tokens": 3, "total_tokens": 8014, **usage})


def anthropic(**usage: Any) -> Record:
    content = [{"type": "text", "text": "42"}]
    message = {"content": content, "stop_reason": "end_turn", "usage": {"output_tokens": 3, **usage}}
    return {"custom_id": "x", "result": {"type": "succeeded", "message": message}}


def gemini(**response: Any) -> Record:
    return {"key": "x", "response": {"candidates": [{"content": {"parts": [{"text": "42"}]}}], **response}}


def inspect(**usage: Any) -> Record:
    output = {"completion": "42", "choices": [{"stop_reason": "stop"}], "usage": usage}
    return {"id": "x", "epoch": 1, "input": "p", "target": "42", "output": output}


RUN = {"run_type": "llm", "inputs": {"id": "x"}, "outputs": {"output": "42"}, "error": None, "prompt_tokens": READ}
RESPONSE = {"object": "response", "output": [{"type": "message", "content": [{"type": "output_text", "text": "42"}]}]}
USED = {"input_tokens": READ, "input_tokens_details": {"cached_tokens": 7000}, "output_tokens": 3}
TIMINGS = {"prompt_n": 11, "cache_n": 8000, "predicted_n": 3}
LANGCHAIN = {"input_tokens": READ, "output_tokens": 3, "input_token_details": {"cache_read": 7000}}
HELMET = {"question": "?", "answer": "42", "output": "42", "input_len": READ, "output_len": 3}
CELL = {
    "model_id": "m", "context_length": 8000, "target_depth_percent": 50.0, "response": "42", "status": "ok",
    "usage": {"input_tokens": READ, "output_tokens": 3},
}  # fmt: skip
STACKS: dict[str, Record] = {
    "openai chat": openai(prompt_tokens=READ, prompt_tokens_details={"cached_tokens": 7000}),
    "openai responses": {"custom_id": "x", "response": {"status_code": 200, "body": {**RESPONSE, "usage": USED}}},
    "vllm batch": {**openai(prompt_tokens=READ), "id": "vllm-1"},
    "vllm in a process": {"id": "x", "text": "42", "prompt_token_ids": [0] * READ},
    "sglang": {"id": "x", "text": "42", "meta_info": {"prompt_tokens": READ, "cached_tokens": 7000}},
    "ollama": {"id": "x", "response": "42", "done": True, "prompt_eval_count": READ, "prompt_eval_cached_count": 7000},
    "tgi": {"id": "x", "generated_text": "42", "details": {"generated_tokens": 3, "prefill": [{"id": 1}] * READ}},
    "llama.cpp": {"id": "x", "text": "42", "tokens_evaluated": READ, "tokens_cached": 8014, "timings": TIMINGS},
    "llama.cpp, timings alone": {"id": "x", "text": "42", "timings": TIMINGS},
    "anthropic": anthropic(input_tokens=11, cache_creation_input_tokens=1000, cache_read_input_tokens=7000),
    "anthropic without a cache": anthropic(input_tokens=READ, cache_read_input_tokens=None),
    "gemini": gemini(usageMetadata={"promptTokenCount": READ, "cachedContentTokenCount": 7000}),
    "gemini's library": gemini(usage_metadata={"prompt_token_count": READ, "total_token_count": 8014}),
    "vertex": {**gemini(usageMetadata={"promptTokenCount": READ}), "status": "", "request": {"contents": []}},
    "inspect": inspect(input_tokens=READ, output_tokens=3, total_tokens=8014),
    "inspect, cached apart": inspect(input_tokens=11, input_tokens_cache_read=8000, output_tokens=3, total_tokens=8014),
    "inspect, cached within": inspect(
        input_tokens=READ, input_tokens_cache_read=8000, output_tokens=3, total_tokens=8014
    ),
    "helmet": {"args": {}, "data": [HELMET]},
    "needlehaystack 2": CELL,
    "langsmith": RUN,
    "langsmith's outputs": {**RUN, "prompt_tokens": None, "outputs": {"output": "42", "usage_metadata": LANGCHAIN}},
    "langsmith's experiments": {"run": RUN, "example": {"inputs": {"id": "x"}}},
    "our runner": {"id": "x", "prediction": "42", "finish_reason": "stop", "prompt_tokens": READ},
    "written by hand": {"id": "x", "prediction": "42", "prompt_tokens_read": READ, "prompt_tokens": 8000},
}


@each("stack", list(STACKS))
def test_every_stack_says_how_many_tokens_it_read(read: Read, stack: str) -> None:
    assert only(read(STACKS[stack])).prompt_tokens_read == READ


def test_ollama_and_llama_cpp_say_it_beside_texts_that_the_user_names(read: Read) -> None:
    said = {"id": "x", "message": {"role": "assistant", "content": "42"}, "prompt_eval_count": READ}
    assert only(read(said, text_field="message.content")).prompt_tokens_read == READ
    assert only(read({**said, "content": "42"}, text_field="content")).prompt_tokens_read == READ


@each("value", [None, 0, -5, True, 8011.5, "many", "-5", [1], {}, 2**60])
def test_a_value_that_is_no_count_is_none(read: Read, value: Any) -> None:
    assert only(read(openai(prompt_tokens=value))).prompt_tokens_read is None


def test_what_leaves_out_cached_tokens_or_is_the_rows_own_number_is_not_read(read: Read) -> None:
    """Old releases of llama.cpp count only what was not cached; TGI's prefill is empty unless it is asked for."""
    records: tuple[Record, ...] = (
        {"timings": {"prompt_n": 11, "predicted_n": 3}}, {"details": {"prefill": []}}, {"prompt_eval_count": 0},
        {"prompt_tokens": 8000, "haystack_tokens": 7500},
    )  # fmt: skip
    for record in records:
        assert only(read({"id": "x", "text": "42", **record})).prompt_tokens_read is None


@each("column", ["prompt_tokens_read", "prompt_eval_count", "tokens_evaluated", "prompt_tokens", "usage", "meta_info"])
def test_tables_have_it_as_a_column_unless_it_is_a_copy_of_the_rows_own(read: Read, column: str) -> None:
    value: Any = {"prompt_tokens": READ} if column in ("usage", "meta_info") else READ
    for more, wanted in (({}, READ), ({"haystack_tokens": 7500}, None if column == "prompt_tokens" else READ)):
        sink = io.BytesIO()
        pl.DataFrame([{"id": "x", "text": "42", column: value, **more}]).write_parquet(sink)
        assert only(read(sink.getvalue())).prompt_tokens_read == wanted
    if isinstance(value, int):
        assert only(read(f"id,text,{column}\nx,42,{value}\n")).prompt_tokens_read == READ


NAMES = st.sampled_from(
    ["usage", "timings", "response", "runs", "prompt_n", "cache_n", "input_tokens", "total_tokens", "prefill",
     "cache_read_input_tokens", "output_tokens", "prompt_tokens"]
)  # fmt: skip
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=5),
)


@given(VALUES)
@examples(300)
def test_whatever_a_record_holds_the_number_is_above_0_or_none(value: Any) -> None:
    found = prompt_tokens_read(value)
    assert found is None or (type(found) is int and 0 < found < 2**63)
