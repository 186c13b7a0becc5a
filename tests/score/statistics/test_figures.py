"""Figures of scored rows, against plain loops and the totals that they must add up to."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_scores import Record, agrees, frame, grid, mean, records, steady

from niah_score.statistics.figures import GROUPS, by_length_and_depth, cells, depth_weights, groups, overall
from niah_score.statistics.scored import Scored


@steady
@given(rows=records)
def test_cells_agree_with_loops_over_their_rows(rows: list[Record]) -> None:
    lines = cells(frame(rows)).to_dicts()
    languages = {row["language"] for row in rows}
    assert {line["language"] for line in lines} == (languages | {None} if len(languages) > 1 else {None})
    for line in lines:
        where = {name: line[name] for name in ("language", "length", "depth_percent")}
        if where["language"] is None:
            del where["language"]
        agrees(line, [row for row in rows if where.items() <= row.items()])
    for language in {line["language"] for line in lines}:
        of_language = [row for row in rows if language in (None, row["language"])]
        assert sum(line["rows"] for line in lines if line["language"] == language) == len(of_language)


@steady
@given(rows=records)
def test_groups_agree_with_loops_and_each_adds_up_to_all_rows(rows: list[Record]) -> None:
    lines = groups(frame(rows)).to_dicts()
    for line in lines:

        def value(row: Record, name: str = line["group"]) -> str | None:
            coordinate = row.get(name)
            return f"{coordinate:g}" if isinstance(coordinate, int | float) else coordinate

        agrees(line, [row for row in rows if value(row) == line["value"]])
    named = [name for name in GROUPS if any(row.get(name) is not None for row in rows)]
    assert list(dict.fromkeys(line["group"] for line in lines)) == named
    for name in named:
        assert sum(line["rows"] for line in lines if line["group"] == name) == len(rows)


@steady
@given(rows=records)
def test_the_overall_mean_of_lengths_is_the_mean_of_a_pivot_tables_column_means(rows: list[Record]) -> None:
    figures = overall(frame(rows))
    agrees(figures.of_rows._asdict(), rows)
    table: dict[int, dict[float | None, list[float]]] = {}
    for row in rows:
        if row["length"] is not None and row["score"] is not None:
            table.setdefault(row["length"], {}).setdefault(row["depth_percent"], []).append(row["score"])
    columns = [math.fsum(math.fsum(cell) / len(cell) for cell in by.values()) / len(by) for by in table.values()]
    assert figures.of_lengths.mean == pytest.approx(mean(columns))
    assert figures.of_lengths.rows == sum(row["length"] is not None for row in rows)
    assert figures.of_lengths.n == sum(len(cell) for by in table.values() for cell in by.values())


def test_on_a_full_grid_both_overall_means_and_their_intervals_agree() -> None:
    rows = grid([[100, 0, 40], [60, 70, 10], [0, 20, 100]], repeats=4)
    for number, row in enumerate(rows):
        row |= {"needle_id": f"n{number % 2}", "haystack_id": f"h{number % 4 + row['length']}"}
    figures = overall(frame(rows))
    assert figures.of_lengths[:3] == figures.of_rows[:3]
    assert figures.of_lengths[3:6] == pytest.approx(figures.of_rows[3:6])


def test_missing_rows_that_are_excluded_are_still_counted() -> None:
    rows: list[Record] = [
        {"score": 100.0},
        {"score": 0.0},
        {"score": None, "status": "missing"},
        {"score": 0.0, "status": "empty"},
    ]
    figure = overall(frame(rows)).of_rows
    assert (figure.rows, figure.n, figure.unanswered) == (4, 3, 2)
    assert figure.mean == pytest.approx(100 / 3)
    # With one right row of n, the low end is the x for which 1 - (1 - x)^n is 2.5 %.
    assert figure.low == pytest.approx(100 * (1 - 0.975 ** (1 / 3)), abs=1e-5)
    assert figure.method == "clopper-pearson: 3 rows"


def test_coordinates_are_texts_in_natural_order() -> None:
    rows = [{"length": length, "depth_percent": depth, "score": 50.0} for length, depth in
            [(16000, 100.0), (2000, 5.0), (500, 33.333), (500, None)]]  # fmt: skip
    table = groups(frame(rows))
    assert table.filter(group="length")["value"].to_list() == ["500", "2000", "16000"]
    assert table.filter(group="depth_percent")["value"].to_list() == ["5", "33.333", "100", None]


@steady
@given(
    cells=st.lists(st.tuples(st.sampled_from([None, 1000, 2000]), st.integers(0, 5)), min_size=1, max_size=12),
    lengths_alike=st.booleans(),
)
def test_depth_weights_give_every_depth_an_equal_part_and_add_up(
    cells: list[tuple[int | None, int]], lengths_alike: bool
) -> None:
    lengths, counts = [length for length, _ in cells], [count for _, count in cells]
    weights = depth_weights(lengths, counts, lengths_alike=lengths_alike)
    parts: dict[int | None, list[float]] = {}
    for length, count, weight in zip(lengths, counts, weights, strict=True):
        if count:
            parts.setdefault(length, []).append(count * weight)
        else:
            assert weight == 0
    for length, part in parts.items():
        assert part == pytest.approx([part[0]] * len(part))
        of_length = sum(count for at, count in cells if at == length)
        assert sum(part) == pytest.approx(sum(counts) / len(parts) if lengths_alike else of_length)


@steady
@given(rows=records)
def test_means_of_lengths_are_within_their_intervals_and_average_to_the_overall_mean(rows: list[Record]) -> None:
    """This needs a length in every row: rows without one form a group of their own."""
    placed = [row for row in rows if row["length"] is not None]
    if not placed:
        return
    scored = Scored(frame(placed))
    cells, means = by_length_and_depth(scored, "score")
    known = [figure for figure in means if figure is not None]
    for figure in known:
        assert figure.low_these is not None
        assert figure.mean is not None
        assert figure.high_these is not None
        assert 0 <= figure.low_these <= figure.mean <= figure.high_these <= 100
    assert sum(cell.rows for cell in cells.values()) == len(placed)
    of_lengths = overall(scored).of_lengths
    assert of_lengths.mean == pytest.approx(mean([figure.mean or 0.0 for figure in known]))
