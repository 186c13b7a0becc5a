"""Finding rows by id, by number and by coordinates, checked against a slow search through all rows."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from each import each
from hypothesis import given
from hypothesis import strategies as st
from proofs import ENGLISH, seal
from properties import examples

from niah_gen.checks.find_row import COORDINATES, row_by_coordinates, row_by_id, row_by_number
from niah_gen.dataset.read import rows_in
from niah_gen.errors import IntegrityError, NiahError
from niah_score.contract import open_dataset

GRID: dict[str, Any] = {
    "name": "grid", "lengths": [700, 900], "depths": {"steps": 4}, "repeats": 2, "controls": ["absent"],
    "needles": ["velden-archive", "brannock-lighthouse", "heyuan-archive"],
}  # fmt: skip


@pytest.fixture(scope="module")
def grid(built_once: Callable[..., Path]) -> Path:
    """96 rows in both formats."""
    return built_once(GRID, ["parquet", "jsonl.zst"])


@pytest.fixture(scope="module")
def lines_only(built_once: Callable[..., Path]) -> Path:
    return built_once(GRID, ["jsonl.zst"])


@pytest.fixture(scope="module")
def rows(grid: Path) -> list[Mapping[str, Any]]:
    return [row for file in open_dataset(grid).files() for row in rows_in(file.path)]


def refused(find: Callable[[], object]) -> str:
    with pytest.raises(NiahError) as caught:
        find()
    return str(caught.value)


def test_every_number_finds_its_row_in_every_format(
    grid: Path, lines_only: Path, rows: list[Mapping[str, Any]]
) -> None:
    assert len(rows) == 96
    for number in (1, 2, 16, 17, 50, 95, 96):
        for folder in (grid, lines_only):
            match = row_by_number(folder, number)
            assert (match.row, match.number, match.of, match.others) == (rows[number - 1], number, 96, None)


@each("number", [0, -1, 97, 10**30])
def test_a_row_number_out_of_range_is_refused_with_the_valid_range(number: int, grid: Path) -> None:
    assert refused(lambda: row_by_number(grid, number)) == f"{grid}: no row {number}; rows are numbered 1 to 96"


@examples(60)
@given(seed=st.integers(0, 2**32))
def test_a_row_is_found_by_its_id_or_any_unambiguous_beginning_or_end(
    seed: int, grid: Path, rows: list[Mapping[str, Any]]
) -> None:
    draw = random.Random(seed)
    ids = [str(row["id"]) for row in rows]
    number = draw.randrange(len(ids))
    name = ids[number]
    assert row_by_id(grid, name).number == number + 1
    size = draw.randint(1, len(name))
    for part in (name[:size], name[-size:]):
        same = [other for other in ids if other.startswith(part) or other.endswith(part)]
        if len(same) == 1 or part in ids:
            assert row_by_id(grid, part).row == rows[number]
        else:
            assert f"{len(same)} ids begin or end with {part!r}, such as {same[0]}, " in refused(
                lambda part=part: row_by_id(grid, part)  # type: ignore[misc]
            )


def test_an_unknown_id_is_refused_and_a_number_gets_a_hint(grid: Path) -> None:
    assert "no row 'nothing' among 96; ids are in the column `id`" in refused(lambda: row_by_id(grid, "nothing"))
    assert "--row" not in refused(lambda: row_by_id(grid, "nothing"))
    assert refused(lambda: row_by_id(grid, "17000")).endswith("; for a row by its number: --row 17000")


@examples(60)
@given(seed=st.integers(0, 2**32))
def test_coordinates_find_the_first_row_that_a_slow_search_finds(
    seed: int, grid: Path, lines_only: Path, rows: list[Mapping[str, Any]]
) -> None:
    draw = random.Random(seed)
    chosen = draw.choice(rows)
    names = draw.sample(list(COORDINATES), draw.randint(1, len(COORDINATES)))
    asked = {name: "none" if (value := chosen[COORDINATES[name]]) is None else value for name in names}
    expected = [
        number
        for number, row in enumerate(rows, 1)
        if all(row[COORDINATES[name]] == chosen[COORDINATES[name]] for name in names)
    ]
    for folder in (grid, lines_only) if seed % 10 == 0 else (grid,):
        match = row_by_coordinates(folder, asked)
        assert (match.number, match.row) == (expected[0], rows[expected[0] - 1])
        more = int(match.others.split()[0]) if match.others else 0
        assert more == len(expected) - 1


def test_other_matching_rows_are_reported_with_the_options_that_distinguish_them(grid: Path) -> None:
    match = row_by_coordinates(grid, {"length": 700, "depth": 100.0, "language": "zh"})
    assert match.others == (
        "3 other rows match, told apart by --control (none, absent), --repeat (0, 1); by number: --row (72, 76, 80)"
    )
    one = {"length": 700, "depth": 100.0, "language": "zh", "control": "absent", "repeat": 1}
    assert row_by_coordinates(grid, one).others is None
    assert row_by_coordinates(grid, {**one, "control": "none"}).row["control"] is None


def test_a_depth_matches_to_six_digits_and_is_never_guessed(grid: Path) -> None:
    assert row_by_coordinates(grid, {"depth": 33.3333}).row["depth_percent"] == 100 / 3
    assert refused(lambda: row_by_coordinates(grid, {"length": 900, "depth": 33.0})) == (
        f"{grid}: no row with --depth 33; the rows with --length 900 have 0, 33.3333, 66.6667, 100"
    )


def test_an_unknown_coordinate_is_refused_with_the_existing_values(grid: Path) -> None:
    assert refused(lambda: row_by_coordinates(grid, {"length": 800})) == (
        f"{grid}: no row with --length 800; there are 700, 900"
    )
    assert "; there are none, absent" in refused(lambda: row_by_coordinates(grid, {"control": "conflict"}))
    assert refused(lambda: row_by_coordinates(grid, {"corpus": "en_esays"})).endswith("did you mean 'en_essays'?")
    assert "the rows with --language zh have heyuan-archive" in refused(
        lambda: row_by_coordinates(grid, {"language": "zh", "needle": "velden-archive"})
    )


def test_each_find_reads_the_prompts_of_one_parquet_row_group_once(grid: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[object] = []
    batches = pq.ParquetFile.iter_batches

    def recorded(
        file: pq.ParquetFile, rows: int, row_groups: list[int] | None = None, columns: list[str] | None = None
    ) -> object:
        if columns is None or "prompt" in columns:
            read.append((row_groups, columns))
        return batches(file, rows, row_groups=row_groups, columns=columns)

    monkeypatch.setattr(pq.ParquetFile, "iter_batches", recorded)
    # Every other method that reads rows is removed: calling one would fail.
    for other in ("read", "read_row_group", "read_row_groups"):
        monkeypatch.delattr(pq.ParquetFile, other)
    row_by_coordinates(grid, {"length": 900, "depth": 100.0})
    row_by_id(grid, str(row_by_number(grid, 90).row["id"]))
    assert read == [([0], None)] * 3


def test_a_row_beyond_the_first_row_group_is_found(grid: Path, tmp_path: Path, rows: list[Mapping[str, Any]]) -> None:
    folder = Path(shutil.copytree(grid, tmp_path / "copy"))
    path = "data/en-700/test-00000-of-00001.parquet"
    table = pq.read_table(folder / path)
    pq.write_table(table, folder / path, row_group_size=5)
    assert pq.ParquetFile(folder / path).num_row_groups == 7
    for number in (5, 6, 32):
        assert row_by_number(folder, number).row == rows[number - 1]


@pytest.mark.parametrize("line", [b"{", b"[1]", b'"text"', b"\xff", b"[" * 100_000])
def test_a_line_that_is_not_a_row_is_refused_with_its_file_name(line: bytes, copy: Path) -> None:
    good = (copy / ENGLISH).read_bytes().splitlines()
    seal(copy, ENGLISH, b"\n".join([good[0], line, *good[2:]]) + b"\n", 3)
    assert row_by_number(copy, 1).row == json.loads(good[0])
    finds: list[Callable[[], object]] = [
        lambda: row_by_number(copy, 2),
        lambda: row_by_id(copy, "x"),
        lambda: row_by_coordinates(copy, {"depth": 1.0}),
    ]
    for find in finds:
        with pytest.raises(IntegrityError, match=r"test-00000-of-00001\.jsonl: cannot be read"):
            find()


def test_a_file_with_fewer_or_more_rows_than_the_manifest_says_is_refused(copy: Path) -> None:
    good = (copy / ENGLISH).read_bytes()
    seal(copy, ENGLISH, good.splitlines(keepends=True)[0], 3)
    with pytest.raises(IntegrityError, match="row 3: it has fewer rows"):
        row_by_number(copy, 3)
    seal(copy, ENGLISH, good, 0)
    with pytest.raises(NiahError, match="more rows than the 3 in"):
        row_by_coordinates(copy, {"language": "zh", "depth": 100.0})


def test_values_of_unexpected_types_are_compared_and_listed_without_an_error(copy: Path) -> None:
    lines = [json.loads(line) for line in (copy / ENGLISH).read_text("utf-8").splitlines()]
    for line, value in zip(lines, ([1], {"a": 2}, "deep"), strict=True):
        line["depth_percent"] = value
    seal(copy, ENGLISH, b"".join(json.dumps(line).encode() + b"\n" for line in lines), 3)
    assert "there are [1], {'a': 2}, deep, 0, 40, 100" in refused(lambda: row_by_coordinates(copy, {"depth": 7.0}))
