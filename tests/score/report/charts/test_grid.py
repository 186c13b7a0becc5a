"""Row scores become figures for each length and depth, the means that published plots draw, and their words."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_scores import frame as made_frame
from properties import examples

from niah_score.errors import ScoreError
from niah_score.report.charts.grid import depth_labels, grid_of, has_grid, length_labels, points
from niah_score.statistics.figures import cells, of_lengths
from niah_score.statistics.scored import Scored


def frame(rows: list[tuple[int | None, float | None, str, float | None]]) -> pl.DataFrame:
    """Scored rows of (length, depth, language, score)."""
    return made_frame(
        [
            {"length": length, "depth_percent": depth, "language": language, "score": score,
             "status": "missing" if score is None else "ok"}
            for length, depth, language, score in rows
        ]
    )  # fmt: skip


UNEVEN = frame(
    [
        (1000, 0, "en", 100), (1000, 0, "en", 100), (1000, 0, "zh", 100), (1000, 50, "en", 0),
        (8000, 0, "en", 40), (8000, 50, "zh", None), (None, 50, "en", 0), (8000, None, "en", 0),
    ]
)  # fmt: skip


def test_a_grid_of_one_language_uses_only_its_rows_and_names_it() -> None:
    grid = grid_of(Scored(UNEVEN), language="zh", model="m", dataset="d")
    assert (grid.lengths, grid.depths, grid.dataset) == ((1000, 8000), (0, 50), "d, zh")
    assert set(grid.cells) == {(0, 0), (1, 1)}
    assert grid.means[1] is None
    with pytest.raises(ScoreError, match="no row with a length and a depth is in 'fr'; the rows are in en, zh"):
        grid_of(Scored(UNEVEN), language="fr")


def test_without_lengths_there_is_no_grid() -> None:
    rows = frame([(None, 0, "en", 100), (1000, None, "en", 100)])
    assert not has_grid(Scored(rows))
    assert not has_grid(Scored(rows.drop("length")))
    assert has_grid(Scored(UNEVEN))
    with pytest.raises(ScoreError, match="there is nothing to draw"):
        grid_of(Scored(rows))


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
    grid = grid_of(Scored(table))
    for line in cells(Scored(table)).filter(pl.col("language").is_null()).iter_rows(named=True):
        place = grid.lengths.index(line["length"]), grid.depths.index(line["depth_percent"])
        assert grid.cells[place]._asdict() == {name: line[name] for name in grid.cells[place]._fields}
    assert len(grid.cells) == len({row[:2] for row in rows})
    for at, mean in enumerate(grid.means):
        known = [cell.mean for (column, _), cell in grid.cells.items() if column == at and cell.mean is not None]
        assert (mean is None) == (not known)
        if mean is not None:
            assert mean.mean == pytest.approx(sum(known) / len(known))
            assert (mean.low or 0.0) <= (mean.mean or 0.0) <= (mean.high or 0.0)
    assert (grid.overall and grid.overall.mean) == of_lengths(Scored(table)).mean


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


def test_lengths_and_depths_are_written_as_people_write_them_and_all_differ() -> None:
    for lengths, labels in (
        ((1000, 32_000, 128_000, 1_000_000), ["1k", "32k", "128k", "1M"]),
        ((500, 1500, 4096, 131_072), ["500", "1.5k", "4,096", "131,072"]),
        (tuple(100_001 + at for at in range(13)), ["100,001", "100,002"]),
    ):
        assert length_labels(lengths)[: len(labels)] == labels
        assert len(set(length_labels(lengths))) == len(lengths)
    assert depth_labels((0, 12.5, 100)) == ["0", "12.5", "100"]
    assert depth_labels((97.151, 97.162)) == ["97.15", "97.16"]


def test_only_a_score_of_exactly_100_is_shown_as_100() -> None:
    assert [points(value) for value in (100, 99.96, 99.2, 98.5, 0.2)] == ["100", "99", "99", "98", "0"]
    assert [points(value, "difference") for value in (-12.4, 0.3, 7.0)] == ["−12", "0", "+7"]
