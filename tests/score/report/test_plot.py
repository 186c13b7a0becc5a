"""`niah_score.plot` draws reports and folders of scores in one figure, and leaves pyplot alone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from made_reports import report, right

import niah_score
from niah_score.errors import ScoreError
from niah_score.report.write import write


def test_reports_and_folders_are_drawn_side_by_side_in_one_figure(tmp_path: Path) -> None:
    one, other = report(right(0.9, 1)), replace(report(right(0.5, 2)), model="other")
    paths = [tmp_path / "a.png", tmp_path / "a.svg"]
    drawing = niah_score.plot(one, write(other, tmp_path / "other"), out=paths, title="Mine")
    shown = [text.get_text() for axes in drawing.axes for text in axes.texts]
    assert [shown.count(name) for name in ("m", "other", "Mine", "Token Limit")] == [1, 1, 1, 2]
    assert paths[0].read_bytes().startswith(b"\x89PNG")
    assert "<svg" in paths[1].read_text("utf-8")
    niah_score.plot(one, out=str(paths[0]))


def test_what_cannot_be_drawn_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    one = report(right(0.9, 1))
    for wrong, message in (
        ({"metric": "bleu"}, "have no metric 'bleu'"),
        ({"language": "zh"}, "no row with a length"),
        ({"palette": "grey"}, "grey"),
        ({"out": tmp_path / "a.gif"}, "png or .svg"),
    ):
        with pytest.raises(ScoreError, match=message):
            niah_score.plot(one, **wrong)
    with pytest.raises(ScoreError, match="nothing to draw"):
        niah_score.plot()
    with pytest.raises(ScoreError, match="there are no scores"):
        niah_score.plot(tmp_path / "summary.csv")
    assert not (tmp_path / "a.gif").exists()


def test_pyplot_does_not_register_our_figures_and_keeps_its_settings() -> None:
    import matplotlib
    import matplotlib.pyplot as plt

    before = dict(matplotlib.rcParams)
    drawing = report(right(0.9, 1)).figure(palette="colourblind", title="x")
    assert drawing._repr_png_().startswith(b"\x89PNG")  # type: ignore[attr-defined]
    assert plt.get_fignums() == []
    assert dict(matplotlib.rcParams) == before
