"""`niah-gen diff` matches rows by id, then by coordinates, and says what their differences mean for the version."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from changed_rows import CHINESE, ENGLISH, RECIPE, own_up, read, write

import niah_gen
from niah_gen.checks.diff import MAJOR, MINOR, PATCH, Difference, compare, difference_lines
from niah_gen.dataset.complete import rewrite_card
from niah_gen.errors import IntegrityError
from niah_score.contract import MANIFEST, read_manifest

Rows = list[dict[str, Any]]


def changed(folder: Path, change: Callable[[Rows], None]) -> Path:
    rows = read(folder)
    change(rows)
    write(folder, rows)
    own_up(folder)
    return folder


def counts(difference: Difference) -> tuple[int, int, int, int, int]:
    rows = (difference.changed, difference.renamed, difference.added, difference.gone)
    return (difference.same, *(kind.count for kind in rows))  # type: ignore[return-value]


def last_line(difference: Difference) -> str:
    return list(difference_lines(difference))[-1]


def test_a_changed_value_under_the_same_id_is_reported_by_its_column(lines: Path, copy: Path) -> None:
    for column, value, level in (("answers", ["42"], MAJOR), ("metric", "exact", MAJOR), ("leak", "it", MINOR)):
        *rows, last = read(lines)
        write(copy, [*rows, last | {column: value}])
        own_up(copy)
        difference = compare(lines, copy)
        assert (counts(difference), difference.level) == ((5, 1, 0, 0, 0), level)
        assert (difference.changed.columns, difference.changed.configs) == ({column: 1}, {"en-700": 1})


def test_a_new_prompt_and_id_at_the_same_coordinates_is_a_major_change(lines: Path, copy: Path) -> None:
    def change(rows: Rows) -> None:
        rows[1] |= {"prompt_sha256": "0" * 64, "id": rows[1]["id"][:-12] + "0" * 12}

    same = compare(lines, lines)
    assert (counts(same), last_line(same)) == ((6, 0, 0, 0, 0), "nothing differs: no new version")
    difference = compare(lines, changed(copy, change))
    assert (counts(difference), difference.level) == ((5, 0, 1, 0, 0), MAJOR)
    assert difference.renamed.columns == {"id": 1, "prompt": 1, "prompt_sha256": 1}
    assert difference.renamed.examples == [f"{read(lines)[1]['id']} -> {read(copy)[1]['id']}"]


def test_adding_a_length_is_minor_and_removing_one_is_major(lines: Path, tmp_path: Path) -> None:
    longer = niah_gen.build({**RECIPE, "lengths": [700, 900], "version": "1.1.0"}, tmp_path)
    difference = compare(lines, longer)
    assert (counts(difference), difference.level) == ((6, 0, 0, 6, 0), MINOR)
    assert difference.added.configs == {"en-900": 3, "zh-900": 3}
    assert last_line(difference) == "version: MINOR; 1.1.0 after 1.0.0 says so"
    back = compare(longer, lines)
    assert (counts(back), back.level) == ((6, 0, 0, 0, 6), MAJOR)
    assert last_line(back) == "version: MAJOR; 1.0.0 after 1.1.0 does not say so, call it 2.0.0 or higher"


def test_an_added_column_is_minor_and_a_removed_one_is_major(lines: Path, copy: Path) -> None:
    for path in (ENGLISH, CHINESE):
        write(copy, [{name: value for name, value in row.items() if name != "leak"} for row in read(copy, path)], path)
    own_up(copy)
    difference = compare(lines, copy)
    assert (counts(difference), difference.reasons[0]) == ((6, 0, 0, 0, 0), (MAJOR, "column gone: leak"))
    assert compare(copy, lines).reasons[0] == (MINOR, "column added: leak")


def test_a_changed_card_alone_is_a_patch(lines: Path, copy: Path) -> None:
    (copy / MANIFEST).write_bytes(replace(read_manifest(copy), notes=("a note",)).to_json())
    rewrite_card(copy)
    (copy / MANIFEST).write_bytes(replace(read_manifest(copy), version="1.0.1").to_json())
    difference = compare(lines, copy)
    assert (difference.reasons, last_line(difference)) == (
        [(PATCH, "the card")],
        "version: PATCH; 1.0.1 after 1.0.0 says so",
    )


def test_damaged_files_and_duplicate_ids_are_refused(lines: Path, copy: Path, tmp_path: Path) -> None:
    twice = changed(Path(shutil.copytree(lines, tmp_path / "twice")), lambda rows: rows.append(rows[0]))
    with pytest.raises(IntegrityError, match=r"two rows have the id \w+"):
        compare(lines, twice)
    (copy / ENGLISH).write_bytes((copy / ENGLISH).read_bytes()[:-1])
    with pytest.raises(IntegrityError, match="bytes, expected"):
        compare(lines, copy)
