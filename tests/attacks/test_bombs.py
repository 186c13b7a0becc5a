"""Small files that unpack to the memory of the machine end every command with 5 and a sentence."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import bombs
import pytest
from _pytest.mark import ParameterSet
from attacks_on_folders import LINES, PARQUET, Place
from commands import invoke

from niah_gen.cli.main import app as gen
from niah_score.cli.main import app as score

ROW = {"id": "x", "answers": ["a"], "keywords": [["a"]]}


def _zipped(path: Path) -> Path:
    import zipfile

    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("samples/1_epoch_1.json", "w") as out,
    ):
        out.write(b'{"id":"x","x":"')
        for _ in range(160):
            out.write(b"a" * bombs.MIB)
    return path


ANSWERS: dict[str, Callable[[Path], Path]] = {
    "answers.jsonl.zst": bombs.zst,
    "lines.jsonl.zst": bombs.lines_zst,
    "answers.jsonl.gz": bombs.gz,
    "answers.parquet": lambda path: bombs.parquet(path, ("prediction",)),
    "log.eval": _zipped,
}
ROWS: dict[str, Callable[[Path], Path]] = {
    "rows.jsonl.zst": bombs.zst,
    "rows.parquet": lambda path: bombs.parquet(path, ("answer", "keywords")),
}
CORPORA: dict[str, Callable[[Path], Path]] = {
    "texts.jsonl.zst": bombs.zst,
    "lines.jsonl.zst": bombs.lines_zst,
    "texts.jsonl.gz": bombs.gz,
    "texts.parquet": lambda path: bombs.parquet(path, ("text",)),
}


def alike(names: Iterable[str], *slow: str) -> list[ParameterSet]:
    """The names, of which those that take long to pack are tried in the soak alone."""
    return [pytest.param(name, marks=pytest.mark.soak if name in slow else ()) for name in names]


def told(found: subprocess.CompletedProcess[str], name: str, code: int = 5) -> None:
    assert (found.returncode, name in found.stderr, "Traceback" in found.stderr) == (code, True, False), found.stderr


@pytest.mark.parametrize("name", alike(ANSWERS, "answers.jsonl.gz", "log.eval", "lines.jsonl.zst"))
def test_answers_that_are_a_bomb_end_with_5(name: str, tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text(json.dumps(ROW) + "\n", "utf-8")
    bomb = ANSWERS[name](tmp_path / name)
    assert bomb.stat().st_size < 2 * bombs.MIB
    found = invoke(score, "score", tmp_path / "rows.jsonl", bomb, "--out", tmp_path / "out")
    told(found, name)


@pytest.mark.parametrize("name", ROWS)
def test_rows_that_are_a_bomb_end_with_5(name: str, tmp_path: Path) -> None:
    (tmp_path / "answers.jsonl").write_text('{"id":"x","prediction":"a"}\n', "utf-8")
    bomb = ROWS[name](tmp_path / name)
    told(invoke(score, "score", bomb, tmp_path / "answers.jsonl", "--out", tmp_path / "out"), name)


@pytest.mark.parametrize("name", alike(CORPORA, "texts.jsonl.gz", "lines.jsonl.zst"))
def test_a_corpus_that_is_a_bomb_ends_with_5(name: str, tmp_path: Path) -> None:
    bomb = CORPORA[name](tmp_path / name)
    told(invoke(gen, "build", "--length", "600", "--corpus", bomb, "--out", tmp_path / "build"), name)


def test_a_data_file_that_repeats_a_text_is_read_some_rows_at_a_time(place: Place, tmp_path: Path) -> None:
    """Prompts of a dataset are near-copies of each other, so that there is no limit to how well they are packed."""
    place.replace(PARQUET, bombs.parquet(tmp_path / "bomb", ("prompt",), 64).read_bytes(), 3)
    told(invoke(gen, "verify", place.folder, "--full", "--jobs", 1), PARQUET, 4)


def test_a_data_file_of_one_endless_line_ends_with_5(place: Place, tmp_path: Path) -> None:
    packed = f"{LINES}.zst"
    (place.folder / packed).write_bytes(bombs.zst(tmp_path / "bomb.zst").read_bytes())
    (place.folder / PARQUET).unlink()
    (place.folder / LINES).unlink()
    files = [entry for entry in place.record()["files"] if entry["path"] not in (PARQUET, LINES)]
    place.reseal(files=files)
    place.add(packed, rows=3)
    place.replace(packed, (place.folder / packed).read_bytes(), 3)
    for command in (["verify", "--full", "--jobs", 1], ["show", "--row", 1], ["card"]):
        told(invoke(gen, command[0], place.folder, *command[1:]), packed)


def test_a_recipe_of_many_bytes_ends_with_5(tmp_path: Path) -> None:
    recipe = tmp_path / "long.toml"
    recipe.write_bytes(b"#" * (16 * bombs.MIB + 1))
    told(invoke(gen, "build", recipe, "--out", tmp_path / "build"), "long.toml")
    recipe.write_bytes(b"a = " + b"[" * 100_000)
    told(invoke(gen, "build", recipe, "--out", tmp_path / "build"), "long.toml", 2)


LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, ({limit}, {limit}))
from niah_{program}.cli.main import app
sys.argv = {words!r}
app()
"""


@pytest.mark.soak
@pytest.mark.parametrize("name", [*ANSWERS, *ROWS, *CORPORA])
def test_a_bomb_takes_no_memory(name: str, tmp_path: Path) -> None:
    """In a process that may take 3 GiB of addresses, of which the libraries themselves take half."""
    rows, answers = tmp_path / "r.jsonl", tmp_path / "a.jsonl"
    rows.write_text(json.dumps(ROW) + "\n", "utf-8")
    answers.write_text('{"id":"x","prediction":"a"}\n', "utf-8")
    bomb = {**ANSWERS, **ROWS, **CORPORA}[name](tmp_path / name)
    words = ["niah", "score", str(rows), str(bomb), "--out", str(tmp_path / "out")]
    program = "score"
    if name in ROWS:
        words[2:4] = [str(bomb), str(answers)]
    if name in CORPORA and name not in ANSWERS:
        program, words = (
            "gen",
            ["niah", "build", "--length", "600", "--corpus", str(bomb), "--out", str(tmp_path / "b")],
        )
    code = LIMITED.format(limit=3 * 2**30, program=program, words=words)
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    told(found, name)
    assert "not enough memory" not in found.stderr
