"""The heatmap as a picture: its texts and colours, its reproducible bytes, and hostile names and missing cells."""

from __future__ import annotations

import re
import warnings
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from made_grids import figure, grid

from niah_score.errors import ResourceError, ScoreError
from niah_score.report.charts.grid import COLOURBLIND, CONVENTIONAL, DIFFERENCES, Grid, Palette
from niah_score.report.charts.heatmap import draw, figure_of

SVG = "{http://www.w3.org/2000/svg}"
PNG = b"\x89PNG\r\n\x1a\n"


def svg_of(tmp_path: Path, *grids: Grid, **more: object) -> ET.Element:
    path = tmp_path / "heatmap.svg"
    draw(grids, path, **more)  # type: ignore[arg-type]
    return ET.fromstring(path.read_text("utf-8"))


def texts(svg: ET.Element) -> list[str]:
    return ["".join(text.itertext()).strip() for text in svg.iter(f"{SVG}text")]


def fills(svg: ET.Element, group: str = "QuadMesh_1") -> list[str]:
    """The colours of the cells of the first panel, or of another group."""
    (found,) = (one for one in svg.iter(f"{SVG}g") if one.get("id") == group)
    return [colour for path in found.iter() for colour in re.findall(r"fill: (#[0-9a-f]{6})", path.get("style", ""))]


def hexadecimal(palette: Palette, points: float) -> str:
    return "#{:02x}{:02x}{:02x}".format(*palette.rgb(points))


def test_the_picture_has_the_conventional_axes_and_describes_what_it_shows(tmp_path: Path) -> None:
    svg = svg_of(tmp_path, grid(3, 4))
    shown = texts(svg)
    assert {
        "Token Limit", "Depth Percent", "Score", "gpt", "1k", "3k", "0", "25", "100", "overall 69.5 [59.5, 79.5]",
        "72 rows · n 6 a cell, 95 % interval typically ±10 points", "metric score · dataset made 01234567",
    } <= set(shown), shown  # fmt: skip
    assert "line: mean of the depths at each length, with its 95 % interval" in " ".join(shown)
    # Lengths rise to the right, and depths downwards.
    assert [shown.index(label) for label in ("1k", "2k", "3k")] == sorted(map(shown.index, ("1k", "2k", "3k")))


def test_cells_have_the_colours_of_their_scores(tmp_path: Path) -> None:
    one = grid(3, 1, changed={(0, 0): figure(100.0), (1, 0): figure(0.0), (2, 0): figure(25.0)})
    for palette in (CONVENTIONAL, COLOURBLIND):
        assert fills(svg_of(tmp_path, one, palette=palette)) == [hexadecimal(palette, value) for value in (100, 0, 25)]


def test_the_line_of_means_rises_with_the_score_between_the_ends_of_its_scale(tmp_path: Path) -> None:
    svg = svg_of(tmp_path, grid(3, 1, changed={(0, 0): figure(100.0), (1, 0): figure(0.0), (2, 0): figure(25.0)}))
    lines = [
        [tuple(map(float, pair)) for pair in re.findall(r"[ML] ([\d.]+) ([\d.]+)", path.get("d", ""))]
        for path in svg.iter(f"{SVG}path")
        if "stroke: #1a1a1a; stroke-width: 1.2" in path.get("style", "")
    ]
    ((full, nothing, quarter),) = [line for line in lines if len(line) == 3]
    assert full[0] < nothing[0] < quarter[0]
    assert (nothing[1] - quarter[1]) / (nothing[1] - full[1]) == pytest.approx(0.25, abs=0.001)


def test_every_mark_is_explained_where_it_occurs_and_nowhere_else(tmp_path: Path) -> None:
    wrong = figure(0.0, n=6)._replace(unanswered=6, rows=6)
    cases = [
        (wrong, "strokes: no answer (counted as 0)"), (figure(None, 0, 6), "strokes: no answer (not counted)"),
        (figure(50.0, 6, 1), "black dot: some rows without an answer"), (None, "white: no rows"),
        (figure(None, 6), "plain grey: no score (metric does not apply)"),
    ]  # fmt: skip
    plain = svg_of(tmp_path, grid(3, 3))
    assert len(set(fills(plain))) == 6
    for cell, meaning in cases:
        svg = svg_of(tmp_path, grid(3, 3, changed={(1, 1): cell}))
        assert meaning in " ".join(texts(svg))
        assert not any(meaning in text for text in texts(plain))
        assert hexadecimal(CONVENTIONAL, 0) not in fills(svg), meaning
        assert any(svg.iter(f"{SVG}pattern")) == meaning.startswith("strokes"), meaning


def test_differences_have_their_own_colours_and_noise_is_in_brackets(tmp_path: Path) -> None:
    cells = {(0, 0): figure(-40.0), (1, 0): figure(40.0), (0, 1): figure(3.0), (1, 1): figure(-0.3)}
    one = grid(2, 2, changed=cells, kind="difference", noise=frozenset({(0, 1), (1, 1)}))
    svg = svg_of(tmp_path, one, palette=CONVENTIONAL)
    assert {hexadecimal(DIFFERENCES, points) for points in (80, -80)} <= set(fills(svg))  # 40 on a scale to 50
    shown = texts(svg)
    assert {"−40", "+40", "(+3)", "(0)", "+50", "−50", "Difference in points"} <= set(shown), shown
    assert any("chance would explain it" in text for text in shown)


@pytest.mark.slow
def test_grids_of_any_size_are_drawn_whole_in_a_picture_of_sensible_size(tmp_path: Path) -> None:
    for columns, rows in ((1, 1), (2, 1), (1, 40), (40, 1), (40, 35), (120, 120)):
        svg = svg_of(tmp_path, grid(columns, rows))
        width, height = (float(str(svg.get(name)).removesuffix("pt")) for name in ("width", "height"))
        assert 6 * 72 - 1 <= width < 16 * 72
        assert 2 * 72 < height < 11 * 72
        assert len(fills(svg)) == columns * rows


@pytest.mark.slow
def test_no_text_leaves_the_picture_or_meets_another_panel() -> None:
    """Of the longest names and labels."""
    odd = grid(13, 4, model="W" * 90)
    object.__setattr__(odd, "lengths", tuple(100_001 + 7 * at for at in range(13)))
    drawing = figure_of(
        [odd, grid(3, 30, model="long words " * 30), grid(2, 2, model="a/b-c_" * 40)], title="title " * 80
    )
    width, height = drawing.get_size_inches() * drawing.dpi
    boxes = [(text.get_text(), text.get_window_extent()) for text in drawing.texts]
    assert not [text for text, box in boxes if box.x0 < 0 or box.y0 < 0 or box.x1 > width or box.y1 > height]
    names = sorted((box for text, box in boxes if text.startswith(("WW", "long", "a/b"))), key=lambda box: box.x0)
    assert names[0].x1 < names[1].x0 < names[1].x1 < names[2].x0


HOSTILE = [
    "$\\frac{$", "$x$ & <b>\"'", "</text><script>alert(1)</script>", "小明的模型", "\u202egpt\u2066",
    "a\x00b\x1b[31m\n\tc", "\ud800", "\ufffe\uffff", "x" * 3000, "", " ", "🙂 مرحبا",
]  # fmt: skip


@pytest.mark.slow
def test_any_name_is_drawn_literally_and_without_a_warning(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    for name in HOSTILE:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            draw([grid(2, 2, model=name)], tmp_path / "a.png", tmp_path / "a.svg", title=name)
        assert (tmp_path / "a.png").read_bytes().startswith(PNG)
        svg = ET.fromstring((tmp_path / "a.svg").read_bytes())
        assert not list(svg.iter(f"{SVG}script"))
        if len(name) < 100 and name.isprintable() and name.strip():
            assert name in texts(svg)
        assert "\u202e" not in (tmp_path / "a.svg").read_text("utf-8")
        assert capfd.readouterr() == ("", "")


def test_pictures_hold_no_times_or_versions_and_matplotlib_stays_as_it_was(tmp_path: Path) -> None:
    """`scoring_again_writes_the_same_bytes` draws in other processes and environments."""
    import matplotlib

    before = dict(matplotlib.rcParams)
    changed = {(1, 1): figure(None, 0, 6), (2, 1): figure(50.0, 6, 1)}
    with matplotlib.rc_context({"figure.facecolor": "red", "font.size": 30}):
        draw([grid(8, 6, changed=changed, model="小明 $x$")], tmp_path / "a.png", tmp_path / "a.svg")
    draw([grid(8, 6, changed=changed, model="小明 $x$")], tmp_path / "b.png", tmp_path / "b.svg")
    assert dict(matplotlib.rcParams) == before
    png, svg = ((tmp_path / name).read_bytes() for name in ("a.png", "a.svg"))
    assert (png, svg) == tuple((tmp_path / name).read_bytes() for name in ("b.png", "b.svg"))
    assert not any(chunk in png for chunk in (b"tEXt", b"iTXt", b"zTXt", b"tIME"))
    assert b"matplotlib" not in svg.lower()
    assert b"dc:date" not in svg


def test_what_cannot_be_drawn_is_refused_with_the_reason(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for grids, place, kind, message in (
        ([], "a.png", ScoreError, "no grid was given"),
        ([grid()], "a.gif", ScoreError, r"a\.gif: pictures are written as \.png or \.svg"),
        ([Grid("m", "d", "score", (), (), {}, ())], "a.png", ScoreError, "no row has a length and a depth"),
        ([grid(1, 121)], "a.png", ScoreError, "gpt: 121 depths, and a heatmap shows at most 120; round the depths"),
        ([grid()], "file/a.png", ResourceError, r"file: (Not a directory|File exists)$"),
    ):
        with pytest.raises(kind, match=message):
            draw(grids, tmp_path / place)
