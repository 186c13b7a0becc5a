"""Prepares scored rows for statistics: sorted by id, coordinates as codes, scores as numbers; computes their figures.

A missing coordinate is null, which is a separate group. Rows are sorted by id, so that no figure depends on the order
of the input.

If a dataset weights its parts, a row counts the weight of its part divided by the number of the part's rows that have a
score. The mean of all rows is then the weighted mean of the parts' means, and every other mean over several parts
weights rows in the same way. Rows of a part of weight 0 count in no such mean.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from niah_score.contract import DRAW_SUFFIX
from niah_score.errors import ScoreError
from niah_score.statistics.intervals import (
    Clusters,
    Codes,
    Figure,
    Floats,
    Mask,
    distinct,
    joined,
    means,
    weighted_means,
)

# The statuses of rows that have no answer to judge.
UNANSWERED = ("missing", "error", "empty")


class Factor(NamedTuple):
    """A column: its distinct `values`, sorted, null last, and each row's index into them (`codes`)."""

    values: list[Any]
    codes: Codes


class Scored:
    """A scored frame with one line per row, sorted by id, with its coordinates as codes.

    To compute several figures of a frame, make one once. `weights`: the relative weights of the parts, by name; None if
    every row counts the same.
    Raises ScoreError if an id is on several lines.
    """

    def __init__(self, scores: pl.DataFrame, weights: Mapping[str, float] | None = None) -> None:
        if not scores["id"].is_sorted():
            scores = scores.sort("id")
        again = (scores["id"][1:] == scores["id"][:-1]).arg_true()
        if len(again):
            raise ScoreError(
                f"id {scores['id'][again[0]]!r} is on several lines of the scores; a figure needs one line per row, so "
                "combine samples first (--samples mean)"
            )
        self.frame, self.weights = scores, weights
        # For rows cut out of others: the others, and the mask that cut them.
        self._whole: tuple[Scored, Mask] | None = None
        self._factors: dict[str, Factor] = {}
        self._groups: dict[tuple[str, ...], tuple[list[tuple[Any, ...]], Codes]] = {}
        self._figures: dict[tuple[Any, ...], dict[tuple[Any, ...], Figure]] = {}
        # The clusters of the last groups asked for, by which rows have a score.
        self._clusters: tuple[tuple[str, ...], dict[bytes, tuple[Clusters, Clusters]]] = (), {}

    def column(self, name: str) -> pl.Series:
        """A column; null in every row if the frame lacks it."""
        if name in self.frame.columns:
            return self.frame[name]
        return pl.Series(name, [None], pl.String).new_from_index(0, self.frame.height)

    @cached_property
    def asked(self) -> Scored:
        """The rows that are not controls: the only ones that count in overall means, and that share weights."""
        is_asked = self.column("control").is_null()
        return self if is_asked.all() else Scored(self.frame.filter(is_asked), self.weights)

    @cached_property
    def counted(self) -> Scored:
        """The rows that count in the headline: of those `asked`, the ones in parts with a weight above 0."""
        if self.weights is None:
            return self.asked
        return self.asked.only(self.asked.column("part").is_in([name for name, of in self.weights.items() if of > 0]))

    def only(self, which: pl.Series) -> Scored:
        """Some of the rows, each with the weight that it has among all of them."""
        if which.all():
            return self
        rows = Scored(self.frame.filter(which), self.weights)
        rows._whole = self, which.fill_null(False).to_numpy()
        return rows

    def weight_of(self, part: str | None) -> float:
        """The relative weight of a part; 1 if rows are not weighted."""
        return 1.0 if self.weights is None else self.weights.get(part or "", 0.0)

    def row_weights(self, metric: str) -> Floats | None:
        """The weight of each row in a mean over several parts, on average 1; None if all rows count the same.

        The rows of a part that have a score share its weight equally; rows without a score have weight 0.
        """
        if self._whole is None:
            return self.weights_among(self.values(metric)[1])
        whole, which = self._whole
        each = whole.row_weights(metric)
        return None if each is None or not each[which].any() else each[which]

    def weights_among(self, kept: Mask) -> Floats | None:
        """As `row_weights`, with the rows that are `kept` sharing the weights."""
        part = self.factor("part")
        if self.weights is None or len(part.values) < 2:
            return None
        n = np.bincount(part.codes[kept], minlength=len(part.values))
        weights = np.where(n > 0, [self.weight_of(name) for name in part.values], 0.0)
        if not weights.any():
            return None
        # Divided by the largest first, so that the sum is finite however large the weights are.
        weights /= weights.max()
        return np.where(kept, (weights / weights.sum() * n.sum() / np.maximum(n, 1))[part.codes], 0.0)

    def factor(self, name: str) -> Factor:
        """A column as its distinct values, sorted, null last, and codes.

        Needles drawn from one kind share the kind's name; in the factor `needle` they are apart.
        """

        if name not in self._factors:
            column = self.column("needle_id" if name == "needle" else name)
            if name == "needle_id":
                column = column.str.replace(DRAW_SUFFIX, "")
            values = column.unique().sort(nulls_last=True).to_list()
            ranks = (column.rank("dense") - 1).cast(pl.Int32).fill_null(max(len(values) - 1, 0))
            self._factors[name] = Factor(values, ranks.to_numpy())
        return self._factors[name]

    def groups(self, *names: str) -> tuple[list[tuple[Any, ...]], Codes]:
        """The combinations of some coordinates that occur, sorted, and each row's code among them."""
        if names not in self._groups:
            places: list[tuple[Any, ...]] = [()]
            codes: Codes = np.zeros(self.frame.height, np.int32)
            for factor in map(self.factor, names):
                (before, own), codes = joined(codes, factor.codes)
                pairs = zip(before.tolist(), own.tolist(), strict=True)
                places = [(*places[one], factor.values[other]) for one, other in pairs]
            self._groups[names] = places, codes
        return self._groups[names]

    def values(self, metric: str) -> tuple[Floats, Mask]:
        """A metric's scores, 0 where there is none, and a mask of the rows that have one.

        Raises ScoreError if the frame does not have the metric.
        """

        others = {"length", "depth_percent", "repeat", "sample", "samples", "prompt_tokens", "prompt_tokens_read"}
        kinds = self.frame.schema.items()
        known = [name for name, kind in kinds if kind.is_numeric() and name not in others]
        if metric not in known:
            named = ", ".join(name for name in known if "." not in name)
            raise ScoreError(f"these scores have no metric {metric!r}; they have {named}")
        values = self.frame[metric].cast(pl.Float64).to_numpy()
        has = ~np.isnan(values)
        return np.where(has, values, 0.0), has

    @cached_property
    def unanswered(self) -> Mask:
        """A mask of the rows that have no answer to judge."""
        return self.column("status").is_in(UNANSWERED).to_numpy()

    def clusters(self, group: Codes, count: int, which: Mask, weight: Floats | None = None) -> Clusters:
        """The clusters of some rows. `group`: of each of them; `which`, `weight`: of all rows."""
        values = self.factor("needle").values
        needle, haystack, length = (self.factor(name).codes[which] for name in ("needle", "haystack_id", "length"))
        unnamed = needle == len(values) - 1 if None in values else np.zeros(len(needle), np.bool_)
        # A row that does not say which needle it has is a needle of its own.
        needle = np.where(unnamed, len(values) + np.arange(len(needle)), needle)
        weight = None if weight is None else weight[which]
        return Clusters(group, count, needle, haystack, length, weight, unnamed)

    def figures(self, metric: str, *by: str, even: bool = False) -> dict[tuple[Any, ...], Figure]:
        """A figure of each combination of some coordinates, in order, null last; without coordinates, of all rows.

        `even`: whether every depth of a length counts the same, and every length. Figures are kept, as summaries, cells
        and pictures ask for the same ones. Raises ScoreError if the frame does not have the metric.
        """

        if (metric, even, *by) in self._figures:
            return self._figures[metric, even, *by]
        places, group = self.groups(*by)
        values, has = self.values(metric)
        each = self.row_weights(metric)
        rows, parts = self._in_parts(by, has, self.even_weights(has, each) if even else None, weighted=each is not None)
        found = means(rows, values[has]) if each is None else weighted_means(rows, parts, values[has], each[has])
        counts = (np.bincount(of, minlength=len(places)).tolist() for of in (group, group[self.unanswered]))
        figures = {
            place: one._replace(rows=count, unanswered=silent)
            for place, one, count, silent in zip(places, found, *counts, strict=True)
        }
        self._figures[metric, even, *by] = figures
        return figures

    def even_weights(self, kept: Mask, each: Floats | None) -> Floats:
        """The weight of each row that gives every depth of a length the same share, and every length.

        `kept`: the rows that count; `each`: their own weights.
        """
        places, cell = self.groups("length", "depth_percent")
        n = np.bincount(cell[kept], None if each is None else each[kept], len(places)).tolist()
        depths = Counter(length for (length, _), size in zip(places, n, strict=True) if size)
        weights = [1 / (depths[length] * size) if size else 0.0 for (length, _), size in zip(places, n, strict=True)]
        return np.array(weights, np.float64)[cell]

    def _in_parts(
        self, by: tuple[str, ...], has: Mask, weight: Floats | None, *, weighted: bool
    ) -> tuple[Clusters, Clusters]:
        """The clusters of the rows that have a score: in groups, and if `weighted`, in the parts of the groups."""
        if self._clusters[0] != by:
            self._clusters = by, {}
        known = self._clusters[1]
        key = has.tobytes() + (b"" if weight is None else weight.tobytes())
        if key not in known:
            places, group = self.groups(*by)
            rows = parts = self.clusters(group[has], len(places), has, weight)
            if weighted:
                present, in_parts = distinct(self.groups(*by, "part")[1][has])
                parts = self.clusters(in_parts, len(present), has, weight)
            known[key] = rows, parts
        return known[key]


def coordinate_text(value: Any) -> str | None:
    """A coordinate as text; whole numbers without a trailing .0."""
    if value is None or isinstance(value, str):
        return value
    return str(int(value)) if value == int(value) else repr(float(value))
