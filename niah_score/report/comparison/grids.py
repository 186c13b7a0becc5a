"""Makes the grids of a comparison: the scores of each run, and the differences of each to the first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from niah_score.report.charts.grid import Grid, grid_of, has_grid
from niah_score.statistics.common_rows import CommonRows
from niah_score.statistics.figures import Figure
from niah_score.statistics.paired import Comparison, Difference, Pair
from niah_score.statistics.scored import Scored


def grids_of_runs(shared: CommonRows, datasets: Sequence[str]) -> tuple[Grid, ...]:
    """The grid of each run's scores over the common rows; none where no row has a length and a depth."""
    if not has_grid(shared.kept[0]):
        return ()
    return tuple(
        grid_of(kept, shared.metric, model=name, dataset=dataset)
        for name, kept, dataset in zip(shared.names, shared.kept, datasets, strict=True)
    )


def grids_of_differences(shared: CommonRows, comparison: Comparison, grids: Sequence[Grid]) -> tuple[Grid, ...]:
    """The grid of each run minus the first, where there are `grids` of the runs."""
    if not grids:
        return ()
    base, *others = shared.kept
    # The first run's pairs stand first.
    return tuple(
        _difference_grid(pair, grids[0], _silent(base, kept), comparison.metric)
        for kept, pair in zip(others, comparison.pairs[: len(others)], strict=True)
    )


def _silent(one: Scored, other: Scored) -> dict[tuple[int | None, float | None], int]:
    """Rows of each cell that lack an answer in either run."""
    import polars as pl

    counted = (
        one.frame.select("length", "depth_percent")
        .with_columns(pl.Series("silent", one.unanswered | other.unanswered))
        .group_by("length", "depth_percent")
        .agg(pl.col("silent").sum())
    )
    return {(length, depth): count for length, depth, count in counted.iter_rows()}


def _difference_grid(
    pair: Pair, base: Grid, silent: Mapping[tuple[int | None, float | None], int], metric: str
) -> Grid:
    lengths = {length: index for index, length in enumerate(base.lengths)}
    depths = {depth: index for index, depth in enumerate(base.depths)}
    cells, noise = {}, set()
    for found in pair.cells:
        if found.length is None or found.depth_percent is None:
            continue
        place = lengths[found.length], depths[found.depth_percent]
        cells[place] = _figure(found, silent[found.length, found.depth_percent])
        if found.noise:
            noise.add(place)
    means = {found.length: _figure(found, 0) for found in pair.of_depths if found.n}
    return Grid(
        model=f"{pair.second} - {pair.first}",
        dataset=base.dataset,
        metric=metric,
        lengths=base.lengths,
        depths=base.depths,
        cells=cells,
        means=tuple(means.get(int(length)) for length in base.lengths),
        overall=_figure(pair.of_lengths, 0),
        kind="difference",
        noise=frozenset(noise),
    )


def _figure(found: Difference, unanswered: int) -> Figure:
    ends = found.low_these, found.high_these
    return Figure(found.rows, found.n, unanswered, found.mean, found.low, found.high, found.test, *ends)
