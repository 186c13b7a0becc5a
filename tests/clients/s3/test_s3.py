"""Datasets, corpora, answers and scores at `s3://` addresses, in a store on the loopback that speaks S3."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator, Sequence
from hashlib import sha256
from pathlib import Path

import pytest
from client_runs import BIN, rows_of, run
from object_store import BUCKET, KEY, SECRET, ObjectStore, Write, serving_objects

# Four shards in two formats: eight uploads, and a record for each shard.
GRID = ["--needle", "velden-archive", "--length", "400,500,600,700", "--depths", "0,100", "--language", "en"]
BUILD = ["niah-gen", "build", *GRID, "--name", "far", "--format", "parquet,jsonl.zst"]
OUT = f"s3://{BUCKET}/deep/er"


@pytest.fixture(scope="module")
def shared_store() -> Iterator[ObjectStore]:
    with serving_objects() as store:
        yield store


@pytest.fixture
def store(shared_store: ObjectStore) -> Iterator[ObjectStore]:
    """The store, empty, with nobody listening."""
    shared_store.empty()
    yield shared_store
    shared_store.listen(None)
    shared_store.spoil, shared_store.refused = None, ""


@pytest.fixture(scope="module")
def near(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The dataset, built on this machine."""
    folder = tmp_path_factory.mktemp("near")
    return folder / run([*BUILD, "--out", "build"], folder).splitlines()[0]


@pytest.fixture
def here(tmp_path: Path, store: ObjectStore) -> Iterator[Callable[..., str]]:
    """Runs a command against the store. At the end no temporary file may be left and no secret printed."""
    outputs: list[str] = []
    (tmp_path / "tmp").mkdir()

    def command(*words: str | Path, expect: int = 0, **more: str) -> str:
        environment = {**store.environment, "TMPDIR": str(tmp_path / "tmp"), **more}
        outputs.append(run(list(words), tmp_path, expect, **environment))
        return outputs[-1]

    yield command
    left = [path.name for path in (tmp_path / "tmp").glob("niah-scratch-*")]
    assert left == []
    assert not any(secret in text for text in outputs for secret in (KEY, SECRET))
    assert not any(SECRET.encode() in store.files.cat_file(name) for name in store.names())


def files_of(folder: Path) -> dict[str, str]:
    """sha256 of every file of a folder."""
    return {
        path.relative_to(folder).as_posix(): sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file()
    }


def written(store: ObjectStore) -> list[Write]:
    """All writes from now on, until there is another listener."""
    writes: list[Write] = []

    def listener(write: Write, when: str) -> None:
        if when == "before":
            writes.append(write)

    store.listen(listener)
    return writes


def as_built(store: ObjectStore, near: Path) -> bool:
    """Whether the bucket holds the dataset, byte for byte, and nothing else."""
    return store.objects() == {f"deep/er/far/{near.name}/{name}": digest for name, digest in files_of(near).items()}


def test_a_build_at_an_address_writes_exactly_the_files_of_a_local_build(
    store: ObjectStore, near: Path, here: Callable[..., str]
) -> None:
    order = written(store)
    printed = here(*BUILD, "--out", OUT)
    assert f"{OUT}/far/{near.name}" in printed.splitlines()
    assert as_built(store, near)
    uploads = [write.path for write in order if write.method == "PUT" and ".partial" not in write.path]
    assert uploads[-1].endswith("/manifest.json")
    assert len(uploads) == len(files_of(near))
    before = len(order)
    assert "complete already" in here(*BUILD, "--out", OUT)
    assert len(order) == before
    assert here("niah-gen", "verify", f"{OUT}/far/{near.name}").startswith(f"{OUT}/far/{near.name}: 11 files")
    assert "the recipe builds the same rows again" in here("niah-gen", "verify", f"{OUT}/far/{near.name}", "--full")
    assert "8 rows" in here("niah-gen", "list", f"s3://{BUCKET}")
    assert "velden-archive" in here("niah-gen", "show", f"{OUT}/far/{near.name}", "--row", "3")


def test_workers_build_the_same_dataset(store: ObjectStore, near: Path, here: Callable[..., str]) -> None:
    here(*BUILD, "--out", OUT, "--jobs", "2")
    assert as_built(store, near)


# Two data files, recipe, preview, card and manifest.
SMALL = [word.replace("400,500,600,700", "400,500").replace("parquet,jsonl.zst", "parquet") for word in BUILD]
WRITES = 6


def killed(store: ObjectStore, folder: Path, number: int, when: str) -> int:
    """Build until write `number`, and kill -9 before or after it is carried out; returns the number of writes."""
    seen: list[int] = []
    process: list[subprocess.Popen[bytes]] = []
    started = threading.Event()

    def listener(write: Write, now: str) -> int | None:
        seen.append(write.number)
        if write.number >= number and now == when:
            started.wait()
            process[0].send_signal(signal.SIGKILL)
            process[0].wait()
        return 500 if write.number >= number and when == "before" else None

    store.listen(listener)
    environment = {**os.environ, **store.environment, "TMPDIR": str(folder / "tmp"), "HOME": str(folder)}
    words = [str(BIN / SMALL[0]), *SMALL[1:], "--out", OUT]
    process.append(
        subprocess.Popen(words, env=environment, cwd=folder, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    )
    started.set()
    process[0].wait(timeout=300)
    store.settle()
    store.listen(None)
    return max(seen, default=0)


@pytest.mark.parametrize(("when", "numbers"), [("before", (1, 3, 6)), ("after", tuple(range(1, WRITES + 1)))])
def test_a_build_killed_at_a_write_has_a_manifest_only_if_whole_and_can_be_run_again(
    store: ObjectStore, here: Callable[..., str], tmp_path: Path, when: str, numbers: Sequence[int]
) -> None:
    expected = files_of(tmp_path / here(*SMALL, "--out", "near").splitlines()[0])
    top = "deep/er/far/" + next((tmp_path / "near" / "far").iterdir()).name
    whole = {f"{top}/{name}": digest for name, digest in expected.items()}
    for number in numbers:
        store.empty()
        assert killed(store, tmp_path, number, when) >= number
        objects = store.objects()
        finished = f"{top}/manifest.json" in objects
        assert finished == ((number, when) == (WRITES, "after"))
        assert not finished or objects == whole
        here(*SMALL, "--out", OUT)
        assert store.objects() == whole, (number, when)
    store.empty()
    started = written(store)
    here(*SMALL, "--out", OUT)
    assert len(started) == WRITES


def test_damaged_objects_are_detected_and_their_shard_can_be_built_again(
    store: ObjectStore, near: Path, here: Callable[..., str]
) -> None:
    for part in ("1/2", "2/2"):
        here(*BUILD, "--out", OUT, "--shard", part)
    file = "data/en-500/test-00000-of-00001.parquet"
    damaged = f"{BUCKET}/deep/er/far/{near.name}.partial/{file}"
    good = store.files.cat_file(damaged)
    store.files.pipe_file(damaged, bytes([good[0] ^ 1]) + good[1:])
    printed = here("niah-gen", "merge", f"{OUT}/far/{near.name}.partial", expect=4)
    assert "en-500/test-00000-of-00001.parquet: sha256 is" in printed
    assert not [name for name in store.names() if name.endswith("manifest.json")]
    for part in ("1/2", "2/2"):
        here(*BUILD, "--out", OUT, "--shard", part)
    here("niah-gen", "merge", OUT)
    assert as_built(store, near)
    damaged = f"{BUCKET}/deep/er/far/{near.name}/{file}"
    store.files.pipe_file(damaged, bytes([good[0] ^ 1]) + good[1:])
    store.files.pipe_file(f"{BUCKET}/deep/er/far/{near.name}/data/en-500/more.parquet", b"more")
    store.files.rm_file(f"{BUCKET}/deep/er/far/{near.name}/recipe.toml")
    printed = here("niah-gen", "verify", f"{OUT}/far/{near.name}", expect=4)
    assert "3 problems" in printed
    assert "en-500/test-00000-of-00001.parquet: sha256 is" in printed
    assert "recipe.toml: missing" in printed
    assert "more.parquet: not in the manifest" in printed
    assert "is finished, but 1 of its objects" in here(*BUILD, "--out", OUT, expect=4)


def test_corpora_are_fetched_once_and_recorded_only_by_name_and_digest(
    store: ObjectStore, here: Callable[..., str], tmp_path: Path
) -> None:
    texts = {
        f"{name}.txt": f"The {name} stands by the harbour wall. " * 9 + "Nobody paints it any more. " * 90
        for name in ("mill", "crane", "shed")
    }
    (tmp_path / "harbour").mkdir()
    for name, text in texts.items():
        (tmp_path / "harbour" / name).write_text(text, "utf-8")
        store.files.pipe_file(f"{BUCKET}/texts/harbour/{name}", text.encode())
    store.files.pipe_file(f"{BUCKET}/texts/harbour/README.md", b"# no text of the corpus")
    words = ["niah-gen", "build", *GRID, "--name", "texts"]
    far = tmp_path / here(*words, "--corpus", f"s3://{BUCKET}/texts/harbour", "--out", "far").splitlines()[0]
    near = tmp_path / here(*words, "--corpus", "./harbour", "--out", "near").splitlines()[0]
    assert files_of(far) == files_of(near)
    assert not any(BUCKET.encode() in path.read_bytes() for path in far.rglob("*") if path.is_file())
    single = ["--corpus", f"s3://{BUCKET}/texts/harbour/mill.txt", "--out", "one"]
    one = tmp_path / here(*words, *single).splitlines()[0]
    assert '"corpus mill"' in (one / "recipe.toml").read_text("utf-8")
    # A fetched file is used again only while the store says that it is unchanged.
    cached = next((tmp_path / "home" / ".cache").rglob("harbour/mill.txt"))
    cached.write_text("damaged", "utf-8")
    assert near.name in here(*words, "--corpus", f"s3://{BUCKET}/texts/harbour", "--out", "far")
    store.files.pipe_file(f"{BUCKET}/texts/harbour/mill.txt", b"The mill is gone. Grass grows there now. " * 90)
    assert near.name not in here(*words, "--corpus", f"s3://{BUCKET}/texts/harbour", "--out", "far")
    assert "none: no file of a corpus there; expected a .txt, " in here(
        *words, "--corpus", f"s3://{BUCKET}/texts/none", expect=2
    )


def test_answers_and_datasets_in_a_store_are_scored_like_local_ones(
    store: ObjectStore, near: Path, here: Callable[..., str], tmp_path: Path
) -> None:
    here(*BUILD, "--out", OUT)
    lines = [json.dumps({"id": row["id"], "prediction": row["answers"][0]}) for row in rows_of(near)]
    lines[5] = json.dumps({"id": "nobody", "prediction": "x"})
    (tmp_path / "m").mkdir()
    for name, part in (("a", lines[:3]), ("b", lines[3:])):
        data = "".join(line + "\n" for line in part)
        (tmp_path / "m" / f"{name}.jsonl").write_text(data, "utf-8")
        store.files.pipe_file(f"{BUCKET}/answers/m/{name}.jsonl", data.encode())
    flags = ["--missing", "zero", "--model", "m"]
    here("niah-score", "score", near, "m/*.jsonl", *flags, "--out", "scores", expect=3)
    expected = files_of(tmp_path / "scores")
    dataset, scores = f"{OUT}/far/{near.name}", f"s3://{BUCKET}/scores/m"
    order = written(store)
    for answers in (f"s3://{BUCKET}/answers/m/*.jsonl", f"s3://{BUCKET}/answers/m"):
        words = ["niah-score", "score", dataset, answers, *flags, "--out", scores, "--overwrite"]
        printed = here(*words, expect=3)
        assert f"s3://{BUCKET}/answers/m/b.jsonl:3" in printed
        objects = store.objects("scores/m")
        assert objects.keys() == expected.keys()
        named = {"problems.jsonl", "report.html", "summary.json"}  # they name the answer files
        assert {name for name in objects if objects[name] != expected[name]} == named
        assert (order[-1].method, order[-1].path) == ("PUT", f"/{BUCKET}/scores/m/summary.json")
    assert [write.path for write in order if write.method == "DELETE"] == [f"/{BUCKET}/scores/m/summary.json"]
    again = [*words[:-1]]
    assert "already holds scores" in here(*again, expect=2)
    file = f"{dataset}/data/en-500/test-00000-of-00001.parquet"
    assert "rows 2 = " in here("niah-score", "score", file, f"s3://{BUCKET}/answers/m/a.jsonl", *flags, expect=3)
    store.files.pipe_file(file.removeprefix("s3://"), b"other")
    printed = here("niah-score", "score", dataset, f"s3://{BUCKET}/answers/m", *flags, expect=4)
    assert f"{file}: is not the file that manifest.json lists" in printed
