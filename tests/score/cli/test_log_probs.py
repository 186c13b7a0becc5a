"""The commands perplexity and gain: what they print, what they write, and their exit codes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from made_commands import run
from made_log_probs import token_records, windows, written

import niah_gen
from niah_score.contract import VERSION, file_sha256, seal_is_broken


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    options = {"tokens": 400, "documents": 3, "stride": 96}
    return windows(tmp_path_factory.mktemp("set"), lengths=[200, 400], languages=["en"], options=options)


@pytest.fixture(scope="module")
def records(dataset: Path) -> list[dict[str, Any]]:
    return token_records(dataset)


def test_a_table_by_length_is_printed_with_both_equations_and_the_signature(
    dataset: Path, records: list[dict[str, Any]], tmp_path: Path
) -> None:
    done = run("perplexity", dataset, written(tmp_path / "tiny.jsonl", records), "--model", "tiny")
    lines = done.stdout.splitlines()
    assert done.returncode == 0
    assert lines[0].startswith("tiny: log-probabilities of perplexity (")
    assert " ".join(lines[1].split()) == "length rows tokens nll perplexity bits_per_byte"
    assert [line.split()[:2] for line in lines[2:4]] == [["en", "200"], ["en", "400"]]
    count = len(records)
    assert f"lines read {count} = used {count} + duplicate 0 + unknown 0 + malformed 0" in lines
    assert f"rows {count} = scored {count} + incomplete 0 + missing 0" in lines
    assert lines[-1].endswith(f"|metric:nll/token|tokenizer:cl100k_base|missing:error|n:{count}|v:{VERSION}")


def test_the_folder_holds_the_rows_the_figures_and_the_problems(
    dataset: Path, records: list[dict[str, Any]], tmp_path: Path
) -> None:
    file = written(tmp_path / "tiny.jsonl", [*records[1:], {"id": "nobody", "token_logprobs": [None, -1.0]}])
    out = tmp_path / "scores"
    command = ["perplexity", dataset, file, "--out", out, "--missing", "exclude"]
    done = run(*command)
    assert (done.returncode, done.stdout) == (3, f"{out}\n")
    assert "unknown: " in done.stderr
    summary = json.loads((out / "summary.json").read_text("utf-8"))
    assert not seal_is_broken(summary)
    assert summary["rows"] == {"all": len(records), "scored": len(records) - 1, "incomplete": 0, "missing": 1}
    assert {name: about["sha256"] for name, about in summary["files"].items()} == {
        path.name: file_sha256(path) for path in out.iterdir() if path.name != "summary.json"
    }
    rows = pl.read_parquet(out / "scores.parquet")
    assert (rows.height, rows["id"].is_sorted()) == (len(records), True)
    table = pl.read_csv(out / "perplexity.csv")
    assert table["length"].to_list() == [200, 400]
    counted = rows.filter(pl.col("counts") & (pl.col("length") == 200))
    assert table["nll"][0] == pytest.approx(
        sum(counted["nll_sum"].to_list()) / sum(counted["tokens"].to_list()), abs=1e-12
    )
    problems = [json.loads(line) for line in (out / "problems.jsonl").read_text("utf-8").splitlines()]
    assert sorted(problem["kind"] for problem in problems) == ["missing", "unknown"]
    (out / "cells.csv").write_bytes(b"of answers")
    assert (run(*command).returncode, run(*command, "--overwrite").returncode) == (2, 3)
    assert not (out / "cells.csv").exists()


def test_wrong_flags_and_files_end_with_a_message(dataset: Path, records: list[dict[str, Any]], tmp_path: Path) -> None:
    right = written(tmp_path / "tiny.jsonl", records)
    strangers = written(tmp_path / "s.jsonl", [{**record, "id": f"0{number}"} for number, record in enumerate(records)])
    answers = written(tmp_path / "answers.jsonl", [{"id": "a", "prediction": "It is 42."}])
    for command, code, message in (
        (["perplexity", dataset, right, "--missing", "zero"], 2, "missing: 'zero' is unknown"),
        (["perplexity", dataset, right, "--per", "word"], 2, "per: 'word' is unknown"),
        (["perplexity", dataset, right, "--format", "token"], 2, "did you mean 'tokens'"),
        (["perplexity", dataset, right, "--on-duplicate", "any"], 2, "on_duplicate: 'any' is unknown"),
        (["perplexity", dataset, right, "--tokenizer", "llama"], 2, "its tokenizer is 'llama', the dataset's is"),
        (["gain", dataset, right, "--missing", "partial"], 2, "missing: 'partial' is only for windows"),
        (["perplexity", dataset, strangers], 4, ""),
        (["score", dataset, answers], 2, "score it with niah-score perplexity"),
    ):
        done = run(*command)
        assert (done.returncode, message in done.stderr) == (code, True), (command, done.stderr)


def test_the_gain_of_contexts_is_printed_and_written(tmp_path: Path) -> None:
    dataset = niah_gen.build("smoke", tmp_path / "set", overrides={"lengths": [500], "languages": ["en"]})
    ids = [row["id"] for row in niah_gen.iter_rows("smoke", {"lengths": [500], "languages": ["en"]})]
    sums = {"full": -3.0, "alone": -9.0, "needle": -1.0}
    records = [
        {"id": name, "condition": condition, "logprob_sum": total, "token_count": 4}
        for name in ids for condition, total in sums.items()
    ]  # fmt: skip
    out = tmp_path / "gain"
    done = run("gain", dataset, written(tmp_path / "g.jsonl", records), "--out", out)
    assert (done.returncode, done.stdout) == (0, f"{out}\n"), done.stderr
    summary = json.loads((out / "summary.json").read_text("utf-8"))
    assert (summary["kind"], summary["conditions"]) == ("gain", dict.fromkeys(sums, len(ids)))
    every = summary["figures"][0]
    assert (every["gain"], every["oracle"], every["recovery"]) == (1.5, 2.0, 0.75)
    assert pl.read_csv(out / "gain.csv")["recovery"][0] == 0.75
