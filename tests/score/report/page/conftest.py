"""A report that several tests of the page need."""

from __future__ import annotations

import pytest
from made import WriteLines
from made_pages import large

import niah_score
from niah_score.report.report import Report


@pytest.fixture
def report(write_lines: WriteLines) -> Report:
    rows, answers = large()
    return niah_score.evaluate(write_lines("rows.jsonl", rows), write_lines("answers.jsonl", answers), missing="zero")
