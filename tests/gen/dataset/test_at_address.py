"""Building at an address: the bytes of a folder, whole or not at all, even if builders race or are killed."""

from __future__ import annotations

import json
import tempfile
import threading
import time
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from folders import tree
from made_store import BUCKET, MadeStore, below

import niah_gen
from niah_gen.errors import IntegrityError, NiahError
from niah_score.contract import MANIFEST, sealed
from niah_score.errors import AddressError, StoreError
from niah_score.machine import files, scratch

RECIPE: dict[str, Any] = {
    "name": "far", "task": "key-values", "languages": ["en"], "lengths": [400, 500, 600], "depths": [0, 100],
}  # fmt: skip
OUT = f"{BUCKET}/out"


@pytest.fixture(scope="module")
def near(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The dataset as a folder, in two formats."""
    return niah_gen.build(RECIPE, tmp_path_factory.mktemp("near"), formats=("parquet", "jsonl.gz"))


def build(*, formats: tuple[str, ...] = ("parquet", "jsonl.gz"), **more: Any) -> str:
    return niah_gen.build_at(RECIPE, OUT, formats=formats, **more)


def place_of(near: Path) -> str:
    return f"out/far/{near.name}"


@pytest.mark.parametrize("out", [OUT, "memory://bucket/out", "file://{folder}/out"])
def test_a_build_at_an_address_writes_the_same_bytes_as_into_a_folder(
    out: str, near: Path, store: type[MadeStore], tmp_path: Path
) -> None:
    import fsspec

    out = out.format(folder=tmp_path)
    address = niah_gen.build_at(RECIPE, f"{out}/", formats=("parquet", "jsonl.gz"))
    assert address == f"{out}/far/{near.name}"
    system, path = fsspec.core.url_to_fs(out)
    names = system.find(path)
    assert {name.partition(f"{near.name}/")[2]: system.cat_file(name) for name in names} == tree(near)
    notices: list[str] = []
    assert niah_gen.build_at(RECIPE, out, notice=notices.append) == address
    assert "is complete already" in notices[-1]


@pytest.fixture
def fresh_scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for temporary files, in a process that has not looked for abandoned ones yet."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(scratch, "_remove_abandoned", cache(scratch._remove_abandoned.__wrapped__))
    return tmp_path


def test_without_file_locks_the_temporary_shards_of_others_are_left_alone(
    fresh_scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = fresh_scratch / "niah-scratch-siblings"
    (other / "files").mkdir(parents=True)
    (other / "lock").touch()
    with monkeypatch.context() as patch:
        patch.setattr(files, "_lock", lambda handle: None)
        with scratch.scratch_folder():
            assert (other / "files").is_dir()
    scratch._remove_abandoned.cache_clear()
    with scratch.scratch_folder():
        assert not other.exists()


def test_a_folder_that_another_process_locks_briefly_is_waited_for(
    fresh_scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import fcntl

    place = fresh_scratch / "mine"
    place.mkdir()
    monkeypatch.setattr(tempfile, "mkdtemp", lambda prefix: str(place))
    with (place / "lock").open("wb") as lock_file:
        fcntl.flock(lock_file, fcntl.LOCK_EX)
        monkeypatch.setattr(time, "sleep", lambda seconds: lock_file.close())
        with scratch.scratch_folder() as folder:
            assert folder.stat().st_mode & 0o077 == 0


class KilledError(BaseException):
    """Represents the end of the process."""


def stop_at(store: type[MadeStore], number: int) -> list[str]:
    """Lets the writes before that number pass and no later ones; returns those that passed."""
    passed: list[str] = []
    counting = threading.Lock()

    def write(kind: str, path: str) -> None:
        with counting:
            if len(passed) >= number - 1:
                raise KilledError
            passed.append(f"{kind} {path}")

    store.on_write = write
    return passed


def test_a_build_killed_at_any_write_is_completed_by_the_next_build(store: type[MadeStore], near: Path) -> None:
    number = 0
    while True:
        number += 1
        store.objects.clear()
        stop_at(store, number)
        try:
            build()
        except KilledError:
            pass
        else:
            break
        finally:
            store.on_write = None
        place = place_of(near)
        if f"bucket/{place}/{MANIFEST}" in store.objects:
            assert below(store, place) == tree(near)
        build()
        assert below(store, "out") == {f"far/{near.name}/{name}": data for name, data in tree(near).items()}
    assert number == len(tree(near)) + 1


def test_shards_are_built_apart_and_merged(store: type[MadeStore], near: Path) -> None:
    formats = ("parquet", "jsonl.gz")
    first = niah_gen.build_at(RECIPE, OUT, formats=formats, shard=(1, 2))
    assert first == f"{OUT}/far/{near.name}.partial"
    for place in (first, OUT, f"{OUT}/far/{near.name}"):
        with pytest.raises(
            IntegrityError, match=r"2 files are missing or damaged.*\n.*file 0 \(en-400/test-00000-of-00001\)"
        ):
            niah_gen.merge_at(place)
    niah_gen.build_at(RECIPE, OUT, formats=formats, shard=(2, 2))
    assert niah_gen.merge_at(first) == f"{OUT}/far/{near.name}"
    whole = {f"far/{near.name}/{name}": data for name, data in tree(near).items()}
    assert below(store, "out") == whole
    niah_gen.build_at(RECIPE, f"{OUT}/apart", formats=formats, shard=(1, 2))
    niah_gen.build_at(RECIPE, f"{OUT}/apart", formats=formats)
    assert below(store, "out/apart") == whole
    with pytest.raises(AddressError, match="no unfinished dataset here"):
        niah_gen.merge_at(OUT)
    with pytest.raises(NiahError, match="shard 3/2: expected"):
        niah_gen.build_at(RECIPE, OUT, formats=formats, shard=(3, 2))


@pytest.mark.slow
def test_another_builder_of_the_same_dataset_may_overtake_at_any_write(store: type[MadeStore], near: Path) -> None:
    number, whole = 0, {f"far/{near.name}/{name}": data for name, data in tree(near).items()}
    while True:
        number += 1
        store.objects.clear()
        count, counting = 0, threading.Lock()

        def write(kind: str, path: str, at: int = number, counting: threading.Lock = counting) -> None:
            nonlocal count
            with counting:
                count += 1
                reached = count == at
            if reached:
                store.on_write = None
                build()

        store.on_write = write
        build()
        store.on_write = None
        if count < number:
            break
        assert below(store, "out") == whole, number
    assert number > 9


def test_a_finished_dataset_is_never_changed(store: type[MadeStore], near: Path) -> None:
    build(formats=("parquet",))
    before = dict(store.objects)
    wrote: list[str] = []
    store.on_write = lambda kind, path: wrote.append(path)
    with pytest.raises(NiahError, match=r"is finished, without jsonl\.gz"):
        build()
    place = f"bucket/{place_of(near)}"
    manifest = json.loads(before[f"{place}/{MANIFEST}"])
    digest = manifest["plan_digest"]
    other = sealed({**manifest, "plan_digest": digest[:8] + "0" * 56})
    store.objects[f"{place}/{MANIFEST}"] = json.dumps(other).encode()
    with pytest.raises(IntegrityError, match="dataset of another plan"):
        build(formats=("parquet",))
    store.objects |= before
    store.objects[f"{place}/recipe.toml"] = b"short"
    with pytest.raises(IntegrityError, match=r"1 of its objects are missing or of another size.*\n  recipe\.toml"):
        build(formats=("parquet",))
    assert wrote == []


def test_a_foreign_object_blocks_a_merge_until_it_is_removed(store: type[MadeStore], near: Path) -> None:
    niah_gen.build_at(RECIPE, OUT, shard=(1, 1))
    stranger = f"bucket/{place_of(near)}/data/en-400/notes.txt"
    store.objects[stranger] = b"mine"
    with pytest.raises(IntegrityError, match=r"1 objects there are not part of the dataset.*\n  data/en-400/notes.txt"):
        niah_gen.merge_at(OUT)
    assert f"bucket/{place_of(near)}/{MANIFEST}" not in store.objects
    del store.objects[stranger]
    store.objects[f"{stranger}\x1b[2J"] = b"mine"
    with pytest.raises(IntegrityError, match=r"\n  data/en-400/notes.txt\\x1b\[2J$"):
        niah_gen.merge_at(OUT)
    del store.objects[f"{stranger}\x1b[2J"]
    assert niah_gen.merge_at(OUT).endswith(near.name)


def test_bytes_that_arrive_damaged_leave_no_dataset(store: type[MadeStore], near: Path) -> None:
    store.spoil = lambda path, data: data[:-3] + b"..." if path.endswith("en-500/test-00000-of-00001.parquet") else data
    with pytest.raises(StoreError, match=r"en-500/test-00000-of-00001\.parquet: does not hold the bytes that were"):
        build()
    assert not [name for name in store.objects if name.endswith(MANIFEST)]


def test_no_object_contains_an_address(store: type[MadeStore]) -> None:
    build()
    assert not [name for name, data in store.objects.items() if b"made://" in data or b"bucket" in data]


def test_build_refers_to_build_at_for_addresses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for out in ("s3://bucket/x", Path("s3://bucket/x")):
        with pytest.raises(NiahError, match=r"niah_gen\.build_at"):
            niah_gen.build(RECIPE, out)
    assert list(tmp_path.iterdir()) == []
