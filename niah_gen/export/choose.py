"""Chooses which rows of a dataset to export, by coordinates or every n-th, and in which order."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from typing import Any

from niah_gen.checks.show import COORDINATES, NONE, fits, spelled
from niah_gen.errors import NiahError, suggestion
from niah_gen.export.base import IndexedRow
from niah_gen.fields import WrongValueError
from niah_gen.recipe.values import parse_tokens
from niah_score.contract import sha256_hex

_EVERY = "every"
# The coordinates of which a sample should keep every value.
_AXES = ("part", "language", "length", "depth", "control")


def read_conditions(words: Sequence[str]) -> dict[str, tuple[Any, ...]]:
    """The values of each coordinate that match, of `NAME=VALUE[,VALUE ...]` words; for `every`, one number.

    Raises NiahError.
    """
    conditions: dict[str, tuple[Any, ...]] = {}
    for word in words:
        name, equals, text = word.partition("=")
        if name not in (*COORDINATES, _EVERY):
            raise NiahError(f"--subset {word!r}: {name!r} is unknown{suggestion(name, (*COORDINATES, _EVERY))}")
        values = [value.strip() for value in text.split(",")]
        if not equals or not all(values):
            raise NiahError(f"--subset {word!r}: expected NAME=VALUE or NAME=VALUE,VALUE, such as length=8k,16k")
        if name in conditions:
            raise NiahError(f"--subset {word!r}: {name} is given twice; give its values in one, with commas")
        try:
            conditions[name] = tuple(_READ.get(name, str)(value) for value in values)
        except ValueError as error:
            why = error if isinstance(error, WrongValueError) else f"expected {_NUMBERS[name]}"
            raise NiahError(f"--subset {word!r}: {why}") from None
        if name == _EVERY and (len(values) > 1 or conditions[name][0] < 1):
            raise NiahError(f"--subset {word!r}: expected one number of at least 1, such as every=10")
    return conditions


_READ: Mapping[str, Callable[[str], Any]] = {"length": parse_tokens, "depth": float, "repeat": int, _EVERY: int}
_NUMBERS = {"depth": "depths in percent", "repeat": "repeats, from 0", _EVERY: "a whole number of at least 1"}


def subset(rows: Sequence[IndexedRow], conditions: Mapping[str, Sequence[Any]]) -> tuple[list[IndexedRow], list[str]]:
    """The rows that meet all conditions, in their order; of those every n-th, from the first.

    And a sentence for each axis that lost values because only every n-th row was taken. Raises NiahError for a value
    that no row has, and if no row meets all conditions.
    """
    kept = list(rows)
    asked = {name: values for name, values in conditions.items() if name != _EVERY}
    (step,) = conditions.get(_EVERY, (1,))
    for name, values in asked.items():
        for value in values:
            if not any(fits(getattr(row, name), value) for row in rows):
                raise NiahError(f"--subset {name}={spelled(value)}: no row has it; there are {_known(rows, name)}")
        kept = [row for row in kept if any(fits(getattr(row, name), value) for value in values)]
    if not kept:
        words = " and ".join(f"{name}={','.join(map(spelled, values))}" for name, values in conditions.items())
        raise NiahError(f"--subset: no row has {words} at once")
    sampled = kept[::step]
    return sampled, _lost(kept, sampled, step)


def _known(rows: Sequence[IndexedRow], name: str) -> str:
    values = dict.fromkeys(getattr(row, name) for row in rows)
    ordered = sorted(
        values, key=lambda value: (value is None, isinstance(value, str), value if value is not None else 0)
    )
    return ", ".join(map(spelled, ordered)) or NONE


def _lost(before: Sequence[IndexedRow], after: Sequence[IndexedRow], step: int) -> list[str]:
    """What every n-th row loses: a grid is regular, so each of them may have the same depth."""
    sentences = []
    for name in _AXES:
        had = {getattr(row, name) for row in before}
        kept = {getattr(row, name) for row in after}
        if kept != had:
            sentences.append(
                f"every={step} keeps {len(kept)} of {len(had)} values of {name} ({_known(after, name)}); another "
                "number may keep more"
            )
    return sentences


def _prefix(rows: Sequence[IndexedRow]) -> list[IndexedRow]:
    """Rows of one haystack together, the deepest first needle first: that row holds all that the others share."""
    haystacks: dict[Any, list[IndexedRow]] = {}
    for row in rows:
        haystacks.setdefault(row.haystack_id or ("alone", row.id), []).append(row)
    return [row for group in haystacks.values() for row in sorted(group, key=attrgetter("undisturbed"), reverse=True)]


def _shuffled(rows: Sequence[IndexedRow]) -> list[IndexedRow]:
    """Sorted by the digest of the id: neighbours have nothing in common, and the order is the same everywhere."""
    return sorted(rows, key=lambda row: sha256_hex(row.id.encode()))


ORDERS: dict[str, Callable[[Sequence[IndexedRow]], list[IndexedRow]]] = {
    "as-is": list,
    "prefix": _prefix,
    "shuffled": _shuffled,
}


def shared_percent(rows: Sequence[IndexedRow]) -> float:
    """The percentage of prompt tokens that repeat the beginning of the previous row over the same haystack.

    This is the most that a prefix cache of one haystack can save in this order: for each such row, the filler before
    the needles of both. The text before the haystack is not counted.
    """
    repeated = total = 0.0
    before: IndexedRow | None = None
    for row in rows:
        total += row.prompt_tokens
        if before is not None and row.haystack_id is not None and row.haystack_id == before.haystack_id:
            shared = min(row.undisturbed, before.undisturbed)
            repeated += row.haystack_tokens * shared / 100
        before = row
    return 100 * repeated / total if total else 0.0
