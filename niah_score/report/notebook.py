"""Shows a report in a notebook: its overview as a table, its heatmap as a picture embedded in the HTML."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from html import escape

from niah_score.report.charts.grid import Grid
from niah_score.report.charts.heatmap import figure_of, picture_of
from niah_score.report.overview import Overview
from niah_score.text.visible import visible


def html_of(overview: Overview, grids: Sequence[Grid], *, title: str | None = None, remark: str | None = None) -> str:
    """An HTML fragment that loads and runs nothing. `grids`, `title`: of the heatmap, if there is one.

    `remark`: why there is none, if the reader should know. Names from outside are shown as text, with characters that
    would act on a reader's screen written out.
    """
    score, *about = map(_text, (overview.score, *overview.about))
    parts = [f"<p><strong>{score}</strong><br>{'<br>'.join(about)}</p>"]
    if grids:
        drawing = figure_of(grids, title=title)
        picture = base64.b64encode(picture_of(drawing)).decode()
        width = round(96 * float(drawing.get_figwidth()))
        named = _text(f"Heatmap of {grids[0].metric} by length and depth: {', '.join(grid.model for grid in grids)}")
        parts.append(
            f'<img alt="{named}" src="data:image/png;base64,{picture}" style="width: {width}px; max-width: 100%">'
        )
    if remark is not None:
        parts.append(f"<p>{_text(remark)}</p>")
    lines = []
    for title, metrics in overview.groups:
        lines.append(f'<tr><th colspan="2" style="text-align: left">{_text(title)}</th></tr>')
        lines += [
            f'<tr><td style="text-align: left">{_text(name)}</td><td style="text-align: left">{_text(figure)}</td></tr>'
            for name, figure in metrics
        ]
    parts.append(f"<table>{''.join(lines)}</table>")
    return f"<div>{''.join(parts)}</div>"


def _text(text: str) -> str:
    return escape(visible(text.strip()))
