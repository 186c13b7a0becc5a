"""Exported tasks run in the real LightEval: its numbers equal ours."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from client_runs import configs_of, documented, export, rows_of, run, score
from planned_server import SURVIVED, expected, plan, serving


@pytest.fixture(autouse=True)
def _imports_without_a_network() -> None:
    """One of LightEval's own tasks downloads a file when LightEval starts, unless the file exists."""
    spec = importlib.util.find_spec("lighteval")
    assert spec is not None
    assert spec.origin is not None
    (Path(spec.origin).parent / "tasks" / "tasks" / "tinyBenchmarks.pkl").touch()


def as_one_message(prompt: str | Sequence[Mapping[str, str]]) -> str:
    return prompt if isinstance(prompt, str) else "\n\n".join(message["content"] for message in prompt)


def evaluated(tasks: Path, names: str, url: str, folder: Path, **more: Any) -> dict[str, float]:
    """Run tasks, and return LightEval's number for each."""
    model = f"provider=openai,model_name=openai/planned,base_url={url},api_key=x,api_retry_sleep=0.1"
    run(
        ["lighteval", "endpoint", "litellm", model, names, "--custom-tasks", tasks / "niah_lighteval.py",
         "--save-details", "--output-dir", folder / "out"],
        folder, **more,
    )  # fmt: skip
    (results,) = (folder / "out" / "results").rglob("*.json")
    by_task: Mapping[str, Any] = json.loads(results.read_bytes())["results"]
    return {name.partition("|")[0].removesuffix(":0"): numbers["niah"] for name, numbers in by_task.items()}


def details(folder: Path, task: str) -> list[Path]:
    """The answers to a task, or to all tasks with that prefix."""
    return sorted((folder / "out" / "details").rglob(f"details_{task}*.parquet"))


@pytest.mark.parametrize("name", ["texts", "chats", "parts"])
def test_exported_tasks_run_and_score_as_planned(name: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    dataset: Path = request.getfixturevalue(name)
    rows = rows_of(dataset)
    plans = plan(rows, SURVIVED)
    export(dataset, "lighteval", tmp_path / "tasks")
    with serving([{**row, "prompt": as_one_message(row["prompt"])} for row in rows], plans) as server:
        theirs = evaluated(tmp_path / "tasks", f"niah_{name},niah_{name}_all", server.url, tmp_path)
    for body in server.bodies.values():
        assert body["max_tokens"] == max(row["max_new_tokens"] for row in rows)
    # A chat with a system message came as one user message, which is not the row's prompt.
    code = 3 if name == "chats" else 0
    scores = score(dataset, details(tmp_path, f"niah_{name}:"), tmp_path / "scores", expect=code)
    assert scores.rows == expected(rows, plans, logged=False)
    for config in configs_of(dataset):
        answers = details(tmp_path, f"niah_{name}:{config}")
        ours = score(dataset, answers, tmp_path / config, "--missing", "exclude", expect=code).headline
        assert theirs[f"niah_{name}:{config}"] == pytest.approx(ours, abs=1e-9)
    documented("lighteval", f"one message, {name}", len(rows), scores.headline, theirs[f"niah_{name}_all"])
