"""Answers are joined to rows by id, by the prompt they echo or, only on request, by order; no line is lost."""

from __future__ import annotations

import json
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from each import each
from made import Record, WriteLines, made, right, written

from niah_score.errors import ScoreError
from niah_score.evaluation import evaluate
from niah_score.join.join import Lines
from niah_score.report.report import Report


def prompted(count: int) -> list[Record]:
    """Rows whose prompts are known by their hash."""
    return [{**row, "prompt_sha256": sha256(f"prompt {row['id']}".encode()).hexdigest()} for row in made(count)]


def opencompass(path: Path, rows: list[Record], answers: list[str], prompt: str = "prompt") -> Path:
    """Predictions as OpenCompass writes them: by number, each with the prompt that it answers."""
    records = {
        str(number): {
            "origin_prompt": [{"role": "HUMAN", "prompt": f"{prompt} {row['id']}"}],
            "prediction": answer,
            "gold": row["answers"][0],
        }
        for number, (row, answer) in enumerate(zip(rows, answers, strict=True))
    }
    path.write_text(json.dumps(records, ensure_ascii=False, indent=4), "utf-8")
    return path


# What rows hold as their prompt, and how answers echo it.
FORMS = [("text", "turns"), ("one message", "turns"), ("one message", "text"), ("one message", "messages")]


@each("form, echo", FORMS)
def test_answers_without_ids_are_joined_by_any_form_of_their_echoed_prompt_in_any_order(
    form: str, echo: str, write_lines: WriteLines, tmp_path: Path
) -> None:
    rows = prompted(3)
    chats = chatted(rows, ("user",)) if form == "one message" else []
    dataset = write_lines("rows.jsonl", rows)
    texts = [row["answers"][0] for row in rows]
    prompts: list[Any] = chats if echo == "messages" else [f"user prompt {row['id']}" for row in rows]
    if echo == "turns":
        file = opencompass(tmp_path / "pred.json", rows[::-1], texts[::-1], "user prompt" if chats else "prompt")
    else:
        pairs = zip(prompts[::-1], texts[::-1], strict=True)
        file = write_lines("pred.jsonl", [{"prompt": prompt, "prediction": text} for prompt, text in pairs])
    report = evaluate(dataset, file)
    assert report.scores["score"].to_list() == [100.0] * 3
    assert report.lines == Lines(3, 3, 0, 0, 0)


def ruler(path: Path, rows: list[Record], answers: list[str]) -> Path:
    """Predictions as RULER writes them: by order, each with its references."""
    lines = [
        {"index": number, "pred": answer, "input": "...", "outputs": row["answers"], "others": {}}
        for number, (row, answer) in enumerate(zip(rows, answers, strict=True))
    ]
    return written(path, lines)


def test_order_alone_is_trusted_only_on_request_and_if_counts_and_references_agree(
    write_lines: WriteLines, tmp_path: Path
) -> None:
    rows = made(4)
    dataset = write_lines("rows.jsonl", rows[::-1])
    texts = [row["answers"][0] for row in rows[::-1]]
    file = ruler(tmp_path / "pred.jsonl", rows[::-1], texts)
    with pytest.raises(ScoreError, match="use --by-order"):
        evaluate(dataset, file)
    assert evaluate(dataset, file, by_order=True).scores["score"].to_list() == [100.0] * 4
    with pytest.raises(ScoreError, match="holds 3 answers, the dataset 4 rows"):
        evaluate(dataset, ruler(tmp_path / "few.jsonl", rows[:3], texts[:3]), by_order=True)
    with pytest.raises(ScoreError, match=r"mixed.jsonl:1: its reference 'It is word000.' is not the row's"):
        evaluate(dataset, ruler(tmp_path / "mixed.jsonl", rows, texts), by_order=True)


# Which of two answers counts -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", [("a", "b"), ("b", "a")])
def test_first_and_last_answer_follow_the_order_in_which_files_are_named(
    order: tuple[str, str], write_lines: WriteLines, tmp_path: Path
) -> None:
    rows = prompted(2)
    dataset = write_lines("rows.jsonl", rows)
    # One file identifies its rows by id, the other by prompt: neither kind takes precedence.
    write_lines("a.jsonl", [{"id": row["id"], "prediction": f"a {row['id']}"} for row in rows])
    opencompass(tmp_path / "b.jsonl", rows, [f"b {row['id']}" for row in rows])
    files = [tmp_path / f"{name}.jsonl" for name in order]
    with pytest.raises(ScoreError, match="is answered again, also at") as caught:
        evaluate(dataset, files)
    assert f"{files[1]}:1: 'row-000' is answered again, also at {files[0]}:1" in str(caught.value)
    for mode, name in (("first", order[0]), ("last", order[1])):
        report = evaluate(dataset, files, on_duplicate=mode)  # type: ignore[arg-type]
        assert report.scores["prediction"].to_list() == [f"{name} {row['id']}" for row in rows]
        assert report.lines == Lines(4, 2, 2, 0, 0)
        assert {problem.file for problem in report.problems} == {str(files[order.index(name) - 1])}


@pytest.mark.parametrize("mode", ["error", "first", "last"])
@pytest.mark.parametrize("turned", [False, True])
def test_an_answer_takes_precedence_over_an_error_of_its_row_in_any_order(
    mode: Any, turned: bool, write_lines: WriteLines
) -> None:
    rows = made(4)
    dataset = write_lines("rows.jsonl", rows)
    # Of the last two rows, one failed again and one was not retried.
    first = [*right(rows)[:1], *({"id": row["id"], "error": "overloaded"} for row in rows[1:])]
    again = [*right(rows)[1:2], {"id": rows[2]["id"], "error": "gone", "prediction": ""}]
    files = [write_lines("first.jsonl", first), write_lines("again.jsonl", again)]
    report = evaluate(dataset, files[::-1] if turned else files, on_duplicate=mode)
    assert report.scores["status"].to_list() == ["ok", "ok", "error", "error"]
    assert report.scores["score"].to_list() == [100.0, 100.0, 0.0, 0.0]
    assert report.lines == Lines(6, 4, 2, 0, 0)
    problems = {problem.id: problem for problem in report.problems}
    assert sorted(map(str, problems)) == ["row-001", "row-002"]
    assert {problem.kind for problem in report.problems} == {"duplicate"}
    assert (
        str(problems["row-001"])
        == f"{files[0]}:2: 'row-001' has an error here; the answer that counts is at {files[1]}:1"
    )
    assert report.exit_code == 0


@pytest.mark.parametrize("turned", [False, True])
def test_an_error_is_a_sample_only_if_no_retry_was_answered(turned: bool, write_lines: WriteLines) -> None:
    rows = made(2)
    records = [{"id": "row-000", "error": "overloaded"}, *right(rows)[:1] * 2, {"id": "row-001", "error": "gone"}]
    file = write_lines("answers.jsonl", records[::-1] if turned else records)
    report = evaluate(write_lines("rows.jsonl", rows), file, samples="mean")
    assert report.scores["samples"].to_list() == [2, 1]
    assert report.scores["score"].to_list() == [100.0, 0.0]
    assert report.scores["status"].to_list() == ["ok", "error"]
    assert report.lines == Lines(4, 3, 1, 0, 0)
    assert report.exit_code == 0


def test_a_failed_request_is_replaced_by_all_samples_of_its_retry(write_lines: WriteLines) -> None:
    failed = {"custom_id": "row-000", "response": None, "error": {"code": "batch_expired", "message": "late"}}
    choices = [{"index": k, "message": {"role": "assistant", "content": "It is word000."}} for k in range(3)]
    answered = {"custom_id": "row-000", "response": {"status_code": 200, "body": {"choices": choices}}, "error": None}
    dataset, file = write_lines("rows.jsonl", made(1)), write_lines("batch.jsonl", [failed, answered])
    report = evaluate(dataset, file)
    assert (report.scores["samples"].to_list(), report.scores["score"].to_list()) == ([3], [100.0])
    assert report.lines == Lines(2, 1, 1, 0, 0)


# Echoed prompts ------------------------------------------------------------------------------------------------------


def chatted(rows: list[Record], roles: tuple[str, ...]) -> list[list[Record]]:
    """The rows' prompts as chats; each row gets the hash of its chat."""
    chats = []
    for row in rows:
        chat = [{"role": role, "content": f"{role} prompt {row['id']}"} for role in roles]
        spelled = json.dumps(chat, sort_keys=True, separators=(",", ":"))
        row["prompt_sha256"] = sha256(spelled.encode()).hexdigest()
        chats.append(chat)
    return chats


def prompts_of(rows: list[Record], form: str) -> list[Any]:
    """The rows' prompts as texts or chats."""
    if form == "text":
        return [f"prompt {row['id']}" for row in rows]
    return chatted(rows, ("system", "user") if form == "chat" else ("user",))


def echoing(names: Iterable[object], prompts: Iterable[Any], text: str = "It is word000.") -> list[Record]:
    """Records with the same text that echo prompts, each beside an id."""
    return [{"id": name, "prompt": prompt, "prediction": text} for name, prompt in zip(names, prompts, strict=True)]


@each("form", ["text", "one message", "chat"])
def test_an_answer_with_an_unknown_id_is_joined_by_its_prompt(form: str, write_lines: WriteLines) -> None:
    """As of stacks that number samples which they were given without an id."""
    rows = prompted(4)
    prompts = prompts_of(rows, form)
    records = echoing(range(4, -1, -1), [*prompts, "another"])
    for record, row in zip(records, rows, strict=False):
        record["prediction"] = row["answers"][0]
    report = evaluate(write_lines("rows.jsonl", rows), write_lines("log.jsonl", records[::-1]))
    assert report.scores["score"].to_list() == [100.0] * 4
    assert report.lines == Lines(5, 4, 0, 1, 0)
    assert report.problems[0].message == "no row has the id '0', and none has its prompt"


@each("form", ["text", "one message", "chat"])
def test_answers_to_another_prompt_are_reported_and_scored(form: str, write_lines: WriteLines) -> None:
    rows = prompted(4)
    prompts = prompts_of(rows, form)
    names = [row["id"] for row in rows]
    dataset = write_lines("rows.jsonl", rows)

    def scored(prompts: list[Any]) -> Report:
        return evaluate(dataset, write_lines("said.jsonl", echoing(names, prompts)))

    right_ones = scored(prompts)
    assert (right_ones.problems, right_ones.exit_code) == ([], 0)
    assert right_ones.lines == Lines(4, 4, 0, 0, 0)
    # The second prompt was cut off, the third and the fourth were swapped.
    cut = prompts[1][:-1] if form == "text" else [{**prompts[1][0], "content": "syst"}, *prompts[1][1:]]
    report = scored([prompts[0], cut, prompts[3], prompts[2]])
    assert report.lines == Lines(4, 4, 0, 0, 0)
    assert report.statuses["ok"] == 4
    assert report.scores["score"].to_list() == [100.0, 0.0, 0.0, 0.0]
    assert report.exit_code == 3
    assert {problem.kind for problem in report.problems} == {"other_prompt"}
    assert [(problem.id, problem.message) for problem in report.problems] == [
        (name, f"the answer for {name!r} was given to another prompt") for name in names[1:]
    ]
    assert all(problem.line is not None for problem in report.problems)


def test_prompts_that_cannot_be_compared_are_not_reported(write_lines: WriteLines, tmp_path: Path) -> None:
    """A prompt in a model's template, an error, a row whose prompt is unknown."""
    rows = prompted(3)
    names = [row["id"] for row in rows]
    rows[2]["prompt_sha256"] = None
    dataset = write_lines("rows.jsonl", rows)
    templated = [f"<|im_start|>user\nprompt {name}<|im_end|>\n<|im_start|>assistant\n" for name in names]
    said = write_lines("said.jsonl", echoing(names, templated))
    assert evaluate(dataset, said).problems == []
    failed = [{"id": name, "prompt": "other", "error": "boom"} for name in names[:2]]
    file = write_lines("failed.jsonl", [*failed, {"id": names[2], "prompt": "other", "prediction": "x"}])
    assert evaluate(dataset, file).problems == []


def test_rows_that_share_a_prompt_take_its_answers_in_order(write_lines: WriteLines, tmp_path: Path) -> None:
    rows = prompted(3)
    rows[2]["prompt_sha256"] = rows[0]["prompt_sha256"]
    echoed = [rows[0], rows[1], rows[0]]
    file = opencompass(tmp_path / "pred.json", echoed, ["It is word000.", "It is word001.", "It is word002."])
    assert evaluate(write_lines("rows.jsonl", rows), file).scores["score"].to_list() == [100.0] * 3
