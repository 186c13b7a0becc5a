"""Reads the results of LLMTest_NeedleInAHaystack, which have a length and a depth but no ids."""

from __future__ import annotations

from niah_score.formats.fields import answer_text, optional_text
from niah_score.formats.grid_cells import cell_depth, cell_length, model_name, run_number
from niah_score.formats.record import Completion, Coordinates, Format, Identity, Record


def _matches(record: Record) -> bool:
    return "model_response" in record and "context_length" in record and "depth_percent" in record


def _identity(record: Record, index: int) -> Identity:
    needle = optional_text(record.get("needle"))
    cell = Coordinates(
        cell_length(record, "context_length"),
        cell_depth(record, "depth_percent"),
        () if needle is None else (needle,),
        None,
        run_number(record, "version"),
        model_name(record, "model"),
        "gkamradt",
    )
    return Identity(coordinates=cell)


def _completions(record: Record) -> list[Completion]:
    return [Completion(answer_text(record.get("model_response"), "model_response"))]


GKAMRADT = Format(
    name="gkamradt",
    what="LLMTest_NeedleInAHaystack results/*_results.json",
    example=(
        '{"model":"m","context_length":1000,"depth_percent":50.0,"version":1,"needle":"The number is 42.",'
        '"model_response":"It is 42.","score":10}'
    ),
    container="json",
    matches=_matches,
    identify=_identity,
    completions=_completions,
)
