"""Reads columns of scored rows as codes into their distinct values, and scores as numbers with a mask."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

    from niah_score.statistics.cluster_sums import Codes, Floats


class Factor(NamedTuple):
    """A column: its distinct `values`, sorted, null last, and each row's index into them (`codes`)."""

    values: list[Any]
    codes: Codes


def merged(values: Sequence[Any], codes: Codes) -> Factor:
    """A factor from codes into `values`, which need not be sorted or distinct."""
    import numpy as np

    known = sorted({value for value in values if value is not None}, key=_rank)
    distinct = [*known, None] if None in values else known
    place = {value: number for number, value in enumerate(distinct)}
    table = np.array([place[value] for value in values], smallest(len(distinct)))
    return _used(distinct, table[codes])


def _rank(value: Any) -> Any:
    """The sort key of a value: itself; of a list, its items with None last."""
    return [(item is None, item or False) for item in value] if isinstance(value, tuple) else value


def _used(values: list[Any], codes: Codes) -> Factor:
    """A factor without the values that no row has."""
    import numpy as np

    is_used = np.bincount(codes, minlength=len(values)) > 0
    if is_used.all():
        return Factor(values, codes)
    table = (np.cumsum(is_used) - 1).astype(smallest(len(values)))
    return Factor([value for value, used in zip(values, is_used.tolist(), strict=True) if used], table[codes])


def smallest(count: int) -> type[np.unsignedinteger[Any]]:
    """The smallest unsigned type for codes from 0 up to and including `count`."""
    import numpy as np

    return np.uint8 if count < 256 else np.uint16 if count < 65_536 else np.uint32


def factor_of(column: pl.Series) -> Factor:
    """A column as sorted values and codes."""
    import numpy as np
    import polars as pl

    if column.dtype == pl.List:
        places: dict[Any, int] = {}
        lists = [None if items is None else tuple(items) for items in column.to_list()]
        list_codes = [places.setdefault(items, len(places)) for items in lists]
        return merged(list(places), np.array(list_codes, np.uint32))
    values = column.unique().drop_nulls().sort()
    if column.dtype == pl.String:
        codes = column.cast(pl.Enum(values)).to_physical()
    elif column.dtype == pl.Null:
        codes = column.cast(pl.Int64)
    else:
        codes = pl.Series(np.searchsorted(values.to_numpy(), column.fill_null(0).to_numpy()))
        codes = pl.select(pl.when(column.is_not_null()).then(codes)).to_series()
    distinct = values.to_list()
    filled: Codes = codes.cast(pl.UInt32).fill_null(len(distinct)).to_numpy().astype(smallest(len(distinct) + 1))
    return Factor([*distinct, None] if column.null_count() else distinct, filled)


def numbers_of(column: pl.Series) -> tuple[Floats, NDArray[np.bool_]]:
    """The numbers of a column, 0 where it is null, and a mask of the rows that are not null."""
    import polars as pl

    column = column.cast(pl.Float64)
    if column.is_nan().any():
        column = column.fill_nan(None)
    return column.fill_null(0.0).to_numpy(), column.is_not_null().to_numpy()
