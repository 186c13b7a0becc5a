"""The dataset card: what the Hub reads from it, and what a person reads in it."""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml
from changed_rows import rows_of, write_lines
from each import each

import niah_gen
from niah_gen.checks.hashes import verify
from niah_gen.dataset.card import chosen_rows, read_overlap
from niah_gen.dataset.complete import rewrite_card
from niah_gen.errors import IntegrityError, NiahError
from niah_gen.recipe.read import load_recipe
from niah_gen.rows.plan import make_plan
from niah_score import evaluate
from niah_score.contract import CARD, open_dataset, read_manifest


@each("lengths", [[1000], [1000 + 10 * step for step in range(130)]])
def test_the_preview_shows_every_kind_of_row_in_up_to_a_hundred_rows(lengths: list[int]) -> None:
    recipe = {"name": "k", "lengths": lengths, "depths": [0, 50, 100], "languages": ["en"], "controls": ["no_context"]}
    plan = make_plan(load_recipe(recipe))
    chosen = chosen_rows(plan)
    rows = [plan.shards[number].first + place for number, places in enumerate(chosen) for place in places]
    cells = [plan.cells[row] for row in rows]
    assert rows == sorted(set(rows))
    assert {cell.control for cell in cells} == {None, "no_context"}
    assert {cell.depth for cell in cells} == {0, 50, 100}
    assert len(cells) <= 100
    assert len({cell.length for cell in cells}) >= min(len(lengths), 50)


PARTS: dict[str, Any] = {
    "name": "card-parts", "lengths": [700, 1000], "depths": [0, 100], "languages": ["en"],
    "parts": [
        {"name": "near", "task": "single", "needles": ["velden-archive"], "controls": ["absent", "no_context"]},
        {"name": "far", "task": "single", "needles": ["velden-archive"], "lengths": [1000]},
    ],
}  # fmt: skip


def front_of(folder: Path) -> dict[str, Any]:
    front: dict[str, Any] = yaml.safe_load((folder / CARD).read_text("utf-8").split("---\n")[1])
    return front


def test_the_config_of_all_rows_comes_first_and_the_preview_last(small: Path) -> None:
    configs = front_of(small)["configs"]
    assert [(config["config_name"], config.get("default")) for config in configs] == [
        ("all", True), *((name, None) for name in ("en-600", "en-1k", "zh-600", "zh-1k", "preview")),
    ]  # fmt: skip
    (files,) = (split["path"] for split in configs[0]["data_files"])
    assert files == [file.entry.path for file in open_dataset(small).files()]
    assert all((small / path).is_file() for path in files)
    assert configs[-1]["data_files"] == [{"split": "test", "path": "preview/test.parquet"}]


def test_the_card_names_only_needles_in_the_rows_and_counts_them_all(tmp_path: Path) -> None:
    folder = niah_gen.build("default", tmp_path, overrides={"languages": ["zh"], "lengths": [1000], "depths": [0, 50]})
    text = (folder / CARD).read_text("utf-8")
    rows = pl.read_parquet(folder / "data/*/*.parquet", columns=["part", "needle_id"]).unique()
    (head, table) = re.search(r"\n(\| part \|.*)\n\|[-|]+\n((?:\|.*\n)+)", text).groups()  # type: ignore[union-attr]
    at = head.split(" | ").index("needles")
    for line in table.splitlines():
        cells = line.removeprefix("| ").split(" | ")
        present = set(rows.filter(pl.col("part") == cells[0])["needle_id"])
        if not cells[at].strip():  # drawn at random, so in no recipe
            continue
        named = [name for name in cells[at].split(", ") if not name.startswith("...")]
        assert set(named) <= present
        assert int((re.findall(r"\((\d+)\)", cells[at]) or [len(named)])[0]) == len(present)
    assert "at 2 depths and 1 length, with" in text


def test_controls_are_described_and_left_out_of_the_grid(tmp_path: Path) -> None:
    text = (niah_gen.build(PARTS, tmp_path) / CARD).read_text("utf-8")
    assert "\n| no_context | " in text
    assert "guess rate" in text
    assert "| depth | 700 | 1k |\n|---|---:|---:|\n| 0 % | 1 | 2 |\n| 100 % | 1 | 2 |\n" in text


@pytest.mark.slow
def test_the_python_code_of_the_card_loads_the_rows_and_parses_throughout(small: Path, tmp_path: Path) -> None:
    load, tables, *run = re.findall(r"```python\n(.*?)```", (small / CARD).read_text("utf-8"), re.DOTALL)
    for code in run:
        ast.parse(code)
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path / "hf")}
    code = load.replace("THIS_FOLDER", str(small)).replace("\nrows", "\nassert len(list(rows)) in (18, 72)\nrows")
    code = code.replace("import load_dataset\n", "import load_dataset\nrows = range(18)\n")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    names: dict[str, Any] = {}
    exec(tables.replace("THIS_FOLDER", str(small)), names)
    assert names["rows"].height == 72


# The card states what word matching scores on its own dataset, and never on another.
SCORED: dict[str, Any] = {"name": "small", "lengths": [600], "depths": [0, 100], "corpora": ["en_essays"],
                          "needles": ["velden-archive", "brannock-lighthouse"]}  # fmt: skip
SENTENCE = (
    "bm25, which only matches words, scores 50.0 of 100 points (95 % interval 15.0 to 85.0, 4 rows): that much of this "
    "dataset is solvable by word overlap"
)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return niah_gen.build(SCORED, tmp_path_factory.mktemp("built") / "build")


@pytest.fixture(scope="module")
def scored(built: Path) -> Path:
    """What `niah-score score` writes if half of the answers are right."""
    folder = built.parents[2] / "scores"
    folder.mkdir()
    given = ({"id": row["id"], "prediction": "Drawer 417."} for row in rows_of(built))
    answers = write_lines(folder / "bm25.jsonl", given)
    summary = evaluate(built, answers, metrics=["keyword"]).summary
    (folder / "summary.json").write_text(json.dumps(summary))
    # An interval over two needles means little; these ends are easier to read.
    return changed(folder, headline__low=15.0, headline__high=85.04)


@pytest.fixture
def dataset(built: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(built, tmp_path / "build" / "small" / built.name))


@pytest.fixture
def scores(scored: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(scored, tmp_path / "scores"))


def changed(scores: Path, **fields: Any) -> Path:
    """The same folder with fields of its summary replaced; `__` reaches inside one."""
    path = scores / "summary.json"
    summary = json.loads(path.read_text())
    for name, value in fields.items():
        *outer, last = name.split("__")
        inner = summary
        for part in outer:
            inner = inner[part]
        inner[last] = value
    path.write_text(json.dumps(summary))
    return scores


def test_the_card_states_the_figure_and_a_new_one_replaces_it_with_what_is_guessed(dataset: Path, scores: Path) -> None:
    before = read_manifest(dataset)
    assert "overlap" not in (dataset / CARD).read_text("utf-8")
    rewrite_card(dataset, scores)
    text = (dataset / CARD).read_text("utf-8")
    assert f"\n## Solvable by word overlap\n\n{SENTENCE}" in text
    assert "without a context" not in text
    front = front_of(dataset)
    assert front["word_overlap"]["figures"][0]["mean"] == 50
    assert [config["config_name"] for config in front["configs"][:2]] == ["all", "en-600"]
    after = read_manifest(dataset)
    assert verify(dataset) == (after, [])
    assert after.content_digest == before.content_digest
    ends = {"low": None, "high": None, "low_these": 21.5, "high_these": 78.5}
    changed(scores, headline__mean=75.0, **{f"headline__{name}": value for name, value in ends.items()})
    rewrite_card(dataset, changed(scores, controls={"no_context": {"guess_rate": 12.5, "rows": 0}}))
    text = (dataset / CARD).read_text("utf-8")
    assert SENTENCE not in text
    assert text.count("word_overlap:") == text.count("scores 75.0 of 100 points") == 1
    assert "95 % interval 21.5 to 78.5" in text
    assert "\n| answered without a context (%) | 12.5 |\n" in text


def test_scores_of_another_dataset_are_refused_and_a_copied_card_loses_its_figure(dataset: Path, scores: Path) -> None:
    other = niah_gen.build({**SCORED, "depths": [50, 100]}, dataset.parents[1])
    with pytest.raises(IntegrityError, match="answer and score it"):
        rewrite_card(other, scores)
    rewrite_card(dataset, scores)
    (other / CARD).write_bytes((dataset / CARD).read_bytes())
    rewrite_card(other)
    assert "overlap" not in (other / CARD).read_text("utf-8")


def test_scores_without_a_valid_figure_over_all_rows_are_refused(dataset: Path, scores: Path) -> None:
    manifest, summary = read_manifest(dataset), (scores / "summary.json").read_bytes()
    wrong: tuple[dict[str, Any], ...] = (
        {"headline": {}}, {"model": None}, {"model": "\ud800"}, {"headline__mean": None}, {"headline__mean": "50"},
        {"headline__mean": 101}, {"headline__low": float("nan")}, {"headline__n": 3}, {"headline__n": True},
        {"dataset": None}, {"controls": ["absent"]}, {"controls": {"absent": {"rows": 1}}},
    )  # fmt: skip
    for fields in wrong:
        (scores / "summary.json").write_bytes(summary)
        with pytest.raises(NiahError, match=r"summary\.json: "):
            read_overlap(changed(scores, **fields), manifest)
    for content in (b"", b"[]", b"\xff", b"[" * 100_000):
        (scores / "summary.json").write_bytes(content)
        with pytest.raises(NiahError, match=r"scores/summary\.json"):
            read_overlap(scores, manifest)
    (scores / "summary.json").write_bytes(summary)
    changed(scores, controls={"absent": {"rows": 1}}, headline__n=3)
    assert read_overlap(scores, manifest)["n"] == 3
