"""Reads a folder of scores back as a report, if its files are of one run, and adds the texts of its dataset."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from niah_score.contract import (
    PartEntry,
    entry_of,
    file_sha256,
    open_regular,
    read_regular,
    refuse_one_name,
    seal_is_broken,
    sha256_hex,
    strict_json,
)
from niah_score.diagnosis.diagnose import Fault
from niah_score.errors import IntegrityError, ScoreError
from niah_score.formats.streams import refuse_packed_groups
from niah_score.join.join import Lines, Problem
from niah_score.join.rows import read_rows
from niah_score.machine.files import is_refused
from niah_score.report import FILES, PROBLEMS, SAMPLES, SCORES, SUMMARY
from niah_score.report.report import Report

if TYPE_CHECKING:
    import polars as pl

# Bytes of summary.json, which has a figure for each metric, group and cell.
_MOST_SUMMARY = 512 * 2**20


def read(folder: str | Path) -> Report:
    """Read a report back from its folder.

    Raises ScoreError if the folder holds no scores, or files that are not ours; IntegrityError if its files are not
    those that its summary.json lists, for example because a run was killed while it replaced them.
    """
    import polars as pl
    import pyarrow as pa

    folder = Path(folder)
    if folder.is_file():
        raise ScoreError(f"{folder}: is a file; name a folder that niah-score score wrote")
    try:
        summary = _summary(folder)
        _refuse_other_types(summary)
        data = _listed_files(folder, summary["files"])
        scores, samples = (_frame(folder / name, data.get(name)) for name in (SCORES, SAMPLES))
        if scores is None:
            raise FileNotFoundError(2, "", str(folder / SCORES))
        problems = [Problem(**strict_json(line.encode())) for line in data[PROBLEMS].decode().split("\n") if line]
        parts = tuple(entry_of(PartEntry, part) for part in summary["dataset"].get("parts", ()))
        refuse_one_name(parts)
        return Report(
            dataset=summary["dataset"]["name"],
            digest8=summary["dataset"]["digest8"],
            model=summary["model"],
            metrics=tuple(summary["signatures"]),
            scores=scores,
            samples=samples,
            statuses=summary["statuses"],
            lines=Lines(**summary["lines"]),
            problems=problems,
            signatures=summary["signatures"],
            parts=parts,
            diagnosed=[entry_of(Fault, fault) for fault in summary["diagnosis"]] if "diagnosis" in summary else None,
        )
    except FileNotFoundError as error:
        raise ScoreError(
            f"{folder}: there are no scores ({error.filename} is missing); run niah-score score first"
        ) from None
    except (
        OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError, pl.exceptions.PolarsError,
        pl.exceptions.PanicException, pa.ArrowException,
    ) as error:  # fmt: skip
        if is_refused(error):
            raise
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ScoreError(f"{folder}: not what niah-score score writes ({reason}); score again") from None


def _frame(path: Path, data: bytes | None) -> pl.DataFrame | None:
    """The table in a Parquet file's bytes. Raises ResourceError for a decompression bomb."""
    import polars as pl
    import pyarrow.parquet as pq

    if data is None:
        return None
    refuse_packed_groups(path, pq.read_metadata(io.BytesIO(data)))
    return pl.read_parquet(io.BytesIO(data))


def _refuse_other_types(summary: Any) -> None:
    """Raise KeyError or TypeError if a summary lacks a value that every run writes, or holds one of another type."""
    dataset = summary["dataset"]
    for value in (summary["model"], dataset["name"], dataset["digest8"], *summary["signatures"].values()):
        if not isinstance(value, str):
            raise TypeError(f"{value!r:.80} is not a text")
    for value in (*summary["statuses"].values(), *summary["lines"].values()):
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            raise TypeError(f"{value!r:.80} is not a number of rows")


def _summary(folder: Path) -> dict[str, Any]:
    """summary.json, which lists the other files. Raises IntegrityError if it was changed, or only it is missing."""
    try:
        summary: dict[str, Any] = strict_json(read_regular(folder / SUMMARY, _MOST_SUMMARY))
    except FileNotFoundError:
        there = [name for name in FILES if (folder / name).exists()]
        if there:
            raise IntegrityError(
                f"{folder}: {there[0]} is there and {SUMMARY} is not: a run was stopped while it replaced the files, "
                "which may be of two runs; score again with --overwrite"
            ) from None
        raise
    if seal_is_broken(summary):
        raise IntegrityError(
            f"{folder / SUMMARY}: damaged, or changed since it was written (its self_sha256 does not match its other "
            "fields); score again with --overwrite"
        )
    return summary


def _listed_files(folder: Path, listed: dict[str, Any]) -> dict[str, bytes]:
    """The bytes of the files that a report is made of.

    Raises IntegrityError if a listed file is not what was written. A CSV file, picture or page may be gone, but if it
    is there, it must be of the same run.
    """
    data: dict[str, bytes] = {}
    for name in FILES:
        path = folder / name
        if name not in listed:
            continue
        if name in (SCORES, SAMPLES, PROBLEMS):
            with open_regular(path) as file:
                data[name] = file.read()
            sha256 = sha256_hex(data[name])
        elif path.exists():
            sha256 = file_sha256(path)
        else:
            continue
        if sha256 != listed[name]["sha256"]:
            raise IntegrityError(
                f"{path}: not the file that {SUMMARY} lists: it is from another run, damaged or edited; "
                "score again with --overwrite"
            )
    return data


def with_texts(report: Report, dataset: Path) -> Report:
    """A report with the texts of its dataset's rows. Raises IntegrityError if the scores are of another dataset."""
    rows = read_rows(dataset)
    if rows.digest8 != report.digest8:
        raise IntegrityError(
            f"{dataset}: is {rows.name} ({rows.digest8}), the scores are of {report.dataset} ({report.digest8}); "
            "name the dataset that was scored"
        )
    return replace(report, rows=rows)
