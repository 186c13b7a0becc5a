"""What scoring gives, as a record and as files: scores and samples, summary, tables, pictures, a page, problems.

All are written beside their place and moved there when all are whole, summary.json last. Nothing in them depends on the
order of the answers, the number of processes, the machine or the time.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from niah_score.contract import VERSION
from niah_score.errors import IntegrityError, ResourceError, ScoreError
from niah_score.join.join import Lines, Problem

if TYPE_CHECKING:
    import polars as pl

    from niah_score.join.rows import Rows
    from niah_score.statistics.aggregate import Scored

SUMMARY = "summary.json"
PAGE = "report.html"
PICTURES = ("heatmap.png", "heatmap.svg")
FILES = (
    "scores.parquet", "samples.parquet", "summary.csv", "cells.csv", "opencompass_summary.csv", "problems.jsonl",
    *PICTURES, PAGE, SUMMARY,
)  # fmt: skip
# What a spreadsheet would take for a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


@dataclass(frozen=True)
class Report:
    """What answers are worth. `scores`: a line for each row, ordered by id; `samples`: a line for each sample, or None.

    `statuses`: rows of each status, summing up to all. `lines`: what became of the lines read. `problems`: those that
    were not used as they stand. `signatures`: what each metric's numbers were measured with.
    `rows`: the dataset's, for what the page shows of their texts; no figure depends on them.
    """

    dataset: str
    digest8: str
    model: str
    metrics: tuple[str, ...]
    scores: pl.DataFrame
    samples: pl.DataFrame | None
    statuses: dict[str, int]
    lines: Lines
    problems: list[Problem]
    signatures: dict[str, str]
    rows: Rows | None = None

    @property
    def exit_code(self) -> int:
        """0, or 3 where inputs had problems; missing and duplicate answers are scored only if asked for."""
        return 3 if {problem.kind for problem in self.problems} - {"missing", "duplicate"} else 0

    @cached_property
    def summary(self) -> dict[str, Any]:
        """Everything that summary.json holds."""
        from niah_score.statistics.aggregate import summary

        return {
            "dataset": {"name": self.dataset, "digest8": self.digest8, "rows": self.scores.height},
            "model": self.model,
            "version": VERSION,
            "signatures": self.signatures,
            "lines": self.lines._asdict(),
            **summary(self._scored, ["score", *self.metrics]),
        }

    @cached_property
    def cells(self) -> pl.DataFrame:
        """The figures of every metric by length and depth."""
        from niah_score.statistics.aggregate import cells_of

        return cells_of(self._scored, ("score", *self.metrics))

    @cached_property
    def _scored(self) -> Scored:
        from niah_score.statistics.aggregate import Scored

        return Scored(self.scores)

    def write(self, folder: str | Path, *, overwrite: bool = False) -> Path:
        """Write all files of `niah-score score`. Raises ScoreError where the folder holds scores already."""
        return _write(self, Path(folder), overwrite=overwrite)


def _write(report: Report, folder: Path, *, overwrite: bool = False) -> Path:
    """Write all files into a folder. Raises ScoreError where it holds scores already, ResourceError where it cannot."""
    if folder.exists() and not folder.is_dir():
        raise ScoreError(f"{folder}: is a file; --out takes a folder")
    there = [name for name in FILES if (folder / name).exists()]
    if there and not overwrite:
        raise ScoreError(f"{folder}: holds scores already ({there[0]}); choose another --out, or say --overwrite")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        staging = Path(tempfile.mkdtemp(prefix=".niah-score-", dir=folder))
    except OSError as error:
        raise ResourceError(f"{folder}: cannot be written to ({error.strerror})") from None
    try:
        _write_all(report, staging)
        written = [name for name in FILES if (staging / name).exists()]
        for name in written:
            os.replace(staging / name, folder / name)
        for name in set(there) - set(written):
            (folder / name).unlink()
    except OSError as error:
        raise ResourceError(f"{folder}: cannot be written to ({error.strerror})") from None
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    return folder


def _write_all(report: Report, folder: Path) -> None:
    # The texts are packed beside the figures: neither needs more than a core.
    with ThreadPoolExecutor(1) as thread:
        packed = thread.submit(_write_tables, report, folder)
        _write_figures(report, folder)
        packed.result()


def _write_tables(report: Report, folder: Path) -> None:
    _parquet(report.scores, folder / "scores.parquet", report)
    if report.samples is not None:
        _parquet(report.samples, folder / "samples.parquet", report)


def _write_figures(report: Report, folder: Path) -> None:
    import polars as pl

    from niah_score.report.page import page_of
    from niah_score.statistics.aggregate import opencompass_summary

    columns = ("rows", "n", "unanswered", "mean", "low", "high", "method")
    groups = [
        {"metric": metric, "group": group, **{name: line[name] for name in ("value", *columns)}}
        for metric, figures in report.summary["metrics"].items()
        for group, lines in figures["groups"].items()
        for line in lines
    ]
    _csv(pl.DataFrame(groups, infer_schema_length=None), folder / "summary.csv")
    scored = report._scored
    _csv(report.cells, folder / "cells.csv")
    (folder / "opencompass_summary.csv").write_text(opencompass_summary(scored, "score", report.model), "utf-8")
    _draw(report, folder)
    (folder / PAGE).write_bytes(page_of(report))
    with (folder / "problems.jsonl").open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(problem._asdict(), ensure_ascii=False) + "\n" for problem in report.problems)
    text = json.dumps(report.summary, ensure_ascii=False, indent=2, allow_nan=False)
    (folder / SUMMARY).write_text(text + "\n", "utf-8")


def _draw(report: Report, folder: Path) -> None:
    """The heatmap of each row's own metric, where rows have lengths and depths, and not too many."""
    from niah_score.report.charts.grid import grid_of, has_grid, too_fine

    if has_grid(report.scores) and not too_fine(grid := grid_of(report)):
        from niah_score.report.charts.heatmap import draw

        draw([grid], *(folder / name for name in PICTURES))


def with_texts(report: Report, dataset: Path) -> Report:
    """A report with the texts of its dataset's rows. Raises IntegrityError if it was made for another dataset."""
    from niah_score.join.rows import read_rows

    rows = read_rows(dataset)
    if rows.digest8 != report.digest8:
        raise IntegrityError(
            f"{dataset}: is {rows.name} ({rows.digest8}), the scores are of {report.dataset} ({report.digest8}); "
            "name the dataset that was scored"
        )
    return replace(report, rows=rows)


def write_page(report: Report, folder: Path) -> Path:
    """Write the page alone, over the one that a folder holds. Raises ResourceError where that cannot be."""
    from niah_score.report.page import page_of

    page = page_of(report)
    beside = folder / f".{PAGE}.{os.getpid()}"
    try:
        beside.write_bytes(page)
        os.replace(beside, folder / PAGE)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise ResourceError(f"{folder / PAGE}: cannot be written ({error.strerror})") from None
    return folder / PAGE


def read(folder: Path) -> Report:
    """A report that was written. Raises ScoreError where the folder holds none, or other files than it wrote."""
    import polars as pl

    try:
        found = json.loads((folder / SUMMARY).read_bytes())
        scores = pl.read_parquet(folder / "scores.parquet")
        several = folder / "samples.parquet"
        samples = pl.read_parquet(several) if several.exists() else None
        problems = [Problem(**json.loads(line)) for line in (folder / "problems.jsonl").open(encoding="utf-8")]
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
        told = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ScoreError(f"{folder}: not what niah-score score writes ({told}); score again") from None


def _parquet(frame: pl.DataFrame, path: Path, report: Report) -> None:
    """Row groups of some 100,000 rows, the signatures in the schema's metadata."""
    import pyarrow.parquet as pq

    about = {"niah_score": json.dumps({"dataset": report.dataset, "digest8": report.digest8, "model": report.model})}
    first = frame.head(0).to_arrow().schema.with_metadata(about)
    with pq.ParquetWriter(path, first, compression="zstd", compression_level=1, write_page_checksum=True) as writer:
        for part in frame.iter_slices(100_000):
            writer.write_table(part.to_arrow().cast(first))


def _csv(frame: pl.DataFrame, path: Path) -> None:
    import polars as pl

    texts = [name for name, kind in frame.schema.items() if kind == pl.String]
    frame.with_columns(
        *(plain_cells(pl.col(name)) for name in texts), pl.col("mean", "low", "high").cast(pl.Float64).round(4)
    ).write_csv(path)


def plain_cells(column: pl.Expr) -> pl.Expr:
    """Texts that no spreadsheet takes for a formula."""
    import polars as pl

    risky = pl.any_horizontal(column.str.starts_with(mark) for mark in _FORMULA)
    return pl.when(risky).then(pl.lit("'") + column).otherwise(column).alias(column.meta.output_name())
