"""Reads a folder of scores back as a report, and joins the texts of its dataset to it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from niah_score.errors import IntegrityError, ScoreError
from niah_score.join.join import Lines, Problem
from niah_score.join.rows import read_rows
from niah_score.report.layout import PROBLEMS, SAMPLES, SCORES, SUMMARY
from niah_score.report.report import Report


def read(folder: str | Path) -> Report:
    """Read a report that was written. Raises ScoreError where the folder holds none, or files that are not ours."""
    import polars as pl

    folder = Path(folder)
    try:
        found = json.loads((folder / SUMMARY).read_bytes())
        scores = pl.read_parquet(folder / SCORES)
        samples = pl.read_parquet(folder / SAMPLES) if (folder / SAMPLES).exists() else None
        with (folder / PROBLEMS).open(encoding="utf-8") as lines:
            problems = [Problem(**json.loads(line)) for line in lines]
        return Report(
            dataset=found["dataset"]["name"],
            digest8=found["dataset"]["digest8"],
            model=found["model"],
            metrics=tuple(found["signatures"]),
            scores=scores,
            samples=samples,
            statuses=found["statuses"],
            lines=Lines(**found["lines"]),
            problems=problems,
            signatures=found["signatures"],
        )
    except FileNotFoundError as error:
        raise ScoreError(
            f"{folder}: no scores there ({error.filename} is missing); run niah-score score first"
        ) from None
    except (OSError, ValueError, KeyError, TypeError, pl.exceptions.PolarsError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ScoreError(f"{folder}: not what niah-score score writes ({reason}); score again") from None


def with_texts(report: Report, dataset: Path) -> Report:
    """A report with the texts of its dataset's rows. Raises IntegrityError if it was made for another dataset."""
    rows = read_rows(dataset)
    if rows.digest8 != report.digest8:
        raise IntegrityError(
            f"{dataset}: is {rows.name} ({rows.digest8}), the scores are of {report.dataset} ({report.digest8}); "
            "name the dataset that was scored"
        )
    return replace(report, rows=rows)
