"""Commands over rows of a million tokens stay below 1 GiB and within a hard limit; more rows take no more memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from peak_memory import RETURNED_AT_ONCE

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="measures memory as Linux counts it")
ROOT = Path(__file__).parents[2]
MIB = 2**20
CEILING = 1024 * MIB
# What the system lets a process reserve for data, thread stacks included; more ends in exit code 5 or a crash.
LIMIT = 2048 * MIB
# Sets the limit, runs the command and prints the peak resident memory of it and of the processes that it started.
_MEASURED = """
import json, resource, subprocess, sys
limit = int(sys.argv[1])
done = subprocess.run(sys.argv[2:], capture_output=True, text=True,
                      preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (limit, limit)))
peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
print(json.dumps([done.returncode, done.stdout, done.stderr, peak]))
"""
# How the memory of scoring grows with the answers is measured by tests/benchmarks/scoring.py.
FLAT = ("verify", "show", "export")
RECIPE = ["plain", "--needle", "velden-archive"]


def peak(*words: object, ends: Sequence[int] = (0,)) -> tuple[str, int]:
    """Run a command; return the last line that it prints, and its peak of memory in bytes."""
    program, *rest = map(str, words)
    command = [sys.executable, "-c", _MEASURED, str(LIMIT), sys.executable, "-m", f"{program.replace('-', '_')}.cli"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([*command, *rest], env=environment, capture_output=True, text=True, check=True)
    code, out, errors, most = json.loads(done.stdout)
    assert code in ends, f"{program} {rest[0]}: exit code {code}: {errors[-1000:]}"
    assert most <= CEILING, f"{program} {rest[0]}: {most / MIB:.0f} MiB"
    return out.splitlines()[-1] if out else "", int(most)


def built(out: Path, rows: int, length: int, *words: str) -> tuple[Path, int]:
    """Build a dataset of `rows` rows of one length; return it with the peak memory of the build."""
    depths = ",".join(f"{100 * number / max(rows - 1, 1):.3f}" for number in range(min(rows, 10)))
    repeats = str(max(1, rows // 10))
    line = ["niah-gen", "build", *RECIPE, "--length", length, "--depths", depths, "--repeats", repeats, "--jobs", "1"]
    folder, most = peak(*line, "--allow-repeats", *words, "--out", out)
    manifest = json.loads((Path(folder) / "manifest.json").read_bytes())
    assert manifest["rows"] == rows
    return Path(folder), most


def ids_of(dataset: Path) -> list[str]:
    import pyarrow.parquet as pq

    return [name for file in dataset.glob("data/*/*") for name in pq.read_table(file, columns=["id"])["id"].to_pylist()]


def answered(dataset: Path, path: Path, first: str = "Blue.") -> Path:
    with path.open("w", encoding="utf-8") as file:
        for number, name in enumerate(ids_of(dataset)):
            file.write(json.dumps({"id": name, "prediction": "Blue." if number else first}) + "\n")
    return path


def used(dataset: Path, place: Path) -> dict[str, int]:
    """The peak memory of each command that reads a dataset."""
    place.mkdir()
    answers = answered(dataset, place / "a.jsonl")
    lines: dict[str, list[object]] = {
        "verify": ["niah-gen", "verify", dataset],
        "show": ["niah-gen", "show", dataset, "--row", "2", "--whole"],
        "export": ["niah-gen", "export", dataset, "--to", "openai-batch", "--model", "m", "--out", place / "x"],
        "score": ["niah-score", "score", dataset, answers, "--out", place / "s", "--jobs", "1"],
    }  # fmt: skip
    return {name: peak(*words)[1] for name, words in lines.items()}


@pytest.mark.slow
def test_three_rows_of_a_million_tokens_take_less_than_1_gib(tmp_path: Path) -> None:
    dataset, _ = built(tmp_path, 3, 1_000_000)
    used(dataset, tmp_path / "used")


# With fewer rows of a million tokens, the row groups that a Parquet writer keeps in memory do not fill up.
@pytest.mark.soak
@pytest.mark.parametrize(("rows", "length"), [(100, 1_000_000), (16_000, 4000)])
def test_twice_as_many_rows_take_no_more_memory(
    rows: int, length: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in RETURNED_AT_ONCE.items():
        monkeypatch.setenv(name, value)
    few, few_took = built(tmp_path / "few", rows, length)
    many, many_took = built(tmp_path / "many", 2 * rows, length)
    assert many_took <= 1.1 * few_took
    before, after = used(few, tmp_path / "a"), used(many, tmp_path / "b")
    assert all(after[name] <= 1.1 * before[name] for name in FLAT), (before, after)
    print(f"building {few_took / MIB:.0f}, {many_took / MIB:.0f} MiB; {before}; {after}")


@pytest.mark.soak
def test_rows_of_a_million_tokens_are_proved_recounted_and_drawn_below_1_gib(tmp_path: Path) -> None:
    dataset, _ = built(tmp_path, 3, 1_000_000)
    for words in (
        ["verify", dataset, "--full", "--jobs", "1"],
        ["recount", dataset, "--tokenizer", "o200k_base", "--jobs", "1"],
        ["diff", dataset, dataset, "--jobs", "1"],
        ["page", dataset, "--out", tmp_path / "page.html"],
        ["card", dataset],
    ):
        peak("niah-gen", *words)


@pytest.mark.soak
@pytest.mark.parametrize("piece", ["words of an answer ", "x", "铜钥匙", "1,024 "])
def test_an_answer_of_100_mb_is_scored_below_1_gib(piece: str, tmp_path: Path) -> None:
    rows = [{"id": f"row-{number}", "answers": ["Viridian."], "keywords": [["viridian"]]} for number in range(3)]
    dataset, answers = tmp_path / "rows.jsonl", tmp_path / "a.jsonl"
    dataset.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    long = piece * (100_000_000 // len(piece.encode()))
    with answers.open("w", encoding="utf-8") as file:
        for number, row in enumerate(rows):
            record = {"id": row["id"], "prediction": "Blue." if number else long}
            file.write(json.dumps(record, ensure_ascii=False) + "\n")
    del long
    peak("niah-score", "score", dataset, answers, "--out", tmp_path / "s", "--jobs", "1")
