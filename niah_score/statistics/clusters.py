"""Groups rows into clusters by needle and haystack, and computes the cluster-robust variance of the groups' means.

V = V(needles) + V(haystacks) - V(needle and haystack), at least either of the first two; each is the sum of the squared
sums of residuals in a cluster times k / (k - 1) / n^2 (Cameron, Gelbach and Miller, JBES 29, 2011).
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from niah_score.statistics.bootstrap import ResampleTables
from niah_score.statistics.cluster_sums import ClusterSums, combine_rows, with_totals

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from niah_score.statistics.cluster_sums import Floats, Whole


class Clusters:
    """Groups of rows with their clusters, computed once for all values of these rows.

    `groups`, `needles` and `haystacks` are codes from 0, item i of each belongs to row i; `count`: of the groups.
    `weights`: what a row counts in its group's mean. `n`: the rows of each group.
    """

    def __init__(
        self, groups: Whole, count: int, needles: Whole, haystacks: Whole, weights: Floats | None = None
    ) -> None:
        import numpy as np

        self.count = count
        self._groups = groups
        self._weights = weights
        self.n: Whole = np.bincount(groups, minlength=count)
        if len(groups):
            self._sums, self._place = combine_rows(groups, count, needles, haystacks, weights)
            self.tables = ResampleTables(self._sums)

    def sums(self, values: Floats) -> ClusterSums:
        """The sums of some values; there is one row at least."""
        return with_totals(self._sums, self._place, values, self._weights)

    def graded(self, values: Floats) -> NDArray[np.bool_]:
        """Which groups have values that are neither right nor wrong."""
        import numpy as np

        found = np.zeros(self.count, np.bool_)
        found[self._groups[(values != 0) & (values != 100)]] = True
        return found

    def variance(self, sums: ClusterSums, mean: Floats, weight: Floats) -> Floats:
        """The cluster-robust variance of every group's mean; `weight`: the sum of each group's weights."""
        import numpy as np

        residuals = sums.total - mean[sums.group] * sums.weight

        def part(cluster: Whole | None, group: Whole, sizes: Whole) -> Floats:
            within = residuals if cluster is None else np.bincount(cluster, residuals, minlength=len(group))
            return np.bincount(group, within * within, minlength=len(mean)) * sizes / np.maximum(sizes - 1, 1)

        one, other, both = (part(*clustering) for clustering in self._clusterings)
        found: Floats = np.maximum(np.maximum(one, other), one + other - both) / (weight * weight)
        return found

    @cached_property
    def _clusterings(self) -> tuple[_Clustering, _Clustering, _Clustering]:
        """The clusters of needles, of haystacks, and of both."""
        import numpy as np

        sums = self._sums
        sizes = np.bincount(sums.group, minlength=self.count)
        return (
            _numbered(sums.group, sums.needle, sums.needles),
            _numbered(sums.group, sums.haystack, sums.haystacks),
            _Clustering(None, sums.group, sizes),
        )


class _Clustering(NamedTuple):
    """For each combination of needle and haystack its cluster (None: its own), for each cluster its group, and the
    number of clusters in every group."""

    cluster: Whole | None
    group: Whole
    sizes: Whole


def _numbered(group: Whole, local: Whole, sizes: Whole) -> _Clustering:
    """Number clusters through that are numbered within their groups."""
    import numpy as np

    return _Clustering((np.cumsum(sizes) - sizes)[group] + local, np.repeat(np.arange(len(sizes)), sizes), sizes)
