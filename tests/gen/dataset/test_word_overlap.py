"""The card states what word matching scores on its own dataset, and never on another."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

import niah_gen
from niah_gen.checks.hashes import verify
from niah_gen.dataset.complete import rewrite_card
from niah_gen.dataset.word_overlap import WordOverlap, kept, read_scores
from niah_gen.errors import IntegrityError, NiahError
from niah_score import evaluate
from niah_score.contract import CARD, read_manifest

SMALL: dict[str, Any] = {"name": "small", "lengths": [600], "depths": [0, 100], "corpora": ["en_essays"],
                         "needles": ["velden-archive", "brannock-lighthouse"]}  # fmt: skip
SENTENCE = (
    "bm25, which only matches words, scores 50.0 of 100 points (95 % interval 15.0 to 85.0, 4 rows): that much of this "
    "dataset is solvable by word overlap"
)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return niah_gen.build(SMALL, tmp_path_factory.mktemp("built") / "build")


@pytest.fixture(scope="module")
def scored(built: Path) -> Path:
    """What `niah-score score` writes if half of the answers are right."""
    from niah_gen.dataset.read import rows_in

    rows = list(rows_in(next(built.glob("data/*/*.parquet"))))
    folder = built.parents[2] / "scores"
    folder.mkdir()
    answers = folder / "bm25.jsonl"
    answers.write_text("".join(json.dumps({"id": row["id"], "prediction": "Drawer 417."}) + "\n" for row in rows))
    summary = evaluate(built, answers, metrics=["keyword"]).summary
    (folder / "summary.json").write_text(json.dumps(summary))
    # An interval over two needles means little; these ends are easier to read.
    return changed(folder, headline__low=15.0, headline__high=85.04)


@pytest.fixture
def dataset(built: Path, tmp_path: Path) -> Path:
    shutil.copytree(built.parents[1], tmp_path / "build")
    return tmp_path / "build" / built.relative_to(built.parents[1])


@pytest.fixture
def scores(scored: Path, tmp_path: Path) -> Path:
    return shutil.copytree(scored, tmp_path / "scores")


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


def test_the_card_states_the_figure_with_its_interval_and_rows(dataset: Path, scores: Path) -> None:
    before = read_manifest(dataset)
    rewrite_card(dataset, scores)
    text = (dataset / CARD).read_text("utf-8")
    assert f"\n## Solvable by word overlap\n\n{SENTENCE}" in text
    front = yaml.safe_load(text.split("---\n")[1])
    assert front["word_overlap"]["figures"][0]["mean"] == 50
    assert [config["config_name"] for config in front["configs"][:2]] == ["all", "en-600"]
    after = read_manifest(dataset)
    assert verify(dataset) == (after, [])
    assert after.content_digest == before.content_digest


def test_the_figure_stays_when_the_card_is_rewritten_or_formats_are_added(dataset: Path, scores: Path) -> None:
    rewrite_card(dataset, scores)
    stated = (dataset / CARD).read_bytes()
    rewrite_card(dataset)
    assert (dataset / CARD).read_bytes() == stated
    niah_gen.build(SMALL, dataset.parents[1], formats=["jsonl"])
    assert list(dataset.glob("jsonl/*/*.jsonl"))
    assert SENTENCE in (dataset / CARD).read_text("utf-8")
    assert verify(dataset)[1] == []


def test_a_new_figure_replaces_the_old_one(dataset: Path, scores: Path) -> None:
    rewrite_card(dataset, scores)
    rewrite_card(dataset, changed(scores, headline__mean=75.0))
    text = (dataset / CARD).read_text("utf-8")
    assert SENTENCE not in text
    assert text.count("word_overlap:") == text.count("scores 75.0 of 100 points") == 1


def test_scores_of_one_needle_are_stated_with_the_interval_of_its_rows(dataset: Path, scores: Path) -> None:
    ends = {"low": None, "high": None, "low_these": 21.5, "high_these": 78.5}
    single = changed(scores, **{f"headline__{name}": value for name, value in ends.items()})
    rewrite_card(dataset, single)
    assert "95 % interval 21.5 to 78.5" in (dataset / CARD).read_text("utf-8")


def test_a_card_without_a_figure_does_not_mention_word_overlap(dataset: Path) -> None:
    assert "overlap" not in (dataset / CARD).read_text("utf-8")


def test_scores_of_another_dataset_are_refused(dataset: Path, scores: Path) -> None:
    stated = (dataset / CARD).read_bytes()
    other = niah_gen.build({**SMALL, "depths": [50, 100]}, dataset.parents[1])
    with pytest.raises(IntegrityError, match="answer and score this dataset"):
        rewrite_card(other, scores)
    assert (dataset / CARD).read_bytes() == stated
    assert "overlap" not in (other / CARD).read_text("utf-8")


def test_a_card_copied_from_another_dataset_loses_its_figure(dataset: Path, scores: Path) -> None:
    rewrite_card(dataset, scores)
    other = niah_gen.build({**SMALL, "depths": [50, 100]}, dataset.parents[1])
    (other / CARD).write_bytes((dataset / CARD).read_bytes())
    rewrite_card(other)
    assert "overlap" not in (other / CARD).read_text("utf-8")


@pytest.mark.parametrize(
    "fields",
    [
        {"headline": {}},
        {"model": None},
        {"model": "\ud800"},
        {"headline__mean": None},
        {"headline__mean": "50"},
        {"headline__mean": 101},
        {"headline__low": float("nan")},
        {"headline__n": 3},
        {"headline__n": True},
        {"dataset": None},
        {"controls": ["absent"]},
        {"controls": {"absent": {"rows": 1}}},
    ],
)
def test_scores_without_a_valid_figure_over_all_rows_are_refused(
    dataset: Path, scores: Path, fields: dict[str, Any]
) -> None:
    stated = (dataset / CARD).read_bytes()
    with pytest.raises(NiahError, match=r"summary\.json: "):
        rewrite_card(dataset, changed(scores, **fields))
    assert (dataset / CARD).read_bytes() == stated


def test_rows_of_controls_need_no_score_in_the_figure(dataset: Path, scores: Path) -> None:
    changed(scores, controls={"absent": {"rows": 1}}, headline__n=3)
    assert read_scores(scores, read_manifest(dataset)).n == 3


@pytest.mark.parametrize("content", [None, b"", b"[]", b"\xff", b"[" * 100_000])
def test_a_folder_without_readable_scores_is_named(dataset: Path, scores: Path, content: bytes | None) -> None:
    (scores / "summary.json").unlink()
    if content is not None:
        (scores / "summary.json").write_bytes(content)
    with pytest.raises(NiahError, match=r"scores/summary\.json"):
        read_scores(scores, read_manifest(dataset))


@pytest.mark.parametrize(
    "line", ["word_overlap: [", "word_overlap: {}", 'word_overlap: {"mean": 1}', "word_overlap: 5"]
)
def test_a_figure_that_a_user_damaged_is_left_out(dataset: Path, scores: Path, line: str) -> None:
    rewrite_card(dataset, scores)
    stated = (dataset / CARD).read_text("utf-8")
    old = next(part for part in stated.splitlines() if part.startswith("word_overlap: "))
    (dataset / CARD).write_text(stated.replace(old, line), "utf-8")
    assert kept(dataset, read_manifest(dataset).plan_digest) == ()
    rewrite_card(dataset)
    assert "overlap" not in (dataset / CARD).read_text("utf-8")


def test_a_model_name_with_markup_stays_plain_text(dataset: Path, scores: Path) -> None:
    name = 'a\n---\nb: "c" <script>| ` [x](y) \u202e 百'
    rewrite_card(dataset, changed(scores, model=name))
    text = (dataset / CARD).read_text("utf-8")
    assert yaml.safe_load(text.split("\n---\n")[0])["word_overlap"]["figures"][0]["model"] == name
    assert "<script>" not in text.split("\n---\n", 1)[1]
    stated = (dataset / CARD).read_bytes()
    rewrite_card(dataset)
    assert (dataset / CARD).read_bytes() == stated


def test_a_figure_is_kept_to_the_last_digit(dataset: Path) -> None:
    manifest = read_manifest(dataset)
    figure = WordOverlap("x", 100 / 3, 0.1 + 0.2, 99.99999999999999, 4, manifest.digest8)
    from niah_gen.dataset.word_overlap import front_matter

    line = json.dumps(front_matter([figure])["word_overlap"])
    (dataset / CARD).write_text(f"---\na: 1\nword_overlap: {line}\n---\n\nword_overlap: 5\n")
    assert kept(dataset, manifest.plan_digest) == (figure,)
    assert kept(dataset, "0" * 64) == ()
    assert kept(dataset, manifest.plan_digest) != (replace(figure, n=5),)


def test_the_share_answered_without_a_context_is_stated_and_kept(dataset: Path, scores: Path) -> None:
    rewrite_card(dataset, scores)
    assert "without a context" not in (dataset / CARD).read_text("utf-8")
    rewrite_card(dataset, changed(scores, controls={"no_context": {"guess_rate": 12.5, "rows": 0}}))
    stated = (dataset / CARD).read_text("utf-8")
    assert "\n| answered without a context (%) | 12.5 |\n" in stated
    rewrite_card(dataset)
    assert (dataset / CARD).read_text("utf-8") == stated
