"""Full disks: a build that is sure not to fit is refused before it begins, and no command harms anything."""

from __future__ import annotations

import resource
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from fault_bench import FULL, ROOT, Bench, Server, judged, uninterrupted
from fault_cases import Inputs, cases

_MEGABYTES = 8
# Bytes that are free on the disk when a command begins.
_LEFT = (0, 4_096, 20_000, 60_000, 150_000, 300_000)
_TRIED = (
    "build", "build with another format", "card", "page", "export text", "export over an export", "corpora add",
    "score", "score over scores", "plot", "compare", "judge export", "perplexity",
)  # fmt: skip


@pytest.fixture(scope="module")
def small_disk(running: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    """A bench on its own disk of eight megabytes."""
    place = tmp_path_factory.mktemp("small") / "place"
    place.mkdir()
    mount = shutil.which("mount")
    done = mount and subprocess.run(
        [mount, "-t", "tmpfs", "-o", f"size={_MEGABYTES}m", "tmpfs", place], capture_output=True, check=False
    )
    if not done or done.returncode:
        pytest.skip("needs the right to mount a small disk")
    try:
        yield Bench(running, place)
    finally:
        subprocess.run(["umount", "-l", place], check=False)


def fill(place: Path, left: int) -> Path:
    """Fill a disk until only `left` bytes are free."""
    filler = place / "filler"
    with filler.open("wb") as file:
        file.write(bytes(max(0, shutil.disk_usage(place).free - left)))
    return filler


@pytest.mark.soak
def test_a_full_disk_harms_nothing(small_disk: Bench) -> None:
    every = {case.name: case for case in cases(Inputs(small_disk.server, small_disk.place))}
    problems, codes = [], []
    for name in _TRIED:
        expected = uninterrupted(small_disk, every[name])
        for left in _LEFT:
            small_disk.reset()
            filler = fill(small_disk.place, left)
            ended = small_disk.run(every[name])
            filler.unlink()
            codes.append(ended.code)
            problems += [
                f"{name}, {left} left: {problem}" for problem in judged(small_disk, every[name], expected, FULL, ended)
            ]
    assert problems == []
    assert codes.count(5) > len(_TRIED)
    print({code: codes.count(code) for code in set(codes)})


@pytest.mark.slow
def test_a_limit_on_file_sizes_ends_a_build_with_one_sentence(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "niah_gen.cli", "build", "plain", "--length", "1000", "--language", "en", "--out",
         "out"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
        env={"PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (3000, 3000)),
    )  # fmt: skip
    assert done.returncode == 5, done.stderr
    messages = [line for line in done.stderr.splitlines() if not line.startswith("note: ")]
    assert len(messages) == 1
    assert "out/" in messages[0]
    assert "File too large; make room, or choose a folder on another disk" in messages[0]


def test_a_build_that_cannot_fit_is_refused_before_it_begins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import niah_gen
    from niah_gen.errors import ResourceError

    recipe = {"name": "roomy", "lengths": [1000], "depths": [0, 100], "languages": ["en"]}
    usage = shutil.disk_usage(tmp_path)
    for free, formats in ((50, ("parquet",)), (3000, ("jsonl",)), (20_000, ("jsonl",))):
        monkeypatch.setattr(shutil, "disk_usage", lambda place, free=free: usage._replace(free=free))
        if free < 10_000:
            with pytest.raises(
                ResourceError, match=rf"needs at least [\d,]+ bytes, and the disk of .* has {free:,} left"
            ):
                niah_gen.build(recipe, tmp_path / "out", formats=formats)
            assert not any((tmp_path / "out" / "roomy").iterdir())
        else:
            niah_gen.build(recipe, tmp_path / "out", formats=formats)
