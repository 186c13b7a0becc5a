"""A killed build leaves no dataset or a whole one, keeps what was there, and its next run writes the same bytes."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from failing_disk import KilledError, failing, killed
from small_dataset import notes, tree

import niah_gen
from niah_gen.checks.hashes import verify
from niah_score.contract import MANIFEST, file_problem, read_manifest

RECIPE = {
    "name": "killed", "lengths": [600], "depths": [0, 100], "needles": ["velden-archive"], "languages": ["en"],
    "allow_repeats": True,
}  # fmt: skip
# All of the last operations, at which files get their names, and one of every so many before.
LAST, EVERY = 8, 50


def build(out: Path, *formats: str) -> Path:
    texts = out.parent / "notes"
    recipe = {**RECIPE, "corpora": [str(texts if texts.exists() else notes(out.parent))]}
    return niah_gen.build(recipe, out, formats=formats, jobs=1)


def kill_at_operations(out: Path, run: Callable[[], Path], old: Path | None) -> None:
    """Kill a build over `old`, if any, at some of its operations; run it again each time."""

    def prepare() -> None:
        shutil.rmtree(out, ignore_errors=True)
        out.mkdir()
        if old is not None:
            shutil.copytree(old, out / "killed" / old.name)

    prepare()
    with failing(out, 1 << 60, killed) as operations:
        folder = run()
    whole, total = tree(out), len(operations.done)
    for number in [*range(0, total - LAST, EVERY), *range(total - LAST, total)]:
        prepare()
        with failing(out, number, killed, always=True), suppress(KilledError):
            run()
        where = f"killed at {operations.done[number]}, operation {number} of {total}"
        assert old is None or (folder / MANIFEST).exists(), where
        if (folder / MANIFEST).exists():
            listed = read_manifest(folder).files
            assert [entry.path for entry in listed if entry.rows and file_problem(folder, entry)] == [], where
            assert old is not None or verify(folder)[1] == [], where
        assert run() == folder, where
        assert tree(out) == whole, where


def test_a_killed_build_leaves_no_dataset_or_a_whole_one_and_the_next_run_has_the_same_bytes(tmp_path: Path) -> None:
    out = tmp_path / "out"
    kill_at_operations(out, lambda: build(out, "parquet"), None)


def test_a_killed_addition_of_a_format_keeps_the_dataset_and_the_next_run_has_the_same_bytes(tmp_path: Path) -> None:
    old, out = build(tmp_path / "old", "parquet"), tmp_path / "out"
    kill_at_operations(out, lambda: build(out, "parquet", "jsonl"), old)
