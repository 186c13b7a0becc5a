"""Holds the columns of scored rows: as a frame, or, for very large runs, as codes into the distinct values.

Scores are shares of small numbers and coordinates are few, so a row of a large run takes a byte or two per column.
Columns are decoded when they are asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

    from niah_score.statistics.cluster_sums import Codes, Floats

# A column with more distinct values than this is held as numbers.
_MOST_VALUES = 65_535


class Factor(NamedTuple):
    """A column: its distinct `values`, sorted, null last, and each row's index into them (`codes`)."""

    values: list[Any]
    codes: Codes


class FrameColumns:
    """The columns of a frame."""

    def __init__(self, frame: pl.DataFrame) -> None:
        self.frame = frame
        self.height = frame.height
        self.kinds: dict[str, pl.DataType] = dict(frame.schema)

    def numbers_among_all(self, rows: pl.Series) -> pl.Series:
        """Never called: a frame's rows are all in memory, so nothing needs to find them by number."""
        raise AssertionError("only rows in a file have numbers among all")

    def filter(self, which: pl.Series) -> FrameColumns:
        """Some of the rows."""
        return FrameColumns(self.frame.filter(which))

    def column(self, name: str) -> pl.Series:
        """The values of a column."""
        return self.frame[name]

    def factor(self, name: str) -> Factor:
        """A column as sorted values and codes."""
        return _factor(self.frame[name])

    def numbers(self, name: str) -> tuple[Floats, NDArray[np.bool_]]:
        """The numbers of a column, 0 where it is null, and a mask of the rows that are not null."""
        return _numbers(self.frame[name])

    def mapped(self, name: str, change: Callable[[pl.Series], pl.Series]) -> FrameColumns:
        """The same columns, one of them with `change` applied to its numbers."""
        return FrameColumns(self.frame.with_columns(change(self.frame[name]).alias(name)))


class CodedColumns:
    """Columns as sorted values and codes, or as numbers where they have too many distinct values.

    `which`: the indices of the selected rows among those held; None for all of them.
    """

    def __init__(
        self, kinds: dict[str, pl.DataType], held: dict[str, Factor | Floats], height: int, which: Any = None
    ) -> None:
        self.kinds, self._held, self._which = kinds, held, which
        self.height = height if which is None else len(which)

    @property
    def frame(self) -> pl.DataFrame:
        """All columns, decoded."""
        import polars as pl

        return pl.DataFrame([self.column(name) for name in self.kinds])

    def numbers_among_all(self, rows: pl.Series) -> pl.Series:
        """The indices of some of these rows among all the rows held."""
        import polars as pl

        return rows if self._which is None else pl.Series(self._which[rows.to_numpy()])

    def filter(self, which: pl.Series) -> CodedColumns:
        """Some of the rows."""
        import numpy as np

        rows = np.flatnonzero(which.fill_null(False).to_numpy())
        rows = rows if self._which is None else self._which[rows]
        return CodedColumns(self.kinds, self._held, len(rows), rows)

    def _of(self, values: NDArray[Any]) -> NDArray[Any]:
        return values if self._which is None else values[self._which]

    def column(self, name: str) -> pl.Series:
        """The values of a column."""
        import numpy as np
        import polars as pl

        held = self._held[name]
        if not isinstance(held, Factor):
            numbers = pl.Series(name, self._of(held))
            return numbers.fill_nan(None).cast(self.kinds[name])
        values = pl.Series(name, held.values, dtype=self.kinds[name])
        return values.gather(pl.Series(self._of(held.codes).astype(np.uint32)))

    def factor(self, name: str) -> Factor:
        """A column as sorted values and codes."""
        held = self._held[name]
        if not isinstance(held, Factor):
            return _factor(self.column(name))
        return held if self._which is None else _used(held.values, self._of(held.codes))

    def numbers(self, name: str) -> tuple[Floats, NDArray[np.bool_]]:
        """The numbers of a column, 0 where it is null, and a mask of the rows that are not null."""
        import numpy as np

        held = self._held[name]
        if not isinstance(held, Factor):
            numbers = self._of(held)
            is_known = ~np.isnan(numbers)
            return np.where(is_known, numbers, 0.0), is_known
        is_number = np.array([value is not None for value in held.values], np.bool_)
        values = np.array([0.0 if value is None else value for value in held.values], np.float64)
        codes = self._of(held.codes)
        return values[codes], is_number[codes]

    def mapped(self, name: str, change: Callable[[pl.Series], pl.Series]) -> CodedColumns:
        """The same columns, one of them with `change` applied to its numbers."""
        import numpy as np
        import polars as pl

        held = self._held[name]
        if isinstance(held, Factor):
            changed = change(pl.Series(name, held.values, dtype=self.kinds[name]))
            new: Factor | Floats = merged(changed.to_list(), held.codes)
        else:
            changed = change(pl.Series(name, held).fill_nan(None))
            new = changed.cast(pl.Float64).fill_null(np.nan).to_numpy()
        kinds = {**self.kinds, name: changed.dtype}
        return CodedColumns(kinds, {**self._held, name: new}, self.height, self._which)


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


def _factor(column: pl.Series) -> Factor:
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


def _numbers(column: pl.Series) -> tuple[Floats, NDArray[np.bool_]]:
    import polars as pl

    column = column.cast(pl.Float64)
    if column.is_nan().any():
        column = column.fill_nan(None)
    return column.fill_null(0.0).to_numpy(), column.is_not_null().to_numpy()


class ColumnCoder:
    """Encodes frames given one after another, `rows` rows in total, as coded columns.

    `kinds`: the columns to keep.
    """

    def __init__(self, kinds: dict[str, pl.DataType], rows: int) -> None:
        self.kinds, self._rows, self._end = kinds, rows, 0
        self._columns = {name: _Coder(rows) for name in kinds}

    def add(self, frame: pl.DataFrame) -> None:
        """Add the next rows; a column that the frame lacks is null in them."""
        import polars as pl

        for name, coder in self._columns.items():
            if name in frame.columns:
                coder.add(frame[name], self._end)
            else:
                coder.add(pl.repeat(None, frame.height, dtype=self.kinds[name], eager=True), self._end)
        self._end += frame.height

    def end(self) -> CodedColumns:
        """The columns of all rows."""
        if self._end != self._rows:
            raise AssertionError(f"expected {self._rows} rows, got {self._end}")
        return CodedColumns(self.kinds, {name: coder.end() for name, coder in self._columns.items()}, self._rows)


class _Coder:
    """One column: the values seen so far, and each row's code among them."""

    def __init__(self, rows: int) -> None:
        import numpy as np

        self._codes: NDArray[Any] = np.zeros(rows, np.uint8)
        self._places: dict[Any, int] = {}
        self._numbers: Floats | None = None

    def add(self, column: pl.Series, start: int) -> None:
        import numpy as np
        import polars as pl

        if column.dtype.is_float():
            column = column.fill_nan(None)
        end = start + len(column)
        if self._numbers is not None:
            self._numbers[start:end] = column.cast(pl.Float64).fill_null(np.nan).to_numpy()
            return
        values = column.unique()
        distinct = values.to_list()
        keys = [tuple(value) if isinstance(value, list) else value for value in distinct]
        places = [self._places.setdefault(key, len(self._places)) for key in keys]
        if column.dtype.is_float() and len(self._places) > _MOST_VALUES:
            known = np.array([np.nan if value is None else value for value in self._places], np.float64)
            self._numbers = known[self._codes]
            self._codes, self._places = np.zeros(0, np.uint8), {}
            self.add(column, start)
            return
        kind = smallest(len(self._places))
        if kind != self._codes.dtype:
            self._codes = self._codes.astype(kind)
        if len(distinct) == 1:
            self._codes[start:end] = places[0]
            return
        table = pl.DataFrame({"value": values, "code": pl.Series(places, dtype=pl.UInt32)})
        coded = column.alias("value").to_frame().join(
            table, on="value", how="left", nulls_equal=True, maintain_order="left"
        )  # fmt: skip
        self._codes[start:end] = coded["code"].to_numpy()

    def end(self) -> Factor | Floats:
        if self._numbers is not None:
            return self._numbers
        if not self._places:
            return Factor([], self._codes)
        return merged(list(self._places), self._codes)
