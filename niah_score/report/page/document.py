"""Assembles report.html from its styles, its scripts and its data."""

from __future__ import annotations

from niah_score.html.document import document as assembled

STYLES = ("report.css",)
# In this order, after the scripts of every page; all share one scope.
SCRIPTS = ("keywords.js", "figures.js", "overview.js", "heatmap.js", "parts.js", "examples.js", "report.js")
_WITHOUT_SCRIPT = (
    "This page draws itself with JavaScript, which is switched off. The same figures are in summary.csv and cells.csv "
    "beside it."
)


def document(data: str) -> bytes:
    """The file that shows some data, which `as_json` made safe."""
    return assembled(data, "niah_score.report.page", STYLES, SCRIPTS, _WITHOUT_SCRIPT)
