"""Grids of differences: the second run minus the first, marked as noise where there are too few rows to tell."""

from __future__ import annotations

import pytest
from made_reports import report, right
from made_runs import reports

from niah_score.report.charts.grid import Grid
from niah_score.report.comparison.side_by_side import SideBySide, side_by_side
from niah_score.report.report import report_grid


def differences(comparison: SideBySide) -> Grid:
    (grid,) = comparison.differences
    return grid


def test_swapping_the_runs_flips_the_sign_of_the_difference_grid() -> None:
    one, other = report(right(0.9, 1)), report(right(0.5, 2))
    forward = differences(side_by_side([("a", one), ("b", other)]))
    backward = differences(side_by_side([("b", other), ("a", one)]))
    assert forward.noise == backward.noise
    assert forward.noise != set(forward.cells)
    assert (forward.model, backward.model) == ("b - a", "a - b")
    for place, cell in forward.cells.items():
        assert (cell.mean, cell.low, cell.high) == pytest.approx(
            tuple(
                -(value or 0.0)
                for value in (backward.cells[place].mean, backward.cells[place].high, backward.cells[place].low)
            )
        )


def test_a_difference_grid_is_the_second_grid_minus_the_first() -> None:
    first, second = (report_grid(whole) for _, whole in (reports()[0], reports()[2]))
    grid = differences(side_by_side([reports()[0], reports()[2]]))
    assert (grid.kind, grid.lengths, grid.depths) == ("difference", first.lengths, first.depths)
    assert set(grid.cells) == set(first.cells)
    for place, cell in grid.cells.items():
        assert cell.mean == pytest.approx((second.cells[place].mean or 0.0) - (first.cells[place].mean or 0.0))
        assert (cell.n, cell.rows) == (6, 6)
    for mean, a, b in zip(grid.means, first.means, second.means, strict=True):
        assert mean is not None
        assert a is not None
        assert b is not None
        assert mean.mean == pytest.approx((b.mean or 0.0) - (a.mean or 0.0))
    assert sum(cell.unanswered for cell in grid.cells.values()) == 1


def test_a_cell_of_two_needles_is_noise_however_large_the_difference() -> None:
    """A row for each needle and an added row without a difference: t is the square root of 2, 1 degree of freedom."""
    few = side_by_side([("a", report([100.0] * 12)), ("b", report([0.0] * 12))])
    assert differences(few).noise == set(differences(few).cells)
    many = side_by_side([("a", report([100.0] * 60)), ("b", report([0.0] * 60))])
    assert differences(many).noise == frozenset()
