"""Corpora too short for a length: refused, unless the recipe allows repeating them, which changes no row."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import niah_gen
from niah_gen.cli.commands import app
from niah_gen.errors import FitError
from niah_gen.recipe.read import load_recipe
from niah_gen.rows.plan import make_plan


@pytest.fixture
def recipe(tmp_path: Path) -> dict[str, Any]:
    """Facts over a corpus of some 900 tokens, at a length that it fills and one that it does not."""
    text = tmp_path / "tales" / "tales.txt"
    text.parent.mkdir()
    text.write_text(" ".join(f"Tale {n} was told by a man of {n} years." for n in range(70)))
    return {"name": "tales", "lengths": [600, 2000], "depths": [50], "corpora": [str(text.parent)], "languages": ["en"]}


def test_a_length_that_repeats_its_corpus_is_refused_before_anything_is_written(
    recipe: dict[str, Any], tmp_path: Path
) -> None:
    message = r"corpus 'tales': to fill length 2,000 it would be repeated \d\.\d times over; .* --allow-repeats"
    with pytest.raises(FitError, match=message):
        niah_gen.build(recipe, tmp_path / "out")
    with pytest.raises(FitError, match=message):
        niah_gen.iter_rows(recipe)
    assert not (tmp_path / "out").exists()


def test_the_length_suggested_instead_fits(recipe: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(FitError, match=r"up to about ([\d,]+) tokens") as refused:
        niah_gen.iter_rows(recipe)
    most = int(str(refused.value).partition("up to about ")[2].split()[0].replace(",", ""))
    rows = list(niah_gen.iter_rows({**recipe, "lengths": [600, most]}))
    assert max(row["haystack_passes"] for row in rows) < 1.01


def test_allowed_repeats_are_noted_and_change_neither_rows_nor_digests(recipe: dict[str, Any], tmp_path: Path) -> None:
    notices: list[str] = []
    allowed = {**recipe, "allow_repeats": True}
    folder = niah_gen.build(allowed, tmp_path, notice=notices.append)
    assert any("tales is repeated to fill length 2000" in note for note in notices)
    assert "allow_repeats = true" in (folder / "recipe.toml").read_text()
    short = {**recipe, "lengths": [600]}
    assert list(niah_gen.iter_rows(short)) == list(niah_gen.iter_rows({**short, "allow_repeats": True}))
    assert make_plan(load_recipe(recipe)).digest == make_plan(load_recipe(allowed)).digest


def test_the_command_line_refuses_repeats_unless_they_are_allowed(recipe: dict[str, Any], tmp_path: Path) -> None:
    words = ["plain", "--length", "600,2000", "--depths", "50", "--corpus", recipe["corpora"][0], "--language", "en"]
    for command in (["plan", *words], ["build", *words, "--out", str(tmp_path / "out")]):
        refused = CliRunner().invoke(app, command)
        assert refused.exit_code == 2
        assert "--allow-repeats" in refused.stderr
        assert CliRunner().invoke(app, [*command, "--allow-repeats"]).exit_code == 0


def test_published_presets_that_repeat_their_texts_allow_it_themselves() -> None:
    presets = Path(niah_gen.__file__).parent / "library" / "presets"
    allowing = {
        path.stem for path in presets.glob("*.toml") if tomllib.loads(path.read_text("utf-8")).get("allow_repeats")
    }
    assert {"gkamradt-classic", "gkamradt-single", "needlehaystack2-single", "ruler"} <= allowing
    assert not allowing & {"default", "plain", "smoke", "single", "multi"}
