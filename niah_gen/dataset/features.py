"""Describes the columns of rows as the features that `datasets` reads from a card's YAML.

JSONL files need them: a column without values in the first file would be taken for a null column, and text in a later
file would be refused. Parquet files carry their own types.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa


def features(schema: pa.Schema) -> list[dict[str, Any]]:
    """The columns of an Arrow schema as `dataset_info.features` lists them."""
    return [{"name": column.name, **_feature(column.type)} for column in schema]


def _feature(kind: pa.DataType) -> dict[str, Any]:
    import pyarrow.types as kinds

    if kinds.is_list(kind):
        if kinds.is_struct(kind.value_type):
            return {"list": features(kind.value_type)}
        inner = _feature(kind.value_type)
        return {"list": inner.get("dtype", inner)}
    if kinds.is_struct(kind):
        return {"struct": features(kind)}
    # Arrow's names of the types that `datasets` names differently.
    return {"dtype": {"double": "float64", "large_string": "string"}.get(str(kind), str(kind))}
