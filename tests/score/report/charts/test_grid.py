"""Row scores become figures for each length and depth, and the means that published plots draw."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from properties import examples

from niah_score.errors import ScoreError
from niah_score.report.charts.grid import grid_of, has_grid
from niah_score.statistics.figures import Figure, cells, overall
from niah_score.statistics.scored import Scored, as_scored


def frame(rows: list[tuple[int | None, float | None, str, float | None]]) -> pl.DataFrame:
    """Scored rows of (length, depth, language, score)."""
    lengths, depths, languages, scores = zip(*rows, strict=True)
    none = pl.Series([None] * len(rows), dtype=pl.String)
    return pl.DataFrame(
        {
            "id": [f"{number:04}" for number in range(len(rows))],
            "length": pl.Series(lengths, dtype=pl.Int64),
            "depth_percent": pl.Series(depths, dtype=pl.Float64),
            "language": pl.Series(languages, dtype=pl.String),
            "needle_id": none,
            "haystack_id": none,
            "status": ["missing" if score is None else "ok" for score in scores],
            "score": pl.Series(scores, dtype=pl.Float64),
        }
    )


UNEVEN = frame(
    [
        (1000, 0, "en", 100), (1000, 0, "en", 100), (1000, 0, "zh", 100), (1000, 50, "en", 0),
        (8000, 0, "en", 40), (8000, 50, "zh", None), (None, 50, "en", 0), (8000, None, "en", 0),
    ]
)  # fmt: skip


def test_the_mean_of_a_length_weighs_every_depth_equally_as_pivot_tables_do() -> None:
    grid = grid_of(UNEVEN)
    assert (grid.lengths, grid.depths) == ((1000, 8000), (0, 50))
    assert [mean and mean.mean for mean in grid.means] == [50, 40]  # not 75, the mean of the rows
    assert grid.overall is not None
    assert grid.overall.mean == 45


def test_rows_without_a_length_or_depth_are_left_out_of_the_grid() -> None:
    grid = grid_of(UNEVEN)
    assert sum(cell.rows for cell in grid.cells.values()) == 6
    assert grid.cells[1, 1] == Figure(1, 0, 1, None, None, None, "none")


def test_a_grid_of_one_language_uses_only_its_rows_and_names_it() -> None:
    grid = grid_of(UNEVEN, language="zh", model="m", dataset="d")
    assert (grid.lengths, grid.depths, grid.dataset) == ((1000, 8000), (0, 50), "d, zh")
    assert set(grid.cells) == {(0, 0), (1, 1)}
    assert grid.means[1] is None
    with pytest.raises(ScoreError, match="no row with a length and a depth is in 'fr'; the rows are in en, zh"):
        grid_of(UNEVEN, language="fr")


def test_without_lengths_there_is_no_grid() -> None:
    rows = frame([(None, 0, "en", 100), (1000, None, "en", 100)])
    assert not has_grid(as_scored(rows))
    assert not has_grid(as_scored(rows.drop("length")))
    assert has_grid(as_scored(UNEVEN))
    with pytest.raises(ScoreError, match="there is nothing to draw"):
        grid_of(rows)


scores = st.lists(
    st.tuples(
        st.sampled_from([1000, 2000, 4000]), st.sampled_from([0.0, 33.3, 100.0]), st.just("en"),
        st.one_of(st.none(), st.sampled_from([0.0, 20.0, 100.0])),
    ),
    min_size=1, max_size=40,
)  # fmt: skip


@examples(60)
@given(scores)
def test_grid_cells_match_the_tables_and_means_are_within_their_intervals(
    rows: list[tuple[int, float, str, float]],
) -> None:
    table = frame(rows)  # type: ignore[arg-type]
    grid = grid_of(table)
    for line in cells(table).filter(pl.col("language").is_null()).iter_rows(named=True):
        place = grid.lengths.index(line["length"]), grid.depths.index(line["depth_percent"])
        assert grid.cells[place]._asdict() == {name: line[name] for name in grid.cells[place]._fields}
    assert len(grid.cells) == len({row[:2] for row in rows})
    for at, mean in enumerate(grid.means):
        known = [cell.mean for (column, _), cell in grid.cells.items() if column == at and cell.mean is not None]
        assert (mean is None) == (not known)
        if mean is not None:
            assert mean.mean == pytest.approx(sum(known) / len(known))
            assert mean.low is not None
            assert mean.high is not None
            assert mean.low <= mean.mean <= mean.high  # type: ignore[operator]
    assert (grid.overall and grid.overall.mean) == overall(table).of_lengths.mean


def test_a_grid_of_one_language_weighs_parts_as_the_cells_of_that_language_do() -> None:
    """Both languages have equally many rows of chains; three of the four single rows are English."""
    counts = (("single", "en", 3), ("single", "zh", 1), ("chains", "en", 2), ("chains", "zh", 2))
    parts = [part for part, _, count in counts for _ in range(count)]
    languages = [language for _, language, count in counts for _ in range(count)]
    rows: list[tuple[int | None, float | None, str, float | None]] = [
        (1000, 0.0, language, 100.0 * (part == "single")) for part, language in zip(parts, languages, strict=True)
    ]
    scored = Scored(frame(rows).with_columns(pl.Series("part", parts)), {"single": 0.5, "chains": 0.5})
    cell = cells(scored).filter(language="en").row(0, named=True)
    assert cell["mean"] == pytest.approx(100 * (3 / 4) / (3 / 4 + 2 / 4))
    assert grid_of(scored, language="en").cells[0, 0].mean == pytest.approx(cell["mean"])
    assert grid_of(scored).cells[0, 0].mean == pytest.approx(50)
