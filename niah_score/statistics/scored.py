"""Prepares scored rows for counting: sorted by id, coordinates as codes, scores as numbers.

A coordinate that a row does not have is null, and makes a group of its own. Everything is in the order of the ids, so
that no figure depends on the order of the rows that are given.

Where a dataset gives its parts weights, a row counts as much as the weight of its part over the part's rows that have a
score. So the mean of all rows is the weighted mean of the parts' means, and every other mean over several parts weighs
rows in the same way. Rows of a part of weight 0 count in no such mean.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from niah_score.contract import DRAW_SUFFIX
from niah_score.errors import ScoreError
from niah_score.statistics.cluster_sums import distinct

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

    from niah_score.statistics.cluster_sums import Floats, Whole

# The statuses of rows that have no answer to judge.
UNANSWERED = ("missing", "error", "empty")


class Factor(NamedTuple):
    """A coordinate of all rows: its `values`, sorted, null last, and for each row the index of its own."""

    values: list[Any]
    codes: Whole


class Needles(NamedTuple):
    """The needle of each row, as a code; `named`: codes from there on are rows that do not say their needle."""

    codes: Whole
    named: int


class Scored:
    """A scored frame, one line a row, in the order of its ids, with its coordinates as codes.

    All functions of this room take a frame or one of these; for several figures of one frame, make this once.
    `weights`: of the parts, by name, relative to each other; None where every row counts the same.
    Raises ScoreError where an id stands in several lines.
    """

    def __init__(self, scores: pl.DataFrame, weights: Mapping[str, float] | None = None) -> None:
        ids = scores["id"]
        if not (ids[1:] > ids[:-1]).all():
            scores = scores.sort("id")
            again = scores["id"].filter(scores["id"].is_duplicated())
            if len(again):
                raise ScoreError(
                    f"id {again[0]!r} stands in several lines of the scores; a figure needs one line a row, so bring "
                    "samples together first (--samples mean)"
                )
        self.frame = scores
        self.weights = weights
        self._row_weights: dict[int, Floats | None] = {}
        # The rows that these are cut out of, and which they are.
        self._whole: tuple[Scored, pl.Series] | None = None
        self._factors: dict[str, Factor] = {}
        self._values: dict[str, tuple[Floats, NDArray[np.bool_]]] = {}
        self._crossed: dict[tuple[str, ...], tuple[list[tuple[Any, ...]], Whole]] = {}
        # What `figures` keeps: for the codes of some groups, which are held so that no others get their identity, the
        # figures of each metric.
        self.kept_figures: dict[tuple[int, int], tuple[Whole, dict[str, list[Any]]]] = {}

    @cached_property
    def asked(self) -> Scored:
        """The rows that ask what the dataset is about: those that are no control's. No other is in any overall mean."""
        if "control" not in self.frame.columns or self.frame["control"].null_count() == self.frame.height:
            return self
        return self.only(self.frame["control"].is_null())

    @cached_property
    def counted(self) -> Scored:
        """The asked rows that count in the headline: those of parts whose weight is above 0."""
        part = self.asked.factor("part")
        counts = [self.weight_of(name) > 0 for name in part.values]
        if all(counts):
            return self.asked
        import numpy as np
        import polars as pl

        return self.asked.only(pl.Series(np.array(counts)[part.codes], dtype=pl.Boolean))

    def only(self, which: pl.Series) -> Scored:
        """Some of the rows; those of each part that are left share its weight."""
        return Scored(self.frame.filter(which), self.weights)

    def cut_to(self, which: pl.Series) -> Scored:
        """Some of the rows; each counts what it counts among all."""
        found = self.only(which)
        found._whole = self, which
        return found

    def weight_of(self, part: str | None) -> float:
        """The weight of a part, relative to the others; 1 where every row counts the same."""
        if self.weights is None:
            return 1.0
        return 0.0 if part is None else self.weights.get(part, 0.0)

    def row_weights(self, metric: str) -> Floats | None:
        """What each row counts in a mean over several parts, on average 1; None where all rows count the same.

        The rows of a part share its weight, as many as have a score; rows without one count 0.
        """
        import numpy as np

        has = self.values(metric)[1]
        if id(has) not in self._row_weights:
            found = self.weights_among(has)
            if found is not None and self._whole is not None:
                whole, which = self._whole
                weights = whole.row_weights(metric)
                if weights is not None:
                    found = weights[which.to_numpy()]
                    found *= np.count_nonzero(has) / (found.sum() or 1.0)
            self._row_weights[id(has)] = found
        return self._row_weights[id(has)]

    def weights_among(self, kept: NDArray[np.bool_]) -> Floats | None:
        """As `row_weights`, where those of some rows that are `kept` share the weights."""
        import numpy as np

        part = self.factor("part")
        if self.weights is None or len(part.values) < 2:
            return None
        n = np.bincount(part.codes[kept], minlength=len(part.values))
        weights = np.array([self.weight_of(name) for name in part.values])
        weights = np.where(n > 0, weights, 0.0)
        # Divided by the largest first: the sum of weights of any size is finite.
        weights /= max(float(weights.max()), np.finfo(np.float64).tiny)
        if not weights.any():
            return None
        each = weights / weights.sum() * np.count_nonzero(kept) / np.maximum(n, 1)
        return np.where(kept, each[part.codes], 0.0)

    def factor(self, name: str) -> Factor:
        """A coordinate as sorted values and codes; one that the frame does not have is null in every row.

        Needles that are draws of one kind have the kind's name here.
        """
        if name not in self._factors:
            import polars as pl

            column = self.frame[name] if name in self.frame.columns else self._nothing
            if name == "needle_id":
                column = column.cast(pl.String).str.replace(DRAW_SUFFIX, "")
            self._factors[name] = _factor(column)
        return self._factors[name]

    def crossed(self, *names: str) -> tuple[list[tuple[Any, ...]], Whole]:
        """The combinations of some coordinates that rows have, and each row's among them."""
        if names not in self._crossed:
            self._crossed[names] = crossed(*(self.factor(name) for name in names))
        return self._crossed[names]

    @cached_property
    def together(self) -> Whole:
        """The codes of all rows as one group."""
        import numpy as np

        return np.zeros(self.frame.height, np.int64)

    @property
    def _nothing(self) -> pl.Series:
        import polars as pl

        return pl.repeat(None, self.frame.height, dtype=pl.String, eager=True)

    @cached_property
    def needles(self) -> Needles:
        """The needle of each row, draws of a kind apart; a row that does not say which it has is one of its own."""
        import numpy as np

        factor = _factor(self.frame["needle_id"] if "needle_id" in self.frame.columns else self._nothing)
        named = len(factor.values) - (None in factor.values)
        own = named + np.arange(len(factor.codes))
        return Needles(np.where(factor.codes < named, factor.codes, own), named)

    def values(self, metric: str) -> tuple[Floats, NDArray[np.bool_]]:
        """A metric's scores, and which rows have one; metrics with equal scores share their arrays.

        Raises ScoreError where the frame does not have the metric.
        """
        if metric not in self._values:
            if metric not in self.frame.columns or not self.frame[metric].dtype.is_numeric():
                raise ScoreError(f"{metric!r} is no metric of these scores; they have {', '.join(self.metrics)}")
            values, has = _numbers(self.frame[metric])
            for others, theirs in self._values.values():
                has = theirs if _equal(has, theirs) else has
                values = others if has is theirs and _equal(values, others) else values
            self._values[metric] = values, has
        return self._values[metric]

    @property
    def metrics(self) -> list[str]:
        """The columns that hold scores."""
        others = {"length", "depth_percent", "repeat", "sample", "samples"}
        return [
            name for name, kind in self.frame.schema.items()
            if kind.is_numeric() and name not in others and "." not in name
        ]  # fmt: skip

    @cached_property
    def unanswered(self) -> NDArray[np.bool_]:
        """Which rows have no answer to judge."""
        return self.frame["status"].is_in(UNANSWERED).to_numpy()


def _numbers(column: pl.Series) -> tuple[Floats, NDArray[np.bool_]]:
    """The numbers of a column, 0 where there is none, and where there is one."""
    import polars as pl

    column = column.cast(pl.Float64)
    if column.is_nan().any():
        column = column.fill_nan(None)
    return column.fill_null(0.0).to_numpy(), column.is_not_null().to_numpy()


def _equal(one: NDArray[Any], other: NDArray[Any]) -> bool:
    """Whether arrays are equal; most unequal ones differ within the first thousand items."""
    import numpy as np

    return bool(np.array_equal(one[:1000], other[:1000]) and np.array_equal(one, other))


def _factor(column: pl.Series) -> Factor:
    import numpy as np
    import polars as pl

    values = column.unique().drop_nulls().sort()
    if column.dtype == pl.String:
        codes = column.cast(pl.Enum(values)).to_physical()
    elif column.dtype == pl.Null:
        codes = column.cast(pl.Int64)
    else:
        codes = pl.Series(np.searchsorted(values.to_numpy(), column.fill_null(0).to_numpy()))
        codes = pl.select(pl.when(column.is_not_null()).then(codes)).to_series()
    listed = values.to_list()
    found: Whole = codes.cast(pl.Int64).fill_null(len(listed)).to_numpy()
    return Factor([*listed, None] if column.null_count() else listed, found)


def as_scored(scores: pl.DataFrame | Scored) -> Scored:
    """A frame made ready for counting, if it is not yet."""
    return scores if isinstance(scores, Scored) else Scored(scores)


def crossed(*factors: Factor) -> tuple[list[tuple[Any, ...]], Whole]:
    """The combinations of coordinates that rows have, sorted, and each row's index among them."""
    import numpy as np

    keys = np.zeros(len(factors[0].codes), np.int64)
    for factor in factors:
        keys = keys * max(len(factor.values), 1) + factor.codes
    if not len(keys):
        return [], keys
    found, codes = distinct(keys, math.prod(max(len(factor.values), 1) for factor in factors))
    combinations = []
    for key in found.tolist():
        places = []
        for factor in reversed(factors):
            key, place = divmod(key, len(factor.values))
            places.append(factor.values[place])
        combinations.append(tuple(reversed(places)))
    return combinations, codes


def coordinate_text(value: Any) -> str | None:
    """A coordinate as text; numbers without a trailing .0."""
    if value is None or isinstance(value, str):
        return value
    return str(int(value)) if value == int(value) else repr(float(value))
