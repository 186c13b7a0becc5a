"""The figures of cells: what the rows themselves say, added up by the coordinates that a reader can choose."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from drawn_pages import ENGLISH, built, counted, rewrite, rows_of

from niah_gen.dataset.read import rows_in
from niah_gen.errors import IntegrityError
from niah_gen.page.reserves import reserves_of
from niah_score.contract import open_dataset

V1 = Path(__file__).parents[2] / "contract" / "v1"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(tmp_path_factory.mktemp("figures"))


def every_row(folder: Path) -> list[dict[str, Any]]:
    return [row for file in open_dataset(folder).files() for row in rows_in(file.path)]


def test_the_sums_of_every_combination_are_those_of_its_rows(folder: Path) -> None:
    rows = every_row(folder)
    dataset, found = counted(folder)
    assert [row.id for row in found.rows] == [row["id"] for row in rows]
    assert found.lengths.labels == [900, 1500]
    assert found.depths.labels == [0, 50, 100]
    names = [name for name, _ in found.filters]
    assert names == ["control", "language", "corpus", "needle_id"]
    assert dict(found.filters)["control"] == ["absent", "no_context", None]
    for number, code in enumerate(found.codes):
        own = [row for row, seen in zip(rows, found.rows, strict=True) if seen.combination == number]
        (coordinates,) = {(row["length"], row["depth_percent"], *(row[name] for name in names)) for row in own}
        labels = [found.lengths.labels[code[0]], found.depths.labels[code[1]]]
        labels += [values[place] for (_, values), place in zip(found.filters, code[2:], strict=True)]
        assert labels == list(coordinates)
        sums = {name: column[number] for name, column in found.sums.items()}
        tokens = [row["prompt_tokens"] for row in own]
        budgets = [row["length"] - (200 if row["control"] is None else 0) for row in own]
        assert (sums["rows"], sums["least"], sums["most"]) == (len(own), min(tokens), max(tokens))
        assert sums["room"] == min(budget - prompt for budget, prompt in zip(budgets, tokens, strict=True)) >= 0
        assert sums["passes"] == max(row["haystack_passes"] for row in own)
        off = [row["needle_depths"][0] - row["depth_percent"] for row in own if row["control"] is None]
        farthest = sorted(off, key=lambda points: float(abs(points)))[-1:]
        assert sums["off"] == next((round(points, 3) for points in farthest), None)
        assert sums["leaks"] == 0
    assert sum(found.sums["rows"]) == len(rows) == dataset.manifest.rows


def test_filters_with_too_many_combinations_are_left_out_needles_first_and_controls_stay(folder: Path) -> None:
    whole = counted(folder)[1]
    found = counted(folder, most=20)[1]
    assert found.left_out[0] in ("language", "corpus", "needle_id")
    assert "control" in dict(found.filters)
    assert len(found.codes) <= 20
    assert sum(found.sums["rows"]) == sum(whole.sums["rows"])
    assert min(found.sums["least"]) == min(whole.sums["least"])
    counts = Counter(row.combination for row in found.rows)
    assert [counts[number] for number in range(len(found.codes))] == found.sums["rows"]


def test_budgets_are_those_of_each_part(tmp_path: Path) -> None:
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


def test_a_dataset_of_the_first_schema_is_counted_without_the_columns_it_lacks() -> None:
    dataset, found = counted(V1)
    assert len(found.rows) == dataset.manifest.rows
    assert all(most is not None for most in found.sums["most"])


def test_values_that_are_none_count_as_missing_and_other_numbers_of_rows_are_refused(tmp_path: Path) -> None:
    folder = built(tmp_path)
    rows = rows_of(folder)
    odd = {"length": "x", "depth_percent": float("nan"), "prompt_tokens": True, "needle_depths": 3, "needle_id": 7}
    rewrite(folder, [{**rows[0], **odd}, *rows[1:]])
    found = counted(folder)[1]
    assert found.lengths.labels == [900, 1500, None]
    assert found.depths.labels == [0, 50, 100, None]
    (folder / ENGLISH).write_text("{}\n", "utf-8")
    with pytest.raises(IntegrityError, match="1 rows, the manifest says"):
        counted(folder)
