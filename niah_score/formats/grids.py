"""Reads the results of systems whose answers have a length and a depth, and neither ids nor prompts."""

from __future__ import annotations

from typing import Any

from niah_score.formats.fields import answer_text, as_list, as_object, error_line, optional_text, references
from niah_score.formats.record import Completion, Coordinates, Format, Identity, Record, UnreadableError, brief

_LONGEST = 10**9  # tokens


def _cell(
    record: Record, fields: tuple[str, str, str], needles: list[str | None], question: str | None, placement: str
) -> Coordinates:
    """The cell of a result; `fields`: those of its depth, run and model. Raises UnreadableError."""
    values: list[Any] = [record.get(field) for field in ("context_length", *fields)]
    length, depth, run, model = values
    is_length = _is_number(length) and 0 < length <= _LONGEST and length == int(length)
    is_run = run is None or (type(run) is int and abs(run) < 2**63)
    if not (is_length and _is_number(depth) and 0 <= depth <= 100 and is_run and isinstance(model, str | None)):
        raise UnreadableError(
            f"context_length, {', '.join(fields)} are {brief(values)}; expected a length in whole tokens, a depth of 0 "
            "to 100 percent, a whole number or null, and the name of a model"
        )
    found = tuple(needle for needle in needles if needle is not None)
    return Coordinates(int(length), float(depth), found, question, run, model or "", placement)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


class Gkamradt(Format):
    name = "gkamradt"
    what = "LLMTest_NeedleInAHaystack results/*_results.json"

    def matches(self, record: Record) -> bool:
        return {"model_response", "context_length", "depth_percent"} <= record.keys()

    def identify(self, record: Record, index: int) -> Identity:
        needles = [optional_text(record.get("needle"))]
        return Identity(coordinates=_cell(record, ("depth_percent", "version", "model"), needles, None, self.name))

    def completions(self, record: Record) -> list[Completion]:
        return [Completion(answer_text(record.get("model_response"), "model_response"))]


class NeedleHaystack2(Format):
    name = "needlehaystack2"
    what = "needlehaystack 2 result rows (the store of `niah run`)"

    def matches(self, record: Record) -> bool:
        return {"model_id", "context_length", "target_depth_percent", "response"} <= record.keys()

    def identify(self, record: Record, index: int) -> Identity:
        placed = as_list(as_object(record.get("recipe")).get("needle_placements"))
        needles = [optional_text(as_object(placement).get("text")) for placement in placed]
        question = optional_text(record.get("prompt_question"))
        cell = _cell(record, ("target_depth_percent", "seed", "model_id"), needles, question, self.name)
        return Identity(reference=references(record.get("expected_answer")), coordinates=cell)

    def completions(self, record: Record) -> list[Completion]:
        status, error = record.get("status"), error_line(record.get("error"))
        if error is None and status not in (None, "ok"):
            error = f"status {status!r}"
        return [Completion(answer_text(record.get("response"), "response"), error=error)]
