"""KVPress's own evaluate.py runs an export as it is: each question follows its context, and its answers are scored.

PyTorch makes this environment 2 GB large: six minutes to install and four to run, on two busy cores. evaluate.py is in
the source distribution alone, which is downloaded.
"""

from __future__ import annotations

import csv
import importlib.util
import subprocess
import sys
import tarfile
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import transformers
from client_runs import documented, export, rows_of, run, score
from planned_server import Expected, expected, plan
from tiny_model import greedy, make_model

import niah_gen

Line = dict[str, Any]
PINNED = f"kvpress=={version('kvpress')}"


@pytest.fixture(scope="session")
def evaluation(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """KVPress's folder of that name."""
    folder = tmp_path_factory.mktemp("source")
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*pip, "--no-binary", "kvpress", "--dest", str(folder), PINNED], check=True)
    (archive,) = folder.glob("kvpress-*.tar.gz")
    with tarfile.open(archive) as file:
        file.extractall(folder, filter="data")
    (found,) = folder.glob("kvpress-*/evaluation")
    return found


@pytest.fixture(scope="session")
def worlds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ten chats over two contexts."""
    made = {"lengths": [1000], "languages": ["en"], "parts": ["records", "lists"], "options.worlds": 1}
    return niah_gen.build("default", tmp_path_factory.mktemp("worlds"), overrides=made)


@pytest.fixture(scope="session")
def ran(worlds: Path, evaluation: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder in which evaluate.py asked a tiny model, without a press and with one that drops half of the cache."""
    folder = tmp_path_factory.mktemp("ran")
    make_model(folder / "model", [row["prompt"][0]["content"] for row in rows_of(worlds)])
    export(worlds, "kvpress", folder / "exported", "--max-tokens", "8")
    (folder / "simonjegou").mkdir()
    (folder / "simonjegou" / "ruler").symlink_to(folder / "exported" / "kvpress")
    for press in ("no_press", "knorm"):
        run(
            ["python", evaluation / "evaluate.py", "--dataset", "ruler", "--data_dir", "en-1k", "--model", "model",
             "--press_name", press, "--compression_ratio", "0.5", "--device", "cpu"],
            folder, OMP_NUM_THREADS="1",
        )  # fmt: skip
    return folder


def predictions(ran: Path, press: str) -> Path:
    (file,) = ran.glob(f"results/*{press}*/predictions.csv")
    return file


def lines(file: Path) -> list[Line]:
    with file.open(newline="", encoding="utf-8") as text:
        return list(csv.DictReader(text))


def test_a_question_is_asked_after_its_context_as_in_the_prompt(worlds: Path, ran: Path) -> None:
    said = {line["id"]: line["predicted_answer"] for line in lines(predictions(ran, "no_press"))}
    tokenizer = transformers.AutoTokenizer.from_pretrained(ran / "model")
    prompts = {row["id"]: row["prompt"][0]["content"] for row in rows_of(worlds)}
    assert said.keys() == prompts.keys()
    asked = pq.read_table(ran / "exported" / "kvpress" / "en-1k" / "test.parquet").to_pylist()
    for row in asked[::7]:
        parts = (f"<|user|>{row['context']}", f"{row['question']}<|answer|>")
        assert "".join(parts) == f"<|user|>{prompts[row['id']]}<|answer|>"
        ids = [one for part in parts for one in tokenizer.encode(part, add_special_tokens=False)]
        answer = tokenizer.decode(greedy(ran / "model", ids, 8), skip_special_tokens=True)
        assert said[row["id"]].strip() == answer.strip()


def test_every_row_that_a_press_answered_is_scored(worlds: Path, ran: Path, tmp_path: Path) -> None:
    scores = score(worlds, [predictions(ran, "knorm")], tmp_path / "scores")
    assert scores.rows.keys() == {row["id"] for row in rows_of(worlds)}
    assert {found.status for found in scores.rows.values()} <= {"ok", "empty"}


def test_planned_answers_score_as_planned_and_as_its_own_scorer_counts_them(
    worlds: Path, ran: Path, evaluation: Path, tmp_path: Path
) -> None:
    rows = rows_of(worlds)
    plans = plan(rows, ["right", "wrong"])
    given = {row["id"]: row["answers"][0] if plans[row["id"]] == "right" else "Zebra." for row in rows}
    told = lines(predictions(ran, "knorm"))
    with (tmp_path / "predictions.csv").open("w", newline="", encoding="utf-8") as file:
        table = csv.DictWriter(file, told[0])
        table.writeheader()
        table.writerows({**line, "predicted_answer": given[line["id"]]} for line in told)
    ours = score(worlds, [tmp_path / "predictions.csv"], tmp_path / "scores", "--metric", "ruler_all")
    assert ours.rows == expected(rows, plans)
    assert set(ours.rows.values()) == {Expected("ok", 100.0), Expected("ok", 0.0)}
    theirs = counted(evaluation, ran, given)
    documented("kvpress", "planned answers, worlds", len(rows), ours.headline, sum(theirs.values()) / len(theirs))
    # Of a list, it counts each item that is named, as RULER does.
    partial = {row["id"]: row["keywords"][0][0] if row["keywords"] else "" for row in rows}
    listed = [row for row in rows if row["part"] == "lists"]
    found = [100 / max(1, len(row["keywords"])) if row["keywords"] else 0 for row in listed]
    assert counted(evaluation, ran, partial)["lists"] == pytest.approx(sum(found) / len(found), abs=0.005)


def counted(evaluation: Path, ran: Path, given: dict[str, str]) -> dict[str, float]:
    """The score that KVPress's scorer of RULER gives the answers of each part."""
    spec = importlib.util.spec_from_file_location("scorer", evaluation / "benchmarks/ruler/calculate_metrics.py")
    assert spec is not None
    assert spec.loader is not None
    scorer = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(scorer)
    rows = pq.read_table(ran / "exported" / "kvpress" / "en-1k" / "test.parquet").to_pylist()
    frame = pa.Table.from_pylist([{**row, "predicted_answer": given[row["id"]]} for row in rows]).to_pandas()
    return {name: found["string_match"] for name, found in scorer.calculate_metrics(frame).items()}
