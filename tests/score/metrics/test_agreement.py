"""docs/metrics.md describes every metric and, checked where the real answers exist, how it agrees with a judge."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import real_answers

from niah_score.metrics import METRICS
from niah_score.scoring.extract_answer import REASONING_TAGS
from niah_score.scoring.findings import FINDINGS, STATUSES

PAGE = (Path(__file__).parents[3] / "docs" / "metrics.md").read_text("utf-8")


@pytest.fixture(scope="module")
def answers() -> list[dict[str, object]]:
    if not real_answers.ANSWERS.is_file():
        pytest.skip(f"needs {real_answers.ANSWERS}: real answers that are not part of the repository")
    return real_answers.read_answers()


def test_every_metric_part_status_finding_and_tag_is_documented() -> None:
    explained = PAGE.partition("\n## Which metric agrees")[0]
    for name in (*METRICS, *STATUSES, *FINDINGS):
        assert re.search(rf"^\| `{name}` \|", explained, re.MULTILINE), name
    assert [part for metric in METRICS.values() for part in metric.parts if f"`{part}`" not in PAGE] == []
    assert [opening for opening, _ in REASONING_TAGS if f"`{opening}`" not in PAGE] == []


def test_judging_one_answer_prints_what_the_page_shows(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, rest = PAGE.partition("```python\n")[2].partition("```\n")
    exec(code, {})
    assert capsys.readouterr().out == rest.partition("```\n")[2].partition("```")[0]


def test_the_documented_table_matches_the_real_answers(answers: list[dict[str, object]]) -> None:
    assert f"\n\n{real_answers.agreement_table(real_answers.agreements(answers))}\n" in PAGE
