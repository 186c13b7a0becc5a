"""Names the styles and scripts of report.html, and assembles the file."""

from __future__ import annotations

from niah_score.html.document import document as assembled

STYLES = ("report.css",)
# In this order, after the scripts that every page has; all share one scope.
SCRIPTS = ("keywords.js", "figures.js", "overview.js", "heatmap.js", "parts.js", "examples.js", "report.js")
_WITHOUT_SCRIPT = (
    "This page draws itself with JavaScript, which is switched off. The same figures are in summary.csv and cells.csv "
    "beside it."
)


def document(data: str) -> bytes:
    """The file that shows some data (as `as_json` leaves it)."""
    return assembled(data, "niah_score.report.page", STYLES, SCRIPTS, _WITHOUT_SCRIPT)
