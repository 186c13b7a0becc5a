"""The commands perplexity and gain: what they print, what they write, and their exit codes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from made_log_probs import token_records, windows, written
from typer.testing import CliRunner

from niah_score.cli.commands import app
from niah_score.contract import VERSION, seal_is_broken
from niah_score.contract.rows import file_sha256


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    options = {"tokens": 400, "documents": 3, "stride": 96}
    return windows(tmp_path_factory.mktemp("set"), lengths=[200, 400], languages=["en"], options=options)


@pytest.fixture(scope="module")
def records(dataset: Path) -> list[dict[str, Any]]:
    return token_records(dataset)


def run(*arguments: object) -> tuple[int, str, str]:
    done = CliRunner().invoke(app, [*map(str, arguments)])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done.exit_code, done.stdout, done.stderr


def test_a_table_by_length_is_printed_with_both_equations_and_the_signature(
    dataset: Path, records: list[dict[str, Any]], tmp_path: Path
) -> None:
    code, printed, _ = run("perplexity", dataset, written(tmp_path / "tiny.jsonl", records), "--model", "tiny")
    lines = printed.splitlines()
    assert code == 0
    assert lines[0].startswith("tiny: log-probabilities of perplexity (")
    assert lines[1].split() == [
        "length",
        "rows",
        "tokens",
        "nats/token",
        "perplexity",
        "95",
        "%",
        "bits/byte",
        "95",
        "%",
    ]
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
    code, printed, errors = run("perplexity", dataset, file, "--out", out, "--missing", "exclude")
    assert (code, printed.strip()) == (3, str(out))
    assert "unknown: " in errors
    assert "scored" in errors
    summary = json.loads((out / "summary.json").read_text("utf-8"))
    assert not seal_is_broken(summary)
    assert summary["rows"] == {"all": len(records), "scored": len(records) - 1, "incomplete": 0, "missing": 1}
    for name, about in summary["files"].items():
        assert about["sha256"] == file_sha256(out / name)
    rows = pl.read_parquet(out / "scores.parquet")
    assert rows.height == len(records)
    assert rows["id"].is_sorted()
    table = pl.read_csv(out / "perplexity.csv")
    assert table["length"].to_list() == [200, 400]
    counted = rows.filter(pl.col("counts") & (pl.col("length") == 200))
    expected = sum(counted["nll_sum"].to_list()) / sum(counted["tokens"].to_list())
    assert table["nll"][0] == pytest.approx(expected, abs=1e-12)
    problems = [json.loads(line) for line in (out / "problems.jsonl").read_text("utf-8").splitlines()]
    assert sorted(problem["kind"] for problem in problems) == ["missing", "unknown"]
    assert run("perplexity", dataset, file, "--out", out, "--missing", "exclude")[0] == 2
    assert run("perplexity", dataset, file, "--out", out, "--missing", "exclude", "--overwrite")[0] == 3


def test_records_in_any_order_lead_to_the_same_files(
    dataset: Path, records: list[dict[str, Any]], tmp_path: Path
) -> None:
    outs = []
    for number, listed in enumerate((records, records[::-1])):
        file = written(tmp_path / f"{number}.jsonl", listed)
        assert run("perplexity", dataset, file, "--model", "m", "--out", tmp_path / f"out{number}")[0] == 0
        outs.append({path.name: path.read_bytes() for path in sorted((tmp_path / f"out{number}").iterdir())})
    assert outs[0] == outs[1]


@pytest.mark.parametrize(("flags", "message"), [
    (["--missing", "zero"], "missing: 'zero' is unknown"), (["--per", "word"], "per: 'word' is unknown"),
    (["--format", "vlm"], "did you mean 'vllm'"), (["--on-duplicate", "any"], "on_duplicate: 'any' is unknown"),
    (["--tokenizer", "llama"], "its tokenizer is 'llama', the dataset's is 'cl100k_base'"),
])  # fmt: skip
def test_an_invalid_flag_value_ends_with_exit_code_2_and_a_message(
    dataset: Path, records: list[dict[str, Any]], flags: list[str], message: str, tmp_path: Path
) -> None:
    code, _, error = run("perplexity", dataset, written(tmp_path / "tiny.jsonl", records), *flags)
    assert code == 2
    assert message in error


def test_log_probabilities_of_another_dataset_end_with_exit_code_4(
    dataset: Path, records: list[dict[str, Any]], tmp_path: Path
) -> None:
    strangers = [{**record, "id": f"0{number}"} for number, record in enumerate(records)]
    assert run("perplexity", dataset, written(tmp_path / "tiny.jsonl", strangers))[0] == 4


def test_answers_and_gains_are_refused_for_a_perplexity_set(dataset: Path, tmp_path: Path) -> None:
    file = written(tmp_path / "answers.jsonl", [{"id": "a", "prediction": "It is 42."}])
    code, _, error = run("score", dataset, file)
    assert code == 2
    assert "score it with niah-score perplexity" in error
    code, _, error = run("gain", dataset, written(tmp_path / "sums.jsonl", [{"id": "a", "logprob_sum": -1.0}]))
    assert code == 4 or "no row has an accepted answer" in error


def test_the_gain_of_contexts_is_printed_and_written(tmp_path: Path) -> None:
    import niah_gen

    dataset = niah_gen.build("smoke", tmp_path / "set", overrides={"lengths": [500], "languages": ["en"]})
    ids = [row["id"] for row in niah_gen.iter_rows("smoke", {"lengths": [500], "languages": ["en"]})]
    sums = {"full": -3.0, "alone": -9.0, "needle": -1.0}
    records = [
        {"id": name, "condition": condition, "logprob_sum": total, "token_count": 4}
        for name in ids for condition, total in sums.items()
    ]  # fmt: skip
    out = tmp_path / "gain"
    code, printed, errors = run("gain", dataset, written(tmp_path / "g.jsonl", records), "--out", out)
    assert (code, printed.strip()) == (0, str(out)), errors
    summary = json.loads((out / "summary.json").read_text("utf-8"))
    assert (summary["kind"], summary["conditions"]) == ("gain", dict.fromkeys(sums, len(ids)))
    every = summary["figures"][0]
    assert (every["gain"], every["oracle"], every["recovery"]) == (1.5, 2.0, 0.75)
    assert pl.read_csv(out / "gain.csv")["recovery"][0] == 0.75
