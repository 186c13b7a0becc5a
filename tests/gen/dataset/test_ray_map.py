"""Shards as tasks of a Ray cluster, in one process. Ray itself is tested among the clients."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from small_dataset import SMALL, notes, tree
from typer.testing import CliRunner

import niah_gen
from niah_gen.cli.commands import app
from niah_gen.dataset import ray_map
from niah_gen.errors import IntegrityError, NiahError


class RayHere:
    """Ray in one process: a task runs when it is submitted."""

    def __init__(self) -> None:
        self.exceptions = SimpleNamespace(RayTaskError=ZeroDivisionError, RayError=KeyError)
        self.done: list[object] = []

    def is_initialized(self) -> bool:
        return False

    def init(self, *_: object, **more: object) -> None:
        print("what Ray prints")

    def shutdown(self) -> None:
        print("what Ray prints at the end")

    def put(self, value: bytes) -> bytes:
        return value

    def get(self, value: bytes | int) -> object:
        return self.done[value] if isinstance(value, int) else value

    def remote(self, **_: object) -> Callable[[Callable[..., object]], SimpleNamespace]:
        return lambda task: SimpleNamespace(remote=lambda *given: self.begin(task, *given))

    def begin(self, task: Callable[..., object], *given: object) -> int:
        self.done.append(task(*given))
        return len(self.done) - 1

    def wait(self, running: list[int]) -> tuple[list[int], list[int]]:
        return running[:1], running[1:]


@pytest.fixture(autouse=True)
def _ray_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", RayHere())
    monkeypatch.setattr(ray_map, "_writers", {})
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    monkeypatch.chdir(Path.cwd())  # a task works in the dataset's folder


def test_tasks_write_the_files_of_one_process_and_what_ray_prints_is_no_output(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], small: Path
) -> None:
    folder = niah_gen.build(SMALL, tmp_path, engine="ray", jobs=2)
    assert tree(folder) == tree(small)
    assert capsys.readouterr().out == ""


def test_a_worker_with_another_corpus_refuses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = notes(tmp_path / "texts")
    send = ray_map.write_with_ray

    def changed_first(*given: object) -> object:
        (texts / "a.txt").write_text("Another tale was told. It had no end! Was it long? It was. " * 60)
        return send(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(ray_map, "write_with_ray", changed_first)
    with pytest.raises(IntegrityError, match="would make a different dataset; give every machine the same files"):
        niah_gen.build({**SMALL, "corpora": [str(texts)], "languages": ["en"]}, tmp_path, engine="ray")
    assert not list(tmp_path.rglob("test-*"))


def test_a_folder_that_the_machines_do_not_share_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ray_map, "_SEEN_SECONDS", 0)
    is_file = Path.is_file
    monkeypatch.setattr(Path, "is_file", lambda path: "test-0" not in path.name and is_file(path))
    with pytest.raises(NiahError, match="that a worker wrote cannot be seen here"):
        niah_gen.build(SMALL, tmp_path, engine="ray")


def test_without_ray_the_engine_says_how_to_install_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    done = CliRunner().invoke(app, ["build", "plain", "--engine", "ray", "--out", str(tmp_path / "out")])
    assert done.exit_code == 2
    assert done.stderr == "niah-gen: ray is not installed; engine ray needs `pip install 'niah-kit[ray]'`\n"
    assert list(tmp_path.iterdir()) == []
