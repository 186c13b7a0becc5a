"""The figures of cells, checked against sums over the rows by the coordinates that a reader can choose."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from drawn_pages import ENGLISH, built, counted, rewrite, rows_of

from niah_gen.dataset.read import rows_in
from niah_gen.errors import IntegrityError
from niah_gen.page.figures import reserves_of
from niah_score.contract import open_dataset

V1 = Path(__file__).parents[2] / "contract" / "v1"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(tmp_path_factory.mktemp("figures"))


def every_row(folder: Path) -> list[dict[str, Any]]:
    return [row for file in open_dataset(folder).files() for row in rows_in(file.path)]


def test_the_sums_of_every_combination_equal_those_of_its_rows(folder: Path) -> None:
    rows = every_row(folder)
    dataset, figures = counted(folder)
    assert [row.id for row in figures.rows] == [row["id"] for row in rows]
    assert figures.lengths.labels == [900, 1500]
    assert figures.depths.labels == [0, 50, 100]
    names = [name for name, _ in figures.filters]
    assert names == ["control", "language", "corpus", "needle_id"]
    assert dict(figures.filters)["control"] == ["absent", "no_context", None]
    for number, code in enumerate(figures.codes):
        own = [row for row, seen in zip(rows, figures.rows, strict=True) if seen.combination == number]
        (coordinates,) = {(row["length"], row["depth_percent"], *(row[name] for name in names)) for row in own}
        labels = [figures.lengths.labels[code[0]], figures.depths.labels[code[1]]]
        labels += [values[place] for (_, values), place in zip(figures.filters, code[2:], strict=True)]
        assert labels == list(coordinates)
        sums = {name: column[number] for name, column in figures.sums.items()}
        tokens = [row["prompt_tokens"] for row in own]
        budgets = [row["length"] - (200 if row["control"] is None else 0) for row in own]
        assert (sums["rows"], sums["least"], sums["most"]) == (len(own), min(tokens), max(tokens))
        assert sums["room"] == min(budget - prompt for budget, prompt in zip(budgets, tokens, strict=True)) >= 0
        assert sums["passes"] == max(row["haystack_passes"] for row in own)
        off = [row["needle_depths"][0] - row["depth_percent"] for row in own if row["control"] is None]
        farthest = sorted(off, key=lambda points: float(abs(points)))[-1:]
        assert sums["off"] == next((round(points, 3) for points in farthest), None)
        assert sums["leaks"] == 0
    assert sum(figures.sums["rows"]) == len(rows) == dataset.manifest.rows


def test_too_many_combinations_drop_filters_but_never_the_control_filter(folder: Path) -> None:
    whole = counted(folder)[1]
    figures = counted(folder, most=20)[1]
    assert figures.left_out[0] in ("language", "corpus", "needle_id")
    assert "control" in dict(figures.filters)
    assert len(figures.codes) <= 20
    assert sum(figures.sums["rows"]) == sum(whole.sums["rows"])
    assert min(figures.sums["least"]) == min(whole.sums["least"])
    counts = Counter(row.combination for row in figures.rows)
    assert [counts[number] for number in range(len(figures.codes))] == figures.sums["rows"]


def test_each_part_has_the_budget_that_its_reserve_leaves(tmp_path: Path) -> None:
    (tmp_path / "recipe.toml").write_text(
        'reserve = 200\n[[parts]]\nname = "a"\nreserve = 50\n[[parts]]\nname = "b"\n', "utf-8"
    )
    reserves = reserves_of(tmp_path)
    row = {"length": 1000, "part": "a", "control": None}
    assert reserves.budget(row) == 950
    assert reserves.budget({**row, "part": "b"}) == 800
    assert reserves.budget({**row, "control": "absent"}) == 1000
    assert reserves.budget({**row, "length": None}) is None
    assert reserves_of(tmp_path / "none").budget(row) is None


def test_a_dataset_of_the_first_schema_is_counted_despite_its_missing_columns() -> None:
    dataset, figures = counted(V1)
    assert len(figures.rows) == dataset.manifest.rows
    assert all(most is not None for most in figures.sums["most"])


def test_malformed_values_count_as_missing_and_a_wrong_row_count_is_refused(tmp_path: Path) -> None:
    folder = built(tmp_path)
    rows = rows_of(folder)
    odd = {"length": "x", "depth_percent": float("nan"), "prompt_tokens": True, "needle_depths": 3, "needle_id": 7}
    rewrite(folder, [{**rows[0], **odd}, *rows[1:]])
    figures = counted(folder)[1]
    assert figures.lengths.labels == [900, 1500, None]
    assert figures.depths.labels == [0, 50, 100, None]
    (folder / ENGLISH).write_text("{}\n", "utf-8")
    with pytest.raises(IntegrityError, match="1 rows, the manifest says"):
        counted(folder)
