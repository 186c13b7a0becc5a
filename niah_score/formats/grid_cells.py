"""Reads the coordinates of results from systems that have cells of a grid instead of ids."""

from __future__ import annotations

import math

from niah_score.formats.record import Record, UnreadableError, brief

_LONGEST = 10**9  # tokens


def cell_length(record: Record, field: str) -> int:
    """A length in whole tokens. Raises UnreadableError."""
    value = record.get(field)
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value <= _LONGEST and value == int(value):
        return int(value)
    raise UnreadableError(f"{field} is {brief(value)}; expected a length in whole tokens")


def cell_depth(record: Record, field: str) -> float:
    """A depth in percent. Raises UnreadableError."""
    value = record.get(field)
    if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and 0 <= value <= 100:
        return float(value)
    raise UnreadableError(f"{field} is {brief(value)}; expected a depth of 0 to 100 percent")


def run_number(record: Record, field: str) -> int | None:
    """The number that tells repeated runs of one cell apart, None if there is none. Raises UnreadableError."""
    value = record.get(field)
    if value is None or (isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63):
        return value
    raise UnreadableError(f"{field} is {brief(value)}; expected a whole number, or null")


def model_name(record: Record, field: str) -> str:
    """The model that produced a result; empty if it is missing. Raises UnreadableError."""
    value = record.get(field)
    if value is None or isinstance(value, str):
        return value or ""
    raise UnreadableError(f"{field} is {brief(value)}; expected the name of a model, as text")
