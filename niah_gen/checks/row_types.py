"""Checks that a value is a row: that it has every column, of the right type, and no other."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from niah_gen.haystacks.proof import shown
from niah_score.contract import COLUMNS, SCHEMA_VERSION, PromptForm, Truth, canonical_json, row_schema, sha256_hex

if TYPE_CHECKING:
    import pyarrow as pa

_SURROGATE = re.compile("[\ud800-\udfff]")


class ColumnKind(NamedTuple):
    """What a column may hold; `name` says it in words."""

    arrow: pa.DataType
    nullable: bool
    name: str


def column_kinds(form: PromptForm) -> dict[str, ColumnKind]:
    """What each column of a row may hold."""
    schema = row_schema(form)
    kinds = {
        name: ColumnKind(schema.field(name).type, annotation.endswith("| None"), annotation)
        for name, annotation in ((name, _spelled(kind)) for name, kind in Truth.__annotations__.items())
    }
    kinds["prompt"] = ColumnKind(schema.field("prompt").type, False, "str" if form == "text" else "list[Message]")
    return kinds


def _spelled(annotation: object) -> str:
    return str(getattr(annotation, "__forward_arg__", annotation))


def wrong_types(value: object, kinds: Mapping[str, ColumnKind]) -> Iterator[str]:
    """A sentence for each column that is missing, of another type, or unknown."""
    if not isinstance(value, dict):
        yield f"the row is {shown(value)}, expected an object"
        return
    for name in COLUMNS:
        if name not in value:
            yield f"column {name} is missing"
        elif not (value[name] is None and kinds[name].nullable) and not _fits(value[name], kinds[name].arrow):
            yield f"{name} is {shown(value[name])}, expected {kinds[name].name}"
    for name in value:
        if name not in kinds:
            yield f"column {shown(name)} is not one of schema version {SCHEMA_VERSION}"


def _fits(value: Any, kind: pa.DataType) -> bool:
    """Whether a value is of an Arrow type of the contract. Numbers must be finite, texts encodable."""
    import pyarrow.types as kinds

    if kinds.is_list(kind):
        return isinstance(value, list) and all(_fits(item, kind.value_type) for item in value)
    if kinds.is_struct(kind):
        wanted = {field.name: field.type for field in kind}
        return (
            isinstance(value, dict)
            and value.keys() == wanted.keys()
            and all(_fits(value[name], wanted[name]) for name in wanted)
        )
    if kinds.is_integer(kind):
        most = 1 << (kind.bit_width - 1)
        return isinstance(value, int) and not isinstance(value, bool) and -most <= value < most
    if kinds.is_floating(kind):
        return isinstance(value, float) and math.isfinite(value)
    return isinstance(value, str) and (value.isascii() or not _SURROGATE.search(value))


def digest_of(value: object) -> str:
    """`row_digest` of whatever a file holds as a row; empty if it has none."""
    try:
        return sha256_hex(canonical_json(value))
    # Half a surrogate pair; a type that JSON does not have; brackets nested too deeply.
    except (ValueError, TypeError, RecursionError):
        return ""
