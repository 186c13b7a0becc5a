"""The dataset of the frozen schema still passes the full proof, and its accepted answers score 100."""

from __future__ import annotations

import json
from pathlib import Path

from proved import prove

from niah_score import evaluate

FROZEN = Path(__file__).parents[2] / "contract" / "frozen"


def test_the_frozen_dataset_is_proved_and_rebuilt_to_the_same_rows() -> None:
    proof = prove(FROZEN, jobs=1)
    assert (proof.problems, proof.not_rebuilt) == ((), None)


def test_the_accepted_answers_of_the_frozen_dataset_score_100(tmp_path: Path) -> None:
    rows = [
        json.loads(line)
        for path in sorted(FROZEN.glob("jsonl/*/*.jsonl"))
        for line in path.read_text("utf-8").splitlines()
    ]
    answers = tmp_path / "answers.jsonl"
    answers.write_text(
        "".join(json.dumps({"id": row["id"], "prediction": row["answers"][0]}) + "\n" for row in rows), "utf-8"
    )
    report = evaluate(FROZEN, answers)
    assert report.summary["headline"]["mean"] == 100
