"""Small files that unpack to a machine's whole memory: commands end with a sentence, most with exit code 5."""

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

from niah_gen.cli.commands import app as gen
from niah_score.cli.commands import app as score

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


def with_slow_ones_in_the_soak(names: Iterable[str], *slow: str) -> list[ParameterSet]:
    """The names as parameters; those that take long to pack run in the soak only."""
    return [pytest.param(name, marks=pytest.mark.soak if name in slow else ()) for name in names]


def assert_refused(done: subprocess.CompletedProcess[str], name: str, code: int = 5) -> None:
    assert (done.returncode, name in done.stderr, "Traceback" in done.stderr) == (code, True, False), done.stderr


@pytest.mark.parametrize("name", with_slow_ones_in_the_soak(ANSWERS, "answers.jsonl.gz", "log.eval", "lines.jsonl.zst"))
def test_answers_that_are_a_bomb_end_with_exit_code_5(name: str, tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text(json.dumps(ROW) + "\n", "utf-8")
    bomb = ANSWERS[name](tmp_path / name)
    assert bomb.stat().st_size < 2 * bombs.MIB
    done = invoke(score, "score", tmp_path / "rows.jsonl", bomb, "--out", tmp_path / "out")
    assert_refused(done, name)


@pytest.mark.parametrize("name", ROWS)
def test_rows_that_are_a_bomb_end_with_exit_code_5(name: str, tmp_path: Path) -> None:
    (tmp_path / "answers.jsonl").write_text('{"id":"x","prediction":"a"}\n', "utf-8")
    bomb = ROWS[name](tmp_path / name)
    assert_refused(invoke(score, "score", bomb, tmp_path / "answers.jsonl", "--out", tmp_path / "out"), name)


@pytest.mark.slow
@pytest.mark.parametrize("name", with_slow_ones_in_the_soak(CORPORA, "texts.jsonl.gz", "lines.jsonl.zst"))
def test_a_corpus_that_is_a_bomb_ends_with_exit_code_5(name: str, tmp_path: Path) -> None:
    bomb = CORPORA[name](tmp_path / name)
    assert_refused(invoke(gen, "build", "--length", "600", "--corpus", bomb, "--out", tmp_path / "build"), name)


@pytest.mark.slow
def test_a_data_file_of_repeated_texts_fails_verification_with_exit_code_4(place: Place, tmp_path: Path) -> None:
    """It is read in small batches, not refused as a bomb.

    A dataset's prompts are near-copies of each other, so there is no limit to how well they compress.
    """
    place.replace(PARQUET, bombs.parquet(tmp_path / "bomb", ("prompt",), 64).read_bytes(), 3)
    assert_refused(invoke(gen, "verify", place.folder, "--full", "--jobs", 1), PARQUET, 4)


@pytest.mark.slow
def test_a_data_file_of_one_endless_line_ends_with_exit_code_5(place: Place, tmp_path: Path) -> None:
    packed = f"{LINES}.zst"
    (place.folder / packed).write_bytes(bombs.zst(tmp_path / "bomb.zst").read_bytes())
    (place.folder / PARQUET).unlink()
    (place.folder / LINES).unlink()
    files = [entry for entry in place.record()["files"] if entry["path"] not in (PARQUET, LINES)]
    place.reseal(files=files)
    place.add(packed, rows=3)
    place.replace(packed, (place.folder / packed).read_bytes(), 3)
    for command in (["verify", "--full", "--jobs", 1], ["show", "--row", 1], ["card"]):
        assert_refused(invoke(gen, command[0], place.folder, *command[1:]), packed)


def test_an_oversized_recipe_ends_with_5_and_a_deeply_nested_one_with_2(tmp_path: Path) -> None:
    recipe = tmp_path / "long.toml"
    recipe.write_bytes(b"#" * (16 * bombs.MIB + 1))
    assert_refused(invoke(gen, "build", recipe, "--out", tmp_path / "build"), "long.toml")
    recipe.write_bytes(b"a = " + b"[" * 100_000)
    assert_refused(invoke(gen, "build", recipe, "--out", tmp_path / "build"), "long.toml", 2)


LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, ({limit}, {limit}))
from niah_{program}.cli.commands import app
sys.argv = {words!r}
app()
"""


BOMBS = {"answers": ANSWERS, "rows": ROWS, "corpus": CORPORA}


@pytest.mark.soak
@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind, names in BOMBS.items() for name in names])
def test_a_bomb_is_refused_within_limited_memory(kind: str, name: str, tmp_path: Path) -> None:
    """In a process limited to 3 GiB of address space, of which the libraries alone take half."""
    rows, answers = tmp_path / "r.jsonl", tmp_path / "a.jsonl"
    rows.write_text(json.dumps(ROW) + "\n", "utf-8")
    answers.write_text('{"id":"x","prediction":"a"}\n', "utf-8")
    bomb = BOMBS[kind][name](tmp_path / name)
    program, *arguments = {
        "answers": ["score", "score", rows, bomb],
        "rows": ["score", "score", bomb, answers],
        "corpus": ["gen", "build", "--length", 600, "--corpus", bomb],
    }[kind]
    words = ["niah", *map(str, arguments), "--out", str(tmp_path / "out")]
    code = LIMITED.format(limit=3 * 2**30, program=program, words=words)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert_refused(done, name)
    assert "not enough memory" not in done.stderr
