"""Tasks of a Ray cluster: what a worker makes, and what it refuses. Ray itself is tested among the clients."""

from __future__ import annotations

import os
import pickle
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from each import each
from folders import tree
from small_dataset import SMALL, notes
from typer.testing import CliRunner

import niah_gen
from niah_gen.cli.commands import app
from niah_gen.dataset import ray_tasks
from niah_gen.dataset.folders import BuildFolders, lock
from niah_gen.dataset.ray_cluster import cluster_address, joined
from niah_gen.dataset.ray_tasks import Order, Outcome, make_order, make_shard
from niah_gen.errors import CorpusError, IntegrityError, NiahError, RecipeError
from niah_gen.recipe.read import load_recipe
from niah_gen.rows.plan import Plan, make_plan
from niah_score.contract import sha256_hex
from niah_score.errors import AddressError, StoreError


@pytest.fixture(autouse=True)
def _fresh_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker that has made no plan yet, in a process whose path stays as it is."""
    monkeypatch.setattr(ray_tasks, "_prepared", None)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.chdir(Path.cwd())


def planned(recipe: dict[str, Any], out: Path) -> tuple[Plan, BuildFolders]:
    plan = make_plan(load_recipe(recipe))
    return plan, BuildFolders(out / plan.recipe.name / plan.folder_name)


def made(order: Order, number: int = 0) -> Outcome:
    """The outcome that a worker returns for an order."""
    sent = pickle.dumps(order)
    outcome: Outcome = pickle.loads(pickle.dumps(make_shard(lambda: pickle.loads(sent), sha256_hex(sent), number)))
    return outcome


def test_a_reused_worker_follows_the_target_and_formats_of_each_order(tmp_path: Path) -> None:
    plan, target = planned(SMALL, tmp_path / "one")
    _, other = planned(SMALL, tmp_path / "other")
    for place, formats in ((target, ("parquet",)), (other, ("parquet",)), (other, ("jsonl", "jsonl.gz"))):
        assert made(make_order(plan, place, formats)).error is None
        assert {path.name.partition(".")[2] for path in place.dataset.rglob("test-*")} >= set(formats)


def test_a_worker_makes_a_failed_shard_once_the_cause_is_gone(tmp_path: Path) -> None:
    plan, target = planned(SMALL, tmp_path)
    order = make_order(plan, target, ("parquet",))
    target.dataset.mkdir(parents=True)
    (target.dataset / "data").write_text("a file, where a folder is to be")
    assert isinstance(made(order).error, OSError)
    (target.dataset / "data").unlink()
    assert made(order).error is None


def test_tasks_in_reverse_order_write_the_files_of_one_process(small: Path, tmp_path: Path) -> None:
    plan, target = planned(SMALL, tmp_path)
    with lock(target):
        order = make_order(plan, target, ("parquet",))
        for number in reversed(range(len(plan.shards))):
            outcome = made(order, number)
            assert outcome.error is None
            assert outcome.record is not None
            assert outcome.record.number == number
    written = {path: path.stat().st_mtime_ns for path in target.dataset.rglob("*.parquet")}
    folder = niah_gen.build(SMALL, tmp_path)
    assert tree(folder) == tree(small)
    assert {folder / path.relative_to(target.dataset): when for path, when in written.items()} == {
        path: path.stat().st_mtime_ns for path in folder.glob("data/**/*.parquet")
    }


def test_a_worker_makes_the_plan_once_however_many_shards_it_makes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan, target = planned(SMALL, tmp_path)
    order = make_order(plan, target, ("parquet",))
    asked: list[str] = []

    def counted() -> Order:
        asked.append("order")
        return order

    for number in range(3):
        assert make_shard(counted, "key", number).error is None
    assert asked == ["order"]


def test_a_task_that_runs_twice_leaves_the_same_files(tmp_path: Path) -> None:
    plan, target = planned(SMALL, tmp_path)
    order = make_order(plan, target, ("parquet", "jsonl.zst"))
    first = made(order)
    before = tree(target.partial)
    (target.dataset / ".half-written.0.tmp").write_text("by a worker that was killed")
    assert made(order) == first
    assert {name: data for name, data in tree(target.partial).items() if "half" not in name} == before


def test_a_worker_with_another_corpus_refuses_and_names_it(tmp_path: Path) -> None:
    texts = notes(tmp_path / "texts")
    plan, target = planned({**SMALL, "corpora": [str(texts)], "languages": ["en"]}, tmp_path)
    order = make_order(plan, target, ("parquet",))
    (texts / "a.txt").write_text("Another tale was told. It had no end! Was it long? It was. " * 60)
    outcome = made(order)
    assert isinstance(outcome.error, IntegrityError)
    (head, line) = str(outcome.error).splitlines()
    assert "would make a different dataset" in head
    assert line.strip().startswith("corpus notes: ")
    assert "tokenizer" not in str(outcome.error)
    assert not target.final.parent.exists()


def test_a_worker_without_the_corpus_is_named_with_what_it_needs(tmp_path: Path) -> None:
    texts = notes(tmp_path / "texts")
    plan, target = planned({**SMALL, "corpora": [str(texts)], "languages": ["en"]}, tmp_path)
    order = make_order(plan, target, ("parquet",))
    texts.rename(tmp_path / "gone")
    outcome = made(order)
    assert outcome.unprepared
    with pytest.raises(CorpusError, match=rf"^on {outcome.node}: .*notes(.|\n)*Every machine of the cluster needs"):
        ray_tasks._record(outcome)


@each("what", ["niah-kit", "pyarrow", "zlib"])
def test_a_worker_with_another_version_that_affects_bytes_refuses(tmp_path: Path, what: str) -> None:
    plan, target = planned(SMALL, tmp_path)
    order = make_order(plan, target, ("parquet", "jsonl.gz"))
    other = replace(order, versions={**order.versions, what: "0.0.1"}, sent=b"of another version")
    outcome = made(other)
    assert isinstance(outcome.error, IntegrityError)
    assert f"{what}: {order.versions[what]}, where the build was started 0.0.1" in str(outcome.error)


def test_only_versions_that_affect_the_requested_formats_matter(tmp_path: Path) -> None:
    plan, target = planned(SMALL, tmp_path)
    assert set(make_order(plan, target, ("jsonl",)).versions) == {"niah-kit"}
    assert set(make_order(plan, target, ("jsonl.zst",)).versions) == {"niah-kit", "zstandard"}


def test_a_worker_looks_up_corpora_where_the_build_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    notes(tmp_path / "corpora")
    monkeypatch.setenv("NIAH_CORPORA", str(tmp_path / "corpora"))
    plan, target = planned({**SMALL, "corpora": ["notes"], "languages": ["en"]}, tmp_path)
    order = make_order(plan, target, ("parquet",))
    # Set by monkeypatch, so that what the worker sets is undone after the test.
    monkeypatch.setenv("NIAH_CORPORA", str(tmp_path / "elsewhere"))
    assert made(order).error is None
    assert os.environ["NIAH_CORPORA"] == str(tmp_path / "corpora")


def test_a_folder_that_the_machines_do_not_share_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ray_tasks, "_SEEN_SECONDS", 0)
    plan, target = planned(SMALL, tmp_path)
    with pytest.raises(
        NiahError, match=r"what node-3 wrote cannot be seen from here \(en-600/test-00000-of-00001: not written\)"
    ):
        ray_tasks._wait_to_see(target, plan, 0, ("parquet",), "node-3")
    assert made(make_order(plan, target, ("parquet",))).error is None
    ray_tasks._wait_to_see(target, plan, 0, ("parquet",), "node-3")


class RayHere:
    """Ray in one process: a task runs when it is submitted. There is no CPU yet when a build begins."""

    def __init__(self) -> None:
        self.exceptions = SimpleNamespace(RayTaskError=KeyError, RayError=KeyError)
        self.done: list[str] = []

    def is_initialized(self) -> bool:
        return False

    def init(self, **_: object) -> None:
        print("what Ray prints")

    def shutdown(self) -> None:
        print("what Ray prints at the end")

    def cluster_resources(self) -> dict[str, float]:
        return {}

    def get_runtime_context(self) -> SimpleNamespace:
        return SimpleNamespace(gcs_address="127.0.0.1:9")

    def put(self, value: bytes) -> bytes:
        return value

    def get(self, value: bytes) -> bytes:
        return value

    def remote(self, **_: object) -> Callable[[Callable[..., bytes]], SimpleNamespace]:
        return lambda task: SimpleNamespace(remote=task)

    def wait(self, running: list[bytes], timeout: float) -> tuple[list[bytes], list[bytes]]:
        return running[:1], running[1:]


def test_what_the_caller_prints_is_shown_and_what_ray_prints_is_hidden(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], small: Path
) -> None:
    monkeypatch.setitem(sys.modules, "ray", RayHere())
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")

    class Printed:
        def start(self, rows: int, tokens: int) -> None:
            print(f"{rows} rows")

        def advance(self, rows: int, tokens: int) -> None:
            print(f"{rows} more")

    folder = niah_gen.build(SMALL, tmp_path, engine="ray", progress=Printed(), notice=print)
    assert tree(folder) == tree(small)
    printed = capsys.readouterr().out.splitlines()
    assert "Ray cluster local has no CPUs yet; the build waits for some" in printed
    assert printed.count("18 more") == 4
    assert not [line for line in printed if "what Ray prints" in line]


def test_a_worker_that_cannot_reach_a_store_is_named() -> None:
    for error in (AddressError("s3://b/texts: names nothing"), StoreError("s3://b: does not answer")):
        with pytest.raises(type(error), match=rf"^on node-3: {error}"):
            ray_tasks._record(Outcome("node-3", None, error, unprepared=True))


def test_errors_come_back_from_a_worker_unchanged() -> None:
    error = RecipeError(["a: wrong", "b: wrong, too"], "my.toml")
    error.add_note("In a worker")
    back = pickle.loads(pickle.dumps(error))
    assert (str(back), back.problems, back.__notes__) == (str(error), error.problems, ["In a worker"])

    class StrangeError(Exception):
        def __init__(self, one: int, other: int) -> None:
            super().__init__("strange")

    assert "StrangeError: strange" in str(ray_tasks._portable(StrangeError(1, 2)))


def test_without_ray_the_engine_says_how_to_install_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    done = CliRunner().invoke(app, ["build", "plain", "--engine", "ray", "--out", str(tmp_path / "out")])
    assert done.exit_code == 2
    assert done.stderr == "niah-gen: ray is not installed; engine ray needs `pip install 'niah-kit[ray]'`\n"
    assert list(tmp_path.iterdir()) == []


def test_unknown_engines_and_ray_addresses_without_ray_are_refused(tmp_path: Path) -> None:
    with pytest.raises(NiahError, match="engine 'dask' does not exist; expected processes or ray"):
        niah_gen.build(SMALL, tmp_path, engine="dask")
    with pytest.raises(NiahError, match="a Ray address needs engine ray; found engine 'processes'"):
        niah_gen.build(SMALL, tmp_path, ray_address="auto")


def test_the_ray_flag_overrides_the_variable_and_the_default_is_local(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    assert cluster_address(None) == "local"
    monkeypatch.setenv("RAY_ADDRESS", "10.0.0.1:6379")
    assert cluster_address(None) == "10.0.0.1:6379"
    assert cluster_address("auto") == "auto"


@each(
    ("address", "message"),
    [
        ("127.0.0.1:9", r"127\.0\.0\.1:9: cannot be reached \(Connection refused\)"),
        ("10.0.0.1", r"10\.0\.0\.1: expected HOST:PORT"),
        ("10.0.0.1:99999", "10.0.0.1:99999: expected HOST:PORT"),
        ("ray://10.0.0.1:10001", "ray://10.0.0.1:10001: expected HOST:PORT; run the command on a machine of"),
    ],
)
def test_an_address_that_cannot_be_joined_is_named_without_starting_ray(address: str, message: str) -> None:
    asked: list[str] = []
    ray = SimpleNamespace(is_initialized=lambda: False, init=lambda **_: asked.append("init"), shutdown=lambda: None)
    with pytest.raises(NiahError, match=f"^Ray cluster {message}"), joined(ray, address, 1, 0):
        pass
    assert asked == []
