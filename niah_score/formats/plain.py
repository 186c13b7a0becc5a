"""Reads records that people write themselves: an id, a text, and anything else under its usual name."""

from __future__ import annotations

from niah_score.formats import fields, usage
from niah_score.formats.record import Completion, Container, Format, Identity, Record, UnreadableError

# The first of these in a record counts. Never answer, answers, target, gold or outputs: those are references.
ID_FIELDS = ("id", "custom_id", "sample_id", "key", "uid", "idx")
TEXT_FIELDS = (
    "prediction", "pred", "completion", "response", "output", "generated_text", "generation", "text",
    "predicted_answer",
)  # fmt: skip
FINISH_FIELDS = ("finish_reason", "stop_reason")
REASONING_FIELDS = ("reasoning", "reasoning_content")
# What says that the model had no tools.
_NO_TOOLS = ("", "0", "[]", "{}", "false", "no", "none", "null")
# Used only if nothing but the order identifies the row.
_REFERENCE_FIELDS = ("answers", "answer", "outputs", "target", "gold")


class Plain(Format):
    name = "plain"
    what = "JSONL or a JSON array with an id (or the prompt) and a text"

    def matches(self, record: Record) -> bool:
        answered = _has_text(record) or fields.error_line(record.get("error")) is not None
        return answered and _has_identity(record)

    def identify(self, record: Record, index: int) -> Identity:
        name = fields.field_of(record, ID_FIELDS)
        epoch = fields.epoch_number(record.get("epoch"), "epoch")
        sample = fields.whole_number(record.get("sample"), "sample", epoch)
        prompt = fields.echoed(record.get("prompt"))
        tools = None if str(record.get("tools", "")).strip().lower() in _NO_TOOLS else True
        return Identity(
            None if name is None else fields.id_text(record[name], name), prompt, sample=sample, tools=tools
        )

    def completions(self, record: Record) -> list[Completion]:
        error = fields.error_line(record.get("error"))
        name = fields.field_of(record, TEXT_FIELDS)
        if name is None and error is None:
            raise UnreadableError(
                f"the record has no field with the answer's text; expected one of {', '.join(TEXT_FIELDS)}, or name it "
                "with --text-field"
            )
        text = fields.answer_text(record.get(name), name) if name else None
        text = text if text or error is None else None
        finish = fields.first_of(record, FINISH_FIELDS)
        reasoning = fields.optional_text(fields.first_of(record, REASONING_FIELDS))
        return [Completion(text, reasoning, fields.finish_of(finish), error or fields.failure_of(finish))]


def _has_text(record: Record) -> bool:
    name = fields.field_of(record, TEXT_FIELDS)
    # An object means that another stack has wrapped its answer.
    return name is not None and not isinstance(record[name], dict)


def _has_identity(record: Record) -> bool:
    return fields.field_of(record, (*ID_FIELDS, "prompt")) is not None


class Ordered(Plain):
    name = "ordered"
    what = "JSONL or a JSON array with a text and no id: its order is the dataset's"

    def matches(self, record: Record) -> bool:
        return _has_text(record)

    def identify(self, record: Record, index: int) -> Identity:
        identity = super().identify(record, index)
        if _has_identity(record):
            return identity
        reference = fields.references(fields.first_of(record, _REFERENCE_FIELDS))
        return identity._replace(position=index, reference=reference)


class Parquet(Ordered):
    """Tables without a column of ids or prompts are in the dataset's order."""

    name = "parquet"
    what = "Parquet with a column of ids and one of texts"
    container: Container = "parquet"
    texts: tuple[str, ...] = (*TEXT_FIELDS, "error")
    read = (ID_FIELDS, TEXT_FIELDS, ("prompt",), ("error",), FINISH_FIELDS, REASONING_FIELDS,
            ("sample", "epoch"), ("tools",), usage.COLUMNS, (usage.OF_ROW,))  # fmt: skip


class Csv(Parquet):
    name = "csv"
    what = "CSV with a header, comma or semicolon"
    container = "separated"
    separators: tuple[str, ...] = (",", ";")
    texts = TEXT_FIELDS

    def identify(self, record: Record, index: int) -> Identity:
        """In a table of texts, a chat can only be JSON, or some program's print-out of it, which is not compared."""
        prompt = record.get("prompt")
        if isinstance(prompt, str) and prompt.startswith("[{"):
            record = {**record, "prompt": fields.json_or_none(prompt)}
        return super().identify(record, index)


class Tsv(Csv):
    name = "tsv"
    what = "the same with tabs"
    separators = ("\t",)
