"""Attacks through recipes: code that a stranger's recipe names, and recipes that would take the machine to expand."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from attacks_on_folders import Partial, Place
from commands import invoke

import niah_gen
from niah_gen.cli.commands import app as gen

RECIPE = {
    "name": "ours", "lengths": [600], "depths": [50], "needles": ["velden-archive"], "languages": ["en"],
}  # fmt: skip


@pytest.fixture
def imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file that the module `stranger`, which can be imported, writes when it is."""
    mark = tmp_path / "imported"
    (tmp_path / "modules").mkdir()
    (tmp_path / "modules" / "stranger.py").write_text(
        f"open({str(mark)!r}, 'w').close()\nfrom niah_gen.tasks.needle import SINGLE as TASK\n", "utf-8"
    )
    monkeypatch.syspath_prepend(tmp_path / "modules")
    monkeypatch.delitem(sys.modules, "stranger", raising=False)
    return mark


def test_a_module_that_a_datasets_recipe_names_is_imported_only_if_the_user_allows_it(
    place: Place, imported: Path, tmp_path: Path
) -> None:
    recipe = (place.folder / "recipe.toml").read_text("utf-8")
    place.replace("recipe.toml", recipe.replace('task = "single"', 'task = "stranger:TASK"').encode(), None)
    proving = (
        ["verify", place.folder, "--full", "--jobs", 1], ["verify", place.folder, "--full", "--jobs", 2],
        ["export", place.folder, "--to", "loglikelihood", "--out", tmp_path / "out"],
        ["publish", place.folder, "user/name", "--dry-run"],
    )  # fmt: skip
    for words in proving:
        done = invoke(gen, *words)
        says = "read module 'stranger', and if you trust it, add --allow-task-module stranger"
        assert (done.returncode, says in done.stderr, imported.exists()) == (2, True, False), (words, done.stderr)
    for words in (
        ["show", place.folder], ["list", place.folder.parent], ["card", place.folder],
        ["recount", place.folder, "--tokenizer", "gpt-4"], ["diff", place.folder, place.other],
        ["page", place.folder, "--out", tmp_path / "page.html"],
        ["export", place.folder, "--to", "text", "--out", tmp_path / "out"],
    ):  # fmt: skip
        done = invoke(gen, *words)
        assert (done.returncode, imported.exists()) == (0, False), (words, done.stderr)
    for words in proving:
        invoke(gen, *words, "--allow-task-module", "stranger.more")
        assert not imported.exists(), words
        invoke(gen, *words, "--allow-task-module", "stranger")
        assert imported.exists(), words
        imported.unlink()
        del sys.modules["stranger"]


def test_completing_a_strangers_shards_imports_no_module(imported: Path, tmp_path: Path) -> None:
    parts = niah_gen.build(RECIPE, tmp_path / "build", shard=(1, 1))
    place = Partial(Path(parts), tmp_path)
    recipe = json.loads(place.part.read_bytes())["recipe"]
    place.plan(recipe={**recipe, "task": "stranger:TASK"})
    done = invoke(gen, "merge", parts)
    assert (done.returncode, imported.exists()) == (0, False), done.stderr


def test_a_recipe_that_would_take_minutes_to_expand_is_refused_by_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "long.toml"
    steps = ".a" * 20_000
    for text, code, says in (
        ('[[parts]]\nname = "a"\n' * 1001, 5, "parts lists 1,001; a recipe may list 1,000"),
        (f"needles = {json.dumps(['velden-archive'] * 10_001)}\n", 5, "needles lists 10,001"),
        (f"lengths = {list(range(50_000))}\n", 5, "lengths lists 50,000"),
        (f'lengths = "{"1k," * 10_000}2k"\n', 5, "lengths lists 10,001"),
        (f"a{steps} = 1\n", 2, "a dotted key, or a line of a text, has more than 1,000 steps"),
        (f"[a{steps}]\n", 2, "more than 1,000 steps"),
        ("x = {b = '\"', a" + ' . "a="' * 20_000 + " = 1}\n", 2, "more than 1,000 steps"),
    ):
        path.write_text(text, "utf-8")
        done = invoke(gen, "plan", path)
        assert (done.returncode, says in done.stderr) == (code, True), (text[:40], done.stderr[:500])
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    (corpus / "corpus.toml").write_text(f"a{steps} = 1\n", "utf-8")
    done = invoke(gen, "plan", "plain", "--corpus", corpus)
    assert (done.returncode, "more than 1,000 steps" in done.stderr) == (2, True), done.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="needs a file system with names that are not UTF-8")
def test_a_corpus_with_a_file_name_that_is_not_utf8_is_refused_by_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "corpus").mkdir()
    (tmp_path / "corpus" / "a\udcff.txt").write_text("The harbour was quiet. " * 1000, "utf-8")
    for spec in (tmp_path / "corpus", tmp_path / "corpus" / "a\udcff.txt"):
        done = invoke(gen, "build", "--length", 600, "--corpus", spec, "--out", tmp_path / "out")
        assert (done.returncode, "is not UTF-8; rename it" in done.stderr) == (2, True), done.stderr


def test_a_dataset_in_a_folder_with_the_name_of_another_fails_verification(place: Place) -> None:
    for name, code in (("mine", 0), (place.other.name, 4)):
        folder = place.folder.rename(place.folder.with_name(name))
        for words in ([], ["--full", "--jobs", 1]):
            done = invoke(gen, "verify", folder, *words)
            assert (done.returncode, f"the folder is called {name}" in done.stderr) == (code, code == 4), done.stderr
        folder.rename(place.folder)
