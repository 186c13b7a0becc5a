"""The same answers in any format lead to the same scores, and to files with the same bytes."""

from __future__ import annotations

import gzip
import io
import json
from pathlib import Path

import polars as pl
import pytest
import zstandard
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from made import WriteLines, made, right
from properties import FACTOR, examples

from niah_score.evaluation import evaluate
from niah_score.report.write import write

NASTY = [
    "001", "1", "1e5", "true", "NA", "null", "2024-01-01", "x,y", 'say "x"', "a\tb", "日本", "12345678901234567890",
]  # fmt: skip
TEXTS = st.text(alphabet=st.characters(codec="utf-8"), max_size=30)


# Thirty in `make test-slow`, five thousand in `make soak`.
@examples(30 if FACTOR == 1 else 125, HealthCheck.function_scoped_fixture)
@given(texts=st.lists(TEXTS, min_size=len(NASTY), max_size=len(NASTY)))
def test_texts_have_the_same_scores_in_every_format(tmp_path_factory: pytest.TempPathFactory, texts: list[str]) -> None:
    folder = tmp_path_factory.mktemp("formats")
    rows = [{"id": name, "answers": [f"It is {name}."], "keywords": [[name]]} for name in NASTY]
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    records = [{"id": name, "prediction": text} for name, text in zip(NASTY, texts, strict=True)]
    lines = "".join(json.dumps(record) + "\n" for record in records).encode()
    bodies = [{"choices": [{"message": {"role": "assistant", "content": text}}]} for text in texts]
    batch = "".join(
        json.dumps({"custom_id": name, "response": {"status_code": 200, "body": body}, "error": None}) + "\n"
        for name, body in zip(NASTY, bodies, strict=True)
    ).encode()
    sink = io.BytesIO()
    pl.DataFrame(records).write_parquet(sink)
    written = [lines, gzip.compress(lines), zstandard.compress(lines), json.dumps(records, indent=1).encode(), batch,
               zstandard.compress(batch), sink.getvalue()]  # fmt: skip
    written += [pl.DataFrame(records).write_csv(separator=mark, quote_style="always").encode() for mark in ",\t;"]
    reports = []
    for number, data in enumerate(written):
        (folder / str(number)).write_bytes(data)
        reports.append(evaluate(folder / "rows.jsonl", folder / str(number), model="m"))
    for report in reports[1:]:
        assert report.scores.equals(reports[0].scores)
        assert (report.lines, report.statuses, report.signatures, report.problems) == (
            reports[0].lines, reports[0].statuses, reports[0].signatures, reports[0].problems,
        )  # fmt: skip


def test_the_files_of_a_run_are_the_same_from_every_format(write_lines: WriteLines, tmp_path: Path) -> None:
    rows = made(6)
    plain = write_lines("answers.jsonl", right(rows))
    packed = tmp_path / "answers.jsonl.zst"
    packed.write_bytes(zstandard.compress(plain.read_bytes()))
    parquet = tmp_path / "answers.parquet"
    pl.DataFrame(right(rows)).write_parquet(parquet)
    dataset = write_lines("rows.jsonl", rows)
    first, *others = (
        write(evaluate(dataset, file, model="m"), tmp_path / file.name.replace(".", "-"))
        for file in (plain, packed, parquet)
    )
    whole = {path.name: path.read_bytes() for path in first.iterdir()}
    assert {"scores.parquet", "summary.json", "report.html", "heatmap.png"} <= whole.keys()
    for folder in others:
        assert {path.name: path.read_bytes() for path in folder.iterdir()} == whole
