"""Rows are found by id, number and coordinates, as a slow search finds them, and shown whatever their values are."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from changed_rows import ENGLISH, rows_of, seal
from hypothesis import given
from hypothesis import strategies as st
from properties import examples

import niah_gen
from niah_gen.checks.show import COORDINATES, FoundRow, describe, row_by_coordinates, row_by_id, row_by_number
from niah_gen.errors import IntegrityError, NiahError

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
    return list(rows_of(grid))


def refused(find: Callable[[], object]) -> str:
    with pytest.raises(NiahError) as caught:
        find()
    return str(caught.value)


@examples(60)
@given(seed=st.integers(0, 2**32))
def test_a_row_is_found_by_its_id_or_its_beginning_or_end(seed: int, grid: Path, rows: list[Mapping[str, Any]]) -> None:
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
        assert (match.number, match.of, match.row) == (expected[0], 96, rows[expected[0] - 1])
        assert row_by_number(folder, match.number).row == match.row
        more = int(match.others.split()[0]) if match.others else 0
        assert more == len(expected) - 1


def test_what_no_row_has_is_refused_with_what_there_is(grid: Path) -> None:
    assert row_by_coordinates(grid, {"depth": 33.3333}).row["depth_percent"] == 100 / 3
    for find, words in (
        (lambda: row_by_number(grid, 0), "no row 0; rows are numbered 1 to 96"),
        (lambda: row_by_number(grid, 97), "no row 97; rows are numbered 1 to 96"),
        (lambda: row_by_id(grid, "nothing"), "no row 'nothing' among 96; ids are in the column `id`"),
        (lambda: row_by_id(grid, "17000"), "; for a row by its number: --row 17000"),
        (lambda: row_by_coordinates(grid, {"length": 900, "depth": 33.0}),
         "no row with --depth 33; the rows with --length 900 have 0, 33.3333, 66.6667, 100"),
        (lambda: row_by_coordinates(grid, {"length": 800}), "no row with --length 800; there are 700, 900"),
        (lambda: row_by_coordinates(grid, {"control": "conflict"}), "; there are none, absent"),
        (lambda: row_by_coordinates(grid, {"corpus": "en_esays"}), "did you mean 'en_essays'?"),
        (lambda: row_by_coordinates(grid, {"language": "zh", "needle": "velden-archive"}),
         "the rows with --language zh have heyuan-archive"),
    ):  # fmt: skip
        assert words in refused(find)


def test_a_file_that_does_not_hold_its_rows_is_refused_by_name(copy: Path) -> None:
    good = (copy / ENGLISH).read_bytes().splitlines(keepends=True)
    for line in (b"{", b"[1]", b'"text"', b"\xff", b"[" * 100_000):
        seal(copy, ENGLISH, good[0] + line + b"\n" + good[2], 3)
        assert row_by_number(copy, 1).row == json.loads(good[0])
        with pytest.raises(IntegrityError, match=r"test-00000-of-00001\.jsonl"):
            row_by_id(copy, "x")
    seal(copy, ENGLISH, good[0], 3)
    with pytest.raises(IntegrityError, match="has no row 3"):
        row_by_number(copy, 3)
    seal(copy, ENGLISH, b"".join(good), 0)
    with pytest.raises(NiahError, match="more rows than the 3 in"):
        row_by_coordinates(copy, {"language": "zh", "depth": 100.0})


def shown(row: Mapping[str, Any], colour: bool = False) -> str:
    return "\n".join(describe(FoundRow(row, 3, 9), whole=True, colour=colour))


@pytest.fixture(scope="module")
def two_rows() -> list[Mapping[str, Any]]:
    """A set of needles and its control, over the same haystack."""
    recipe = {
        "lengths": [1500], "depths": [50], "languages": ["en"], "controls": ["absent"],
        "needles": ["ferrand-gap-viaduct"],
    }  # fmt: skip
    return [dict(row) for row in niah_gen.iter_rows(recipe)]


def test_every_hidden_text_is_marked_with_its_depth(two_rows: list[Mapping[str, Any]]) -> None:
    for row in two_rows:
        for number, (depth, needle) in enumerate(zip(row["needle_depths"], row["needles"], strict=True), 1):
            assert f"[{number}: {depth:.2f} %] >>>{needle}<<<" in shown(row)
    assert "\x1b[1;7m" in shown(two_rows[0], colour=True)
