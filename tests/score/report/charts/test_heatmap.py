"""The heatmap as a picture: its texts and colours, its reproducible bytes, and hostile names and missing cells."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import warnings
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from each import each
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from made import ROOT
from made_grids import figure, grid
from properties import examples

from niah_score.errors import ResourceError, ScoreError
from niah_score.report.charts.grid import Grid
from niah_score.report.charts.heatmap import draw, figure_of, save
from niah_score.report.charts.labels import cells_of_few
from niah_score.report.charts.palette import COLOURBLIND, CONVENTIONAL, DIFFERENCES

SVG = "{http://www.w3.org/2000/svg}"
PNG = b"\x89PNG\r\n\x1a\n"


def svg_of(tmp_path: Path, *grids: Grid, **more: object) -> ET.Element:
    path = tmp_path / "heatmap.svg"
    draw(grids, path, **more)  # type: ignore[arg-type]
    return ET.fromstring(path.read_text("utf-8"))


def texts(svg: ET.Element) -> list[str]:
    return ["".join(text.itertext()).strip() for text in svg.iter(f"{SVG}text")]


def places_of(svg: ET.Element) -> dict[str, tuple[float, float]]:
    """The position of each text, and of its first occurrence where it occurs more than once."""
    places: dict[str, tuple[float, float]] = {}
    for text in svg.iter(f"{SVG}text"):
        moved = re.match(r"translate\(([\d.]+) ([\d.]+)\)", text.get("transform", ""))
        place = (moved[1], moved[2]) if moved else (text.get("x", "nan"), text.get("y", "nan"))
        places.setdefault("".join(text.itertext()).strip(), (float(place[0]), float(place[1])))
    return places


def fills(svg: ET.Element) -> set[str]:
    return {colour for path in svg.iter() for colour in re.findall(r"fill: (#[0-9a-f]{6})", path.get("style", ""))}


def chunks(data: bytes) -> list[bytes]:
    """The names of a PNG's chunks."""
    names, at = [], len(PNG)
    while at < len(data):
        size = int.from_bytes(data[at : at + 4], "big")
        names.append(data[at + 4 : at + 8])
        at += 12 + size
    return names


def test_the_picture_has_the_conventional_axes_and_describes_what_it_shows(tmp_path: Path) -> None:
    shown = texts(svg_of(tmp_path, grid()))
    assert {"Token Limit", "Depth Percent", "gpt", "1k", "4k", "0", "25", "100"} <= set(shown)
    assert any(text.startswith("overall 65.8 [55.8, 75.8]") for text in shown), shown
    assert "metric score · dataset made 01234567 · 120 rows" in " · ".join(shown)
    assert any("n 6 a cell, 95 % interval typically ±10 points" in text for text in shown)
    assert any("line: mean of the depths at each length, with its 95 % interval" in text for text in shown)


def test_cells_have_the_colours_of_their_scores(tmp_path: Path) -> None:
    one = grid(3, 2, changed={(0, 0): figure(100.0), (1, 0): figure(0.0), (2, 0): figure(25.0)})
    for palette in (CONVENTIONAL, COLOURBLIND):
        assert {palette.colour(value) for value in (100, 0, 25)} <= fills(svg_of(tmp_path, one, palette=palette))
    assert not {CONVENTIONAL.colour(25)} & fills(svg_of(tmp_path, one, palette=COLOURBLIND))


def test_depth_zero_is_at_the_top_and_lengths_rise_to_the_right(tmp_path: Path) -> None:
    places = places_of(svg_of(tmp_path, grid(3, 3)))
    assert places["0"][1] < places["50"][1] < places["100"][1]
    assert places["1k"][0] < places["2k"][0] < places["3k"][0]


def test_the_line_shares_the_scale_of_the_colour_bar_with_high_scores_on_top(tmp_path: Path) -> None:
    cells = {(0, row): figure(100.0, half=0.0) for row in range(4)} | {(1, row): figure(20.0) for row in range(4)}
    svg = svg_of(tmp_path, grid(2, 4, changed=cells))
    line = next(
        [tuple(map(float, pair)) for pair in re.findall(r"[ML] ([\d.]+) ([\d.]+)", path.get("d", ""))]
        for path in svg.iter(f"{SVG}path")
        if "stroke-width: 2" in path.get("style", "") and "stroke: #ffffff" in path.get("style", "")
    )
    heights = [place[1] for name, place in places_of(svg).items() if name in ("0", "33.3", "66.7", "100")]
    row = (max(heights) - min(heights)) / 3
    assert line[1][1] - line[0][1] == pytest.approx(0.8 * 4 * row, rel=0.01)
    assert line[0][0] < line[1][0]


def test_unanswered_cells_are_not_drawn_like_wrong_answers(tmp_path: Path) -> None:
    lost = figure(0.0, n=6)._replace(unanswered=6, rows=6)
    counted = svg_of(tmp_path, grid(3, 3, changed={(1, 1): lost}))
    assert CONVENTIONAL.colour(0) not in _cells(counted)
    assert any(pattern.get("id") for pattern in counted.iter(f"{SVG}pattern"))
    assert "no answer (counted as 0)" in texts(counted)
    excluded = svg_of(tmp_path, grid(3, 3, changed={(1, 1): figure(None, 0, 6)}))
    assert "no answer (not counted)" in texts(excluded)
    partly = texts(svg_of(tmp_path, grid(3, 3, changed={(1, 1): figure(50.0, 6, 1)})))
    assert "some rows without an answer" in partly
    plain = texts(svg_of(tmp_path, grid(3, 3)))
    assert not any("answer" in text for text in plain)


def _cells(svg: ET.Element) -> list[str]:
    """The fill colours of the patch collections, which are the cells."""
    colours = []
    for group in svg.iter(f"{SVG}g"):
        if group.get("id", "").startswith("PatchCollection"):
            for path in group.iter():
                colours += re.findall(r"fill: (#[0-9a-f]{6})", path.get("style", ""))
    return colours


def test_cells_without_rows_stay_empty_and_the_legend_says_so(tmp_path: Path) -> None:
    whole, holed = grid(3, 3), grid(3, 3, changed={(1, 1): None})
    assert len(_cells(svg_of(tmp_path, whole))) == 9
    svg = svg_of(tmp_path, holed)
    assert len(_cells(svg)) == 8
    assert "no rows" in texts(svg)


def test_cells_of_few_rows_are_marked_unless_most_cells_have_few(tmp_path: Path) -> None:
    assert cells_of_few(grid(3, 3, changed={(1, 1): figure(50.0, 4)})) == {(1, 1)}
    assert not cells_of_few(grid(1, 2, changed={(0, 0): figure(50.0, 1), (0, 1): figure(50.0, 1)}))
    assert "fewer than 5 rows" in texts(svg_of(tmp_path, grid(3, 3, changed={(1, 1): figure(50.0, 4)})))


def test_differences_have_their_own_colours_and_noise_is_in_brackets(tmp_path: Path) -> None:
    cells = {(0, 0): figure(-40.0), (1, 0): figure(40.0), (0, 1): figure(3.0), (1, 1): figure(-0.3)}
    one = grid(2, 2, changed=cells, kind="difference", noise=frozenset({(0, 1), (1, 1)}))
    svg = svg_of(tmp_path, one, palette=CONVENTIONAL)
    assert {DIFFERENCES.colour(80), DIFFERENCES.colour(-80)} <= fills(svg)  # 40 on a scale to 50
    shown = texts(svg)
    assert {"−40", "+40", "(+3)", "(0)", "+50", "chance would explain it"} <= set(shown), shown
    with pytest.raises(ScoreError, match="different scales"):
        draw([one, grid(2, 2)], tmp_path / "x.png")


def test_runs_are_panels_of_one_picture_with_one_colour_bar_per_row_of_panels(tmp_path: Path) -> None:
    shown = texts(svg_of(tmp_path, *(grid(model=f"run {number}") for number in range(4)), title="Four runs"))
    assert {"Four runs", "run 0", "run 1", "run 2", "run 3"} <= set(shown)
    assert shown.count("Score (colour and line)") == 2
    assert shown.count("Token Limit") == 4


@pytest.mark.slow
@each(("columns", "rows"), [(1, 1), (2, 1), (1, 40), (40, 1), (40, 35)])
def test_grids_of_any_size_are_drawn_whole_in_a_picture_of_sensible_size(
    columns: int, rows: int, tmp_path: Path
) -> None:
    svg = svg_of(tmp_path, grid(columns, rows))
    width = float(str(svg.get("width")).removesuffix("pt"))
    height = float(str(svg.get("height")).removesuffix("pt"))
    assert 6 * 72 - 1 <= width < 16 * 72
    assert 2 * 72 < height < 11 * 72
    assert len(_cells(svg)) == columns * rows


HOSTILE = [
    "$\\frac{$", "$x$ & <b>\"'", "</text><script>alert(1)</script>", "小明的模型", "\u202egpt\u2066",
    "a\x00b\x1b[31m\n\tc", "\ud800", "\ufffe\uffff", "x" * 3000, "", " ", "🙂 مرحبا",
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE)
def test_any_name_is_drawn_literally_and_without_a_warning(
    name: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    one = grid(2, 2, model=name)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        draw([one], tmp_path / "a.png", tmp_path / "a.svg", title=name)
    assert (tmp_path / "a.png").read_bytes().startswith(PNG)
    svg = ET.fromstring((tmp_path / "a.svg").read_bytes())
    assert not list(svg.iter(f"{SVG}script"))
    if len(name) < 100 and name.isprintable() and name.strip():
        assert name in texts(svg)
    assert "\u202e" not in (tmp_path / "a.svg").read_text("utf-8")
    assert capfd.readouterr() == ("", "")


@examples(8, HealthCheck.function_scoped_fixture)
@given(st.text(max_size=60), st.integers(1, 6), st.integers(1, 6), st.data())
def test_any_name_and_any_missing_scores_still_yield_a_picture(
    tmp_path: Path, name: str, columns: int, rows: int, data: st.DataObject
) -> None:
    places = st.tuples(st.integers(0, columns - 1), st.integers(0, rows - 1))
    silent = data.draw(
        st.dictionaries(places, st.sampled_from([figure(None, 0, 3), figure(None, 2), figure(7.0, 1, 1)]))
    )
    draw([grid(columns, rows, model=name, changed=silent)], tmp_path / "a.svg")
    ET.fromstring((tmp_path / "a.svg").read_bytes())


CODE = """
import sys
sys.path[:0] = sys.argv[2:]
from pathlib import Path
from made_grids import figure, grid
from niah_score.report.charts.heatmap import draw
changed = {(1, 1): figure(None, 0, 6), (2, 1): figure(50.0, 6, 1)}
draw([grid(8, 6, changed=changed, model="小明 $x$")], Path(sys.argv[1]) / "h.png", Path(sys.argv[1]) / "h.svg")
import matplotlib
assert "matplotlib.pyplot" not in sys.modules
assert matplotlib.rcParams["svg.hashsalt"] is None and matplotlib.rcParams["text.parse_math"] is True
"""


@pytest.mark.slow
def test_pictures_are_the_same_bytes_in_any_process_without_times_or_versions(tmp_path: Path) -> None:
    pictures = []
    for seed, zone in (("1", "UTC"), ("2", "Asia/Shanghai")):
        folder = tmp_path / seed
        folder.mkdir()
        (folder / "matplotlibrc").write_text("figure.facecolor: red\nfont.size: 30\n" if seed == "2" else "")
        done = subprocess.run(
            [sys.executable, "-c", CODE, folder, ROOT, ROOT / "tests" / "score"],
            env={**os.environ, "PYTHONHASHSEED": seed, "TZ": zone, "LC_ALL": "C"}, cwd=folder,
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
        pictures.append([(folder / name).read_bytes() for name in ("h.png", "h.svg")])
    assert pictures[0] == pictures[1]
    png, svg = pictures[0]
    assert not {b"tEXt", b"iTXt", b"zTXt", b"tIME"} & set(chunks(png))
    assert b"matplotlib" not in svg.lower().replace(b"matplotlib.axis", b"")
    assert b"dc:date" not in svg


def test_what_cannot_be_drawn_is_refused_with_the_reason(tmp_path: Path) -> None:
    with pytest.raises(ScoreError, match="no grid was given"):
        draw([], tmp_path / "a.png")
    with pytest.raises(ScoreError, match=r"a\.gif: pictures are written as \.png or \.svg"):
        draw([grid()], tmp_path / "a.gif")
    with pytest.raises(ScoreError, match="no row has a length and a depth"):
        draw([Grid("m", "d", "score", (), (), {}, ())], tmp_path / "a.png")
    with pytest.raises(ScoreError, match="gpt: 121 depths, and a heatmap shows at most 120; round the depths"):
        draw([grid(1, 121)], tmp_path / "a.png")
    (tmp_path / "file").touch()
    with pytest.raises(ResourceError, match=r"file: (Not a directory|File exists)$"):
        save(figure_of([grid()]), [grid()], tmp_path / "file" / "a.png")
