"""Prepares scored rows for counting: sorted by id, coordinates as codes, scores as numbers.

A coordinate that a row does not have is null, and makes a group of its own. Everything is in the order of the ids, so
that no figure depends on the order of the rows that are given.

Where a dataset gives its parts weights, a row counts as much as the weight of its part over the part's rows that have a
score. So the mean of all rows is the weighted mean of the parts' means, and every other mean over several parts weighs
rows in the same way. Rows of a part of weight 0 count in no such mean.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from niah_score.contract import DRAW_SUFFIX
from niah_score.errors import ScoreError
from niah_score.statistics.cluster_sums import distinct
from niah_score.statistics.columns import CodedColumns, Factor, FrameColumns, merged, smallest

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

    from niah_score.statistics.cluster_sums import Codes, Floats

# The statuses of rows that have no answer to judge.
UNANSWERED = ("missing", "error", "empty")


class Needles(NamedTuple):
    """The needle of each row, as a code; `named`: codes from there on are rows that do not say their needle."""

    codes: Codes
    named: int


class Scored:
    """A scored frame, one line a row, in the order of its ids, with its coordinates as codes.

    All functions of this room take a frame or one of these; for several figures of one frame, make this once.
    `weights`: of the parts, by name, relative to each other; None where every row counts the same.
    Raises ScoreError where an id stands in several lines.
    """

    def __init__(self, scores: pl.DataFrame | CodedColumns, weights: Mapping[str, float] | None = None) -> None:
        self._columns = scores if isinstance(scores, CodedColumns) else FrameColumns(_by_id(scores))
        self.weights = weights
        self._row_weights: dict[int, Floats | None] = {}
        # The rows that these are cut out of, and which they are.
        self._whole: tuple[Scored, pl.Series] | None = None
        self._factors: dict[str, Factor] = {}
        self._values: dict[str, tuple[Floats, NDArray[np.bool_]]] = {}
        self._has: dict[str, NDArray[np.bool_]] = {}
        self._same: dict[str, str] = {}
        self._crossed: dict[tuple[str, ...], tuple[list[tuple[Any, ...]], Codes]] = {}
        # What `figures` keeps: for the codes of some groups, which are held so that no others get their identity, the
        # figures of each metric.
        self.kept_figures: dict[tuple[int, int], tuple[Codes, dict[str, list[Any]]]] = {}

    @property
    def frame(self) -> pl.DataFrame:
        """All columns as a frame; of very many rows, it is made for this call and takes much memory."""
        return self._columns.frame

    @property
    def height(self) -> int:
        """How many rows there are."""
        return self._columns.height

    @property
    def names(self) -> list[str]:
        """The names of all columns."""
        return list(self._columns.kinds)

    def numbers_among_all(self, rows: pl.Series) -> pl.Series:
        """The numbers that some of the rows have among those that these were cut out of."""
        return self._columns.numbers_among_all(rows)

    def column(self, name: str) -> pl.Series:
        """The values of one column."""
        return self._columns.column(name)

    def table(self, *names: str) -> pl.DataFrame:
        """Some columns as a frame, but those that the rows do not have."""
        import polars as pl

        return pl.DataFrame([self.column(name) for name in names if name in self._columns.kinds])

    def levels(self, name: str) -> Factor:
        """A column of any kind as its different values, the null one last, and codes; draws of needles apart."""
        if name in self._columns.kinds:
            return self._columns.factor(name)
        return Factor([None] if self.height else [], self.together)

    def counts(self, name: str) -> dict[Any, int]:
        """How many rows have each value of a column."""
        import numpy as np

        factor = self.levels(name)
        return dict(zip(factor.values, np.bincount(factor.codes, minlength=len(factor.values)).tolist(), strict=True))

    def where(self, name: str, *values: Any) -> NDArray[np.bool_]:
        """Which rows have one of some values in a column."""
        import numpy as np

        factor = self.levels(name)
        found: NDArray[np.bool_] = np.array([value in values for value in factor.values], np.bool_)[factor.codes]
        return found

    def mapped(self, name: str, change: Callable[[pl.Series], pl.Series]) -> Scored:
        """The same rows with other numbers in a column, each made of the one that is there; all count the same."""
        return _scored_from(self._columns.mapped(name, change), None)

    @cached_property
    def asked(self) -> Scored:
        """The rows that ask what the dataset is about: those that are no control's. No other is in any overall mean."""
        import polars as pl

        which = self.where("control", None)
        return self if which.all() else self.only(pl.Series(which))

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

    @property
    def unweighted(self) -> Scored:
        """The same rows, which all count the same."""
        return self if self.weights is None else _scored_from(self._columns, None)

    def only(self, which: pl.Series) -> Scored:
        """Some of the rows; those of each part that are left share its weight."""
        return _scored_from(self._columns.filter(which), self.weights)

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
            found = self.levels(name)
            if name == "needle_id" and any(value is not None for value in found.values):
                import polars as pl

                kinds = pl.Series(found.values, dtype=pl.String).str.replace(DRAW_SUFFIX, "").to_list()
                found = found if kinds == found.values else merged(kinds, found.codes)
            self._factors[name] = found
        return self._factors[name]

    def crossed(self, *names: str) -> tuple[list[tuple[Any, ...]], Codes]:
        """The combinations of some coordinates that rows have, and each row's among them."""
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
        """The needle of each row, draws of a kind apart; a row that does not say which it has is one of its own."""
        import numpy as np

        factor = self.levels("needle_id")
        named = len(factor.values) - (None in factor.values)
        if named == len(factor.values):
            return Needles(factor.codes, named)
        own = named + np.arange(len(factor.codes))
        return Needles(np.where(factor.codes < named, factor.codes, own), named)

    def values(self, metric: str) -> tuple[Floats, NDArray[np.bool_]]:
        """A metric's scores, and which rows have one; metrics that have one in the same rows share the second array.

        Raises ScoreError where the frame does not have the metric.
        """
        if metric in self._values:
            return self._values[metric]
        if metric not in self._columns.kinds or not self._columns.kinds[metric].is_numeric():
            raise ScoreError(f"{metric!r} is no metric of these scores; they have {', '.join(self.metrics)}")
        values, has = self._columns.numbers(metric)
        if metric not in self._has:
            self._has[metric] = next((theirs for theirs in self._has.values() if _equal(has, theirs)), has)
        has = self._has[metric]
        # Of very many rows they are computed again whenever they are asked for.
        if isinstance(self._columns, FrameColumns):
            self._values[metric] = values, has
        return values, has

    def same_as(self, metric: str) -> str:
        """The first metric that was asked for here whose scores are the same ones."""
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
            name for name, kind in self._columns.kinds.items()
            if kind.is_numeric() and name not in others and "." not in name
        ]  # fmt: skip

    @cached_property
    def unanswered(self) -> NDArray[np.bool_]:
        """Which rows have no answer to judge."""
        return self.where("status", *UNANSWERED)


def _scored_from(columns: FrameColumns | CodedColumns, weights: Mapping[str, float] | None) -> Scored:
    return Scored(columns if isinstance(columns, CodedColumns) else columns.frame, weights)


def _by_id(scores: pl.DataFrame) -> pl.DataFrame:
    """Rows in the order of their ids. Raises ScoreError where an id stands in several."""
    ids = scores["id"]
    if (ids[1:] > ids[:-1]).all():
        return scores
    scores = scores.sort("id")
    again = scores["id"].filter(scores["id"].is_duplicated())
    if len(again):
        raise ScoreError(
            f"id {again[0]!r} stands in several lines of the scores; a figure needs one line a row, so bring "
            "samples together first (--samples mean)"
        )
    return scores


def _equal(one: NDArray[Any], other: NDArray[Any]) -> bool:
    """Whether arrays are equal; most unequal ones differ within the first thousand items."""
    import numpy as np

    return bool(np.array_equal(one[:1000], other[:1000]) and np.array_equal(one, other))


def as_scored(scores: pl.DataFrame | Scored) -> Scored:
    """A frame made ready for counting, if it is not yet."""
    return scores if isinstance(scores, Scored) else Scored(scores)


def crossed(*factors: Factor) -> tuple[list[tuple[Any, ...]], Codes]:
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
    return combinations, codes.astype(smallest(len(combinations)))


def coordinate_text(value: Any) -> str | None:
    """A coordinate as text; numbers without a trailing .0."""
    if value is None or isinstance(value, str):
        return value
    return str(int(value)) if value == int(value) else repr(float(value))
