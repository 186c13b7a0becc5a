"""The dataset of the frozen schema still passes the full proof, and its accepted answers score 100."""

from __future__ import annotations

from pathlib import Path

from changed_rows import rows_of, write_lines
from proved import prove

from niah_score import evaluate

FROZEN = Path(__file__).parents[2] / "contract" / "frozen"


def test_the_frozen_dataset_is_rebuilt_to_the_same_rows_and_its_accepted_answers_score_100(tmp_path: Path) -> None:
    proof = prove(FROZEN, jobs=1)
    assert (proof.problems, proof.not_rebuilt) == ((), None)
    given = ({"id": row["id"], "prediction": row["answers"][0]} for row in rows_of(FROZEN))
    assert evaluate(FROZEN, write_lines(tmp_path / "answers.jsonl", given)).summary["headline"]["mean"] == 100
