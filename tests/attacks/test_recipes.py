"""Attacks through recipes: code that a stranger's recipe names, and recipes that would take the machine to expand."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from attacks_on_folders import Place
from attacks_on_parts import Partial
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
    recipe = json.loads(place.sheet.read_bytes())["recipe"]
    place.state(recipe={**recipe, "task": "stranger:TASK"})
    done = invoke(gen, "merge", parts)
    assert (done.returncode, imported.exists()) == (0, False), done.stderr
