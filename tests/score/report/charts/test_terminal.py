"""The heatmap in a terminal: coloured where possible, numbers or digits elsewhere, and never too wide."""

from __future__ import annotations

import io
import re

from hypothesis import given
from hypothesis import strategies as st
from made_grids import figure, grid
from properties import examples

from niah_score.report.charts.grid import COLOURBLIND, CONVENTIONAL
from niah_score.report.charts.terminal import colours_of, heatmap_lines

COLOUR = re.compile(r"\x1b\[(?:38;5;\d+;48;(?:2;\d+;\d+;\d+|5;\d+)|0)m")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_colours_are_used_only_on_terminals_that_support_and_allow_them() -> None:
    cases: list[tuple[io.StringIO, dict[str, str], str | None]] = [
        (io.StringIO(), {"COLORTERM": "truecolor"}, None),
        (Terminal(), {"TERM": "xterm"}, "256"),
        (Terminal(), {"COLORTERM": "truecolor"}, "24bit"),
        (Terminal(), {"COLORTERM": "truecolor", "NO_COLOR": "1"}, None),
        (Terminal(), {"NO_COLOR": "", "TERM": "xterm"}, "256"),
        (Terminal(), {"TERM": "dumb"}, None),
    ]
    for stream, environment, expected in cases:
        assert colours_of(stream, environment) == expected, environment


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


def test_where_numbers_do_not_fit_digits_show_tens_of_points() -> None:
    lines = heatmap_lines(grid(40, 2), 60)
    assert lines[3].removeprefix("   0 ").startswith("#99998888777")
    assert "digits are tens of points, # is 100" in lines
    assert lines[5].split()[0] == "1k"
    assert lines[5].index("9k") == 5 + 8  # below the ninth column


def test_cells_have_the_colours_of_the_palette() -> None:
    one = grid(1, 1, changed={(0, 0): figure(0.0)})
    assert "48;2;240;73;110m" in heatmap_lines(one, 80, "24bit")[3]
    assert "48;2;68;1;84m" in heatmap_lines(one, 80, "24bit", COLOURBLIND)[3]
    assert "\x1b[38;5;16;48;5;203m" in heatmap_lines(one, 80, "256", CONVENTIONAL)[3]  # 255, 95, 95
    assert not any("\x1b" in line for line in heatmap_lines(one, 80))


def test_unanswered_cells_show_strokes_not_the_colour_of_0() -> None:
    lost = figure(0.0)._replace(rows=6, unanswered=6)
    line = heatmap_lines(grid(1, 1, changed={(0, 0): lost}), 80, "24bit")[3]
    assert "/////" in line
    assert "48;2;240;73;110m" not in line


def test_differences_are_signed_and_noise_is_marked() -> None:
    cells = {(0, 0): figure(-40.0), (1, 0): figure(7.0)}
    lines = heatmap_lines(grid(2, 1, changed=cells, kind="difference", noise=frozenset({(1, 0)})), 80)
    assert lines[3].split() == ["0", "-40", "+7~"]
    assert "~ chance would explain it" in lines


LOST = {(0, 0): figure(None, 0, 6), (0, 1): figure(None, 6), (1, 0): figure(40.0, 6, 1)}


@examples(60)
@given(
    st.integers(2, 40), st.integers(2, 45), st.integers(50, 220), st.sampled_from([None, "24bit"]), st.booleans(),
    st.sampled_from(["gpt", "a name of many words " * 9, "W" * 300, "小明的模型" * 30]),
)  # fmt: skip
def test_lines_fit_the_terminal_and_every_cell_is_there(
    columns: int, rows: int, width: int, colours: str | None, difference: bool, model: str
) -> None:
    one = grid(columns, rows, kind="difference" if difference else "scores", model=model, changed=LOST)
    lines = heatmap_lines(one, width, colours)  # type: ignore[arg-type]
    plain = [COLOUR.sub("", line) for line in lines]
    assert not any("\x1b" in line for line in plain)
    assert all(len(line) + sum(char in "小明的模型" for char in line) <= width for line in plain)
    assert "".join(plain[: plain.index("") - 1]).replace(" ", "") == model.replace(" ", "")
    if colours:
        start = plain.index("") + 1
        for line, bare in zip(lines[start : start + rows], plain[start:], strict=False):
            unscored = re.search(r"-(?!\d)", bare) is not None  # a negative number has a digit after its sign
            assert line.count("\x1b[0m") == columns - unscored
