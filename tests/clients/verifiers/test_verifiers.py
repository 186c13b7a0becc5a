"""An exported package is found and loaded by verifiers itself, and the mean of its rewards is the number of niah-score."""

from __future__ import annotations

import asyncio
import importlib
import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
import verifiers.v1 as vf
from client_runs import documented, export, rows_of, run, score
from planned_server import SURVIVED, expected, plan, serving


@pytest.fixture(autouse=True)
def _forgotten() -> Iterator[None]:
    """Packages that a test has put on the path are gone after it."""
    path = list(sys.path)
    yield
    sys.path[:] = path
    for name in [name for name in sys.modules if name.startswith("niah_") and name.split("_")[1] not in ("gen", "score")]:
        del sys.modules[name]


def package(dataset: Path, folder: Path, *flags: str) -> str:
    """Export a dataset as a package, put it on the path, and return its name."""
    export(dataset, "verifiers", folder, *flags)
    (found,) = (folder / "verifiers").glob("niah_*")
    sys.path.insert(0, str(folder / "verifiers"))
    importlib.invalidate_caches()
    return found.name


def traces(dataset: Path, name: str, url: str, folder: Path) -> list[dict[str, Any]]:
    """Run verifiers' own evaluation, and return a record for each row: its id, answer and reward."""
    run(
        ["vf-eval", name, "--model", "planned", "--client.base-url", url, "--client.api-key-var", "OPENAI_API_KEY",
         "--env.agent.runtime.type", "subprocess", "--no-push", "--no-rich", "-o", folder / "outputs"],
        folder, PYTHONPATH=str(folder / "out" / "verifiers"),
    )  # fmt: skip
    (file,) = (folder / "outputs").rglob("traces.jsonl")
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]


@pytest.mark.parametrize("name", ["texts", "chats", "parts"])
def test_the_mean_reward_of_an_evaluation_is_the_number_of_niah_score(
    name: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    dataset: Path = request.getfixturevalue(name)
    rows = rows_of(dataset)
    plans = plan(rows, SURVIVED)
    found = package(dataset, tmp_path / "out")
    with serving(rows, plans) as server:
        records = traces(dataset, found, server.url, tmp_path)
    print(json.dumps(records[0])[:6000])
    raise AssertionError
