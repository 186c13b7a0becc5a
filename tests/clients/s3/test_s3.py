"""Datasets, corpora, answers and scores at `s3://` addresses, in a store on the loopback that speaks S3.

What builds and commands do when writes fail or are killed is tested with a store in memory (tests/gen/dataset).
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
import s3fs
from client_runs import rows_of, run
from moto.server import ThreadedMotoServer

BUCKET = "niah-tests"
KEY, SECRET = "AKIDEXAMPLE0EXAMPLE0", "nobody-may-ever-read-this-secret"
# Four shards in two formats: eight uploads, and a record for each shard.
GRID = ["--needle", "velden-archive", "--length", "400,500,600,700", "--depths", "0,100", "--language", "en"]
BUILD = ["niah-gen", "build", *GRID, "--name", "far", "--format", "parquet,jsonl.zst"]
OUT = f"s3://{BUCKET}/deep/er"


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """The address of the store, which has one bucket."""
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    running = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    running.start()
    url = f"http://127.0.0.1:{running.get_host_and_port()[1]}"
    s3fs.S3FileSystem(key=KEY, secret=SECRET, endpoint_url=url).mkdir(BUCKET)
    yield url
    running.stop()


@pytest.fixture
def store(server: str) -> Any:
    """The store as a file system, empty."""
    files = s3fs.S3FileSystem(key=KEY, secret=SECRET, endpoint_url=server, use_listings_cache=False)
    for name in files.find(BUCKET):
        files.rm_file(name)
    return files


@pytest.fixture(scope="module")
def near(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The dataset, built on this machine."""
    folder = tmp_path_factory.mktemp("near")
    return folder / run([*BUILD, "--out", "build"], folder).splitlines()[0]


@pytest.fixture
def here(tmp_path: Path, store: Any, server: str) -> Iterator[Callable[..., str]]:
    """Runs a command against the store. At the end no temporary file may be left and no secret printed."""
    outputs: list[str] = []
    (tmp_path / "tmp").mkdir()
    environment = {
        "AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET, "AWS_ENDPOINT_URL": server,
        "AWS_DEFAULT_REGION": "us-east-1", "AWS_EC2_METADATA_DISABLED": "true", "TMPDIR": str(tmp_path / "tmp"),
    }  # fmt: skip

    def command(*words: str | Path, expect: int = 0) -> str:
        outputs.append(run(list(words), tmp_path, expect, **environment))
        return outputs[-1]

    yield command
    assert [path.name for path in (tmp_path / "tmp").glob("niah-scratch-*")] == []
    assert not any(secret in text for text in outputs for secret in (KEY, SECRET))
    assert not any(SECRET.encode() in store.cat_file(name) for name in store.find(BUCKET))


def objects(store: Any, below: str) -> dict[str, str]:
    """sha256 of every object, by its name below a place in the bucket."""
    top = f"{BUCKET}/{below}/"
    return {name.removeprefix(top): sha256(store.cat_file(name)).hexdigest() for name in store.find(top)}


def files_of(folder: Path) -> dict[str, str]:
    """sha256 of every file of a folder."""
    return {
        path.relative_to(folder).as_posix(): sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file()
    }


def as_built(store: Any, near: Path) -> bool:
    """Whether the store holds the dataset, byte for byte, and nothing beside it."""
    return objects(store, "deep/er/far") == {f"{near.name}/{name}": digest for name, digest in files_of(near).items()}


def test_a_build_at_an_address_writes_the_files_of_a_local_one(
    store: Any, near: Path, here: Callable[..., str]
) -> None:
    address = f"{OUT}/far/{near.name}"
    assert address in here(*BUILD, "--out", OUT).splitlines()
    assert as_built(store, near)
    assert "complete already" in here(*BUILD, "--out", OUT)
    assert here("niah-gen", "verify", address).startswith(f"{address}: 11 files")
    assert "the recipe builds the same rows again" in here("niah-gen", "verify", address, "--full")
    assert "8 rows" in here("niah-gen", "list", f"s3://{BUCKET}")
    assert "velden-archive" in here("niah-gen", "show", address, "--row", "3")


def test_answers_and_datasets_in_a_store_are_scored_like_local_ones(
    store: Any, near: Path, here: Callable[..., str], tmp_path: Path
) -> None:
    here(*BUILD, "--out", OUT)
    lines = [json.dumps({"id": row["id"], "prediction": row["answers"][0]}) for row in rows_of(near)]
    lines[5] = json.dumps({"id": "nobody", "prediction": "x"})
    (tmp_path / "m").mkdir()
    for name, part in (("a", lines[:3]), ("b", lines[3:])):
        data = "".join(line + "\n" for line in part)
        (tmp_path / "m" / f"{name}.jsonl").write_text(data, "utf-8")
        store.pipe_file(f"{BUCKET}/answers/m/{name}.jsonl", data.encode())
    flags = ["--missing", "zero", "--model", "m"]
    here("niah-score", "score", near, "m/*.jsonl", *flags, "--out", "scores", expect=3)
    expected = files_of(tmp_path / "scores")
    dataset, scores = f"{OUT}/far/{near.name}", f"s3://{BUCKET}/scores/m"
    for answers in (f"s3://{BUCKET}/answers/m/*.jsonl", f"s3://{BUCKET}/answers/m"):
        words = ["niah-score", "score", dataset, answers, *flags, "--out", scores, "--overwrite"]
        assert f"s3://{BUCKET}/answers/m/b.jsonl:3" in here(*words, expect=3)
        found = objects(store, "scores/m")
        assert found.keys() == expected.keys()
        named = {"problems.jsonl", "report.html", "summary.json"}  # they name the answer files
        assert {name for name in found if found[name] != expected[name]} == named
    assert "already holds scores" in here(*words[:-1], expect=2)
    file = f"{dataset}/data/en-500/test-00000-of-00001.parquet"
    assert "rows 2 = " in here("niah-score", "score", file, f"s3://{BUCKET}/answers/m/a.jsonl", *flags, expect=3)
    store.pipe_file(file.removeprefix("s3://"), b"other")
    printed = here("niah-score", "score", dataset, f"s3://{BUCKET}/answers/m", *flags, expect=4)
    assert f"{file}: is not the file that manifest.json lists" in printed
