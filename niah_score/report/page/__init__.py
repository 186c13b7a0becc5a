"""A Report in, report.html out: one file that shows what answers are worth, cell by cell, and asks nobody for anything.

`figures` makes the numbers, `examples` chooses the rows that are shown, `document` puts both into one HTML file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from niah_score.report.page.document import as_json, document
from niah_score.report.page.examples import LADDER, Chooser
from niah_score.report.page.figures import figures_of

if TYPE_CHECKING:
    from niah_score.report.results import Report

LARGEST = 15_000_000


def page_of(report: Report, *, largest: int = LARGEST) -> bytes:
    """The page of a report, in UTF-8, at most `largest` bytes, the same for the same report.

    Where all would be too large, long texts are cut, then fewer examples are shown; the page says which. With texts of
    the dataset (questions, needles, reference answers) only where the report has its rows.
    """
    figures = figures_of(report)
    empty = len(document(as_json(figures)))
    chooser = Chooser(report, figures)
    page = b""
    for step in LADDER:
        if chooser.estimate(step) > largest - empty and step != LADDER[-1]:
            continue
        found: dict[str, Any] = {**figures, "examples": chooser.examples(step)}
        page = document(as_json(found))
        if len(page) <= largest:
            break
    return page
