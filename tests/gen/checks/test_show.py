"""Printing a row: all that it has and nothing that it lacks, without an error whatever its values are."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from properties import examples

import niah_gen
from niah_gen.checks.find_row import FoundRow, row_by_number
from niah_gen.checks.show import describe
from niah_score.contract import COLUMNS

V1 = Path(__file__).parents[2] / "contract" / "v1"


def shown(row: Mapping[str, Any], colour: bool = False) -> str:
    return "\n".join(describe(FoundRow(row, 3, 9), whole=True, colour=colour))


@pytest.fixture(scope="module")
def rows() -> list[Mapping[str, Any]]:
    """A needle with near misses and its control, over the same haystack."""
    recipe = {
        "lengths": [1500], "depths": [50], "languages": ["en"], "needles": ["velden-archive"], "controls": ["absent"],
        "options": {"distractors": 3},
    }  # fmt: skip
    return [dict(row) for row in niah_gen.iter_rows(recipe)]


def test_decoys_controls_and_parts_are_printed_only_for_rows_that_have_them(rows: list[Mapping[str, Any]]) -> None:
    row, control = rows
    text = shown({**row, "part": "near misses"})
    assert "\nrow              3 of 9\n" in text
    assert "\npart             near misses\n" in text
    assert "\ndecoys           " + " + ".join(" / ".join(group) for group in row["decoys"]) + "\n" in text
    assert "\ncontrol " not in text
    assert "\ncontrol          absent\n" in shown(control)
    assert "\npart " not in shown(control)
    assert "\ndecoys " not in shown({**row, "decoys": []})


def test_every_hidden_text_is_marked_with_its_depth(rows: list[Mapping[str, Any]]) -> None:
    for row in rows:
        for number, (depth, needle) in enumerate(zip(row["needle_depths"], row["needles"], strict=True), 1):
            assert f"[{number}: {depth:.2f} %] >>>{needle}<<<" in shown(row)
    assert "\x1b[1;7m" in shown(rows[0], colour=True)


def test_a_dataset_of_the_first_schema_is_shown_without_the_columns_it_lacks() -> None:
    match = row_by_number(V1, 2)
    text = "\n".join(describe(match, whole=False, colour=False))
    assert f"[{match.row['needle_depths'][0]:.2f} %] >>>{match.row['needles'][0]}<<<" in text
    assert "decoys" not in text


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["start", "end", "role"]), inner),
    max_leaves=6,
)


@examples(150)
@given(row=st.dictionaries(st.sampled_from(COLUMNS), VALUES))
def test_a_row_with_values_of_any_types_is_shown_without_an_error(row: dict[str, Any]) -> None:
    text = shown(row)
    assert text.startswith("id  ")
    assert "\x1b" not in text
