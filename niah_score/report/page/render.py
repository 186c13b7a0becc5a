"""Renders report.html: one file that shows a report cell by cell, and loads nothing from anywhere.

`data` computes the numbers, `examples` chooses the rows that are shown, `document` puts both into one HTML file.
"""

from __future__ import annotations

import re
from typing import Any

from niah_score.html.document import as_json
from niah_score.report.page.data import data_of
from niah_score.report.page.document import document
from niah_score.report.page.examples import LADDER, Chooser
from niah_score.report.report import Report

LARGEST = 15_000_000
_DATA = re.compile(rb'<script type="application/json" id="data">(.*?)</script>', re.DOTALL)


def page_of(report: Report, *, largest: int = LARGEST) -> bytes:
    """The page of a report, in UTF-8, at most `largest` bytes, the same for the same report.

    Where all would be too large, long texts are cut, then fewer examples are shown; the page says which. Texts of the
    dataset (questions, needles, reference answers) are in it only where the report has its rows.
    """
    data = data_of(report)
    empty = len(document(as_json(data)))
    chooser = Chooser(report, data)
    page = b""
    for step in LADDER:
        if chooser.estimate(step) > largest - empty and step != LADDER[-1]:
            continue
        found: dict[str, Any] = {**data, "examples": chooser.examples(step)}
        page = document(as_json(found))
        if len(page) <= largest:
            break
    return page


def has_texts(page: bytes) -> bool:
    """Whether a page that `page_of` made holds texts of the dataset; False for anything else."""
    import orjson

    found = _DATA.search(page)
    try:
        return found is not None and orjson.loads(found[1])["examples"]["texts"] is not None
    except (ValueError, KeyError, TypeError):
        return False
