"""Makes the grids of a comparison: the scores of each run, and each run minus the first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from niah_score.report.charts.grid import Grid, grid_of, has_grid
from niah_score.statistics.common_rows import CommonRows
from niah_score.statistics.figures import Figure
from niah_score.statistics.paired import Comparison, Difference, Pair
from niah_score.statistics.scored import Scored


def grids_of_runs(shared: CommonRows, datasets: Sequence[str]) -> tuple[Grid, ...]:
    """The grid of each run's scores over the common rows; none if no row has a length and a depth."""
    if not has_grid(shared.kept[0]):
        return ()
    return tuple(
        grid_of(kept, shared.metric, model=name, dataset=dataset)
        for name, kept, dataset in zip(shared.names, shared.kept, datasets, strict=True)
    )


def grids_of_differences(shared: CommonRows, comparison: Comparison, grids: Sequence[Grid]) -> tuple[Grid, ...]:
    """The grid of each run minus the first, if there are `grids` of the runs."""
    if not grids:
        return ()
    base, *others = shared.kept
    # Pairs with the first run come first.
    return tuple(
        _difference_grid(pair, grids[0], _silent(base, kept), comparison.metric)
        for kept, pair in zip(others, comparison.pairs[: len(others)], strict=True)
    )


def _silent(one: Scored, other: Scored) -> dict[tuple[int | None, float | None], int]:
    """How many rows of each cell have no answer in one run or the other."""
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
    for cell in pair.cells:
        if cell.length is None or cell.depth_percent is None:
            continue
        place = lengths[cell.length], depths[cell.depth_percent]
        cells[place] = _figure(cell, silent[cell.length, cell.depth_percent])
        if cell.noise:
            noise.add(place)
    means = {mean.length: _figure(mean, 0) for mean in pair.of_depths if mean.n}
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


def _figure(d: Difference, unanswered: int) -> Figure:
    return Figure(d.rows, d.n, unanswered, d.mean, d.low, d.high, d.test, d.low_these, d.high_these)
