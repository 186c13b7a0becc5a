"""Right and wrong answers of every kind of needle, in the wordings of models, get the right verdict."""

from __future__ import annotations

from pathlib import Path

from wrapped_answers import file_verdicts, rows, said_of, verdicts, write_lines

from niah_score.judge import Judge

# One in so many answers, and one in so many of those also by Judge. Primes, so that every wording is drawn.
EVERY, JUDGED = 101, 13


def test_no_ordinary_wording_changes_a_verdict(tmp_path: Path) -> None:
    asked = rows()
    said = [one for row in asked for one in said_of(row)]
    assert {one.id for one in said} == {row["id"] for row in asked}
    assert len({(one.id, one.text) for one in said}) == len(said), "an answer is both right and wrong"
    drawn = [one._replace(wrapping="all") for one in said[::EVERY]]
    dataset = tmp_path / "rows.jsonl"
    write_lines(dataset, asked)
    scores = file_verdicts(dataset, drawn, tmp_path)
    wrong = [(one.id, one.text, score) for one, score in zip(drawn, scores, strict=True) if score != one.score]
    assert {one.score for one in drawn} == {0.0, 100.0}
    assert wrong == []
    assert verdicts(Judge(dataset, metrics=("correct",)), drawn[::JUDGED]) == scores[::JUDGED]
