"""Reads the exports of LangSmith: runs, rows of experiments, examples with their runs, and tables of them.

A table has either one column per field, such as `inputs.prompt` and `outputs.output`, or JSON columns `inputs` and
`outputs`. The `outputs` of an example are its reference, so only a record with a sign of a run holds an answer.
"""

from __future__ import annotations

from typing import Any

from niah_score.formats import fields
from niah_score.formats.batches import choice_completion
from niah_score.formats.plain import FINISH_FIELDS, REASONING_FIELDS, TEXT_FIELDS
from niah_score.formats.record import Completion, Format, Identity, Record, UnreadableError, keys_of

# Fields that a run has and an example does not.
_SIGNS = (
    "run_type", "reference_example_id", "run_id", "trace_id", "reference_outputs", "execution_time", "example_id",
)  # fmt: skip
_INPUTS = ("inputs", "input")
# In the outputs of a run, unlike in other records, `answer` is what the model said.
_TEXTS = (*TEXT_FIELDS, "answer", "content")
_PROMPTS = ("prompt", "messages", "input")


class LangSmith(Format):
    name = "langsmith"
    what = "LangSmith runs and experiments as JSON or JSONL"

    def matches(self, record: Record) -> bool:
        if isinstance(record.get("run"), dict):
            return isinstance(record.get("example"), dict)
        if isinstance(record.get("runs"), list):
            return "dataset_id" in record and isinstance(record.get("inputs"), dict)
        asked = any(isinstance(record.get(part), dict) or _dotted(record, part) for part in _INPUTS)
        answered = "outputs" in record or bool(_dotted(record, "outputs"))
        return asked and answered and fields.field_of(record, _SIGNS) is not None

    def identify(self, record: Record, index: int) -> Identity:
        example = fields.inner(record, "example")
        run = next(iter(_runs(record)), record)
        inputs = _part(run, *_INPUTS) or _part(record, *_INPUTS) or _part(example, *_INPUTS)
        # Never the record's own id, which is the run's.
        sources = [
            inputs, _part(record, "metadata"), _part(example, "metadata"),
            fields.inner(run, "extra.metadata"), _part(run, "outputs"),
        ]  # fmt: skip
        # In a user's own metadata `id` may be something else than a row's.
        names = [source.get("id") for source in sources]
        name = next((str(one) for one in names if one != "" and type(one) in (str, int)), None)
        prompt = fields.first_of(inputs, _PROMPTS)
        # Messages as pandas prints them in a table are ignored.
        chat = isinstance(prompt, str) and prompt.startswith("[{")
        return Identity(name, fields.echoed(fields.json_or_none(prompt) if chat else prompt))

    def completions(self, record: Record) -> list[Completion]:
        return [_completion(run) for run in _runs(record)]


class LangSmithCsv(LangSmith):
    name = "langsmith-csv"
    what = "LangSmith experiments as CSV"
    container = "separated"
    separators = (",",)
    texts = (*(f"outputs.{name}" for name in _TEXTS), "outputs")
    signs = _SIGNS


def _part(record: Record, *names: str) -> dict[str, Any]:
    """A part of a record, such as its inputs: an object, JSON of one, or the fields that begin with its name."""
    for name in names:
        value = record.get(name)
        if isinstance(value, str) and value.startswith("{"):
            value = fields.json_or_none(value)
            if value is None:
                raise UnreadableError(f"{name} is not JSON; expected an object, as LangSmith writes it")
        part = value if isinstance(value, dict) else _dotted(record, name)
        if part:
            return part
    return {}


def _dotted(record: Record, name: str) -> dict[str, Any]:
    start = f"{name}."
    return {key.removeprefix(start): value for key, value in record.items() if key.startswith(start)}


def _runs(record: Record) -> list[Record]:
    """The runs in a record, without those that are steps of another."""
    runs = [record]
    if isinstance(record.get("run"), dict):
        runs = [record["run"]]
    elif isinstance(record.get("runs"), list):
        runs = [fields.as_object(run) for run in record["runs"]]
    return [run for run in runs if not run.get("parent_run_id")]


def _completion(run: Record) -> Completion:
    """What a run says. Raises UnreadableError if its outputs hold no text, unless it failed."""
    error, outputs = fields.error_line(run.get("error")), _part(run, "outputs")
    status = run.get("status")
    if error is None and status in ("error", "pending", "interrupted"):
        error = f"status {status}"
    if not outputs:
        return Completion(None, error=error or "the run has no outputs")
    choice = fields.inner(outputs, "choices.0")
    is_choice = choice and fields.field_of(outputs, _TEXTS) is None
    completion = choice_completion(choice) if is_choice else _of_text(outputs, error is not None)
    return completion if error is None else completion._replace(text=completion.text or None, error=error)


def _of_text(outputs: dict[str, Any], failed: bool) -> Completion:
    names = [name for name in _TEXTS if name in outputs]
    if not names and isinstance(outputs.get("messages"), list):
        names = ["messages"]
    if not names:
        others = [key for key, value in outputs.items() if isinstance(value, str) and key != "id"]
        names = others if len(others) == 1 else []
    if not names and failed:
        return Completion(None)
    if not names:
        raise UnreadableError(
            f"the outputs hold {keys_of(outputs)}; expected the answer in one of {', '.join(_TEXTS)}, or name the "
            "field with --text-field outputs.NAME"
        )
    # A table has the columns of all runs, some of them empty in this one.
    name = next((name for name in names if outputs[name] not in (None, "")), names[0])
    text = outputs[name].get("content") if isinstance(outputs[name], dict) else outputs[name]
    thought = fields.optional_text(fields.first_of(outputs, REASONING_FIELDS))
    ended = fields.finish_of(fields.first_of(outputs, FINISH_FIELDS))
    return Completion(fields.answer_text(text, f"outputs.{name}"), thought, ended)
