"""Reads a folder of scores back as a report, if its files are of one run, and joins the texts of its dataset to it."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from niah_score.contract import PartEntry, file_sha256, seal_is_broken, sha256_hex
from niah_score.errors import IntegrityError, ScoreError
from niah_score.join.join import Lines, Problem
from niah_score.join.rows import read_rows
from niah_score.machine.refused import is_refused
from niah_score.report.layout import FILES, PROBLEMS, SAMPLES, SCORES, SUMMARY
from niah_score.report.report import Report


def read(folder: str | Path) -> Report:
    """Read a report that was written.

    Raises ScoreError where the folder holds none, or files that are not ours; IntegrityError where its files are not
    those that its summary.json lists, as when a run was killed while it replaced them.
    """
    import polars as pl

    folder = Path(folder)
    try:
        found = _summary(folder)
        data = _listed_files(folder, found["files"])
        scores = pl.read_parquet(io.BytesIO(data[SCORES]))
        samples = pl.read_parquet(io.BytesIO(data[SAMPLES])) if SAMPLES in data else None
        problems = [Problem(**json.loads(line)) for line in data[PROBLEMS].decode().split("\n") if line]
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
            parts=tuple(PartEntry(**part) for part in found["dataset"].get("parts", ())),
        )
    except FileNotFoundError as error:
        raise ScoreError(
            f"{folder}: no scores there ({error.filename} is missing); run niah-score score first"
        ) from None
    except (OSError, ValueError, KeyError, TypeError, RecursionError, pl.exceptions.PolarsError) as error:
        if is_refused(error):
            raise
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ScoreError(f"{folder}: not what niah-score score writes ({reason}); score again") from None


def _summary(folder: Path) -> dict[str, Any]:
    """summary.json, which lists the other files. Raises IntegrityError where it was changed, or they are without it."""
    try:
        found: dict[str, Any] = json.loads((folder / SUMMARY).read_bytes())
    except FileNotFoundError:
        there = [name for name in FILES if (folder / name).exists()]
        if there:
            raise IntegrityError(
                f"{folder}: {there[0]} is there and {SUMMARY} is not: a run was stopped while it replaced the files, "
                "which may be of two runs; score again with --overwrite"
            ) from None
        raise
    if seal_is_broken(found):
        raise IntegrityError(
            f"{folder / SUMMARY}: damaged, or changed since it was written (its self_sha256 is not that of its other "
            "fields); score again with --overwrite"
        )
    return found


def _listed_files(folder: Path, listed: dict[str, Any]) -> dict[str, bytes]:
    """The bytes of the files that a report is made of. Raises IntegrityError if a listed file is not what was written.

    A table, picture or page may be gone; if it is there, it must be of the same run.
    """
    data = {}
    for name in FILES:
        path = folder / name
        if name not in listed:
            continue
        if name in (SCORES, SAMPLES, PROBLEMS):
            data[name] = path.read_bytes()
            found = sha256_hex(data[name])
        elif path.exists():
            found = file_sha256(path)
        else:
            continue
        if found != listed[name]["sha256"]:
            raise IntegrityError(
                f"{path}: not the file that {SUMMARY} lists: files of two runs, a damaged one, or one that was edited; "
                "score again with --overwrite"
            )
    return data


def with_texts(report: Report, dataset: Path) -> Report:
    """A report with the texts of its dataset's rows. Raises IntegrityError if it was made for another dataset."""
    rows = read_rows(dataset)
    if rows.digest8 != report.digest8:
        raise IntegrityError(
            f"{dataset}: is {rows.name} ({rows.digest8}), the scores are of {report.dataset} ({report.digest8}); "
            "name the dataset that was scored"
        )
    return replace(report, rows=rows)
