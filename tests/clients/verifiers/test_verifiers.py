"""verifiers finds and loads an exported package itself, and the mean of its rewards is the number of niah-score."""

from __future__ import annotations

import asyncio
import importlib
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import fmean

import pytest
import verifiers.v1 as vf
from client_runs import PAGE, documented, export, rows_of, run, score
from planned_server import SURVIVED, expected, plan, serving

# The program that turns the traces of a run into answers.
SCRIPT = re.findall(r"```python\n(.*?)```", PAGE.with_name("training.md").read_text("utf-8"), re.DOTALL)[0]


@pytest.fixture(autouse=True)
def _nothing_imported() -> Iterator[None]:
    """Packages that a test has put on the path are gone after it."""
    path, known = list(sys.path), set(sys.modules)
    yield
    sys.path[:] = path
    for name in {name for name in sys.modules if name.startswith("niah_")} - known:
        del sys.modules[name]


def package(dataset: Path, folder: Path, *flags: str) -> str:
    """Export a dataset as a package, put it on the path, and return its name."""
    export(dataset, "verifiers", folder, *flags)
    (found,) = (folder / "verifiers").glob("niah_*")
    sys.path.insert(0, str(folder / "verifiers"))
    importlib.invalidate_caches()
    return found.name


@pytest.mark.parametrize("name", ["texts", "chats", "parts"])
def test_the_mean_reward_of_an_evaluation_is_the_number_of_niah_score(
    name: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    dataset: Path = request.getfixturevalue(name)
    rows = rows_of(dataset)
    plans = plan(rows, SURVIVED)
    found = package(dataset, tmp_path / "out")
    with serving(rows, plans) as server:
        run(
            ["vf-eval", found, "--model", "planned", "--client.base-url", server.url, "--client.api-key-var",
             "OPENAI_API_KEY", "--env.agent.runtime.type", "subprocess", "--no-push", "--no-rich", "-o", "outputs"],
            tmp_path, PYTHONPATH=str(tmp_path / "out" / "verifiers"),
        )  # fmt: skip
    assert {row["id"]: row["max_new_tokens"] for row in rows} == {
        row_id: body["max_tokens"] for row_id, body in server.bodies.items()
    }
    assert not any("tools" in body for body in server.bodies.values())
    (file,) = (tmp_path / "outputs").rglob("traces.jsonl")
    episodes = [vf.WireEpisode.model_validate_json(line) for line in file.read_text("utf-8").splitlines()]
    rewards = {one.task.data.id: one.traces[0].reward for one in episodes}
    shutil.copy(file, tmp_path / "traces.jsonl")
    run(["python", "-c", SCRIPT], tmp_path)
    ours = score(dataset, [tmp_path / "answers.jsonl"], tmp_path / "scores")
    # Traces do not keep why a server refused.
    planned = expected(rows, plans)
    assert ours.rows == {
        name: row._replace(status="empty") if row.status == "refused" else row for name, row in planned.items()
    }
    assert rewards == {name: pytest.approx(row.score / 100, abs=1e-9) for name, row in ours.rows.items()}
    theirs = 100 * fmean(rewards.values())
    if name != "parts":
        documented("verifiers", name, len(rows), ours.headline, theirs)
    else:
        # Rewards know no weights and no controls.
        assert theirs == pytest.approx(fmean(row.score for row in ours.rows.values()), abs=1e-9)
        assert theirs != pytest.approx(ours.headline, abs=1e-3)


def test_the_loader_of_verifiers_gives_the_chosen_rows_in_order(texts: Path, tmp_path: Path) -> None:
    name = package(texts, tmp_path / "out", "--subset", "length=600", "--system", "Be brief.", "--max-tokens", "+7")
    rows = [row for row in rows_of(texts) if row["length"] == 600]
    tasks = list(vf.load_taskset(vf.TasksetConfig(id=name)))
    assert [task.data.id for task in tasks] == [task.key for task in tasks] == [row["id"] for row in rows]
    assert [task.data.max_tokens for task in tasks] == [row["max_new_tokens"] + 7 for row in rows]
    assert all([message.role for message in task.data.prompt] == ["system", "user"] for task in tasks)
    assert vf.default_harness_id(name) == name
    assert vf.load_environment(vf.resolve_env_config({"taskset": {"id": name}})) is not None


class _Box:
    """Stands for the machine of an agent: keeps what is written to it."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}

    async def write(self, path: str, data: bytes) -> None:
        self.files[path] = data


def test_an_agent_with_a_shell_finds_the_context_in_the_file_that_its_prompt_names(texts: Path, tmp_path: Path) -> None:
    name = package(texts, tmp_path / "out", "--context-file")
    assert vf.default_harness_id(name) == "bash"
    rows = {row["id"]: row for row in rows_of(texts)}
    for task in vf.load_taskset(vf.TasksetConfig(id=name)):
        box = _Box()
        asyncio.run(task.setup(None, box))
        ((file, context),) = box.files.items()
        (message,) = task.data.prompt
        first, _, question = message.content.partition("\n\n")
        assert file in first
        assert context.decode() + question == rows[task.data.id]["prompt"]
