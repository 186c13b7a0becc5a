"""Groups rows into clusters by needle and haystack, and computes the variance of the groups' means.

The variance of a mean is cluster-robust: V = V(needles) + V(haystacks) - V(needle and haystack), but no less than
either of the first two and no less than for independent rows (Cameron, Gelbach and Miller, JBES 29, 2011). Each V is
the sum over clusters of the squared sum of residuals, over n^2, times a factor that makes it unbiased: k / (k - 1) for
k needles with equally many rows. A haystack belongs to one length, and lengths are not drawn at random, so haystack
residuals are taken from the mean of their length (stratum); otherwise a score that falls with the length would look
like differences between haystacks.

Needles have k - 1 degrees of freedom, where k is the effective number of needles: 1 / sum of squared shares of rows
(Kish). Where haystacks have fewer, the two are combined by Satterthwaite's formula (Biometrics Bulletin 2, 1946); the
result lies between them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from niah_score.statistics.cluster_sums import combinations_of, distinct, wide

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from niah_score.statistics.cluster_sums import Codes, Floats, Whole


class Spread(NamedTuple):
    """The means of groups and their variances; item g of each array belongs to group g.

    `n`: rows; `weighing`: those with a weight above 0. `variance`: the cluster-robust variance of the mean, with `df`
    degrees of freedom; `rows_variance`: the variance if rows were independent. `needles`: their number; `even_needles`,
    `even_rows`: the effective numbers of needles and rows. `haystack_df`: haystacks minus the strata they are spread
    over. `unnamed`: whether no row says which needle it has.
    """

    n: Whole
    weighing: Whole
    mean: Floats
    variance: Floats
    rows_variance: Floats
    df: Floats
    needles: Whole
    even_needles: Floats
    even_rows: Floats
    haystack_df: Whole
    unnamed: NDArray[np.bool_]


class Clusters:
    """Groups of rows with their clusters, computed once for all metrics of these rows.

    `groups`, `needles`, `haystacks` and `strata` are codes from 0; item i of each belongs to row i. `count`: the number
    of groups. Needle codes from `named` on belong to rows that do not name their needle; each counts as a separate
    needle. `weights`: the weight of each row in its group's mean; rows of weight 0 count in `n` alone, unless the whole
    group weighs 0: then its rows weigh the same. The public attributes are the fields of `Spread` that do not depend on
    the values.
    """

    def __init__(
        self,
        groups: Codes,
        count: int,
        needles: Codes,
        haystacks: Codes,
        weights: Floats | None = None,
        *,
        strata: Codes | None = None,
        named: int | None = None,
    ) -> None:
        import numpy as np

        self.count = count
        self.n: Whole = np.bincount(groups, minlength=count)
        if not len(groups):
            return
        self._kept: Whole | None = None
        if weights is not None and not weights.all():
            weights = np.where(np.bincount(groups, weights)[groups] > 0, weights, 1.0)
            self._kept = kept = np.flatnonzero(weights)
            groups, needles, haystacks = groups[kept], needles[kept], haystacks[kept]
            weights, strata = weights[kept], None if strata is None else strata[kept]
        self._groups, self._weights = groups, weights
        self.weighing: Whole = np.bincount(groups, minlength=count)
        self._combined = combined = combinations_of(groups, count, needles, haystacks)
        self._strata, self._stratum = self._stratified(strata)
        known = groups if named is None else groups[needles < named]
        self.unnamed: NDArray[np.bool_] = np.bincount(known, minlength=count) == 0
        self._weight = self._sum(groups, np.ones(len(groups)), count)
        total = np.where(self.n > 0, self._weight, 1.0)
        squares = self._sum(groups, np.ones(len(groups)) if weights is None else weights, count)
        self.even_rows: Floats = np.where(self.n > 0, total * total / np.where(squares > 0, squares, 1.0), 0.0)
        self.needles: Whole = np.bincount(combined.group_of_needle, minlength=count)
        shares = self._sum(combined.needle[combined.place], np.ones(len(groups)), len(combined.group_of_needle))
        shares /= total[combined.group_of_needle]
        second, third = (np.bincount(combined.group_of_needle, shares**power, minlength=count) for power in (2, 3))
        self.even_needles: Floats = np.where(self.n > 0, 1 / np.where(second > 0, second, 1.0), 0.0)
        # The expected sum of squared residuals if only needles, not rows, vary by chance.
        expected = second - 2 * third + second * second
        several = (self.needles > 1) & (expected > 0)
        self._needle_scale = np.where(several, second / np.where(several, expected, 1.0), 0.0)
        parts = self._parts()
        haystacks_of = np.bincount(combined.group_of_haystack, minlength=count)
        self.haystack_df: Whole = np.maximum(haystacks_of - parts, 0)
        self._haystack_scale = _unbiased(haystacks_of, parts)
        self._both_scale = _unbiased(np.bincount(combined.group, minlength=count), parts)

    def spread(self, values: Floats) -> Spread:
        """The means of some values and their variances, for at least one row."""
        import numpy as np

        combined = self._combined
        if self._kept is not None:
            values = values[self._kept]
        total = np.where(self.n > 0, self._weight, 1.0)
        mean = self._sum(self._groups, values, self.count) / total
        residuals = self._weighted(values - mean[self._groups])
        rows = np.bincount(self._groups, residuals * residuals, minlength=self.count)
        rows_variance = rows / (total * total) * _unbiased(self.weighing, np.minimum(self.weighing, 1))
        by_combination: Floats = np.bincount(combined.place, residuals).astype(np.float64, copy=False)
        needles = self._squares(by_combination, combined.needle, combined.group_of_needle) * self._needle_scale
        if self._strata:
            of_strata = self._sum(self._stratum, values, self._strata)
            of_strata /= self._sum(self._stratum, np.ones(len(values)), self._strata)
            residuals = self._weighted(values - of_strata[self._stratum])
            by_combination = np.bincount(combined.place, residuals).astype(np.float64, copy=False)
        haystacks = self._squares(by_combination, combined.haystack, combined.group_of_haystack) * self._haystack_scale
        both = np.bincount(combined.group, by_combination * by_combination, minlength=self.count) * self._both_scale
        clustered = np.maximum(np.maximum(needles, haystacks), needles + haystacks - both)
        variance = np.maximum(clustered / (total * total), rows_variance)
        # Where the sums of clusters are all 0, their squares are mere rounding errors: only rows differ.
        differ = clustered > 1e-12 * rows
        df = self._degrees(needles, haystacks, clustered, differ)
        return Spread(
            self.n, self.weighing, mean, variance, rows_variance, df, self.needles, self.even_needles, self.even_rows,
            self.haystack_df, self.unnamed,
        )  # fmt: skip

    def _degrees(self, needles: Floats, haystacks: Floats, both: Floats, differ: NDArray[np.bool_]) -> Floats:
        """Degrees of freedom, from the variances of needles, of haystacks, and of both together.

        `differ`: whether clusters differ at all; otherwise the degrees of freedom are those of needles.
        """
        import numpy as np

        of_needles = np.maximum(self.even_needles - 1, 1.0)
        fewer = (self.haystack_df > 0) & (self.haystack_df < of_needles)
        of_haystacks = np.where(fewer, self.haystack_df, 1.0)
        noise = needles * needles / of_needles + haystacks * haystacks / of_haystacks
        together = np.where(differ, both * both / np.where(differ, noise, 1.0), of_needles)
        df: Floats = np.where(fewer, np.clip(together, of_haystacks, of_needles), of_needles)
        return df

    def _weighted(self, values: Floats) -> Floats:
        return values if self._weights is None else values * self._weights

    def _sum(self, codes: Codes, values: Floats, count: int) -> Floats:
        """The sums of weighted values by some codes."""
        import numpy as np

        return np.bincount(codes, self._weighted(values), minlength=count).astype(np.float64, copy=False)

    def _squares(self, by_combination: Floats, cluster: Codes, group: Whole) -> Floats:
        """For each group, the sum over its clusters of the squared sum of their values."""
        import numpy as np

        within = np.bincount(cluster, by_combination, minlength=len(group))
        squares: Floats = np.bincount(group, within * within, minlength=self.count).astype(np.float64, copy=False)
        return squares

    def _stratified(self, strata: Codes | None) -> tuple[int, Codes]:
        """The number of strata in all groups and the stratum of each row; 0 if no group has more than one."""
        import numpy as np

        if strata is None:
            return 0, np.zeros(0, np.int64)
        size = int(strata.max()) + 1
        present, stratum = distinct(wide(self._groups, size, strata), self.count * size)
        self._group_of_stratum = present // size
        return (0 if len(present) == np.count_nonzero(self.n) else len(present)), stratum

    def _parts(self) -> Whole:
        """The number of strata that each group's haystacks are nested in; 1 if any haystack is in several."""
        import numpy as np

        one = np.minimum(self.n, 1)
        if not self._strata:
            return one
        combined = self._combined
        haystack = combined.haystack[combined.place]
        pairs, _ = distinct(wide(haystack, self._strata, self._stratum), len(combined.group_of_haystack) * self._strata)
        in_strata = np.bincount(combined.group_of_haystack[pairs // self._strata], minlength=self.count)
        nested = in_strata == np.bincount(combined.group_of_haystack, minlength=self.count)
        return np.where(nested, np.bincount(self._group_of_stratum, minlength=self.count), one)


def _unbiased(clusters: Whole, means: Whole) -> Floats:
    """k / (k - m) for k clusters whose residuals are taken from m means; 0 where k - m is 0."""
    import numpy as np

    left = clusters - means
    scale: Floats = np.where(left > 0, clusters / np.where(left > 0, left, 1), 0.0)
    return scale
