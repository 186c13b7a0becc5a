"""All rows of a dataset are there, once and in order, and their ids are of one family."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from proofs import CHINESE, ENGLISH, assert_only, move, own_up, problems_of, read, write

from niah_gen.haystacks.boundaries import sentence_ends
from niah_gen.tokenizers.find import BytePairTokenizer
from niah_score.contract import MANIFEST, read_manifest


@pytest.mark.parametrize("own", [False, True])
def test_an_id_of_another_family_than_its_neighbours_is_reported(copy: Path, own: bool) -> None:
    rows = read(copy)
    rows[2]["id"] = "0" * 8 + rows[2]["id"][8:]
    write(copy, rows)
    if own:
        own_up(copy)
    problems = problems_of(copy)
    assert_only(problems, 3, rows[2], "its id begins with 00000000, expected")
    assert len(problems) == (1 if own else 2)


def test_ids_that_are_all_of_another_family_are_reported_once(copy: Path) -> None:
    for path in (ENGLISH, CHINESE):
        write(copy, [{**row, "id": "0" * 8 + row["id"][8:]} for row in read(copy, path)], path)
    own_up(copy)
    manifest = read_manifest(copy)
    (copy / MANIFEST).write_bytes(replace(manifest, generator_version="0.0.1").to_json())
    (problem,) = problems_of(copy)
    assert "those of this dataset with 00000000; niah 0.0.1 made the dataset" in problem


def test_swapped_rows_are_named(copy: Path) -> None:
    rows = read(copy)
    write(copy, [rows[1], rows[0], rows[2]])
    own_up(copy)
    first, second = problems_of(copy)
    assert first == f"{ENGLISH} row 1 ({rows[1]['id']}): is where row {rows[0]['id']} belongs"
    assert second == f"{ENGLISH} row 2 ({rows[0]['id']}): is where row {rows[1]['id']} belongs"


@pytest.mark.parametrize("at", [1, 3])
def test_a_repeated_row_is_named(copy: Path, at: int) -> None:
    rows = read(copy)
    again = rows[0]
    rows.insert(at, again)
    write(copy, rows)
    own_up(copy)
    (problem,) = problems_of(copy)
    assert problem == f"{ENGLISH} row {at + 1} ({again['id']}): an earlier row has this id"


def test_a_second_row_of_one_cell_is_named_even_with_a_unique_id(copy: Path, cl100k: BytePairTokenizer) -> None:
    rows = read(copy)
    other = dict(rows[1])
    move(other, lambda context: sentence_ends(context)[4], cl100k, " ")
    assert other["id"] != rows[1]["id"]
    write(copy, [*rows[:2], other, rows[2]])
    own_up(copy)
    moved, again = problems_of(copy)
    assert moved.endswith("a place nearer to 40.00 % was free")
    assert again == f"{ENGLISH} row 3 ({other['id']}): an earlier row has these coordinates"


def test_a_missing_row_is_named_by_its_coordinates(copy: Path) -> None:
    rows = read(copy)
    write(copy, [rows[0], rows[2]])
    own_up(copy)
    (problem,) = problems_of(copy)
    assert "lack the row of en, en_essays, length 700, needle velden-archive, repeat 0, depth 40" in problem


def test_a_language_without_rows_is_named(copy: Path) -> None:
    write(copy, [], CHINESE)
    own_up(copy)
    assert problems_of(copy) == [f"{MANIFEST}: corpus zh_articles has no row in the .jsonl files"]
