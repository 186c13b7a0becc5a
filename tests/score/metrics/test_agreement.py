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


def test_the_documented_tables_match_the_real_answers(answers: list[dict[str, object]]) -> None:
    apart, findings = real_answers.differences(answers)
    for table in (
        real_answers.agreement_table(real_answers.agreements(answers)),
        real_answers.difference_table(apart),
        real_answers.findings_table(findings),
    ):
        assert f"\n\n{table}\n" in PAGE


def test_the_published_formulas_agree_with_the_judge_at_the_known_rates(answers: list[dict[str, object]]) -> None:
    rates = {
        (one.metric, one.keywords): (round(one.auc, 3), one.best_apart) for one in real_answers.agreements(answers)
    }
    assert rates["cdme", real_answers.BOTH] == (0.881, 270)
    assert rates["cdme_trim", real_answers.BOTH] == (0.982, 46)
    assert rates["cdme_multi", ("sandwich",)] == (0.992, 9)
    assert rates["cdme_multi", ("Dolores Park",)] == (0.881, 270)
    assert rates["keyword", real_answers.BOTH] == (0.992, 9)


def test_few_right_answers_hedge_but_all_disputed_answers_do(
    answers: list[dict[str, object]],
) -> None:
    """Disputed answers are those that `keyword` and the judge rate differently."""
    apart, findings = real_answers.differences(answers)
    assert (findings.right["hedged"], sum(findings.right.values())) == (15, 831)
    assert [one.finding for one in apart].count("hedged") == 9
    assert len(apart) == 9
