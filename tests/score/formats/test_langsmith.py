"""LangSmith exports: runs, experiments and tables; an example's reference is never taken for an answer.

The shapes are those that the real langsmith 0.15.0 wrote for an experiment run offline over our export: `Run` and
`ExampleWithRuns` by `model_dump_json`, the rows of `evaluate`, and `ExperimentResults.to_pandas()` as CSV and JSON. In
the latter, a failed run has no value in the column that holds the outputs of the other runs.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from answer_files import Read, ReadRecords, only, parts

from niah_score.contract import prompt_digest
from niah_score.errors import ScoreError
from niah_score.formats import Answer, Malformed

CHAT = [{"role": "user", "content": "Where?"}]


def run(**more: Any) -> dict[str, Any]:
    """A run, without the fields that say nothing about an answer."""
    return {
        "id": "01a202bd-dc52-780c-b76b-e50fb8f97158",
        "name": "Target",
        "run_type": "chain",
        "extra": {"metadata": {"num_repetitions": 1}},
        "error": None,
        "inputs": {"id": "X", "messages": CHAT, "max_new_tokens": 100},
        "outputs": {"prediction": "It is 42."},
        "reference_example_id": "00000000-0000-0000-0000-000000000064",
        "parent_run_id": None,
        "trace_id": "01a202bd-dc52-780c-b76b-e50fb8f97158",
        **more,
    }


def example(**more: Any) -> dict[str, Any]:
    """An example as our export writes it."""
    return {
        "id": "00000000-0000-0000-0000-000000000064",
        "dataset_id": "00000000-0000-0000-0000-000000000005",
        "inputs": {"id": "X", "messages": CHAT},
        "outputs": {"answer": "the reference"},
        "metadata": {"id": "X", "length": 1000, "depth_percent": 50.0},
        **more,
    }


def test_a_run_takes_its_row_id_and_prompt_from_its_inputs(read_records: ReadRecords) -> None:
    answer = only(read_records(run()))
    assert (answer.id, answer.prompt_sha256) == ("X", prompt_digest("Where?"))
    assert parts(answer) == ("It is 42.", None, "", None)


def test_experiment_rows_examples_with_runs_and_flat_rows_yield_the_same_answer(
    read: Read, read_records: ReadRecords
) -> None:
    row = {"run": run(), "example": example(), "evaluation_results": {"results": [{"key": "correct", "score": 1}]}}
    nested = example(runs=[run()])
    flat = {
        "inputs.id": "X", "inputs.messages": CHAT, "outputs.prediction": "It is 42.", "error": None,
        "reference.answer": "the reference", "feedback.correct": 1, "execution_time": 0.1, "example_id": "e", "id": "r",
        "outputs.output": None,
    }  # fmt: skip
    old = {name.replace("inputs.", "input."): value for name, value in flat.items()}
    for records in (read_records(row), read_records(nested), read(json.dumps([nested])), read_records(flat, old)[1:]):
        answer = only(records)
        assert (answer.id, answer.prompt_sha256, answer.text) == ("X", prompt_digest("Where?"), "It is 42.")


def test_repetitions_of_an_example_are_samples(read_records: ReadRecords) -> None:
    records = read_records(example(runs=[run(), run(outputs={"prediction": "7"})]))
    assert [(a.id, a.text, a.sample) for a in records if isinstance(a, Answer)] == [
        ("X", "It is 42.", 0),
        ("X", "7", 1),
    ]


def test_an_id_may_be_in_metadata_or_outputs_but_is_never_the_runs_own(read_records: ReadRecords) -> None:
    bare = {"question": "Where?"}
    for record in (
        {"run": run(inputs=bare), "example": example(inputs=bare)},
        run(inputs=bare, outputs={"id": "X", "prediction": "It is 42."}),
        run(inputs=bare, extra={"metadata": {"id": "X"}}),
    ):
        assert only(read_records(record)).id == "X"
    assert only(read_records(run(inputs={"id": 0}))).id == "0"
    assert only(read_records(run(inputs={"id": True, "messages": CHAT}))).id is None
    _, lost = read_records(run(), run(inputs=bare))
    assert isinstance(lost, Malformed)
    assert "no id" in lost.message


def test_steps_within_a_run_are_not_answers(read_records: ReadRecords) -> None:
    step = run(parent_run_id="01a202bd", run_type="llm", inputs={"messages": []}, outputs={"generations": []})
    assert [a.text for a in read_records(step, run(), step) if isinstance(a, Answer)] == ["It is 42."]


def test_a_failed_run_and_one_without_outputs_are_errors(read_records: ReadRecords) -> None:
    for outputs in (None, {}, {"output": None}, {"anything": None}):
        answer = only(read_records(run(outputs=outputs, error="RuntimeError('overloaded')\n\nTraceback")))
        assert parts(answer) == (None, None, "", "RuntimeError('overloaded') Traceback")
    assert only(read_records(run(outputs=None))).error == "the run has no outputs"
    assert only(read_records(run(outputs=None, status="pending"))).error == "status pending"


def test_the_text_is_read_from_any_of_the_usual_outputs(read_records: ReadRecords) -> None:
    outputs: list[tuple[dict[str, Any], tuple[Any, ...]]] = [
        ({"output": "a"}, ("a", None, "", None)),
        ({"answer": "a", "finish_reason": "length", "reasoning": "Hm."}, ("a", "Hm.", "truncated", None)),
        ({"output": {"content": "a", "type": "ai"}}, ("a", None, "", None)),
        ({"content": [{"type": "text", "text": "a"}]}, ("a", None, "", None)),
        ({"messages": [*CHAT, {"role": "assistant", "content": "a"}]}, ("a", None, "", None)),
        ({"choices": [{"message": {"content": "a"}, "finish_reason": "length"}]}, ("a", None, "truncated", None)),
        ({"id": "X", "reply": "a"}, ("a", None, "", None)),
        ({"prediction": None}, (None, None, "", None)),
    ]
    for told, expected in outputs:
        assert parts(only(read_records(run(outputs=told)))) == expected, told


def test_ambiguous_outputs_are_malformed_unless_the_user_names_the_field(read_records: ReadRecords) -> None:
    (record,) = read_records(run(outputs={"first": "a", "second": "b"}))
    assert isinstance(record, Malformed)
    assert "--text-field outputs.NAME" in record.message
    answer = only(read_records(run(outputs={"first": "a", "second": "b"}), text_field="outputs.second"))
    assert (answer.id, answer.text) == ("X", "b")


FRAME = (
    "inputs.id,inputs.messages,outputs.prediction,error,reference.answer,execution_time,example_id,id,outputs.output\n"
)


def test_experiment_tables_are_read_without_comparing_chats_printed_by_pandas(read: Read) -> None:
    printed = "\"[{'role': 'user', 'content': 'Where?'}]\""
    first, second, third = read(
        FRAME + f"X,{printed},It is 42.,,ref,0.1,e,r,\n"
        f"Y,{printed},,\"RuntimeError('overloaded')\n\nTraceback\",ref,0.1,e,r,\n"
        f"Z,{printed},,,ref,0.1,e,r,\n"
    )
    assert isinstance(first, Answer)
    assert isinstance(second, Answer)
    assert isinstance(third, Answer)
    assert (first.id, first.prompt_sha256, *parts(first)) == ("X", None, "It is 42.", None, "", None)
    assert (second.id, *parts(second)) == ("Y", None, None, "", "RuntimeError('overloaded') Traceback")
    assert (third.id, *parts(third)) == ("Z", "", None, "", None)


def test_a_table_with_json_columns_is_read(read: Read) -> None:
    def cell(value: Any) -> str:
        return '"' + json.dumps(value).replace('"', '""') + '"'

    inputs, outputs = cell({"id": "X", "messages": CHAT}), cell({"output": "It is 42."})
    records = read(
        f'id,inputs,reference_outputs,outputs\nr,{inputs},{cell({"answer": "ref"})},{outputs}\nr,{inputs},,"{{broken"\n'
    )
    answer, broken = records
    assert isinstance(answer, Answer)
    assert (answer.id, answer.prompt_sha256, answer.text) == ("X", prompt_digest("Where?"), "It is 42.")
    assert isinstance(broken, Malformed)
    assert "outputs is not JSON" in broken.message


def test_examples_are_not_answers(read: Read, read_records: ReadRecords) -> None:
    """The outputs of a dataset are its references; scoring them would mark every row right."""
    ours = {"inputs": {"id": "X", "prompt": "p"}, "outputs": {"answer": "42"}, "metadata": {"id": "X"}}
    for record in (ours, example()):
        with pytest.raises(ScoreError, match="no record with an answer"):
            read_records(record)
    with pytest.raises(ScoreError, match="neither JSON nor a table"):
        read('id,inputs,outputs\nr,"{}","{}"\n')


def test_records_with_a_trace_id_or_outputs_are_still_plain(read: Read, read_records: ReadRecords) -> None:
    assert only(read("id,prediction,outputs\nX,It is 42.,42\n")).text == "It is 42."
    answer = only(read_records({"id": "X", "trace_id": "t", "inputs": {"prompt": "p"}, "prediction": "It is 42."}))
    assert (answer.id, answer.text) == ("X", "It is 42.")
