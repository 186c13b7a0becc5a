"""Small files that unpack to a machine's whole memory: commands end with a sentence, most with exit code 5."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections.abc import Callable
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


def _bomb(
    kind: str, name: str, pack: Callable[[Path], Path], mark: pytest.MarkDecorator | tuple[()] = ()
) -> ParameterSet:
    return pytest.param(kind, name, pack, marks=mark, id=f"{kind} {name}")


# Those that take long to pack run in the soak only.
_SLOW, _SOAK = pytest.mark.slow, pytest.mark.soak
BOMBS = [
    _bomb("answers", "answers.jsonl.zst", bombs.zst),
    _bomb("answers", "lines.jsonl.zst", bombs.lines_zst, _SOAK),
    _bomb("answers", "answers.jsonl.gz", bombs.gz, _SOAK),
    _bomb("answers", "answers.parquet", lambda path: bombs.parquet(path, ("prediction",))),
    _bomb("answers", "log.eval", _zipped, _SOAK),
    _bomb("rows", "rows.jsonl.zst", bombs.zst),
    _bomb("rows", "rows.parquet", lambda path: bombs.parquet(path, ("id", "answers", "keywords"))),
    _bomb("corpus", "texts.jsonl.zst", bombs.zst, _SLOW),
    _bomb("corpus", "lines.jsonl.zst", bombs.lines_zst, _SOAK),
    _bomb("corpus", "texts.jsonl.gz", bombs.gz, _SOAK),
    _bomb("corpus", "texts.parquet", lambda path: bombs.parquet(path, ("text",)), _SLOW),
]


def rows_and_answers(folder: Path) -> tuple[Path, Path]:
    """A file with a row, and one with its answer."""
    rows, answers = folder / "rows.jsonl", folder / "answers.jsonl"
    rows.write_text(json.dumps(ROW) + "\n", "utf-8")
    answers.write_text('{"id":"x","prediction":"a"}\n', "utf-8")
    return rows, answers


def assert_refused(done: subprocess.CompletedProcess[str], name: str, code: int = 5) -> None:
    found = done.returncode, name in done.stderr, "Traceback" in done.stderr
    assert found == (code, True, False), (name, done.stderr)


@pytest.mark.parametrize(("kind", "name", "pack"), BOMBS)
def test_a_bomb_ends_with_exit_code_5(kind: str, name: str, pack: Callable[[Path], Path], tmp_path: Path) -> None:
    rows, answers = rows_and_answers(tmp_path)
    bomb = pack(tmp_path / f"bomb-{name}")
    assert bomb.stat().st_size < 2 * bombs.MIB
    words: dict[str, list[str | Path]] = {
        "answers": ["score", rows, bomb],
        "rows": ["score", bomb, answers],
        "corpus": ["build", "--length", "600", "--corpus", bomb],
    }
    done = invoke(gen if kind == "corpus" else score, *words[kind], "--out", tmp_path / "out")
    assert_refused(done, bomb.name)


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
        done = invoke(gen, command[0], place.folder, *command[1:])
        assert_refused(done, f"{packed}:1: a line of more than 104,857,600 bytes; one record per line is expected")


def test_an_oversized_recipe_ends_with_5_and_a_deeply_nested_one_with_2(tmp_path: Path) -> None:
    recipe = tmp_path / "long.toml"
    recipe.write_bytes(b"#" * (16 * bombs.MIB + 1))
    assert_refused(invoke(gen, "build", recipe, "--out", tmp_path / "build"), "long.toml")
    recipe.write_bytes(b"a = " + b"[" * 100_000)
    assert_refused(invoke(gen, "build", recipe, "--out", tmp_path / "build"), "long.toml", 2)


MEASURED = """
import sys
from niah_{program}.cli.commands import app
sys.argv = {words!r}
try:
    app()
finally:
    peak = next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM"))
    sys.stderr.write(f"\\npeak {{peak}}\\n")
"""
SENTENCE = b"The harbour was quiet that morning, and nobody spoke. "
NOISE = random.Random(0).randbytes(100_000).hex().encode()  # does not compress to a thousandth


def _written(*pieces: bytes | tuple[bytes, int]) -> Callable[[Path], Path]:
    """A function that writes pieces, each as often as it says, into a file, packed if its suffix says so."""

    def write(path: Path) -> Path:
        import zstandard

        packed = path.suffix == ".zst"
        with zstandard.open(path, "wb") if packed else path.open("wb") as out:
            for piece in pieces:
                data, times = (piece, 1) if isinstance(piece, bytes) else piece
                for _ in range(times):
                    out.write(data)
        return path

    return write


def _of(size: int) -> tuple[bytes, int]:
    """Text of so many MiB."""
    return SENTENCE * (bombs.MIB // len(SENTENCE)), size


RECORD = b'{"id":"x","prediction":"'
FIRST = b'[{"id":"x","prediction":"a"}'
# Just beyond what is read as a whole.
TOO_LARGE = {
    "values.json": ("answers", _written(FIRST, (b",{}" * 1000, 2001), b"]")),
    "line.jsonl": ("answers", _written(b'{"id":"x","prediction":"', _of(101), b'"}\n')),
    "malformed.jsonl": ("answers", _written(b'{"id":"x","prediction":"a"}\n', (b"1\n" * 1000, 1001))),
    "text.jsonl": ("corpus", _written(b'{"text":"', _of(33), b'"}\n')),
}  # fmt: skip


def _peak(kind: str, path: Path, folder: Path) -> tuple[subprocess.CompletedProcess[str], int]:
    """A command that reads a file, and the most memory that it took, in MiB."""
    rows, _ = rows_and_answers(folder)
    program, *arguments = {
        "answers": ["score", "score", rows, path, "--jobs", 1, "--on-duplicate", "first"],
        "corpus": ["gen", "build", "--length", 600, "--depths", 50, "--needle", "velden-archive", "--corpus", path],
    }[kind]
    words = ["niah", *map(str, arguments), "--out", str(folder / "out" / path.name)]
    done = subprocess.run(
        [sys.executable, "-c", MEASURED.format(program=program, words=words)],
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert "Traceback" not in done.stderr, done.stderr
    return done, int(done.stderr.split()[-1]) // 1024


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="measures memory as Linux counts it")
def test_what_is_too_large_to_be_read_whole_is_refused_below_1_gib(tmp_path: Path) -> None:
    for name, (kind, write) in TOO_LARGE.items():
        path = write(tmp_path / name)
        done, peak = _peak(kind, path, tmp_path)
        assert_refused(done, name)
        assert peak < 1024, (name, peak)
        path.unlink()


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="measures memory as Linux counts it")
def test_of_long_answers_only_what_is_judged_is_held(tmp_path: Path) -> None:
    """Sixty answers of 10 MB to one row."""
    path = _written((RECORD + SENTENCE * 200_000 + NOISE + b'"}\n', 60))(tmp_path / "several.jsonl.zst")
    done, peak = _peak("answers", path, tmp_path)
    assert "lines read 60 = used 1 + duplicate 59" in done.stderr, done.stderr
    assert peak < 1024, peak
