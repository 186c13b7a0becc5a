"""Which rows are shown in full: one of every kind before a second of any, and the same ones every time."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from properties import examples

from niah_gen.page.choose import in_order
from niah_gen.page.figures import GridFigures, SeenRow
from niah_score.html.axes import axis_of

CODES = st.tuples(*(st.integers(0, 2) for _ in range(5)))


def figures(codes: list[tuple[int, ...]]) -> GridFigures:
    """The figures of rows with these codes: length, depth, part, control, needle."""
    different = sorted(set(codes))
    rows = [SeenRow(0, number, f"row-{number}", 1, different.index(code)) for number, code in enumerate(codes, 1)]
    names: list[tuple[str, list[str | None]]] = [(name, ["a", "b", "c"]) for name in ("part", "control", "needle_id")]
    axis = axis_of([1, 2, 3])
    return GridFigures(rows, axis, axis, names, [], different, {}, {})


@examples(100)
@given(st.lists(CODES, min_size=1, max_size=120), st.integers(1, 130))
def test_kinds_then_cells_then_needles_are_covered_while_there_is_room(codes: list[tuple[int, ...]], most: int) -> None:
    grid = figures(codes)
    chosen = in_order(grid, most)
    assert len(chosen) == len(set(chosen)) == min(most, len(codes))
    assert chosen == in_order(grid, len(codes))[: len(chosen)]
    covered = [grid.codes[row.combination] for row in chosen]
    kinds, cells = {code[2:4] for code in codes}, {code[:2] for code in codes}
    if most >= len(kinds):
        assert {code[2:4] for code in covered} == kinds
    if most >= len(kinds) + len(cells):
        assert {code[:2] for code in covered} == cells
    whole = {code[:4] for code in codes}
    if most >= len(kinds) + len(cells) + len(whole):
        assert {code[:4] for code in covered} == whole
    if most >= len(kinds) + len(cells) + len(whole) + 3:
        assert {code[4] for code in covered} == {code[4] for code in codes}
