"""The command `niah-score judge` as users run it: requests out, verdicts in."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
from made import WriteLines, made, right
from made_commands import run


def test_requests_are_exported_and_verdicts_become_a_metric(write_lines: WriteLines, tmp_path: Path) -> None:
    rows = [{**row, "question": "Which word?"} for row in made(3)]
    dataset, scores, out = write_lines("rows.jsonl", rows), tmp_path / "scores", tmp_path / "judged"
    run("score", dataset, write_lines("a.jsonl", right(rows)[:2]), "--missing", "zero", "--out", scores)
    asked = run("judge", "export", dataset, scores, "--model", "judge", "--out", tmp_path / "requests")
    assert asked.stdout == f"{tmp_path / 'requests' / 'judge-gkamradt-00000.jsonl'}  2 requests\n"
    verdicts = write_lines(
        "v.jsonl", [{"id": f"row-00{k}", "prediction": f"Rating: [[{k * 9 + 1}]]"} for k in range(2)]
    )
    done = run("judge", "import", dataset, scores, verdicts, "--out", out)
    assert done.returncode == 0, done.stderr  # the missing answer was allowed when it was scored
    assert pl.read_parquet(out / "scores.parquet")["judge"].to_list() == [10.0, 100.0, 0.0]
    assert json.loads((out / "summary.json").read_bytes())["signatures"]["judge"].startswith("niah|ds:")
    # Judged again, the scores still have one metric of that name.
    done = run("judge", "import", dataset, out, verdicts, "--out", tmp_path / "again")
    assert (done.returncode, done.stderr.count("\n  judge ")) == (0, 1), done.stderr
