"""At least 95 % of whole model outputs are scored as a person has judged them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import niah_score

OUTPUTS = Path(__file__).parents[4] / "shared" / "real_results" / "hard_outputs.jsonl"
SHARE = 0.95


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """What the person says about each output, and what the scorer says."""
    if not OUTPUTS.is_file():
        pytest.skip(f"needs {OUTPUTS}: outputs with a person's verdicts that are not part of the repository")
    with OUTPUTS.open(encoding="utf-8") as lines:
        outputs = [json.loads(line) for line in lines]
    folder = tmp_path_factory.mktemp("outputs")
    ids = [f"row-{number:03}" for number in range(len(outputs))]
    rows = [{"id": name, **output["row"]} for name, output in zip(ids, outputs, strict=True)]
    answers = [{"id": name, "prediction": output["answer"]} for name, output in zip(ids, outputs, strict=True)]
    for name, records in (("rows.jsonl", rows), ("answers.jsonl", answers)):
        (folder / name).write_text("".join(json.dumps(record) + "\n" for record in records), "utf-8")
    report = niah_score.evaluate(folder / "rows.jsonl", folder / "answers.jsonl", metrics=["keyword", "exact"])
    return list(zip(outputs, report.scores.sort("id").to_dicts(), strict=True))


def disagreements(judged: list[tuple[dict[str, Any], dict[str, Any]]], name: str) -> list[str]:
    """The cases in which the person and the scorer differ in a column, with what both say."""
    differ = []
    for output, row in judged:
        accepted = output[name] if isinstance(output[name], list) else [output[name]]
        if output[name] is not None and row[name] not in accepted:
            differ.append(f"{output['case']}: {name} {row[name]}, accepted {accepted}, extracted {row['extracted']!r}")
    print(*differ, sep="\n")
    return differ


@pytest.mark.parametrize("name", ["status", "finding", "exact"])
def test_nearly_all_outputs_are_scored_as_a_person_judges_them(
    judged: list[tuple[dict[str, Any], dict[str, Any]]], name: str
) -> None:
    """Whether a text names the fact is up to the metric; the finding follows from that."""
    same = [one for one in judged if name != "finding" or one[0]["keyword"] in (None, one[1]["keyword"])]
    assert len(disagreements(same, name)) <= (1 - SHARE) * len(same)
