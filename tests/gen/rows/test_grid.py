"""Grids: which needles appear at which lengths and depths."""

from __future__ import annotations

from collections import Counter

from each import each
from hypothesis import given
from hypothesis import strategies as st
from properties import examples

from niah_gen.recipe.read import load_recipe
from niah_gen.recipe.recipe import Part
from niah_gen.rows.grid import Grid, places, product_of

steady = examples(100)


def part_of(lengths: int, depths: int, **fields: object) -> Part:
    recipe = load_recipe(
        {"lengths": [1000 * (1 + n) for n in range(lengths)], "depths": [n / 2 for n in range(depths)], **fields}
    )
    return recipe.parts[0]


@each(("needles", "each"), [(12, 3), (16, 4), (8, 2), (8, 1), (4, 1)])
def test_every_needle_appears_once_at_every_depth_in_each_band_of_lengths(needles: int, each: int) -> None:
    part = part_of(8, 11, needles_per_cell=each)
    names = [f"n{number}" for number in range(needles)]
    depths_of = places(part, names)
    band = needles // each
    for first in range(0, 8, band):
        for depth in part.depths:
            present = [
                n for n in names for length in part.lengths[first : first + band] if depth in depths_of[n, length]
            ]
            assert sorted(present) == sorted(names)
    # Over all depths, a needle appears at each length of a band about equally often.
    counts = {len(depths_of[name, length]) for name in names for length in part.lengths}
    assert max(counts) - min(counts) <= 2


@steady
@given(
    needles=st.integers(1, 14), each=st.integers(0, 15), lengths=st.integers(1, 9), depths=st.integers(1, 12),
    seed=st.integers(0, 9),
)  # fmt: skip
def test_no_cell_has_more_needles_than_asked_for_or_any_needle_twice(
    needles: int, each: int, lengths: int, depths: int, seed: int
) -> None:
    part = part_of(lengths, depths, needles_per_cell=each, seed=seed)
    names = [f"n{number}" for number in range(needles)]
    depths_of = places(part, names)
    cells = Counter((length, depth) for (_, length), at in depths_of.items() for depth in at)
    expected = min(each or needles, needles)
    assert set(cells.values()) <= set(range(1, expected + 1))
    if needles % max(each, 1) == 0 or each >= needles:
        assert set(cells.values()) == {expected}
        assert len(cells) == lengths * depths
    assert all(list(at) == sorted(set(at)) for at in depths_of.values())


def test_absent_twins_appear_at_the_control_depths_and_bare_questions_once() -> None:
    part = part_of(2, 3, controls=["absent", "no_context"], control_depths=[0.5], repeats=2, needles=["velden-archive"])
    grid = Grid(part, {"en": product_of(part, ["a", "b"])})
    cells = [cell for length in part.lengths for cell in grid.cells("en", length, ["x"])]
    assert Counter(cell.control for cell in cells) == {None: 24, "absent": 8, "no_context": 2}
    assert {cell.depth for cell in cells if cell.control == "absent"} == {0.5}
    assert [(cell.length, cell.depth, cell.repeat) for cell in cells if cell.control == "no_context"] == [
        (1000, 0.0, 0), (1000, 0.0, 0),
    ]  # fmt: skip


def test_controls_appear_at_the_depths_nearest_to_those_asked_for() -> None:
    (part,) = load_recipe(
        {"lengths": [1000], "depths": [0, 20, 100], "controls": ["absent"], "control_depths": [10, 55, 99]}
    ).parts
    cells = list(Grid(part, {"en": product_of(part, ["a"])}).cells("en", 1000, ["x"]))
    assert [cell.depth for cell in cells if cell.control] == [0, 20, 100]
