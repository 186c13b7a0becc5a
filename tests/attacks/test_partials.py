"""Attacks on partial folders: `merge` and `build` end with a sentence and touch nothing outside the folder."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from attacks_on_folders import Attack, everything
from attacks_on_parts import PARTIALS, Partial
from commands import invoke

import niah_gen
from niah_gen.cli.commands import app as gen

RECIPE = {
    "name": "parts", "lengths": [600, 800], "depths": [0, 100], "needles": ["velden-archive"], "languages": ["en"],
}  # fmt: skip


@pytest.fixture(scope="session")
def parts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that a single shard of a build was written into."""
    return niah_gen.build(RECIPE, tmp_path_factory.mktemp("parts"), shard=(1, 1))


@pytest.fixture
def place(parts: Path, tmp_path: Path) -> Partial:
    (tmp_path / "outside").mkdir()
    return Partial(Path(shutil.copytree(parts, tmp_path / "build" / "parts" / parts.name)), tmp_path / "outside")


def test_undamaged_parts_merge_into_a_dataset(place: Partial) -> None:
    assert invoke(gen, "merge", place.folder).returncode == 0


@pytest.mark.parametrize("attack", PARTIALS, ids=lambda attack: attack.what)
def test_an_attack_on_a_partial_folder_is_reported(attack: Attack, place: Partial) -> None:
    attack.damage(place)
    before = everything(place.outside)
    merged = invoke(gen, "merge", place.folder)
    assert (merged.returncode, attack.says in merged.stderr) == (attack.code, True), merged.stderr
    assert "Traceback" not in merged.stderr
    assert everything(place.outside) == before
    assert not (place.folder.parent / place.folder.name.removesuffix(".partial") / "manifest.json").exists()


@pytest.mark.parametrize("link", ["", "data", "final"])
def test_a_build_does_not_write_through_links(link: str, place: Partial, tmp_path: Path) -> None:
    name = place.folder.name.removesuffix(".partial")
    shutil.rmtree(place.folder)
    goal = place.folder.with_name(name) if link == "final" else place.folder / link
    goal.parent.mkdir(parents=True, exist_ok=True)
    goal.symlink_to(place.outside)
    recipe = tmp_path / "recipe.toml"
    recipe.write_text("".join(f"{field} = {json.dumps(value)}\n" for field, value in RECIPE.items()), "utf-8")
    built = invoke(gen, "build", recipe, "--out", place.folder.parents[1])
    assert (built.returncode, "a symbolic link, which is not followed" in built.stderr) == (4, True), built.stderr
    assert everything(place.outside) == {}


def test_a_lock_that_is_a_link_creates_no_file_elsewhere(place: Partial) -> None:
    name = place.folder.name.removesuffix(".partial")
    (place.folder.parent / f".{name}.build.lock").symlink_to(place.outside / "made")
    merged = invoke(gen, "merge", place.folder)
    assert merged.returncode in (2, 4, 5), merged.stderr
    assert everything(place.outside) == {}
