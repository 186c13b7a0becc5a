"""The texts around the cells: labels of lengths and depths, kinds of cells, and the note."""

from __future__ import annotations

from each import each
from made_grids import figure, grid

from niah_score.report.charts.labels import Kind, depth_labels, kind_of, length_labels, note, points


@each(
    ("lengths", "labels"),
    [
        ((1000, 32_000, 128_000, 1_000_000), ["1k", "32k", "128k", "1M"]),
        ((500, 1500, 4096, 131_072), ["500", "1.5k", "4,096", "131,072"]),
        (tuple(1000 + 23_412 * at for at in range(13)), ["1k", "24.4k", "47.8k", "71.2k"]),
        (tuple(100_001 + at for at in range(13)), ["100,001", "100,002"]),
    ],
)
def test_lengths_are_written_as_people_write_them(lengths: tuple[int, ...], labels: list[str]) -> None:
    assert length_labels(lengths)[: len(labels)] == labels
    assert len(set(length_labels(lengths))) == len(lengths)


def test_depths_have_just_enough_decimals_to_differ() -> None:
    assert depth_labels((0, 12.5, 100)) == ["0", "12.5", "100"]
    assert depth_labels((97.151, 97.162)) == ["97.15", "97.16"]


def test_only_a_score_of_exactly_100_is_shown_as_100() -> None:
    assert [points(value) for value in (100, 99.96, 99.2, 98.5, 0.2)] == ["100", "99", "99", "98", "0"]
    assert [points(value, "difference") for value in (-12.4, 0.3, 7.0)] == ["−12", "0", "+7"]


def test_the_kind_of_a_cell_follows_from_its_scored_and_unanswered_rows() -> None:
    assert kind_of(figure(0.0)) is Kind.SCORED
    assert kind_of(figure(50.0, 3, 2)) is Kind.PARTLY
    assert kind_of(figure(0.0, 3)._replace(rows=3, unanswered=3)) is Kind.UNANSWERED
    assert kind_of(figure(None, 0, 3)) is Kind.UNANSWERED
    assert kind_of(figure(None, 3)) is Kind.UNSCORED


def test_the_note_counts_rows_scores_and_missing_answers() -> None:
    one = grid(2, 1, changed={(0, 0): figure(50.0, 4, 2), (1, 0): figure(None, 0, 6)})
    assert "12 rows, 4 scored, 8 without an answer · n 4 a cell" in note(one)
