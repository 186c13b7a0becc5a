"""Renders report.html: one file that shows a report cell by cell, and loads nothing from anywhere.

`data` computes the numbers, `examples` chooses the rows to show.
"""

from __future__ import annotations

from niah_score.html import as_json
from niah_score.html import document as assembled
from niah_score.report.page.data import data_of
from niah_score.report.page.examples import LADDER, Chooser
from niah_score.report.report import Report

STYLES = ("report.css",)
# In this order, after the scripts of every page; all share one scope.
SCRIPTS = ("keywords.js", "figures.js", "overview.js", "heatmap.js", "parts.js", "examples.js", "report.js")
_WITHOUT_SCRIPT = (
    "This page draws itself with JavaScript, which is switched off. The same figures are in summary.csv and cells.csv "
    "beside it."
)


LARGEST = 15_000_000


def document(data: str) -> bytes:
    """The file that shows some data, which `as_json` made safe."""
    return assembled(data, "niah_score.report.page", STYLES, SCRIPTS, _WITHOUT_SCRIPT)


def page_of(report: Report, *, largest: int = LARGEST) -> bytes:
    """The page of a report, in UTF-8: at most `largest` bytes, and the same for the same report.

    If it would be too large, long texts are cut first, then fewer examples are shown; the page says so. Texts of the
    dataset (questions, needles, reference answers) are in it only if the report has the dataset's rows.
    """
    data = data_of(report)
    empty = len(document(as_json(data)))
    chooser = Chooser(report, data)
    page = b""
    for step in LADDER:
        if chooser.estimate(step) > largest - empty and step != LADDER[-1]:
            continue
        page = document(as_json({**data, "examples": chooser.examples(step)}))
        if len(page) <= largest:
            break
    return page
