"""Prepares scored rows for statistics: sorted by id, coordinates as codes, scores as numbers.

A missing coordinate is null, which is a separate group. Rows are sorted by id, so that no figure depends on the order
of the input.

If a dataset weights its parts, a row counts the weight of its part divided by the number of the part's rows that have a
score. The mean of all rows is then the weighted mean of the parts' means, and every other mean over several parts
weights rows in the same way. Rows of a part of weight 0 count in no such mean.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from niah_score.contract import DRAW_SUFFIX
from niah_score.errors import ScoreError
from niah_score.statistics.cluster_sums import distinct
from niah_score.statistics.columns import Factor, factor_of, merged, numbers_of, smallest

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

    from niah_score.statistics.cluster_sums import Codes, Floats

# The statuses of rows that have no answer to judge.
UNANSWERED = ("missing", "error", "empty")


class Needles(NamedTuple):
    """The needle of each row, as a code; codes from `named` on are rows that do not say which needle they have."""

    codes: Codes
    named: int


class Scored:
    """A scored frame with one line per row, sorted by id, with its coordinates as codes.

    The functions of this room take a frame or one of these; to compute several figures of a frame, make one once.
    `weights`: the relative weights of the parts, by name; None if every row counts the same.
    Raises ScoreError if an id is on several lines.
    """

    def __init__(self, scores: pl.DataFrame, weights: Mapping[str, float] | None = None) -> None:
        self.frame = _by_id(scores)
        self.weights = weights
        self._row_weights: dict[int, Floats | None] = {}
        # For rows cut out of others: the others, and the mask that cut them.
        self._whole: tuple[Scored, pl.Series] | None = None
        self._factors: dict[str, Factor] = {}
        self._values: dict[str, tuple[Floats, NDArray[np.bool_]]] = {}
        self._has: dict[str, NDArray[np.bool_]] = {}
        self._same: dict[str, str] = {}
        self._crossed: dict[tuple[str, ...], tuple[list[tuple[Any, ...]], Codes]] = {}
        # The cache of `figures`: by the identity of a code array and its group count, the figures of each metric. The
        # array is kept too, so that no other can take over its identity.
        self.kept_figures: dict[tuple[int, int], tuple[Codes, dict[str, list[Any]]]] = {}

    @property
    def height(self) -> int:
        """How many rows there are."""
        return self.frame.height

    @property
    def names(self) -> list[str]:
        """The names of all columns."""
        return self.frame.columns

    def table(self, *names: str) -> pl.DataFrame:
        """Those of some columns that the rows have, as a frame."""
        return self.frame.select(name for name in names if name in self.frame.columns)

    def levels(self, name: str) -> Factor:
        """Any column as its distinct values, null last, and codes; draws of one kind of needle stay distinct."""
        if name in self.frame.columns:
            return factor_of(self.frame[name])
        return Factor([None] if self.height else [], self.together)

    def counts(self, name: str) -> dict[Any, int]:
        """How many rows have each value of a column."""
        import numpy as np

        factor = self.levels(name)
        return dict(zip(factor.values, np.bincount(factor.codes, minlength=len(factor.values)).tolist(), strict=True))

    def where(self, name: str, *values: Any) -> NDArray[np.bool_]:
        """A mask of the rows that have one of some values in a column."""
        import numpy as np

        factor = self.levels(name)
        mask: NDArray[np.bool_] = np.array([value in values for value in factor.values], np.bool_)[factor.codes]
        return mask

    def mapped(self, name: str, change: Callable[[pl.Series], pl.Series]) -> Scored:
        """The same rows, unweighted, with `change` applied to the numbers of a column."""
        return Scored(self.frame.with_columns(change(self.frame[name]).alias(name)))

    @cached_property
    def asked(self) -> Scored:
        """The rows that are not controls: the only ones that count in overall means."""
        import polars as pl

        which = self.where("control", None)
        return self if which.all() else self.only(pl.Series(which))

    @cached_property
    def counted(self) -> Scored:
        """The rows that count in the headline: of those `asked`, the ones in parts with a weight above 0."""
        part = self.asked.factor("part")
        counts = [self.weight_of(name) > 0 for name in part.values]
        if all(counts):
            return self.asked
        import numpy as np
        import polars as pl

        return self.asked.only(pl.Series(np.array(counts)[part.codes], dtype=pl.Boolean))

    @property
    def unweighted(self) -> Scored:
        """The same rows without weights."""
        return self if self.weights is None else Scored(self.frame)

    def only(self, which: pl.Series) -> Scored:
        """Some of the rows; those that remain of each part share its whole weight."""
        return Scored(self.frame.filter(which), self.weights)

    def cut_to(self, which: pl.Series) -> Scored:
        """Some of the rows, each with the weight that it has among all of them."""
        rows = self.only(which)
        rows._whole = self, which
        return rows

    def weight_of(self, part: str | None) -> float:
        """The relative weight of a part; 1 if rows are not weighted."""
        if self.weights is None:
            return 1.0
        return 0.0 if part is None else self.weights.get(part, 0.0)

    def row_weights(self, metric: str) -> Floats | None:
        """The weight of each row in a mean over several parts, on average 1; None if all rows count the same.

        The rows of a part that have a score share its weight equally; rows without a score have weight 0.
        """
        import numpy as np

        has = self.values(metric)[1]
        if id(has) not in self._row_weights:
            weights = self.weights_among(has)
            if weights is not None and self._whole is not None:
                whole, which = self._whole
                whole_weights = whole.row_weights(metric)
                if whole_weights is not None:
                    weights = whole_weights[which.to_numpy()]
                    weights *= np.count_nonzero(has) / (weights.sum() or 1.0)
            self._row_weights[id(has)] = weights
        return self._row_weights[id(has)]

    def weights_among(self, kept: NDArray[np.bool_]) -> Floats | None:
        """As `row_weights`, with the rows that are `kept` sharing the weights."""
        import numpy as np

        part = self.factor("part")
        if self.weights is None or len(part.values) < 2:
            return None
        n = np.bincount(part.codes[kept], minlength=len(part.values))
        weights = np.array([self.weight_of(name) for name in part.values])
        weights = np.where(n > 0, weights, 0.0)
        # Divided by the largest first, so that the sum is finite however large the weights are.
        weights /= max(float(weights.max()), np.finfo(np.float64).tiny)
        if not weights.any():
            return None
        each = weights / weights.sum() * np.count_nonzero(kept) / np.maximum(n, 1)
        return np.where(kept, each[part.codes], 0.0)

    def factor(self, name: str) -> Factor:
        """A coordinate as sorted values and codes; null in every row if the frame lacks it.

        Needles drawn from one kind share the kind's name here.
        """
        if name not in self._factors:
            factor = self.levels(name)
            if name == "needle_id" and any(value is not None for value in factor.values):
                import polars as pl

                kinds = pl.Series(factor.values, dtype=pl.String).str.replace(DRAW_SUFFIX, "").to_list()
                factor = factor if kinds == factor.values else merged(kinds, factor.codes)
            self._factors[name] = factor
        return self._factors[name]

    def crossed(self, *names: str) -> tuple[list[tuple[Any, ...]], Codes]:
        """The combinations of some coordinates that occur, and each row's code among them."""
        if names not in self._crossed:
            self._crossed[names] = crossed(*(self.factor(name) for name in names))
        return self._crossed[names]

    @cached_property
    def together(self) -> Codes:
        """The codes of all rows as one group."""
        import numpy as np

        return np.zeros(self.height, np.uint8)

    @cached_property
    def needles(self) -> Needles:
        """The needle of each row; draws of one kind are distinct, and so is each row that does not name its needle."""
        import numpy as np

        factor = self.levels("needle_id")
        named = len(factor.values) - (None in factor.values)
        if named == len(factor.values):
            return Needles(factor.codes, named)
        own = named + np.arange(len(factor.codes))
        return Needles(np.where(factor.codes < named, factor.codes, own), named)

    def values(self, metric: str) -> tuple[Floats, NDArray[np.bool_]]:
        """A metric's scores, and a mask of the rows that have one; metrics with equal masks share one array.

        Raises ScoreError if the frame does not have the metric.
        """
        if metric in self._values:
            return self._values[metric]
        if metric not in self.frame.columns or not self.frame.schema[metric].is_numeric():
            raise ScoreError(f"these scores have no metric {metric!r}; they have {', '.join(self.metrics)}")
        values, has = numbers_of(self.frame[metric])
        if metric not in self._has:
            self._has[metric] = next((theirs for theirs in self._has.values() if _equal(has, theirs)), has)
        has = self._has[metric]
        self._values[metric] = values, has
        return values, has

    def same_as(self, metric: str) -> str:
        """The first metric passed to this method that has the same scores."""
        if metric not in self._same:
            values, has = self.values(metric)
            others = (name for name in dict.fromkeys(self._same.values()) if self._has[name] is has)
            self._same[metric] = next((name for name in others if _equal(self.values(name)[0], values)), metric)
        return self._same[metric]

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
        """A mask of the rows that have no answer to judge."""
        return self.where("status", *UNANSWERED)


def _by_id(scores: pl.DataFrame) -> pl.DataFrame:
    """The rows sorted by id. Raises ScoreError if several have the same id."""
    ids = scores["id"]
    if (ids[1:] > ids[:-1]).all():
        return scores
    scores = scores.sort("id")
    again = scores["id"].filter(scores["id"].is_duplicated())
    if len(again):
        raise ScoreError(
            f"id {again[0]!r} is on several lines of the scores; a figure needs one line per row, so combine samples "
            "first (--samples mean)"
        )
    return scores


def _equal(one: NDArray[Any], other: NDArray[Any]) -> bool:
    """Whether arrays are equal; most unequal ones differ within the first thousand items."""
    import numpy as np

    return bool(np.array_equal(one[:1000], other[:1000]) and np.array_equal(one, other))


def as_scored(scores: pl.DataFrame | Scored) -> Scored:
    """The scores as `Scored`, if they are not already."""
    return scores if isinstance(scores, Scored) else Scored(scores)


def crossed(*factors: Factor) -> tuple[list[tuple[Any, ...]], Codes]:
    """The combinations of coordinates that occur, sorted, and each row's code among them."""
    import numpy as np

    keys = np.zeros(len(factors[0].codes), np.int64)
    for factor in factors:
        keys = keys * max(len(factor.values), 1) + factor.codes
    if not len(keys):
        return [], keys
    present, codes = distinct(keys, math.prod(max(len(factor.values), 1) for factor in factors))
    combinations = []
    for key in present.tolist():
        places = []
        for factor in reversed(factors):
            key, place = divmod(key, len(factor.values))
            places.append(factor.values[place])
        combinations.append(tuple(reversed(places)))
    return combinations, codes.astype(smallest(len(combinations)))


def coordinate_text(value: Any) -> str | None:
    """A coordinate as text; whole numbers without a trailing .0."""
    if value is None or isinstance(value, str):
        return value
    return str(int(value)) if value == int(value) else repr(float(value))
