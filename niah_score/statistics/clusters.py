"""Groups rows into clusters by needle and haystack, and computes how far the groups' means may lie from the truth.

The variance of a mean is cluster-robust, V = V(needles) + V(haystacks) - V(needle and haystack), at least either of the
first two and at least what independent rows would have (Cameron, Gelbach and Miller, JBES 29, 2011). Each V is the sum
of the squared sums of residuals in a cluster, over n^2, times what makes it unbiased: k / (k - 1) for k needles with as
many rows each. Haystacks belong to a length, which nobody draws at random: their residuals are taken from the mean of
their length (stratum), else a score that falls with the length would look like haystacks that differ.

Needles have k - 1 degrees of freedom, k being the number of needles with as many rows each that would tell as much:
1 / sum of squared shares of rows (Kish). Where haystacks are fewer, both come together by Satterthwaite's formula
(Biometrics Bulletin 2, 1946), between the two and never above those of needles.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from niah_score.statistics.cluster_sums import combinations_of, distinct, wide

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from niah_score.statistics.cluster_sums import Codes, Floats, Whole


class Spread(NamedTuple):
    """The means of groups and how far they may be off; item g of each array belongs to group g.

    `n`: rows. `variance`: the cluster-robust one of the mean, `rows_variance`: that of independent rows, `df`: degrees
    of freedom of the former. `needles`: how many there are; `even_needles`, `even_rows`: how many of equal weight would
    tell as much. `haystack_df`: haystacks less the strata that they are spread over. `unnamed`: whether no row says its
    needle.
    """

    n: Whole
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
    """Groups of rows with their clusters, computed once for all values of these rows.

    `groups`, `needles`, `haystacks` and `strata` are codes from 0, item i of each belongs to row i; `count`: of the
    groups. Needles from code `named` on are rows that do not say which needle they have, each a needle of its own.
    `weights`: what a row counts in its group's mean. The attributes are those of a spread that no value changes.
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
        self._groups, self._weights = groups, weights
        self.n: Whole = np.bincount(groups, minlength=count)
        if not len(groups):
            return
        self._combined = found = combinations_of(groups, count, needles, haystacks)
        self._strata, self._stratum = self._stratified(strata)
        known = groups if named is None else groups[needles < named]
        self.unnamed: NDArray[np.bool_] = np.bincount(known, minlength=count) == 0
        self._weight = self._sum(groups, np.ones(len(groups)), count)
        whole = np.where(self.n > 0, self._weight, 1.0)
        squares = self._sum(groups, np.ones(len(groups)) if weights is None else weights, count)
        self.even_rows: Floats = np.where(self.n > 0, whole * whole / np.where(squares > 0, squares, 1.0), 0.0)
        self.needles: Whole = np.bincount(found.group_of_needle, minlength=count)
        shares = self._sum(found.needle[found.place], np.ones(len(groups)), len(found.group_of_needle))
        shares /= whole[found.group_of_needle]
        second, third = (np.bincount(found.group_of_needle, shares**power, minlength=count) for power in (2, 3))
        self.even_needles: Floats = np.where(self.n > 0, 1 / np.where(second > 0, second, 1.0), 0.0)
        # The expectation of the sum of squared residuals, where needles differ by chance and rows do not.
        expected = second - 2 * third + second * second
        several = self.needles > 1
        self._needle_scale = np.where(several, second / np.where(several, expected, 1.0), 0.0)
        parts = self._parts()
        haystacks_of = np.bincount(found.group_of_haystack, minlength=count)
        self.haystack_df: Whole = np.maximum(haystacks_of - parts, 0)
        self._haystack_scale = _unbiased(haystacks_of, parts)
        self._both_scale = _unbiased(np.bincount(found.group, minlength=count), parts)

    def spread(self, values: Floats) -> Spread:
        """The means of some values and how far they may be off; there is one row at least."""
        import numpy as np

        found, some = self._combined, self.n > 0
        whole = np.where(some, self._weight, 1.0)
        mean = self._sum(self._groups, values, self.count) / whole
        residuals = self._weighted(values - mean[self._groups])
        rows = np.bincount(self._groups, residuals * residuals, minlength=self.count)
        rows_variance = rows / (whole * whole) * _unbiased(self.n, np.minimum(self.n, 1))
        by_combination: Floats = np.bincount(found.place, residuals).astype(np.float64, copy=False)
        needles = self._squares(by_combination, found.needle, found.group_of_needle) * self._needle_scale
        if self._strata:
            of_strata = self._sum(self._stratum, values, self._strata)
            of_strata /= self._sum(self._stratum, np.ones(len(values)), self._strata)
            residuals = self._weighted(values - of_strata[self._stratum])
            by_combination = np.bincount(found.place, residuals).astype(np.float64, copy=False)
        haystacks = self._squares(by_combination, found.haystack, found.group_of_haystack) * self._haystack_scale
        both = np.bincount(found.group, by_combination * by_combination, minlength=self.count) * self._both_scale
        clustered = np.maximum(np.maximum(needles, haystacks), needles + haystacks - both)
        variance = np.maximum(clustered / (whole * whole), rows_variance)
        df = self._degrees(needles, haystacks, clustered)
        return Spread(
            self.n, mean, variance, rows_variance, df, self.needles, self.even_needles, self.even_rows,
            self.haystack_df, self.unnamed,
        )  # fmt: skip

    def _degrees(self, needles: Floats, haystacks: Floats, both: Floats) -> Floats:
        """Degrees of freedom, from the variances of needles, of haystacks, and of both together."""
        import numpy as np

        of_needles = np.maximum(self.even_needles - 1, 1.0)
        fewer = (self.haystack_df > 0) & (self.haystack_df < of_needles)
        of_haystacks = np.where(fewer, self.haystack_df, 1.0)
        noise = needles * needles / of_needles + haystacks * haystacks / of_haystacks
        together = np.where(noise > 0, both * both / np.where(noise > 0, noise, 1.0), of_needles)
        found: Floats = np.where(fewer, np.clip(together, of_haystacks, of_needles), of_needles)
        return found

    def _weighted(self, values: Floats) -> Floats:
        return values if self._weights is None else values * self._weights

    def _sum(self, codes: Codes, values: Floats, count: int) -> Floats:
        """The sums of weighted values by some codes."""
        import numpy as np

        return np.bincount(codes, self._weighted(values), minlength=count).astype(np.float64, copy=False)

    def _squares(self, by_combination: Floats, cluster: Codes, group: Whole) -> Floats:
        """The sum of the squared sums of every group's clusters."""
        import numpy as np

        within = np.bincount(cluster, by_combination, minlength=len(group))
        found: Floats = np.bincount(group, within * within, minlength=self.count).astype(np.float64, copy=False)
        return found

    def _stratified(self, strata: Codes | None) -> tuple[int, Codes]:
        """How many strata the groups have, and the stratum of each row; none where all rows of a group share one."""
        import numpy as np

        if strata is None:
            return 0, np.zeros(0, np.int64)
        size = int(strata.max()) + 1
        found, stratum = distinct(wide(self._groups, size, strata), self.count * size)
        self._group_of_stratum = found // size
        return (0 if len(found) == np.count_nonzero(self.n) else len(found)), stratum

    def _parts(self) -> Whole:
        """Over how many strata the haystacks of each group are spread; one where a haystack is in several of them."""
        import numpy as np

        one = np.minimum(self.n, 1)
        if not self._strata:
            return one
        found = self._combined
        haystack = found.haystack[found.place]
        pairs, _ = distinct(wide(haystack, self._strata, self._stratum), len(found.group_of_haystack) * self._strata)
        in_strata = np.bincount(found.group_of_haystack[pairs // self._strata], minlength=self.count)
        nested = in_strata == np.bincount(found.group_of_haystack, minlength=self.count)
        return np.where(nested, np.bincount(self._group_of_stratum, minlength=self.count), one)


def _unbiased(clusters: Whole, means: Whole) -> Floats:
    """k / (k - m) for k clusters whose residuals are taken from m means; 0 where nothing is left of them."""
    import numpy as np

    left = clusters - means
    found: Floats = np.where(left > 0, clusters / np.where(left > 0, left, 1), 0.0)
    return found
