"""The heatmap in a terminal: numbers, coloured where possible, and only as wide as its numbers need."""

from __future__ import annotations

import io
import re

from hypothesis import given
from hypothesis import strategies as st
from made_grids import figure, grid
from properties import examples

from niah_score.report.charts.grid import COLOURBLIND
from niah_score.report.charts.terminal import has_colours, heatmap_lines

COLOUR = re.compile(r"\x1b\[(?:38;5;\d+;48;5;\d+|0)m")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_colours_are_used_only_on_terminals_that_support_and_allow_them() -> None:
    cases: list[tuple[io.StringIO, dict[str, str], bool]] = [
        (io.StringIO(), {"TERM": "xterm"}, False),
        (Terminal(), {"TERM": "xterm"}, True),
        (Terminal(), {"NO_COLOR": "1", "TERM": "xterm"}, False),
        (Terminal(), {"NO_COLOR": "", "TERM": "xterm"}, True),
        (Terminal(), {"TERM": "dumb"}, False),
    ]
    for stream, environment, expected in cases:
        assert has_colours(stream, environment) == expected, environment


def test_numbers_are_printed_in_their_rows_and_columns() -> None:
    lost = {(1, 0): figure(None, 0, 6), (2, 0): figure(40.0, 6, 1), (0, 1): None, (1, 1): figure(None, 6)}
    lines = heatmap_lines(grid(3, 3, changed=lost), 80)
    assert lines[0] == "gpt"
    rows = [line.split() for line in lines[3:8]]
    assert rows == [
        ["0", "100", "//////", "40'"], ["50", "-", "39"], ["100", "100", "70", "40"], ["1k", "2k", "3k"],
        ["mean", "100", "70", "40"],
    ]  # fmt: skip
    assert lines[4].index("-") == lines[5].index("70") + 1  # the cell at 1k is empty
    meanings = "/ no answer (not counted); - no score (metric does not apply); ' some rows without an answer"
    assert " ".join(lines).endswith(meanings)


def test_where_lengths_do_not_fit_each_keeps_room_for_its_number() -> None:
    lines = heatmap_lines(grid(40, 2), 60)
    assert lines[3].removeprefix("   0 ").startswith("100  98  96")
    assert lines[5].split()[:2] == ["1k", "2k"]
    assert max(map(len, lines)) == 5 + 40 * 4 - 1


def test_cells_have_the_colours_of_the_palette() -> None:
    one = grid(1, 1, changed={(0, 0): figure(0.0)})
    assert "\x1b[38;5;16;48;5;203m" in heatmap_lines(one, 80, colours=True)[3]  # 255, 95, 95
    assert "\x1b[38;5;15;48;5;53m" in heatmap_lines(one, 80, colours=True, palette=COLOURBLIND)[3]  # 95, 0, 95
    assert not any("\x1b" in line for line in heatmap_lines(one, 80))


def test_unanswered_cells_show_strokes_not_the_colour_of_0() -> None:
    lost = figure(0.0)._replace(rows=6, unanswered=6)
    line = heatmap_lines(grid(1, 1, changed={(0, 0): lost}), 80, colours=True)[3]
    assert "/////" in line
    assert "48;5;203m" not in line


LOST = {(0, 0): figure(None, 0, 6), (0, 1): figure(None, 6), (1, 0): figure(40.0, 6, 1)}


@examples(60)
@given(
    st.integers(2, 40), st.integers(2, 45), st.integers(50, 220), st.booleans(),
    st.sampled_from(["gpt", "a name of many words " * 9, "W" * 300, "小明的模型" * 30]),
)  # fmt: skip
def test_lines_fit_the_terminal_and_every_cell_is_there(
    columns: int, rows: int, width: int, colours: bool, model: str
) -> None:
    lines = heatmap_lines(grid(columns, rows, model=model, changed=LOST), width, colours=colours)
    plain = [COLOUR.sub("", line) for line in lines]
    assert not any("\x1b" in line for line in plain)
    widest = max(width, 6 + 4 * columns)
    assert all(len(line) + sum(char in "小明的模型" for char in line) <= widest for line in plain)
    assert "".join(plain[: plain.index("") - 1]).replace(" ", "") == model.replace(" ", "")
    if colours:
        start = plain.index("") + 1
        for line, bare in zip(lines[start : start + rows], plain[start:], strict=False):
            assert line.count("\x1b[0m") == columns - ("-" in bare)
