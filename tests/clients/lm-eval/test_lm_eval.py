"""Exported tasks run unchanged in the real lm-evaluation-harness: its scores equal ours."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import mean
from typing import Any

import pytest
from client_runs import configs_of, documented, export, rows_of, run, score
from planned_server import SURVIVED, PlannedServer, expected, plan, serving

from niah_score import evaluate


def harness(
    server: PlannedServer, tasks: str, folder: Path, *flags: str, model: str = "local-chat-completions", **more: Any
) -> dict[str, dict[str, float]]:
    """Run lm_eval on the exported tasks in `folder/tasks`, and return the figures of each task."""
    path = "completions" if model == "local-completions" else "chat/completions"
    args = (
        f"model=planned,base_url={server.url}/{path},num_concurrent=4,tokenizer_backend=None,tokenized_requests=False"
    )
    words: list[str | Path] = ["lm_eval", "run", "--include_path", folder / "tasks", "--tasks", tasks, "--model", model]
    printed = run(
        [*words, "--model_args", args, "--log_samples", "--output_path", folder / "logs", *flags], folder, **more
    )
    # It would look for our metrics on the network.
    assert "Could not find registered metric" not in printed
    (file,) = (folder / "logs").rglob("results_*.json")
    figures: dict[str, dict[str, float]] = json.loads(file.read_bytes())["results"]
    return figures


@pytest.mark.parametrize(
    ("name", "model"),
    [("texts", "local-completions"), *((name, "local-chat-completions") for name in ("texts", "chats", "parts"))],
)
def test_all_rows_are_asked_unchanged_and_every_figure_equals_ours(
    name: str, model: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    dataset: Path = request.getfixturevalue(name)
    rows = rows_of(dataset)
    plans = plan(rows, SURVIVED)
    export(dataset, "lm-eval", tmp_path / "tasks")
    chat = ["--apply_chat_template"] if "chat" in model else []
    with serving(rows, plans) as server:
        figures = harness(server, f"niah_{name}", tmp_path, *chat, model=model)[f"niah_{name}"]
    assert {row["id"]: row["max_new_tokens"] for row in rows} == {
        row_id: body["max_tokens"] for row_id, body in server.bodies.items()
    }
    assert all(body["temperature"] == 0 for body in server.bodies.values())
    assert not any("\n\n" in stop for body in server.bodies.values() for stop in body["stop"])
    samples = sorted((tmp_path / "logs").rglob("samples_*.jsonl"))
    scores = score(dataset, samples, tmp_path / "scores")
    assert scores.rows == expected(rows, plans, logged=False)
    assert figures["score,none"] == pytest.approx(scores.headline, abs=1e-9)
    # If rows differ in weight, their plain mean is not the headline.
    plain = mean(one.score for one in scores.rows.values())
    assert (figures["score,none"] == pytest.approx(plain)) == (name != "parts")
    lines = [json.loads(line) for file in samples for line in file.read_text("utf-8").splitlines()]
    for config in configs_of(dataset):
        of_config = {row["id"] for row in rows_of(dataset, config)}
        answers = tmp_path / f"{config}.jsonl"
        answers.write_text("".join(json.dumps(line) + "\n" for line in lines if line["doc"]["id"] in of_config))
        alone = evaluate(dataset, answers, missing="exclude")
        assert alone.lines.used == len(of_config)
        assert figures[f"score_{config},none"] == pytest.approx(alone.summary["headline"]["mean"], abs=1e-9)
    documented("lm_eval", f"`{model}`, {name}", len(rows), scores.headline, figures["score,none"])


def test_a_subset_of_a_moved_dataset_keeps_its_order_and_system_message(texts: Path, tmp_path: Path) -> None:
    moved = tmp_path / "elsewhere"
    flags = ["--subset", "length=600", "--order", "shuffled", "--system", "Be brief.", "--max-tokens", "+50"]
    export(texts, "lm-eval", tmp_path / "tasks", *flags)
    settings = tmp_path / "tasks" / "niah_lm_eval_export.json"
    settings.write_text(settings.read_text("utf-8").replace(str(texts), "/nowhere"), "utf-8")
    moved.symlink_to(texts)
    rows = [row for row in rows_of(texts) if row["length"] == 600]
    tasks = "niah_texts,niah_texts-zh-600"
    with serving(rows, plan(rows, ["right", "wrong", "slow"]), "Be brief.") as server:
        figures = harness(server, tasks, tmp_path, "--apply_chat_template", NIAH_DATASET=str(moved))
    assert {body["max_tokens"] - 50 for body in server.bodies.values()} == {row["max_new_tokens"] for row in rows}
    assert [server.asked[row["id"]] for row in rows] == [1 + (row["language"] == "zh") for row in rows]
    (all_rows,) = (tmp_path / "logs").rglob("samples_niah_texts_2*.jsonl")
    asked = [json.loads(line)["doc"]["id"] for line in all_rows.read_text("utf-8").splitlines()]
    assert asked == (tmp_path / "tasks" / "niah_lm_eval_ids.txt").read_text("utf-8").split()
    # The message is not part of the rows' prompts, and the exit code says so.
    scores = score(texts, [all_rows], tmp_path / "scores", "--missing", "exclude", expect=3)
    assert figures["niah_texts"]["score,none"] == pytest.approx(scores.headline, abs=1e-9)
    (zh,) = (tmp_path / "logs").rglob("samples_niah_texts-zh-600_*.jsonl")
    of_zh = evaluate(texts, zh, missing="exclude")
    assert figures["niah_texts-zh-600"]["score,none"] == pytest.approx(of_zh.summary["headline"]["mean"], abs=1e-9)
    assert of_zh.lines.used == sum(row["language"] == "zh" for row in rows)
