"""What the records of every stack mean: whose answer it is, its text and samples, how it ended, and what is wrong.

LangSmith's shapes are those that the real langsmith 0.15.0 wrote for an experiment run offline over our export: `Run`
and `ExampleWithRuns` by `model_dump_json`, the rows of `evaluate`, and `ExperimentResults.to_pandas()` as CSV and JSON.
In the latter, a failed run has no value in the column that holds the outputs of the other runs.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from answer_files import Read, batch, between, chat, lm_eval_sample, only, parts
from each import each

from niah_score.contract import Message, prompt_digest
from niah_score.errors import ScoreError
from niah_score.formats import Answer, Malformed
from niah_score.formats.plain import ID_FIELDS, TEXT_FIELDS
from niah_score.formats.record import Coordinates

EXAMPLES = Path(__file__).parent / "examples"
Record = dict[str, Any]
# A file, as records or as its text; and of each record, fields of its answer or a part of what is wrong with it.
Case = tuple[list[Any] | str, Sequence[Any]]
CHAT = [Message(role="system", content="s"), Message(role="user", content="u")]
P, Q, ASK = prompt_digest("p"), prompt_digest("Where is it?"), Message(role="user", content="Where is it?")

# Batches --------------------------------------------------------------------------------------------------------------

CHOICES: list[tuple[dict[str, Any], tuple[Any, ...]]] = [
    (chat(), ("42", None, "stop", None)),
    (chat(finish=None), ("42", None, "", None)),
    (chat(finish="length"), ("42", None, "truncated", None)),
    (chat("", "content_filter"), ("", None, "refused", None)),
    (chat(None, refusal="I cannot."), (None, None, "refused", None)),
    (chat(None, "tool_calls", tool_calls=[{}]), (None, None, "stop", None)),
    (chat("42", "abort"), ("42", None, "", "finish reason 'abort'")),
    (chat(reasoning="Hm."), ("42", "Hm.", "stop", None)),
    (chat(reasoning_content="Hm."), ("42", "Hm.", "stop", None)),
    (chat(reasoning=None, reasoning_content=""), ("42", None, "stop", None)),
    (chat([{"type": "text", "text": "4"}, {"type": "text", "text": "2"}]), ("42", None, "stop", None)),
    ({"index": 0, "text": "42", "finish_reason": "stop"}, ("42", None, "stop", None)),
]
FAILED: list[tuple[dict[str, Any], str]] = [
    ({"response": None, "error": {"code": "batch_expired", "message": "Too\nlate."}}, "batch_expired: Too late."),
    ({"response": {"status_code": 429, "body": {"error": {"message": "Slow down.", "type": "rate"}}}},
     "rate: Slow down."),
    ({"response": {"status_code": 400, "body": None}, "error": {"error": {"message": "Too long.", "code": 400}}},
     "400: Too long."),
    ({"response": {"status_code": 500, "body": None}, "error": None}, "status code 500 without an answer"),
    ({"response": {"status_code": 502, "body": {"choices": [chat("half an answer")]}}},
     "status code 502 without an answer"),
    ({"response": None, "error": "timeout"}, "timeout"),
    ({"response": None, "error": None}, "no response"),
    ({"response": {"status_code": 200, "body": {"choices": []}}, "error": None}, "no choices in the response"),
    ({"result": {"type": "errored",
      "error": {"type": "error", "error": {"type": "invalid_request", "message": "Too long."}}}},
     "invalid_request: Too long."),
    ({"result": {"type": "canceled"}}, "canceled"),
    ({"result": {"type": "expired"}}, "expired"),
]  # fmt: skip
RESPONSE = [
    {"type": "reasoning", "summary": [{"type": "summary_text", "text": text} for text in ("Hm. Hm.", "So.")]},
    {"type": "message", "content": [{"type": "output_text", "text": "4 "}, {"type": "output_text", "text": "2"}]},
]
RESPONSES: list[tuple[dict[str, Any], tuple[Any, ...]]] = [
    ({"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}},
     ("4 2", "Hm. Hm.\nSo.", "truncated", None)),
    ({"status": "completed", "incomplete_details": None}, ("4 2", "Hm. Hm.\nSo.", "stop", None)),
    ({"status": "completed", "output": [{"type": "message", "content": [{"type": "refusal", "refusal": "No."}]}]},
     (None, None, "refused", None)),
    ({"status": "incomplete", "incomplete_details": {"reason": "content_filter"}, "output": []},
     (None, None, "refused", None)),
    ({"status": "failed", "error": {"code": "server_error", "message": "Oh."}}, (None, None, "", "server_error: Oh.")),
]  # fmt: skip
MESSAGES: list[tuple[list[dict[str, Any]], str, tuple[Any, ...]]] = [
    ([{"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": "42"}], "max_tokens",
     ("42", "Hm.", "truncated", None)),
    ([], "refusal", ("", None, "refused", None)),
    ([{"type": "text", "text": "4"}], "model_context_window_exceeded", ("4", None, "truncated", None)),
]  # fmt: skip
GEMINI: list[tuple[dict[str, Any], tuple[Any, ...]]] = [
    ({"response": {"candidates": [{"content": {"parts": [{"text": "4"}, {"text": "2"}]}, "finishReason":
      "MAX_TOKENS"}]}}, ("42", None, "truncated", None)),
    ({"response": {"candidates": [{"content": {"role": "model"}, "finishReason": "MAX_TOKENS"}]}},
     (None, None, "truncated", None)),
    ({"response": {"candidates": [{"finishReason": "SAFETY"}]}}, (None, None, "refused", None)),
    ({"response": {"promptFeedback": {"blockReason": "OTHER"}}}, (None, None, "refused", None)),
    ({"error": {"code": 429, "message": "Quota."}}, (None, None, "", "429: Quota.")),
    ({"response": {"usageMetadata": {}}}, (None, None, "", "no candidates in the response")),
]  # fmt: skip
LINES = [
    *((batch(choice), expected) for choice, expected in CHOICES),
    *(({"id": "vllm-1", "custom_id": "x", **line}, (None, None, "", error)) for line, error in FAILED),
    *(({"custom_id": "x", "response": {"status_code": 200, "body": {"object": "response", "output": RESPONSE, **body}}},
       expected) for body, expected in RESPONSES),
    *(({"custom_id": "x", "result": {"type": "succeeded", "message": {"content": content, "stop_reason": reason}}},
       expected) for content, reason, expected in MESSAGES),
    *(({"key": "x", **line}, expected) for line, expected in GEMINI),
]  # fmt: skip


GEMINI_LINE = {"response": {"candidates": [{"content": {"parts": [{"text": "42"}]}}]}}
VERTEX = {"status": "Bad Request: no", "response": {},
          "request": {"contents": [{"role": "user", "parts": [{"text": "Where "}, {"text": "is it?"}]}]}}  # fmt: skip
BRIEF = {**VERTEX["request"], "systemInstruction": {"parts": [{"text": "Be brief."}]}}  # type: ignore[dict-item]
OF_BATCHES: list[Case] = [
    ([batch(chat("a"), chat("b", "length"))], [
        {"sample": 0, "text": "a", "finish": "stop", "line": 1},
        {"sample": 1, "text": "b", "finish": "truncated", "line": 1},
    ]),
    # Without keys, lines are in the order of the requests.
    ([GEMINI_LINE] * 2, [{"id": None, "position": 0}, {"id": None, "position": 1}]),
    ([VERTEX], [{"id": None, "prompt_sha256": Q, "error": "Bad Request: no"}]),
    ([{"key": "x", **VERTEX}], [{"id": "x", "prompt_sha256": Q, "chat_sha256": prompt_digest([ASK])}]),
    ([{**VERTEX, "request": BRIEF}],
     [{"prompt_sha256": prompt_digest([Message(role="system", content="Be brief."), ASK])}]),
]  # fmt: skip

# Harnesses ------------------------------------------------------------------------------------------------------------

# Clients of servers log a chat as JSON text in a list of one; others log it as it is.
LM_EVAL_PROMPTS: list[tuple[Any, str | None, str | None]] = [
    (CHAT, prompt_digest(CHAT), None), ([json.dumps(CHAT)], prompt_digest(CHAT), None),
    ([json.dumps([{**message, "type": "text"} for message in CHAT])], prompt_digest(CHAT), None),
    ([json.dumps(CHAT[1:])], prompt_digest("u"), prompt_digest(CHAT[1:])),
    *((other, None, None) for other in (["no JSON"], ["[1, 2]"], [], None, 5, [["x"]])),
]  # fmt: skip
LIKELIHOODS = [["-1.5", "False"]]


def shard(**more: Any) -> Record:
    """A record of OpenCompass."""
    return {"origin_prompt": "p", "prediction": "42", **more}


TURNS = [{"role": role, "prompt": text} for role, text in (("HUMAN", "u"), ("BOT", "b"), ("HUMAN", "v"))]
SENT = [Message(role=role, content=text) for role, text in (("user", "u"), ("assistant", "b"), ("user", "v"))]
SHARD = {
    "10": shard(origin_prompt=TURNS), "2": shard(prediction=["a", "b"]),
    "0": shard(origin_prompt=TURNS[:1], gold=["42", "7"]), "3": "lost",
}  # fmt: skip
HELMET = [{"answer": "42", "output": None, "output_len": 0}, {"answer": "42"}, {"output": "7", "output_len": 1}]
LONGBENCH = {"_id": "x", "pred": "B", "judge": True, "answer": "B", "context": "..."}
OF_HARNESSES: list[Case] = [
    ([lm_eval_sample()], [{"id": "x", "prompt_sha256": P, "position": None}]),
    ([lm_eval_sample(doc={"prompt": "p"}, arguments=[["p", {"until": []}]])],
     [{"id": None, "prompt_sha256": P, "position": 5}]),
    *(([lm_eval_sample(arguments=arguments)], [{"id": "x", "prompt_sha256": prompt, "chat_sha256": chat}])
      for argument, prompt, chat in LM_EVAL_PROMPTS
      for arguments in ({"gen_args_0": {"arg_0": argument}}, [[argument, {"until": []}]])),
    ([lm_eval_sample(resps=[["a", "b"]], filtered=["a"])], [{"sample": 0, "text": "a"}, {"sample": 1, "text": "b"}]),
    ([lm_eval_sample("maj@2", resps=[["a", "b"]], filtered=["b"])], [{"text": "b"}]),
    # Lines of the filter `none` count, or else those of the first filter.
    ([lm_eval_sample("strict"), lm_eval_sample(), lm_eval_sample("loose")], [{"line": 1}]),
    ([lm_eval_sample("strict"), lm_eval_sample("loose"), lm_eval_sample("strict")], [{"line": 1}, {"line": 3}]),
    ([lm_eval_sample(resps=[LIKELIHOODS], filtered=LIKELIHOODS)], ["not text"]),
    (json.dumps(SHARD), [
        {"position": 10, "prompt_sha256": prompt_digest(SENT), "sample": 0, "text": "42"},
        {"position": 2, "prompt_sha256": P, "sample": 0, "text": "a"},
        {"position": 2, "prompt_sha256": P, "sample": 1, "text": "b"},
        {"position": 0, "prompt_sha256": prompt_digest("u"), "sample": 0, "text": "42", "reference": ("42", "7")},
        "not a JSON object; expected one object per record",
    ]),
    # Temporary lines take their position from idx or from their order.
    ([shard(idx=4), shard(idx=2), shard(), shard(idx="x")],
     [{"position": 4}, {"position": 2}, {"position": 2}, "idx is 'x'; expected a whole number from 0"]),
    # Answers to our own entries have the id in gold.
    ([shard(idx=4, gold={"id": "row-1", "answers": ["42", "7"]}), shard(gold={"id": ["x"]}), shard(gold={"id": None})],
     [{"id": "row-1", "position": None, "reference": ("42", "7")},
      "gold.id is ['x']; expected the id of a row, as text or a whole number", {"id": None}]),
    ([{"id": "x", "index": 9, "pred": "42", "outputs": ["42", "7"]}],
     [{"id": "x", "position": 0, "reference": ("42", "7")}]),
    ([{"output": "42", "output_len": 9, "thoughts": "Hm.", "answer": ["42", "7"]}],
     [{"text": "42", "reasoning": "Hm.", "position": 0, "reference": ("42", "7")}]),
    (json.dumps({"args": {}, "data": HELMET}, indent=1), [
        {"line": 1, "position": 0}, {"line": 2, "text": None}, {"line": 3, "position": 2},
    ]),
    ([{**LONGBENCH, "response": "It is B."}], [{"id": "x", "position": 0, "text": "It is B.", "reference": ("B",)}]),
    ([{**LONGBENCH, "response_cot": "So: B."}], [{"text": "So: B."}]),
]  # fmt: skip

# Systems without ids --------------------------------------------------------------------------------------------------


def result(system: str, **more: Any) -> Record:
    """The first result of a system's example, with other values."""
    first, _ = (EXAMPLES / f"{system}.jsonl").read_bytes().split(b"\n", 1)
    return {**json.loads(first), **more}


SANDWICH = result("gkamradt", needle="\nEat a sandwich.\n", model="m", model_response="A sandwich.", version=2)
# As older releases write it, without a version.
OLD = {name: value for name, value in SANDWICH.items() if name != "version"} | {"context": "...", "file_name": "x"}
CELL = Coordinates(1000, 50.0, ("\nEat a sandwich.\n",), None, 2, "m", "gkamradt")
WRONG: list[tuple[Record, str]] = [
    *(({field: value}, "context_length, depth_percent, version, model are ")
      for field, values in (("context_length", (1000.5, 0, None, True)), ("depth_percent", (100.5, "50")),
                            ("version", ("a",)), ("model", (4,)))
      for value in values),
    ({"model_response": 42}, "the answer is not text: model_response is 42"),
]  # fmt: skip
PLACED = [{"text": "1 maps to 2.", "insertion_token_index": 99, "actual_depth_percent": 9.9}]
MAPPED = result("needlehaystack2", recipe={"needle_placements": PLACED}, expected_answer="2", prompt_question="1?")
MAP_CELL = Coordinates(1000, 33.908016654811604, ("1 maps to 2.",), "1?", 7, "m", "needlehaystack2")
FAILED_MAP = {**MAPPED, "seed": None, "response": None, "status": "error", "error": "429: slow\ndown"}
OF_GRIDS: list[Case] = [
    ([SANDWICH], [{"id": None, "prompt_sha256": None, "position": None, "text": "A sandwich.", "coordinates": CELL}]),
    ([OLD], [{"coordinates": CELL._replace(run=None)}]),
    (json.dumps([OLD, OLD], indent=2), [{"coordinates": CELL._replace(run=None)}] * 2),
    *(([SANDWICH, {**SANDWICH, **wrong}], [{}, message]) for wrong, message in WRONG),
    ([{**MAPPED, "response": "2", "seed": 7}], [
        {"id": None, "prompt_sha256": None, "position": None, "reference": ("2",), "text": "2", "reasoning": None,
         "finish": "", "error": None, "coordinates": MAP_CELL},
    ]),
    ([FAILED_MAP], [{"text": None, "error": "429: slow down", "coordinates": MAP_CELL._replace(run=None)}]),
    ([{**FAILED_MAP, "error": None}], [{"text": None, "finish": "", "error": "status 'error'"}]),
]  # fmt: skip

# LangSmith ------------------------------------------------------------------------------------------------------------

ASKED = {"id": "X", "messages": [ASK]}
# A run, without the fields that say nothing about an answer.
RUN: Record = {
    "id": "01a202bd-dc52-780c-b76b-e50fb8f97158", "name": "Target", "run_type": "chain", "error": None,
    "extra": {"metadata": {"num_repetitions": 1}}, "inputs": {**ASKED, "max_new_tokens": 100},
    "outputs": {"prediction": "It is 42."}, "reference_example_id": "00000000-0000-0000-0000-000000000064",
    "parent_run_id": None, "trace_id": "01a202bd-dc52-780c-b76b-e50fb8f97158",
}  # fmt: skip
# An example as our export writes it.
EXAMPLE: Record = {
    "id": "00000000-0000-0000-0000-000000000064", "dataset_id": "00000000-0000-0000-0000-000000000005",
    "inputs": ASKED, "outputs": {"answer": "the reference"},
    "metadata": {"id": "X", "length": 1000, "depth_percent": 50.0},
}  # fmt: skip
STEP = {**RUN, "parent_run_id": "01a202bd", "run_type": "llm", "inputs": {"messages": []}, "outputs": {"n": []}}
FLAT: Record = {
    "inputs.id": "X", "inputs.messages": [ASK], "outputs.prediction": "It is 42.", "error": None,
    "reference.answer": "the reference", "feedback.correct": 1, "execution_time": 0.1, "example_id": "e", "id": "r",
    "outputs.output": None,
}  # fmt: skip
RATED = {"run": RUN, "example": EXAMPLE, "evaluation_results": {"results": [{"key": "correct", "score": 1}]}}
BARE = {"question": "Where?"}
SAID = {"id": "X", "prompt_sha256": Q, "text": "It is 42."}
OUTPUTS: list[tuple[Record, tuple[Any, ...]]] = [
    ({"output": "a"}, ("a", None, "", None)),
    ({"answer": "a", "finish_reason": "length", "reasoning": "Hm."}, ("a", "Hm.", "truncated", None)),
    ({"output": {"content": "a", "type": "ai"}}, ("a", None, "", None)),
    ({"content": [{"type": "text", "text": "a"}]}, ("a", None, "", None)),
    ({"messages": [ASK, {"role": "assistant", "content": "a"}]}, ("a", None, "", None)),
    ({"choices": [{"message": {"content": "a"}, "finish_reason": "length"}]}, ("a", None, "truncated", None)),
    ({"id": "X", "reply": "a"}, ("a", None, "", None)),
    ({"prediction": None}, (None, None, "", None)),
]


def table(*rows: tuple[object, ...]) -> str:
    """CSV, in which an object is JSON."""
    sink = io.StringIO(newline="")
    cells = ([json.dumps(one) if isinstance(one, dict) else one for one in row] for row in rows)
    csv.writer(sink, lineterminator="\n").writerows(cells)
    return sink.getvalue()


PRINTED = "[{'role': 'user', 'content': 'Where is it?'}]"  # by pandas, which is not compared
COLUMNS = ("inputs.id", "inputs.messages", "outputs.prediction", "error", "example_id", "id", "outputs.output")
OVERLOADED = "RuntimeError('overloaded')\n\nTraceback"
OF_LANGSMITH: list[Case] = [
    ([RUN], [{**SAID, "reasoning": None, "finish": "", "error": None}]),
    ([RATED], [SAID]), ([{**EXAMPLE, "runs": [RUN]}], [SAID]), (json.dumps([{**EXAMPLE, "runs": [RUN]}]), [SAID]),
    ([FLAT, {name.replace("inputs.", "input."): value for name, value in FLAT.items()}], [SAID, SAID]),
    # Repetitions are samples, steps within a run are not answers.
    ([{**EXAMPLE, "runs": [RUN, {**RUN, "outputs": {"prediction": "7"}}]}], [
        {"id": "X", "text": "It is 42.", "sample": 0}, {"id": "X", "text": "7", "sample": 1},
    ]),
    ([STEP, RUN, STEP], [SAID]),
    # An id may be in metadata or outputs, but is never the run's own.
    ([{"run": {**RUN, "inputs": BARE}, "example": {**EXAMPLE, "inputs": BARE}}], [{"id": "X"}]),
    ([{**RUN, "inputs": BARE, "outputs": {"id": "X", "prediction": "It is 42."}}], [{"id": "X"}]),
    ([{**RUN, "inputs": BARE, "extra": {"metadata": {"id": "X"}}}], [{"id": "X"}]),
    ([{**RUN, "inputs": {"id": 0}}], [{"id": "0"}]),
    ([{**RUN, "inputs": {"id": True, "messages": [ASK]}}], [{"id": None}]),
    ([RUN, {**RUN, "inputs": BARE}], [SAID, "no id"]),
    *(([{**RUN, "outputs": outputs, "error": OVERLOADED}],
       [{"text": None, "finish": "", "error": "RuntimeError('overloaded') Traceback"}])
      for outputs in (None, {}, {"output": None}, {"anything": None})),
    ([{**RUN, "outputs": None}], [{"error": "the run has no outputs"}]),
    ([{**RUN, "outputs": None, "status": "pending"}], [{"error": "status pending"}]),
    *(([{**RUN, "outputs": told}], [dict(zip(("text", "reasoning", "finish", "error"), expected, strict=True))])
      for told, expected in OUTPUTS),
    ([{**RUN, "outputs": {"first": "a", "second": "b"}}], ["--text-field outputs.NAME"]),
    (table(COLUMNS, ("X", PRINTED, "It is 42.", "", "e", "r", ""), ("Y", PRINTED, "", OVERLOADED, "e", "r", ""),
           ("Z", PRINTED, "", "", "e", "r", "")),
     [{"id": "X", "prompt_sha256": None, "text": "It is 42.", "error": None},
      {"id": "Y", "text": None, "error": "RuntimeError('overloaded') Traceback"},
      {"id": "Z", "text": "", "error": None}]),
    (table(("id", "inputs", "reference_outputs", "outputs"), ("r", ASKED, {"answer": "ref"}, {"output": "It is 42."}),
           ("r", ASKED, "", "{broken")),
     [SAID, "outputs is not JSON"]),
    # Other records with such fields are still plain.
    ("id,prediction,outputs\nX,It is 42.,42\n", [{"text": "It is 42."}]),
    ([{"id": "X", "trace_id": "t", "inputs": {"prompt": "p"}, "prediction": "It is 42."}],
     [{"id": "X", "text": "It is 42."}]),
]  # fmt: skip

# Plain ----------------------------------------------------------------------------------------------------------------

FIELDS = {"id": "x", "text": "t", "finish_reason": "length", "reasoning": "Hm.", "sample": 3, "prompt": "p"}
EPOCHS: list[tuple[Record, int]] = [
    ({"epoch": 1}, 0), ({"epoch": 2}, 1), ({"sample": 1}, 1), ({"sample": 0, "epoch": 5}, 0), ({"epoch": None}, 0),
]  # fmt: skip
# In CSV, a chat is compared only if it is JSON.
SPELLED = {json.dumps(CHAT): prompt_digest(CHAT), str(CHAT): None, "[{ }": None, "p": P}
NO_TEXT = (
    "the record has no field with the answer's text; expected one of prediction, pred, "
    "completion, response, output, generated_text, generation, text, predicted_answer, or name it with --text-field"
)
OF_PLAIN_RECORDS: list[Case] = [
    (between('{"id": "a\\u001b[31m"}'), [{"id": "good"}, NO_TEXT, {"id": "good"}]),
    ([FIELDS], [
        {"id": "x", "text": "t", "reasoning": "Hm.", "finish": "truncated", "error": None, "prompt_sha256": P,
         "position": None, "sample": 3, "line": 1, "reference": None},
    ]),
    ([{"id": "x", "text": "", "error": {"message": "boom"}, "stop_reason": "x", "epoch": "2"}],
     [Answer("x", None, None, "", "boom", None, None, 1, 1, None)._asdict()]),
    ([{"id": "x", "text": "t", "sample": "the third", "error": 0.25}],
     [Answer("x", "t", None, "", None, None, None, 0, 1, None)._asdict()]),
    ([{"id": "x", "text": "t", "sample": -1}], ["sample is -1; expected a whole number from 0"]),
    ([{"prompt": "p", "generated_text": "t"}], [{"id": None, "prompt_sha256": P, "position": None}]),
    ([{"prompt": CHAT, "text": "t"}], [{"prompt_sha256": prompt_digest(CHAT)}]),
    (table(("id", "prompt", "output"), *(("x", prompt, "y") for prompt in SPELLED)),
     [{"prompt_sha256": digest} for digest in SPELLED.values()]),
    *(([{"id": "x", "text": "t", **given}], [{"sample": sample}]) for given, sample in EPOCHS),
    ([{"id": "x", "text": "t"}, {"text": "u"}],
     [{"id": "x"}, "no id: the record has no field that usually holds it; found 'text'; name it with --id-field"]),
    ("prompt,output\np,y\n", [{"prompt_sha256": P}]),
    ("model,output\nm,y\nm,z\n", [{"id": None, "position": 0}, {"id": None, "position": 1}]),
]  # fmt: skip


@each("case", [*OF_BATCHES, *OF_HARNESSES, *OF_GRIDS, *OF_LANGSMITH, *OF_PLAIN_RECORDS])
def test_records_are_read_as_their_stack_means_them(read: Read, case: Case) -> None:
    lines, expected = case
    records = read(*([lines] if isinstance(lines, str) else lines))
    assert len(records) == len(expected), records
    for record, wanted in zip(records, expected, strict=True):
        if isinstance(wanted, str):
            assert isinstance(record, Malformed), record
            assert wanted in record.message
        else:
            assert isinstance(record, Answer), record
            assert {name: getattr(record, name) for name in wanted} == wanted


@each(("line", "expected"), LINES)
def test_a_line_of_a_batch_yields_its_id_text_reasoning_finish_and_error(
    read: Read, line: Record, expected: tuple[Any, ...]
) -> None:
    answer = only(read(line))
    assert (answer.id, *parts(answer)) == ("x", *expected)


def test_fields_named_by_the_user_replace_cells_and_ambiguous_outputs(read: Read) -> None:
    named = only(read({**OLD, "row": "r1"}, id_field="row"))
    assert (named.id, named.coordinates) == ("r1", None)
    several = {**RUN, "outputs": {"first": "a", "second": "b"}}
    answer = only(read(several, text_field="outputs.second"))
    assert (answer.id, answer.text) == ("X", "b")


def test_references_are_not_answers_and_the_first_field_in_the_documented_order_counts(read: Read) -> None:
    """The outputs of a dataset are its references; scoring them would mark every row right."""
    references = {"id": "x", "answer": "no", "answers": ["no"], "target": "no", "gold": "no"}
    ours = {"inputs": {"id": "X", "prompt": "p"}, "outputs": {"answer": "42"}, "metadata": {"id": "X"}}
    for wrong in ({**references, "outputs": ["no"]}, ours, EXAMPLE):
        with pytest.raises(ScoreError, match="no record with an answer"):
            read(wrong)
    with pytest.raises(ScoreError, match="neither JSON nor a table"):
        read('id,inputs,outputs\nr,"{}","{}"\n')
    for fields, others in ((TEXT_FIELDS, references), (ID_FIELDS, {"text": "t"})):
        record: Record = dict(others)
        for name in reversed(fields):
            record[name] = name
            answer = only(read(record))
            assert name == (answer.text if fields is TEXT_FIELDS else answer.id)
    assert " ".join(TEXT_FIELDS[:-1]) == "prediction pred completion response output generated_text generation text"
    assert TEXT_FIELDS[-1] == "predicted_answer"
    assert " ".join(ID_FIELDS) == "id custom_id sample_id key uid idx"
