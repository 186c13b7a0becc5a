"""The command niah-score as a whole: it runs without the generator, imports on demand, and has help."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from made import CONTRACT, ROOT, WriteLines
from made_commands import contract_answers, run


@pytest.mark.slow
def test_the_scorer_scores_alone_with_only_its_base_dependencies(write_lines: WriteLines, tmp_path: Path) -> None:
    """A copy of niah_score outside the project, with site-packages except for the generator's dependencies."""
    shutil.copytree(ROOT / "niah_score", tmp_path / "alone" / "niah_score")
    code = """
import sys
sys.path[:0] = [sys.argv[1], sys.argv[2]]
class Wall:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in "niah_gen tiktoken jieba datasets tokenizers tomli_w regex".split():
            raise ModuleNotFoundError(f"{name} is not a dependency of the scorer", name=name)
sys.meta_path.insert(0, Wall())
import niah_score
assert niah_score.__file__.startswith(sys.argv[1]), niah_score.__file__
from niah_score.cli.commands import app
app(sys.argv[3:])
"""
    packages = sysconfig.get_paths()["purelib"]
    file = write_lines("answers.jsonl", contract_answers())
    out = tmp_path / "out"
    # -S, so that no .pth file brings the project back.
    done = subprocess.run(
        [sys.executable, "-S", "-P", "-c", code, tmp_path / "alone", packages, "score", CONTRACT, file, "--out", out],
        capture_output=True, text=True, check=False, cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads((out / "summary.json").read_bytes())["metrics"]["keyword"]["overall"]["mean"] == 100.0


@pytest.mark.slow
def test_a_package_that_is_missing_is_named_in_a_sentence(write_lines: WriteLines, tmp_path: Path) -> None:
    file = write_lines("answers.jsonl", contract_answers())
    code = "import sys; sys.modules['{1}'] = None; from {0}.cli.main import main; sys.exit(main())"
    for package, missing, words in (
        ("niah_score", "matplotlib", ["score", str(CONTRACT), str(file), "--out", str(tmp_path / "out")]),
        ("niah_gen", "zstandard", ["build", "smoke", "--format", "jsonl.zst", "--out", str(tmp_path / "built")]),
    ):
        done = subprocess.run(
            [sys.executable, "-c", code.format(package, missing), *words], capture_output=True, text=True, check=False
        )
        assert done.returncode == 2, done.stderr
        assert re.search(rf"niah-\w+: {missing}[\w.]* is not installed; [^\n]*niah-kit[^\n]*\n", done.stderr), (
            done.stderr
        )


@pytest.mark.slow
def test_importing_the_scorer_loads_neither_the_generator_nor_heavy_libraries() -> None:
    heavy = "'niah_gen', 'tiktoken', 'jieba', 'datasets', 'polars', 'pyarrow'"
    for imported, absent in (
        ("niah_score, niah_score.cli.main, niah_score.judge, niah_score.metrics, niah_score.formats", heavy),
        ("niah_score.cli.commands", f"{heavy}, 'niah_score.text'"),
    ):
        code = f"import sys, {imported}; print([m for m in ({absent}) if m in sys.modules])"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert done.stdout.strip() == "[]", imported


def test_help_names_every_command_the_version_and_formats_are_printed() -> None:
    from niah_score.formats import FORMATS, example_lines

    listed = run("--help").stdout
    for name in ("score", "perplexity", "gain", "plot", "compare", "gate", "report", "formats", "judge"):
        assert f"\n  {name} " in listed
        assert run(name, "--help").returncode == 0
    assert run("--version").stdout.startswith("niah-score ")
    printed = run("formats").stdout
    for name, line in example_lines().items():
        assert f"{name}: {FORMATS[name].what}\n    {line}\n" in printed
