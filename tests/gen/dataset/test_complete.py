"""Completing datasets: shards that were built apart become one whole dataset, and nothing less, also at an address."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from made_store import BUCKET, MadeStore, below
from small_dataset import SMALL, tree

import niah_gen
from niah_gen.checks.hashes import verify
from niah_gen.errors import IntegrityError, NiahError
from niah_score.contract import MANIFEST, sealed
from niah_score.errors import StoreError


def test_shards_built_apart_merge_into_the_same_dataset(
    small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    partial = niah_gen.build(SMALL, tmp_path, shard=(1, 2))
    with pytest.raises(IntegrityError, match=r"2 files are missing or damaged(.|\n)*zh-600.*: not written"):
        niah_gen.merge(partial)
    assert niah_gen.build(SMALL, tmp_path, shard=(2, 2)) == partial
    victim = sorted(partial.rglob("*.parquet"))[0]
    victim.write_bytes(victim.read_bytes()[:-1] + b"x")
    with pytest.raises(IntegrityError, match=r"1 files are missing or damaged(.|\n)*sha256 is"):
        niah_gen.merge(partial)
    assert niah_gen.build(SMALL, tmp_path, shard=(1, 2)) == partial
    monkeypatch.chdir(partial)
    merged = niah_gen.merge(".")
    assert tree(merged) == tree(small)
    assert not partial.exists()


def test_merge_accepts_the_out_folder_and_never_merges_a_finished_dataset_again(tmp_path: Path) -> None:
    for part in (1, 2, 3):
        partial = niah_gen.build(SMALL, tmp_path, shard=(part, 3))
    final = partial.with_name(partial.name.removesuffix(".partial"))
    assert niah_gen.merge(tmp_path) == final
    with pytest.raises(NiahError, match="is a finished dataset; there is nothing to merge"):
        niah_gen.merge(final)
    (partial / "data").mkdir(parents=True)  # as left by a merge that is killed at its end
    notices: list[str] = []
    assert niah_gen.merge(partial, notices.append) == final
    assert notices == [f"{final} is complete already; nothing was merged"]
    assert [path.name for path in final.parent.iterdir()] == [final.name]


@pytest.mark.parametrize("shards", [None, 2])
def test_a_damaged_dataset_is_repaired_in_all_its_formats(tmp_path: Path, shards: int | None) -> None:
    folder = niah_gen.build(SMALL, tmp_path, formats=["parquet", "jsonl.gz"])
    whole = tree(folder)
    for victim in sorted(folder.rglob("test-*"))[:2]:
        victim.write_bytes(victim.read_bytes()[:-1])
    if shards is None:
        assert niah_gen.build(SMALL, tmp_path) == folder
    else:
        for part in (1, 2):
            partial = niah_gen.build(SMALL, tmp_path, shard=(part, shards))
        assert niah_gen.merge(partial) == folder
    assert verify(folder)[1] == []
    assert tree(folder) == whole


def test_a_dataset_of_other_rows_is_never_replaced(tmp_path: Path) -> None:
    folder = niah_gen.build(SMALL, tmp_path)
    manifest = json.loads((folder / MANIFEST).read_bytes())
    (folder / MANIFEST).write_text(json.dumps(sealed({**manifest, "content_digest": "0" * 64})))
    before = tree(folder)
    with pytest.raises(IntegrityError, match="its rows are not those that this version makes"):
        niah_gen.build(SMALL, tmp_path, formats=["jsonl"])
    assert tree(folder) == before


FAR: dict[str, Any] = {
    "name": "far", "task": "key-values", "languages": ["en"], "lengths": [400, 500, 600], "depths": [0, 100],
}  # fmt: skip
OUT = f"{BUCKET}/out"


@pytest.fixture(scope="module")
def near(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The dataset as a folder, in two formats."""
    return niah_gen.build(FAR, tmp_path_factory.mktemp("near"), formats=("parquet", "jsonl.gz"))


def build(*, formats: tuple[str, ...] = ("parquet", "jsonl.gz"), **more: Any) -> str:
    return niah_gen.build_at(FAR, OUT, formats=formats, **more)


def place_of(near: Path) -> str:
    return f"out/far/{near.name}"


@pytest.mark.parametrize("out", [OUT, "memory://bucket/out", "file://{folder}/out"])
def test_a_build_at_an_address_writes_the_bytes_of_a_folder(
    out: str, near: Path, store: type[MadeStore], tmp_path: Path
) -> None:
    import fsspec

    out = out.format(folder=tmp_path)
    address = niah_gen.build_at(FAR, f"{out}/", formats=("parquet", "jsonl.gz"))
    assert address == f"{out}/far/{near.name}"
    system, path = fsspec.core.url_to_fs(out)
    names = system.find(path)
    assert {name.partition(f"{near.name}/")[2]: system.cat_file(name) for name in names} == tree(near)
    notices: list[str] = []
    assert niah_gen.build_at(FAR, out, notice=notices.append) == address
    assert "is complete already" in notices[-1]


class KilledError(BaseException):
    """Represents the end of the process."""


@pytest.mark.parametrize("step", [3, pytest.param(1, marks=pytest.mark.slow)])
def test_a_build_killed_at_any_write_is_completed_by_the_next_build(
    store: type[MadeStore], near: Path, step: int
) -> None:
    writes = len(tree(near))
    for number in (*range(0, writes, step), writes):
        passed = iter(range(number))

        def write(kind: str, path: str, passed: Iterator[int] = passed) -> None:
            if next(passed, None) is None:
                raise KilledError

        store.objects.clear()
        store.on_write = write
        with pytest.raises(KilledError) if number < writes else nullcontext():
            build()
        store.on_write = None
        place = place_of(near)
        if f"bucket/{place}/{MANIFEST}" in store.objects:
            assert below(store, place) == tree(near)
        build()
        assert below(store, "out") == {f"far/{near.name}/{name}": data for name, data in tree(near).items()}


def test_a_finished_dataset_is_never_changed(store: type[MadeStore], near: Path) -> None:
    build(formats=("parquet",))
    before = dict(store.objects)
    wrote: list[str] = []
    store.on_write = lambda kind, path: wrote.append(path)
    with pytest.raises(IntegrityError, match=r"1 differences(.|\n)*no jsonl\.gz files"):
        build()
    place = f"bucket/{place_of(near)}"
    manifest = json.loads(before[f"{place}/{MANIFEST}"])
    digest = manifest["plan_digest"]
    other = sealed({**manifest, "plan_digest": digest[:8] + "0" * 56})
    store.objects[f"{place}/{MANIFEST}"] = json.dumps(other).encode()
    with pytest.raises(IntegrityError, match="is that of another plan"):
        build(formats=("parquet",))
    store.objects |= before
    store.objects[f"{place}/recipe.toml"] = b"short"
    with pytest.raises(IntegrityError, match=r"1 differences.*\n  recipe\.toml"):
        build(formats=("parquet",))
    assert wrote == []


def test_bytes_that_arrive_damaged_leave_no_dataset_and_no_object_names_an_address(store: type[MadeStore]) -> None:
    store.spoil = lambda path, data: data[:-3] + b"..." if path.endswith("en-500/test-00000-of-00001.parquet") else data
    with pytest.raises(StoreError, match=r"en-500/test-00000-of-00001\.parquet: does not hold the bytes that were"):
        build()
    assert not [name for name in store.objects if name.endswith(MANIFEST)]
    store.spoil = lambda path, data: data
    build()
    assert not [name for name, data in store.objects.items() if b"made://" in data or b"bucket" in data]
