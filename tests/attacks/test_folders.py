"""Attacks on folders: each is reported, none reaches outside."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from attacks_on_folders import (
    HOSTILE_NAMES,
    LINES,
    ON_FILES,
    ON_ROWS,
    ON_THE_MANIFEST,
    PARTIALS,
    Attack,
    Partial,
    Place,
    everything,
)
from commands import invoke
from each import few_fast
from made_store import FORMS

import niah_gen
from niah_gen.cli.commands import app as gen
from niah_score.cli.commands import app as score

NAMES = [
    HOSTILE_NAMES[what]
    for what in (
        "an absolute path", "a folder above", "a NUL", "a name of 300 characters", "an escape of terminals",
    )
]  # fmt: skip


def _rows(place: Place) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (place.folder / LINES).read_text("utf-8").splitlines()]


def test_the_undamaged_dataset_passes_verification(place: Place) -> None:
    assert invoke(gen, "verify", place.folder, "--full").returncode == 0


@pytest.mark.parametrize("attack", few_fast([*ON_FILES, *ON_ROWS, *ON_THE_MANIFEST], 6), ids=lambda attack: attack.what)
def test_an_attack_on_a_folder_is_reported(attack: Attack, place: Place, tmp_path: Path) -> None:
    answers = tmp_path / "answers.jsonl"
    rows = _rows(place)
    answers.write_text("".join(json.dumps({"id": row["id"], "prediction": "x"}) + "\n" for row in rows), "utf-8")
    attack.damage(place)
    before = everything(place.outside), everything(place.folder)
    verified = invoke(gen, "verify", place.folder, *(["--full", "--jobs", 1] if attack.full else []))
    assert (verified.returncode, attack.says in verified.stderr) == (attack.code, True), verified.stderr
    assert any(line.startswith("niah-gen: ") for line in verified.stderr.splitlines())
    assert not re.search(r"Traceback|[\x00-\x08\x0b-\x1f\x7f\u202e]", verified.stderr)
    scored = invoke(score, "score", place.folder, answers, "--out", tmp_path / "scores", "--missing", "zero")
    assert scored.returncode == attack.score, scored.stderr
    assert "Traceback" not in scored.stderr
    assert (everything(place.outside), everything(place.folder)) == before


@pytest.mark.parametrize("name", few_fast([*NAMES, "..", "", "a\u202eb"], 4))
def test_a_hostile_dataset_name_neither_redirects_scores_nor_acts_on_the_terminal(
    name: str, place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers, here = tmp_path / "answers.jsonl", tmp_path / "here"
    answers.write_text(json.dumps({"id": _rows(place)[0]["id"], "prediction": "x"}), "utf-8")
    here.mkdir()
    place.reseal(name=name)
    before = everything(tmp_path)
    monkeypatch.chdir(here)
    done = invoke(score, "score", place.folder, answers, "--missing", "zero")
    assert done.returncode == 0, done.stderr
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f\u202e]", done.stdout + done.stderr)
    (folder,) = done.stdout.splitlines()
    assert len(Path(folder).parts) == 3
    assert (here / folder / "summary.json").is_file()
    ours = {path for path in everything(tmp_path) if path == "here" or path.startswith("here/")}
    assert {path: state for path, state in everything(tmp_path).items() if path not in ours} == {
        path: state for path, state in before.items() if path != "here"
    }


RECIPE = {
    "name": "parts", "lengths": [600, 800], "depths": [0, 100], "needles": ["velden-archive"], "languages": ["en"],
}  # fmt: skip


@pytest.fixture(scope="session")
def parts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that a single shard of a build was written into."""
    return niah_gen.build(RECIPE, tmp_path_factory.mktemp("parts"), shard=(1, 1))


@pytest.fixture
def partial(parts: Path, tmp_path: Path) -> Partial:
    (tmp_path / "outside").mkdir()
    return Partial(Path(shutil.copytree(parts, tmp_path / "build" / "parts" / parts.name)), tmp_path / "outside")


def test_undamaged_parts_merge_into_a_dataset(partial: Partial) -> None:
    assert invoke(gen, "merge", partial.folder).returncode == 0


@pytest.mark.parametrize("attack", PARTIALS, ids=lambda attack: attack.what)
def test_an_attack_on_a_partial_folder_is_reported(attack: Attack, partial: Partial) -> None:
    attack.damage(partial)
    before = everything(partial.outside)
    merged = invoke(gen, "merge", partial.folder)
    assert (merged.returncode, attack.says in merged.stderr) == (attack.code, True), merged.stderr
    assert "Traceback" not in merged.stderr
    assert everything(partial.outside) == before
    assert not (partial.folder.parent / partial.folder.name.removesuffix(".partial") / "manifest.json").exists()


@pytest.mark.parametrize("link", ["", "data", "final"])
def test_a_build_does_not_write_through_links(link: str, partial: Partial, tmp_path: Path) -> None:
    name = partial.folder.name.removesuffix(".partial")
    shutil.rmtree(partial.folder)
    goal = partial.folder.with_name(name) if link == "final" else partial.folder / link
    goal.parent.mkdir(parents=True, exist_ok=True)
    goal.symlink_to(partial.outside)
    recipe = tmp_path / "recipe.toml"
    recipe.write_text("".join(f"{field} = {json.dumps(value)}\n" for field, value in RECIPE.items()), "utf-8")
    built = invoke(gen, "build", recipe, "--out", partial.folder.parents[1])
    assert (built.returncode, "a symbolic link, which is not followed" in built.stderr) == (4, True), built.stderr
    assert everything(partial.outside) == {}


def test_a_lock_that_is_a_link_creates_no_file_elsewhere(partial: Partial) -> None:
    name = partial.folder.name.removesuffix(".partial")
    (partial.folder.parent / f".{name}.build.lock").symlink_to(partial.outside / "made")
    merged = invoke(gen, "merge", partial.folder)
    assert merged.returncode in (2, 4, 5), merged.stderr
    assert everything(partial.outside) == {}


SECRET = "p4ssw0rd"


@pytest.mark.slow
def test_no_command_shows_a_secret_of_an_address_or_opens_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("rows.jsonl").write_text(json.dumps({"id": "x", "answers": ["a"], "keywords": [["a"]]}) + "\n", "utf-8")
    Path("a.jsonl").write_text('{"id":"x","prediction":"a"}\n', "utf-8")
    before = everything(tmp_path)
    # Every second one, as each is given to all commands.
    for form in [form.format(SECRET) for form in FORMS if form[0].isalpha() and " " not in form][::2]:
        for app, words in (
            (gen, ["build", "--out", form]), (gen, ["build", "--corpus", form]), (gen, ["build", form]),
            (gen, ["build", "--tokenizer", form]), (gen, ["build", "--template", form]),
            (gen, ["plan", "--needle", form]), (gen, ["build", "--system-file", form]),
            (gen, ["build", "--set", f"corpora=['{form}']"]),
            (gen, ["verify", form]), (gen, ["verify", form, "--full"]), (gen, ["merge", form]), (gen, ["list", form]),
            (gen, ["show", form]), (gen, ["card", form]), (gen, ["diff", form, form]), (gen, ["page", form]),
            (gen, ["recount", form, "--tokenizer", form]), (gen, ["publish", form, "u/n"]),
            (gen, ["export", form, "--to", "text", "--out", form]), (gen, ["corpora", "show", form]),
            (gen, ["corpora", "add", form]), (gen, ["corpora", "fetch", "paul_graham", "--url", form]),
            (score, ["score", form, "a.jsonl"]), (score, ["score", "rows.jsonl", form]),
            (score, ["score", "rows.jsonl", "a.jsonl", "--out", form]), (score, ["perplexity", form, form]),
            (score, ["gain", form, form]), (score, ["plot", form]), (score, ["compare", form, form]),
            (score, ["report", form]), (score, ["judge", "import", form, form, "--dataset", form, "--out", form]),
        ):  # fmt: skip
            done = invoke(app, *words)
            assert done.returncode in (2, 5), (words, done.returncode, done.stderr)
            assert SECRET not in done.stdout + done.stderr, (words, done.stdout, done.stderr)
            assert "Traceback" not in done.stderr
    assert everything(tmp_path) == before
