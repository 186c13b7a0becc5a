"""Answers come to their rows by id, by the prompt they echo, or, only when asked to, by order."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from made import Record, WriteLines, made, right

from niah_score.errors import IntegrityError, ScoreError
from niah_score.evaluation import evaluate
from niah_score.join.join import Lines


def prompted(count: int) -> list[Record]:
    """Rows whose prompts are known by their hash."""
    return [{**row, "prompt_sha256": sha256(f"prompt {row['id']}".encode()).hexdigest()} for row in made(count)]


def opencompass(path: Path, rows: list[Record], answers: list[str]) -> Path:
    """Predictions as OpenCompass writes them: by number, each with the prompt that it answers."""
    records = {
        str(number): {
            "origin_prompt": [{"role": "HUMAN", "prompt": f"prompt {row['id']}"}],
            "prediction": answer,
            "gold": row["answers"][0],
        }
        for number, (row, answer) in enumerate(zip(rows, answers, strict=True))
    }
    path.write_text(json.dumps(records, ensure_ascii=False, indent=4), "utf-8")
    return path


def test_answers_without_ids_are_joined_by_the_prompt_they_echo_whatever_their_order(
    write_lines: WriteLines, tmp_path: Path
) -> None:
    rows = prompted(5)
    dataset = write_lines("rows.jsonl", rows)
    file = opencompass(tmp_path / "pred.json", rows[::-1], [f"It is word{4 - n:03}." for n in range(5)])
    report = evaluate(dataset, file)
    assert report.scores["score"].to_list() == [100.0] * 5
    assert report.lines == Lines(5, 5, 0, 0, 0)


@pytest.mark.parametrize("echo", ["turns", "text", "messages"])
def test_rows_of_one_message_are_found_by_its_echo_in_any_spelling(
    echo: str, write_lines: WriteLines, tmp_path: Path
) -> None:
    """The row's hash is that of its messages, as the generator writes it."""
    rows = made(3)
    for row in rows:
        messages = [{"role": "user", "content": f"prompt {row['id']}"}]
        row["prompt_sha256"] = sha256(json.dumps(messages, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
    dataset = write_lines("rows.jsonl", rows)
    said = [f"It is word{2 - n:03}." for n in range(3)]
    if echo == "turns":
        file = opencompass(tmp_path / "pred.json", rows[::-1], said)
    else:
        prompts = [f"prompt {row['id']}" for row in rows[::-1]]
        echoed = prompts if echo == "text" else [[{"role": "user", "content": prompt}] for prompt in prompts]
        file = write_lines(
            "pred.jsonl", [{"prompt": prompt, "prediction": text} for prompt, text in zip(echoed, said, strict=True)]
        )
    report = evaluate(dataset, file)
    assert report.scores["score"].to_list() == [100.0] * 3
    assert report.lines == Lines(3, 3, 0, 0, 0)


def test_a_prompt_of_no_row_is_unknown_and_only_such_prompts_are_another_dataset(
    write_lines: WriteLines, tmp_path: Path
) -> None:
    rows = prompted(4)
    dataset = write_lines("rows.jsonl", rows[:2])
    report = evaluate(dataset, opencompass(tmp_path / "some.json", rows, ["x"] * 4))
    assert report.lines == Lines(4, 2, 0, 2, 0)
    assert [problem.message for problem in report.problems] == ["its prompt is that of no row of the dataset"] * 2
    with pytest.raises(IntegrityError, match="their prompts are those of no row"):
        evaluate(dataset, opencompass(tmp_path / "none.json", rows[2:], ["x"] * 2))


def test_rows_that_share_a_prompt_take_its_answers_in_their_order(write_lines: WriteLines, tmp_path: Path) -> None:
    rows = prompted(3)
    rows[2]["prompt_sha256"] = rows[0]["prompt_sha256"]
    echoed = [rows[0], rows[1], rows[0]]
    file = opencompass(tmp_path / "pred.json", echoed, ["It is word000.", "It is word001.", "It is word002."])
    assert evaluate(write_lines("rows.jsonl", rows), file).scores["score"].to_list() == [100.0] * 3


def ruler(path: Path, rows: list[Record], answers: list[str]) -> Path:
    """Predictions as RULER writes them: by order, each with its references."""
    lines = [
        {
            "index": number,
            "pred": answer,
            "input": "...",
            "outputs": row["answers"],
            "others": {},
            "truncation": -1,
            "length": -1,
        }
        for number, (row, answer) in enumerate(zip(rows, answers, strict=True))
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    return path


def test_order_alone_is_trusted_only_when_asked_to_and_when_counts_and_references_agree(
    write_lines: WriteLines, tmp_path: Path
) -> None:
    rows = made(4)
    dataset = write_lines("rows.jsonl", rows[::-1])
    said = [row["answers"][0] for row in rows[::-1]]
    file = ruler(tmp_path / "pred.jsonl", rows[::-1], said)
    with pytest.raises(ScoreError, match="say --by-order"):
        evaluate(dataset, file)
    assert evaluate(dataset, file, by_order=True).scores["score"].to_list() == [100.0] * 4
    with pytest.raises(ScoreError, match="holds 3 answers, the dataset 4 rows"):
        evaluate(dataset, ruler(tmp_path / "few.jsonl", rows[:3], said[:3]), by_order=True)
    with pytest.raises(ScoreError, match=r"mixed.jsonl:1: its reference 'It is word000.' is not the row's"):
        evaluate(dataset, ruler(tmp_path / "mixed.jsonl", rows, said), by_order=True)


def test_all_second_answers_are_listed_and_the_first_twenty_shown(write_lines: WriteLines) -> None:
    rows = made(30)
    with pytest.raises(ScoreError) as caught:
        evaluate(write_lines("rows.jsonl", rows), write_lines("twice.jsonl", right(rows) * 2))
    lines = str(caught.value).splitlines()
    assert lines[0].startswith("30 lines answer a row again")
    assert len(lines) == 22
    assert lines[-1] == "  and 10 more"


@pytest.mark.parametrize(("way", "score"), [("mean", 50.0), ("best", 100.0), ("majority", 100.0)])
def test_samples_that_a_format_numbers_need_no_flag(way: Any, score: float, write_lines: WriteLines) -> None:
    rows = made(1)
    choices = [
        {"index": k, "message": {"role": "assistant", "content": text}}
        for k, text in enumerate(("It is word000.", "no"))
    ]
    record = {
        "custom_id": "row-000",
        "response": {"status_code": 200, "body": {"object": "chat.completion", "choices": choices}},
        "error": None,
    }
    dataset, file = write_lines("rows.jsonl", rows), write_lines("batch.jsonl", [record])
    report = evaluate(dataset, file)
    assert report.scores["score"].to_list() == [50.0]
    assert report.lines == Lines(1, 1, 0, 0, 0)
    assert evaluate(dataset, file, samples=way).scores["score"].to_list() == [score]
