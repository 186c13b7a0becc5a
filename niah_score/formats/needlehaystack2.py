"""Reads the results of needlehaystack 2, which have a length, a depth and a seed but neither ids nor prompts."""

from __future__ import annotations

from niah_score.formats.fields import answer_text, as_list, as_object, error_line, optional_text, references
from niah_score.formats.grid_cells import cell_depth, cell_length, model_name, run_number
from niah_score.formats.record import Completion, Coordinates, Format, Identity, Record

_FIELDS = ("model_id", "context_length", "target_depth_percent", "response")


def _matches(record: Record) -> bool:
    return all(name in record for name in _FIELDS)


def _identity(record: Record, index: int) -> Identity:
    placed = as_list(as_object(record.get("recipe")).get("needle_placements"))
    needles = [optional_text(as_object(placement).get("text")) for placement in placed]
    cell = Coordinates(
        cell_length(record, "context_length"),
        cell_depth(record, "target_depth_percent"),
        tuple(needle for needle in needles if needle is not None),
        optional_text(record.get("prompt_question")),
        run_number(record, "seed"),
        model_name(record, "model_id"),
        "needlehaystack2",
    )
    return Identity(reference=references(record.get("expected_answer")), coordinates=cell)


def _completions(record: Record) -> list[Completion]:
    status, text = record.get("status"), answer_text(record.get("response"), "response")
    error = error_line(record.get("error"))
    if error is None and status not in (None, "ok"):
        error = f"status {status!r}"
    return [Completion(text, error=error)]


NEEDLEHAYSTACK2 = Format(
    name="needlehaystack2",
    what="needlehaystack 2 result rows (the store of `niah run`)",
    example=(
        '{"model_id":"m","task_type":"single","context_length":1000,"target_depth_percent":50.0,"recipe":'
        '{"needle_placements":[{"text":"The number is 42."}]},"expected_answer":"42","prompt_question":"...",'
        '"response":"It is 42.","score":{"value":1.0},"status":"ok","error":null,"seed":null}'
    ),
    container="json",
    matches=_matches,
    identify=_identity,
    completions=_completions,
)
