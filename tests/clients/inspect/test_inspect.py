"""An exported task runs unchanged in the real Inspect: its scores equal ours."""

from __future__ import annotations

from pathlib import Path
from statistics import mean
from typing import Any

import pytest
from client_runs import configs_of, documented, export, rows_of, run, score
from inspect_ai.log import EvalLog, list_eval_logs, read_eval_log
from planned_server import OUTCOMES, PlannedServer, expected, plan, serving


def harness(server: PlannedServer, name: str, folder: Path, *flags: str, **more: Any) -> EvalLog:
    """Run Inspect on the exported task in `folder/tasks`, and return its log."""
    task = f"{folder / 'tasks' / 'niah_inspect.py'}@{name}"
    words: list[str | Path] = ["inspect", "eval", task, "--model", "openai-api/planned/model"]
    words += ["--log-dir", folder / "logs", "--display", "plain", "--max-retries", "2", "--max-connections", "4"]
    run([*words, *flags], folder, PLANNED_BASE_URL=server.url, PLANNED_API_KEY="x", **more)
    (file,) = list_eval_logs(str(folder / "logs"))
    return read_eval_log(file)


def figures(log: EvalLog) -> dict[str, Any]:
    assert log.results is not None
    (scorer,) = log.results.scores
    return {name: metric.value for name, metric in scorer.metrics.items()}


@pytest.mark.parametrize(("name", "epochs"), [("texts", 1), ("chats", 3), ("parts", 1)])
def test_all_rows_are_asked_unchanged_and_every_figure_equals_ours(
    name: str, epochs: int, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    dataset: Path = request.getfixturevalue(name)
    rows = rows_of(dataset)
    plans = plan(rows, list(OUTCOMES))
    export(dataset, "inspect", tmp_path / "tasks")
    with serving(rows, plans) as server:
        flags = [] if epochs == 1 else ["--epochs", str(epochs)]
        theirs = figures(log := harness(server, f"niah_{name}", tmp_path, *flags))
    assert log.eval.task == f"niah_{name}"
    assert {row["id"]: row["max_new_tokens"] for row in rows} == {
        row_id: body["max_tokens"] for row_id, body in server.bodies.items()
    }
    assert not any("temperature" in body for body in server.bodies.values())
    # So that `inspect eval-retry` asks the failed rows again.
    assert log.status == "error"
    assert log.samples is not None
    statuses = {(one.id, one.epoch): one.scores["niah"].metadata["status"] for one in log.samples if one.scores}
    planned = expected(rows, plans)
    assert statuses == {(row["id"], epoch + 1): planned[row["id"]].status for row in rows for epoch in range(epochs)}
    ours = score(dataset, [tmp_path / "logs"], tmp_path / "scores")
    assert ours.rows == planned
    assert theirs["headline"] == pytest.approx(ours.headline, abs=1e-9)
    assert set(theirs) == {"headline", *configs_of(dataset)}
    # If rows differ in weight, their plain mean is not the headline.
    assert (theirs["headline"] == pytest.approx(mean(one.score for one in planned.values()))) == (name != "parts")
    if epochs == 1:
        documented("inspect_ai", name, len(rows), ours.headline, theirs["headline"])
    else:
        documented("inspect_ai", f"{name}, {epochs} epochs", len(rows), ours.headline, theirs["headline"])


def test_a_subset_of_a_moved_dataset_keeps_its_order_and_system_message(texts: Path, tmp_path: Path) -> None:
    flags = ["--subset", "length=600", "--order", "shuffled", "--system", "Be brief.", "--max-tokens", "+50"]
    export(texts, "inspect", tmp_path / "tasks", *flags)
    settings = tmp_path / "tasks" / "niah_inspect_export.json"
    settings.write_text(settings.read_text("utf-8").replace(str(texts), "/nowhere"), "utf-8")
    (tmp_path / "elsewhere").symlink_to(texts)
    rows = [row for row in rows_of(texts) if row["length"] == 600]
    with serving(rows, plan(rows, ["right", "wrong", "slow"]), "Be brief.") as server:
        log = harness(server, "niah_texts", tmp_path, "-T", "language=zh", NIAH_DATASET=str(tmp_path / "elsewhere"))
    of_zh = {row["id"] for row in rows if row["language"] == "zh"}
    assert set(server.asked) == of_zh
    assert {body["max_tokens"] - 50 for body in server.bodies.values()} == {row["max_new_tokens"] for row in rows}
    chosen = (tmp_path / "tasks" / "niah_inspect_ids.txt").read_text("utf-8").split()
    assert log.eval.dataset.sample_ids == [name for name in chosen if name in of_zh]
    # The message is not part of the rows' prompts, and the exit code says so.
    ours = score(texts, [tmp_path / "logs"], tmp_path / "scores", "--missing", "exclude", expect=3)
    assert figures(log)["headline"] == pytest.approx(ours.headline, abs=1e-9)
