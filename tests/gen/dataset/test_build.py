"""Building: all or nothing, and the same bytes however it is built; shards that real readers open."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from changed_rows import rows_of
from each import each
from made_sessions import needs_proc, started
from small_dataset import SMALL, notes, tree

import niah_gen
from niah_gen.errors import IntegrityError, LockedError, NiahError
from niah_score.contract import MANIFEST, config_name, content_digest, read_manifest, row_digest
from niah_score.machine.files import locked


def test_a_dataset_has_the_files_of_its_manifest_and_is_kept_when_it_is_built_again(small: Path) -> None:
    manifest = read_manifest(small)
    assert set(tree(small)) == {entry.path for entry in manifest.files} | {MANIFEST}
    assert manifest.rows == 2 * 2 * 3 * 2 * 3
    assert small.name == f"1.0.0-{manifest.plan_digest[:8]}"
    before = {path: path.stat().st_mtime_ns for path in small.parent.rglob("*")}
    notices: list[str] = []
    assert niah_gen.build(SMALL, small.parent.parent, notice=notices.append) == small
    assert {path: path.stat().st_mtime_ns for path in small.parent.rglob("*")} == before
    assert "nothing was built" in notices[-1]


def test_iter_rows_yields_the_rows_that_build_writes_in_the_same_order(small: Path) -> None:
    rows = list(niah_gen.iter_rows(SMALL))
    manifest = read_manifest(small)
    assert rows_of(small) == rows
    assert content_digest(map(row_digest, rows)) == manifest.content_digest
    assert sum(row["prompt_tokens"] for row in rows) == manifest.tokens


def test_ids_depend_on_what_a_family_shares_and_on_nothing_else() -> None:
    base = {**SMALL, "repeats": 1, "guide": False, "depths": [40], "lengths": [1000]}
    rows = {row["id"]: row for row in niah_gen.iter_rows(base)}
    wider = {**base, "name": "other", "version": "2.0.0", "lengths": [600, 1000], "repeats": 2, "depths": [0, 40, 100]}
    more = list(niah_gen.iter_rows(wider))
    assert [row for row in more if row["id"] in rows] == list(rows.values())
    assert len({row["id"] for row in more}) == len(more)
    others = {"reserve": 201, "seed": 1, "template": "opencompass", "tokenizer": "o200k_base", "form": "chat"}
    for field, value in others.items():
        changed = [row["id"][:8] for row in niah_gen.iter_rows({**base, field: value})]
        assert not {*changed} & {name[:8] for name in rows}, field


def test_options_that_no_build_can_have_are_refused(small: Path) -> None:
    for message, options in (
        ("format 'csv' does not exist", {"formats": ["csv"]}), ("format '' does not exist", {"formats": []}),
        ("expected I/N", {"shard": (3, 2)}), ("expected I/N", {"shard": (0, 0)}), ("expected I/N", {"shard": (-1, 4)}),
        ("jobs is 0", {"jobs": 0}), ("engine 'dask' does not exist; expected processes or ray", {"engine": "dask"}),
        ("a Ray address needs engine ray", {"ray_address": "auto"}),
    ):  # fmt: skip
        with pytest.raises(NiahError, match=message):
            niah_gen.build(SMALL, small.parent.parent, **options)
    for out in ("s3://bucket/x", Path("s3://bucket/x")):
        with pytest.raises(NiahError, match=r"niah_gen\.build_at"):
            niah_gen.build(SMALL, out)


def test_what_is_being_built_is_refused_to_others_but_not_the_other_shards(tmp_path: Path, small: Path) -> None:
    lock = tmp_path / "small" / f".{small.name}.build.lock"
    with locked(lock), pytest.raises(LockedError, match="another process is building it"):
        niah_gen.build(SMALL, tmp_path)
    with locked(lock.with_name(f".{small.name}.part-1-of-2.lock")):
        with pytest.raises(LockedError):
            niah_gen.build(SMALL, tmp_path)
        with pytest.raises(LockedError):
            niah_gen.build(SMALL, tmp_path, shard=(1, 2))
        niah_gen.build(SMALL, tmp_path, shard=(2, 2))


@pytest.mark.slow
def test_no_local_path_is_recorded_and_corpus_names_suffice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = notes(tmp_path / "elsewhere")
    recipe = {**SMALL, "corpora": [str(texts)], "languages": ["en"]}
    folder = niah_gen.build(recipe, tmp_path / "one", jobs=2)
    assert all(str(tmp_path).encode() not in data for data in tree(folder).values())
    monkeypatch.setenv("NIAH_CORPORA", str(texts.parent))
    assert tree(niah_gen.build(folder / "recipe.toml", tmp_path / "two")) == tree(folder)
    monkeypatch.setenv("NIAH_CORPORA", str(notes(tmp_path / "there", "other").parent))
    with pytest.raises(IntegrityError, match="corpus notes: sha256 is"):
        niah_gen.build(folder / "recipe.toml", tmp_path / "again")


def test_a_card_that_a_user_edited_is_not_overwritten(tmp_path: Path) -> None:
    folder = niah_gen.build(SMALL, tmp_path)
    (folder / "README.md").write_text("mine")
    with pytest.raises(IntegrityError, match="changed since it was written"):
        niah_gen.build(SMALL, tmp_path, formats=["jsonl"])
    assert (folder / "README.md").read_text() == "mine"


BIG = ["plain", "--set", "name=big", "--length", "1k,2k,4k,8k,16k", "--repeats", "5", "--set", "depths.steps=20"]
# Seconds after which a command counts as hanging; busy machines are slow.
PATIENCE = 600


def writer_below(out: Path, parent: subprocess.Popen[str]) -> int:
    """The first child of a build that has a half-written data file open."""
    data = str(out / "big")
    while parent.poll() is None:
        for child in Path(f"/proc/{parent.pid}/task/{parent.pid}/children").read_text().split():
            with suppress(OSError):
                for handle in Path(f"/proc/{child}/fd").iterdir():
                    opened = os.readlink(handle)
                    if opened.startswith(data) and opened.endswith(".tmp"):
                        return int(child)
        time.sleep(0.001)
    raise AssertionError(f"the build ended before a worker wrote anything: {parent.communicate()}")


@pytest.mark.slow
@needs_proc
@each("target", ["the build", "all of its processes"])
@each(("number", "code", "message"), [(signal.SIGINT, 130, "interrupted"), (signal.SIGTERM, 143, "ended by SIGTERM")])
def test_an_interrupted_build_prints_one_sentence_and_leaves_no_worker(
    tmp_path: Path, target: str, number: int, code: int, message: str
) -> None:
    command = [sys.executable, "-m", "niah_gen.cli", "build", *BIG, "--jobs", "2", "--out", str(tmp_path)]
    with started(command) as process:
        worker = writer_below(tmp_path, process)
        (os.kill if target == "the build" else os.killpg)(process.pid, number)
        _, errors = process.communicate(timeout=PATIENCE)
    # It is killed with the build, but the system may still have to remove it.
    with suppress(ProcessLookupError):
        for _ in range(100 * PATIENCE):
            os.kill(worker, 0)
            time.sleep(0.01)
        pytest.fail("the worker is still there")
    assert process.returncode == code
    assert errors == f"niah-gen: {message}; run the same command again to go on\n"


@pytest.mark.slow
@needs_proc
def test_a_build_exits_with_5_if_a_worker_dies_and_prints_nothing_if_it_is_killed(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "niah_gen.cli", "build", *BIG, "--jobs", "2", "--out", str(tmp_path)]
    with started(command) as process:
        worker = writer_below(tmp_path, process)
        os.kill(worker, signal.SIGKILL)
        _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 5, errors
    assert errors.startswith("niah-gen: a worker process died"), errors
    assert errors.count("\n") == 1
    with started(command) as process:
        writer_below(tmp_path, process)
        process.kill()
        # Reads standard error to its end: until the last process that could write to it has ended.
        assert process.communicate(timeout=PATIENCE)[1] == ""


def test_rows_are_written_in_groups_and_none_is_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = {
        "name": "groups", "lengths": [600], "depths": [0, 25, 50, 75, 100], "needles": ["velden-archive"],
        "languages": ["en"], "corpora": [str(notes(tmp_path))], "allow_repeats": True,
    }  # fmt: skip
    sizes = [len(json.dumps(row, ensure_ascii=False).encode()) for row in niah_gen.iter_rows(recipe)]
    for most_rows, most_bytes in ((2, 1 << 30), (1024, 2 * max(sizes) + 1), (1024, 1), (4, 1 << 30)):
        monkeypatch.setattr("niah_gen.dataset.shards.GROUP_ROWS", most_rows)
        monkeypatch.setattr("niah_gen.dataset.shards.GROUP_BYTES", most_bytes)
        folder = niah_gen.build(recipe, tmp_path / f"{most_rows}-{most_bytes}", jobs=1)
        (path,) = folder.glob("data/*/*.parquet")
        about = pq.read_metadata(path)
        groups = [about.row_group(number).num_rows for number in range(about.num_row_groups)]
        expected = {2: [2, 2, 1], 4: [4, 1]}.get(most_rows, [1] * 5 if most_bytes == 1 else [2, 2, 1])
        assert groups == expected, (most_rows, most_bytes)


# Sorted by name, 10,000 comes before 1,000. Parts and controls leave some columns of some files without a value.
RECIPE = {"name": "c", "lengths": [600, 1000, 10000], "depths": [0, 50]}
PARTS = {
    "name": "p", "lengths": [1000, 10000], "depths": [50], "languages": ["en"],
    "parts": [
        {"name": "near", "task": "single", "needles": ["velden-archive"], "lengths": [1000]},
        {
            "name": "far", "task": "single", "needles": ["velden-archive"], "lengths": [10000],
            "controls": ["no_context"],
        },
    ],
}  # fmt: skip

CODE = """
import json, sys
import datasets
folder, configs = sys.argv[1], json.loads(sys.argv[2])
names = datasets.get_dataset_config_names(folder)
assert names == ["all", *configs, "preview"], names
found = {}
for config in configs:
    whole = datasets.load_dataset(folder, config, split="test")
    stream = list(datasets.load_dataset(folder, config, split="test", streaming=True))
    assert list(whole) == stream
    found[config] = [[row["id"], row["prompt"], row["needle_spans"], row["keywords"]] for row in stream]
ids = [row[0] for config in configs for row in found[config]]
assert datasets.load_dataset(folder, split="test")["id"] == ids
assert [row["id"] for row in datasets.load_dataset(folder, split="test", streaming=True)] == ids
assert list(datasets.load_dataset(folder)) == ["test"]
short = datasets.load_dataset(folder, "preview", split="test")
assert list(short) == list(datasets.load_dataset(folder, "preview", split="test", streaming=True))
assert 0 < len(short) and set(short["id"]) <= set(ids)
assert max(len(json.dumps(row["prompt"], ensure_ascii=False)) for row in short) < 4000
print(json.dumps(found))
"""


@pytest.mark.slow
@each(
    ("recipe", "form", "formats"),
    [
        (RECIPE, "text", ["parquet"]), (RECIPE, "chat", ["parquet", "jsonl"]), (RECIPE, "text", ["jsonl.zst"]),
        (PARTS, "chat", ["parquet"]), (PARTS, "text", ["jsonl"]),
    ],
)  # fmt: skip
def test_datasets_loads_all_rows_in_order_and_every_config_whole_and_streaming(
    tmp_path: Path, recipe: dict[str, Any], form: str, formats: list[str]
) -> None:
    recipe = {**recipe, "form": form}
    folder = niah_gen.build(recipe, tmp_path, formats=formats)
    expected: dict[str, list[object]] = {}
    for row in niah_gen.iter_rows(recipe):
        config = config_name(row["language"], row["length"])
        expected.setdefault(config, []).append([row["id"], row["prompt"], row["needle_spans"], row["keywords"]])
    environment = {
        **os.environ, "HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path / "hf"), "HF_DATASETS_CACHE": str(tmp_path / "c"),
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-c", CODE, str(folder), json.dumps(list(expected))],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == expected


def test_files_carry_checksums_and_a_page_index_and_no_prompt_dictionary(tmp_path: Path) -> None:
    folder = niah_gen.build(RECIPE, tmp_path)
    path = folder / "data" / "en-1k" / "test-00000-of-00001.parquet"
    with pq.ParquetFile(path, page_checksum_verification=True) as file:
        group = file.metadata.row_group(0)
        columns = {group.column(n).path_in_schema: group.column(n) for n in range(group.num_columns)}
        assert columns["prompt"].compression == "ZSTD"
        assert columns["prompt"].has_offset_index
        assert not columns["prompt"].has_dictionary_page
        assert columns["corpus"].has_dictionary_page
        assert file.schema_arrow.metadata[b"niah_schema_version"] == b"1"
        assert file.read().num_rows == 6
