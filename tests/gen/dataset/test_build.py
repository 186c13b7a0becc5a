"""Building: all or nothing, and the same bytes however it is built."""

from __future__ import annotations

import json
import multiprocessing
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from each import each
from folders import tree
from made_sessions import needs_proc, started
from small_dataset import SMALL, notes

import niah_gen
from niah_gen.checks.hashes import verify
from niah_gen.dataset.complete import rewrite_card
from niah_gen.dataset.read import rows_in
from niah_gen.errors import FitError, IntegrityError, LockedError, NiahError
from niah_gen.rows.plan import make_plan
from niah_score.contract import CARD, MANIFEST, content_digest, read_manifest, row_digest


def test_the_folder_contains_what_its_manifest_lists_and_nothing_else(small: Path) -> None:
    manifest = read_manifest(small)
    assert set(tree(small)) == {entry.path for entry in manifest.files} | {MANIFEST}
    assert manifest.rows == 2 * 2 * 3 * 2 * 3
    assert small.name == f"1.0.0-{manifest.plan_digest[:8]}"
    assert not list(small.parent.glob("*.partial"))


def test_iter_rows_yields_the_rows_that_build_writes_in_the_same_order(small: Path) -> None:
    rows = list(niah_gen.iter_rows(SMALL))
    manifest = read_manifest(small)
    written = []
    for config in dict.fromkeys(f"{row['language']}-{row['length']}" for row in rows):
        name = config.replace("-1000", "-1k")
        written += pq.read_table(small / "data" / name / "test-00000-of-00001.parquet").to_pylist()
    assert written == rows
    assert content_digest(map(row_digest, rows)) == manifest.content_digest
    assert sum(row["prompt_tokens"] for row in rows) == manifest.tokens


def test_building_again_builds_nothing(small: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in small.rglob("*")}
    notices: list[str] = []
    assert niah_gen.build(SMALL, small.parent.parent, notice=notices.append) == small
    assert {path: path.stat().st_mtime_ns for path in small.rglob("*")} == before
    assert "nothing was built" in notices[-1]


def test_the_resolved_recipe_builds_the_same_dataset(small: Path, tmp_path: Path) -> None:
    again = niah_gen.build(small / "recipe.toml", tmp_path)
    assert tree(again) == tree(small)


@pytest.mark.slow
def test_two_workers_write_the_same_bytes_as_one(small: Path, tmp_path: Path) -> None:
    assert tree(niah_gen.build(SMALL, tmp_path, jobs=2)) == tree(small)


@pytest.mark.slow
def test_workers_make_no_shard_from_a_corpus_that_changed_during_the_build(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = notes(tmp_path / "texts")
    planned = make_plan

    def changed_after(*given: Any, **known: Any) -> Any:
        plan = planned(*given, **known)
        (texts / "a.txt").write_text("Another tale was told. It had no end! Was it long? It was. " * 60)
        return plan

    monkeypatch.setattr("niah_gen.dataset.build.make_plan", changed_after)
    with pytest.raises(IntegrityError, match="changed while the build ran; run the same command again"):
        niah_gen.build({**SMALL, "corpora": [str(texts)], "languages": ["en"]}, tmp_path, jobs=2)
    assert not list((tmp_path / "small").rglob("test-*"))


def test_a_damaged_dataset_is_repaired_by_building_again(tmp_path: Path, small: Path) -> None:
    folder = niah_gen.build(SMALL, tmp_path)
    victim = sorted(folder.rglob("*.parquet"))[0]
    victim.write_bytes(victim.read_bytes()[:-1])
    assert niah_gen.build(SMALL, tmp_path) == folder
    assert tree(folder) == tree(small)


@pytest.mark.slow
def test_further_formats_are_added_beside_the_first(tmp_path: Path, small: Path) -> None:
    folder = niah_gen.build(SMALL, tmp_path)
    assert niah_gen.build(SMALL, tmp_path, formats=["jsonl", "jsonl.gz", "jsonl.zst"]) == folder
    files = tree(folder)
    assert {name: data for name, data in files.items() if name.startswith("data/")} == {
        name: data for name, data in tree(small).items() if name.startswith("data/")
    }
    lines = (folder / "jsonl" / "en-1k" / "test-00000-of-00001.jsonl").read_bytes().splitlines()
    rows = pq.read_table(folder / "data" / "en-1k" / "test-00000-of-00001.parquet").to_pylist()
    assert [json.loads(line) for line in lines] == rows
    assert read_manifest(folder).content_digest == read_manifest(small).content_digest


def test_adding_lengths_repeats_and_depths_keeps_every_old_id(small: Path) -> None:
    old = {row["id"] for row in niah_gen.iter_rows(SMALL)}
    wider = {**SMALL, "lengths": [600, 800, 1000, 1500], "repeats": 3, "depths": [0, 10, 40, 100]}
    new = [row["id"] for row in niah_gen.iter_rows(wider)]
    assert old < set(new)
    assert len(new) == len(set(new))


@pytest.mark.slow
@each("field", ["reserve", "seed", "template", "tokenizer", "form"])
def test_changing_what_a_family_shares_changes_every_id(field: str) -> None:
    other = {"reserve": 201, "seed": 1, "template": "opencompass", "tokenizer": "o200k_base", "form": "chat"}[field]
    base = {**SMALL, "repeats": 1, "guide": False, "depths": [40], "lengths": [1000]}
    old, new = ([row["id"][:8] for row in niah_gen.iter_rows(recipe)] for recipe in (base, {**base, field: other}))
    assert not set(old) & set(new)


def test_name_and_version_do_not_affect_ids(tmp_path: Path) -> None:
    old = [row["id"] for row in niah_gen.iter_rows(SMALL)]
    assert [row["id"] for row in niah_gen.iter_rows({**SMALL, "name": "other", "version": "2.0.0"})] == old


@pytest.mark.slow
def test_a_row_depends_only_on_its_coordinates() -> None:
    whole = {row["id"]: row for row in niah_gen.iter_rows(SMALL)}
    alone = list(niah_gen.iter_rows({**SMALL, "lengths": [1000], "depths": [40], "languages": ["zh"]}))
    assert alone
    assert all(whole[row["id"]] == row for row in alone)


def test_nothing_is_left_behind_when_a_length_cannot_hold_its_needle(tmp_path: Path) -> None:
    with pytest.raises(FitError, match="length 210 leaves no room"):
        niah_gen.build({**SMALL, "lengths": [210, 8000]}, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_unknown_formats_and_shards_are_refused(tmp_path: Path) -> None:
    with pytest.raises(NiahError, match="format 'csv' does not exist"):
        niah_gen.build(SMALL, tmp_path, formats=["csv"])
    with pytest.raises(NiahError, match="expected I/N"):
        niah_gen.build(SMALL, tmp_path, shard=(3, 2))


def test_an_invalid_shard_of_a_complete_dataset_is_refused_without_a_notice(small: Path) -> None:
    notices: list[str] = []
    for shard in ((5, 4), (0, 0), (-1, 4)):
        with pytest.raises(NiahError, match="expected I/N"):
            niah_gen.build(SMALL, small.parent.parent, shard=shard, notice=notices.append)
    assert notices == []


def _lock(target: str, acquired: Any, release: Any) -> None:
    import filelock

    with filelock.FileLock(target):
        acquired.set()
        release.wait(20)


@contextmanager
def locked_elsewhere(lock: Path) -> Iterator[None]:
    """Lets another process hold a lock meanwhile."""
    context = multiprocessing.get_context("spawn")
    acquired, release = context.Event(), context.Event()
    lock.parent.mkdir(parents=True, exist_ok=True)
    holder = context.Process(target=_lock, args=(str(lock), acquired, release))
    holder.start()
    try:
        assert acquired.wait(20)
        yield
    finally:
        release.set()
        holder.join()


@pytest.mark.slow
def test_a_second_builder_of_the_same_target_is_refused(tmp_path: Path, small: Path) -> None:
    lock = tmp_path / "small" / f".{small.name}.build.lock"
    with locked_elsewhere(lock), pytest.raises(LockedError, match="another process is building it"):
        niah_gen.build(SMALL, tmp_path)
    assert niah_gen.build(SMALL, tmp_path).name == small.name


@pytest.mark.slow
def test_a_shard_being_built_blocks_the_whole_build_but_not_other_shards(tmp_path: Path, small: Path) -> None:
    with locked_elsewhere(tmp_path / "small" / f".{small.name}.part-1-of-2.lock"):
        with pytest.raises(LockedError):
            niah_gen.build(SMALL, tmp_path)
        with pytest.raises(LockedError):
            niah_gen.build(SMALL, tmp_path, shard=(1, 2))
        niah_gen.build(SMALL, tmp_path, shard=(2, 2))


@pytest.mark.slow
def test_no_local_path_is_recorded_and_corpus_names_build_the_same_dataset(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = notes(tmp_path / "elsewhere")
    recipe = {**SMALL, "corpora": [str(texts)], "languages": ["en"]}
    folder = niah_gen.build(recipe, tmp_path / "one", jobs=2)
    assert all(str(tmp_path).encode() not in data for data in tree(folder).values())
    monkeypatch.setenv("NIAH_CORPORA", str(texts.parent))
    assert tree(niah_gen.build(folder / "recipe.toml", tmp_path / "two")) == tree(folder)


def test_a_resolved_recipe_refuses_another_corpus_of_the_same_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for where, word in (("here", "short"), ("there", "other")):
        notes(tmp_path / where, word)
    recipe = {**SMALL, "corpora": [str(tmp_path / "here" / "notes")], "languages": ["en"]}
    folder = niah_gen.build(recipe, tmp_path / "out")
    monkeypatch.setenv("NIAH_CORPORA", str(tmp_path / "there"))
    with pytest.raises(IntegrityError, match="corpus notes: sha256 is"):
        niah_gen.build(folder / "recipe.toml", tmp_path / "again")


def test_a_card_that_a_user_edited_is_not_overwritten(tmp_path: Path) -> None:
    folder = niah_gen.build(SMALL, tmp_path)
    (folder / "README.md").write_text("mine")
    with pytest.raises(IntegrityError, match="changed since it was written"):
        niah_gen.build(SMALL, tmp_path, formats=["jsonl"])
    assert (folder / "README.md").read_text() == "mine"


def test_a_needle_with_a_keyword_in_every_document_is_refused(tmp_path: Path) -> None:
    needle = {"needle": "the", "question": "What?", "keywords": ["the"], "language": "en"}
    with pytest.raises(FitError, match="every document of en_essays holds"):
        niah_gen.build({**SMALL, "languages": ["en"], "needles": [needle]}, tmp_path)


def test_a_note_states_how_often_a_small_corpus_is_repeated(tmp_path: Path) -> None:
    notices: list[str] = []
    recipe = {"name": "long", "lengths": ["8k", "1m"], "depths": [50], "corpora": ["en_essays"], "allow_repeats": True}
    folder = niah_gen.build({**recipe, "needles": ["velden-archive"]}, tmp_path, notice=notices.append)
    (note,) = notices
    assert re.fullmatch(r"en_essays is repeated to fill length 1000000, \d\.\d times over", note)
    card = (folder / CARD).read_text("utf-8")
    assert f"## Worth knowing\n\n- {note}\n" in card
    assert read_manifest(folder).notes == (note,)
    (short,), (long,) = (
        list(rows_in(folder / "data" / config / "test-00000-of-00001.parquet")) for config in ("en-8k", "en-1m")
    )
    assert short["haystack_passes"] == 1.0
    assert f"{long['haystack_passes']:.1f} times" in note
    (folder / CARD).unlink()
    rewrite_card(folder)
    assert (folder / CARD).read_text("utf-8") == card


def test_documents_left_out_for_a_leak_are_noted_and_counted(tmp_path: Path) -> None:
    notices: list[str] = []
    needle = {"needle": "The oven is cold.", "question": "Which?", "keywords": ["bread"], "language": "en"}
    recipe = {"name": "leaky", "lengths": [800], "depths": [50], "corpora": ["en_essays"], "needles": [needle]}
    folder = niah_gen.build(recipe, tmp_path, notice=notices.append)
    (note,) = notices
    match = re.match(r"(\d+) of (\d+) documents of en_essays holds? a keyword", note)
    assert match
    left_out, documents = map(int, match.groups())
    manifest = read_manifest(folder)
    assert manifest.notes == (note,)
    assert 0 < left_out < documents == manifest.corpora[0].documents
    assert left_out / (2 * documents) < manifest.corpora[0].share_left_out < 2 * left_out / documents
    with pytest.raises(FitError, match="give it away"):
        niah_gen.build({**recipe, "leaks": "refuse"}, tmp_path)


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
        with pytest.raises(ProcessLookupError):
            os.kill(worker, 0)
    assert process.returncode == code
    assert errors == f"niah-gen: {message}; run the same command again to go on\n"


@pytest.mark.slow
@needs_proc
def test_workers_of_a_killed_build_print_nothing(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "niah_gen.cli", "build", *BIG, "--jobs", "2", "--out", str(tmp_path)]
    with started(command) as process:
        writer_below(tmp_path, process)
        process.kill()
        # Reads standard error to its end: until the last process that could write to it has ended.
        _, errors = process.communicate(timeout=PATIENCE)
    assert errors == ""


@pytest.mark.slow
@needs_proc
def test_a_build_exits_with_5_if_a_worker_dies_and_can_be_resumed(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "niah_gen.cli", "build", *BIG, "--jobs", "2", "--out", str(tmp_path)]
    with started(command) as process:
        worker = writer_below(tmp_path, process)
        assert os.getpgid(worker) == process.pid
        os.kill(worker, signal.SIGKILL)
        _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 5, errors
    assert errors.startswith("niah-gen: a worker process died"), errors
    assert errors.count("\n") == 1
    with started(command) as again:
        printed, errors = again.communicate(timeout=PATIENCE)
    assert again.returncode == 0, errors
    assert verify(Path(printed.strip()))[1] == []


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The files of a dataset that two workers built without interruption."""
    command = [sys.executable, "-m", "niah_gen.cli", "build", *BIG, "--jobs", "2", "--out"]
    done = subprocess.run([*command, str(tmp_path_factory.mktemp("whole"))], capture_output=True, text=True, check=True)
    return tree(Path(done.stdout.strip()))


@pytest.mark.slow
@each("jobs", [1, 2])
def test_a_killed_build_that_is_started_again_ends_in_the_same_files(
    tmp_path: Path, whole: dict[str, bytes], jobs: int
) -> None:
    """The process is killed outright once it has finished some shards; what is left is never a dataset."""
    command = [sys.executable, "-m", "niah_gen.cli", "build", *BIG, "--jobs", str(jobs), "--out"]
    out = tmp_path
    for finished in (1, 3) if jobs == 1 else (4,):
        with started([*command, str(out)]) as process:
            while process.poll() is None and len(list(out.glob("big/*.partial/parts/*.json"))) < finished:
                time.sleep(0.002)
            assert process.poll() is None, "the build ended before it could be killed: make it bigger"
            process.kill()
            process.communicate()
        assert not list(out.glob("big/*/manifest.json"))
    again = subprocess.run([*command, str(out)], capture_output=True, text=True, check=True)
    folder = Path(again.stdout.strip())
    assert tree(folder) == whole
    assert not list(out.glob("big/*.partial"))
