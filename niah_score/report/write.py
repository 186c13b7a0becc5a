"""Writes all files of a report: scores and samples, summary, tables, pictures, the page, problems; and other pictures.

They replace those of an earlier run all at once, and summary.json lists the others with their sha256. Nothing in them
depends on the order of the answers, the number of processes, the machine or the time.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from niah_score.contract import sealed
from niah_score.errors import ScoreError
from niah_score.machine.files import Replace, hold, naming, scratch_folder
from niah_score.machine.stores import Address, objects_below, remove_objects, upload
from niah_score.report import (
    CELLS_CSV,
    FILES,
    LOG_PROB_TABLES,
    OPENCOMPASS_CSV,
    PAGE,
    PICTURES,
    PROBLEMS,
    SAMPLES,
    SCORES,
    SUMMARY,
    SUMMARY_CSV,
)
from niah_score.report.charts.grid import find_palette
from niah_score.report.charts.heatmap import draw, figure_of, save
from niah_score.report.page.render import page_of
from niah_score.report.read import read
from niah_score.report.report import Report, report_grid, report_grids, title_of_grids
from niah_score.report.tables import as_json, listed_files, opencompass_summary, write_csv, write_problems
from niah_score.statistics.intervals import Figure

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure as Drawing

_GROUP_ROWS = 100_000
# Bytes of answers in a row group, about.
_GROUP_BYTES = 64_000_000
# Columns that hold the texts of answers.
_LONG = ("prediction", "extracted", "reasoning")


def write(report: Report, folder: str | Path, *, overwrite: bool = False) -> Path:
    """Write all files of `niah-score score` to a folder, and return it.

    Raises ScoreError if the folder already holds scores and `overwrite` is false, LockedError if another process is
    writing there, OSError if it cannot be written to; earlier scores are then left as they were.
    """
    with hold_scores(folder, overwrite=overwrite) as replace:
        return write_held(report, replace)


def hold_scores(folder: str | Path, *, overwrite: bool = False) -> AbstractContextManager[Replace]:
    """Keep other processes from writing scores to a folder, even while they are computed. Raises what `write` does."""
    return hold(Path(folder), "scores", _ours, head=SUMMARY, overwrite=overwrite)


def write_held(report: Report, replace: Replace) -> Path:
    """Like `write`, to a folder that is held. Raises OSError if it cannot be written to."""
    return replace(partial(_write_all, report))


def _ours(folder: Path) -> list[str]:
    return [name for name in (*LOG_PROB_TABLES, *FILES) if (folder / name).is_file() or (folder / name).is_symlink()]


def _write_all(report: Report, folder: Path) -> None:
    about = {"dataset": report.dataset, "digest8": report.digest8, "model": report.model}
    for table, name in ((report.scores, SCORES), (report.samples, SAMPLES)):
        if table is not None:
            write_table(table, folder / name, about)
    write_csv(_groups(report), folder / SUMMARY_CSV)
    write_csv(report.cells, folder / CELLS_CSV)
    (folder / OPENCOMPASS_CSV).write_text(opencompass_summary(report.scored, report.model), "utf-8")
    _draw(report, folder)
    (folder / PAGE).write_bytes(page_of(report))
    write_problems(report.problems, folder / PROBLEMS)
    summary = {**report.summary, "files": listed_files(folder, _ours(folder))}
    (folder / SUMMARY).write_bytes(as_json(sealed(summary)))


def write_table(table: pl.DataFrame, path: Path, about: Mapping[str, str]) -> None:
    """Write scores to a Parquet file; its metadata says what was scored.

    Raises OSError, naming the file, if it cannot be written.
    """
    import pyarrow.parquet as pq

    texts = sum(int(table[name].str.len_bytes().sum() or 0) for name in _LONG if name in table.columns)
    rows = min(_GROUP_ROWS, max(1, _GROUP_BYTES * table.height // max(texts, 1)))
    schema = table.clear().to_arrow().schema.with_metadata({"niah_score": json.dumps(dict(about))})
    how = {"compression": "zstd", "compression_level": 1, "write_page_checksum": True}
    # A Python file, because its errors are the system's own.
    with naming(path), path.open("wb") as file, pq.ParquetWriter(file, schema, **how) as writer:
        # In parts: one Arrow table of the whole would take as much memory again.
        for part in table.iter_slices(rows):
            writer.write_table(part.to_arrow().cast(schema))


def _groups(report: Report) -> pl.DataFrame:
    """The summary's figures of every metric, over all rows (group `all`) and by group.

    `weight`: for a part, its share in the headline.
    """
    import polars as pl

    shares = {part["name"]: part["weight"] for part in report.headline["parts"]}
    lines = []
    for metric, figures in report.summary["metrics"].items():
        for group, of_group in {"all": [{"value": None, **figures["overall"]}], **figures["groups"]}.items():
            for line in of_group:
                weight = shares.get(line["value"]) if (metric, group) == ("score", "part") else None
                lines.append({"metric": metric, "group": group, **line, "weight": weight})
    columns = ("metric", "group", "value", *Figure._fields, "weight")
    kinds = {"value": pl.String, "weight": pl.Float64}
    return pl.DataFrame(lines, schema_overrides=kinds, infer_schema_length=None).select(columns)


def _draw(report: Report, folder: Path) -> None:
    """Draw the heatmap of each row's own metric, if rows have lengths and depths, and not too many different ones."""
    grids, _ = report.drawable
    if grids:
        draw(grids, *(folder / name for name in PICTURES), title=title_of_grids(report, grids))


@contextmanager
def scores_for(address: Address, *, overwrite: bool = False) -> Iterator[Path]:
    """Yield an empty folder; the scores written to it are uploaded at the end, unless there was an error.

    Old scores are replaced only with `overwrite`: their summary is removed first, then the other files are replaced.
    Raises ScoreError, before anything is computed, if they may not be replaced; AddressError and StoreError.
    """
    there = [name for name in objects_below(address) if name in FILES]
    if there and not overwrite:
        raise ScoreError(f"{address}: already holds scores ({there[0]}); choose another --out, or use --overwrite")
    with scratch_folder() as folder:
        yield folder
        new = sorted((path.name for path in folder.iterdir() if path.name in FILES), key=FILES.index)
        # Without their summary the old scores no longer count; the new summary is uploaded last.
        old = [name for name in there if name == SUMMARY or name not in new]
        remove_objects(address / name for name in sorted(old, key=lambda name: name != SUMMARY))
        for name in new:
            upload(folder / name, address / name)


def plot(
    *results: Report | str | Path, metric: str = "score", language: str | None = None, palette: str = "conventional",
    title: str | None = None, out: str | Path | Sequence[str | Path] = (),
) -> Drawing:  # fmt: skip
    """Draw heatmaps of runs side by side in the same colours, as a matplotlib figure; pyplot is not used.

    A single run has a panel for each part if the dataset gives its parts weights.
    `results`: reports, or folders that `niah-score score` wrote. `metric`: by default `score`, each row's own metric.
    `language`: only rows of that language. `palette`: conventional or colourblind. `out`: one or several paths (.png,
    .svg) to write the picture to; existing files are replaced.

    Raises ScoreError if something cannot be drawn, ResourceError if a path cannot be written.
    """
    colours = find_palette(palette)
    reports = [result if isinstance(result, Report) else read(result) for result in results]
    if len(reports) == 1:
        grids = report_grids(reports[0], metric, language)
        title = title or title_of_grids(reports[0], grids)
    else:
        grids = [report_grid(report, metric, language) for report in reports]
    drawing = figure_of(grids, palette=colours, title=title)
    save(drawing, *([out] if isinstance(out, str | Path) else out))
    return drawing
