"""Writes all files of a report: scores and samples, summary, tables, pictures, the page, problems.

They replace those of an earlier run all at once, and summary.json lists the others with their sha256. Nothing in them
depends on the order of the answers, the number of processes, the machine or the time.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from niah_score.contract import file_sha256, sealed, strict_json
from niah_score.errors import IntegrityError
from niah_score.machine.staging import FileSet, HeldFolder, hold
from niah_score.report.charts.grid import has_grid, too_fine
from niah_score.report.charts.heatmap import draw
from niah_score.report.csv_files import write_csv
from niah_score.report.layout import (
    CELLS_CSV,
    FILES,
    OPENCOMPASS_CSV,
    PAGE,
    PICTURES,
    PROBLEMS,
    SAMPLES,
    SCORES,
    SUMMARY,
    SUMMARY_CSV,
)
from niah_score.report.opencompass_summary import opencompass_summary
from niah_score.report.page.render import page_of
from niah_score.report.read import read
from niah_score.report.report import Report, report_grids, title_of_grids
from niah_score.report.scores_file import ScoresFile, ScoresWriter, about_run

if TYPE_CHECKING:
    import polars as pl


def write(report: Report, folder: str | Path, *, overwrite: bool = False) -> Path:
    """Write all files of `niah-score score` to a folder, and return it.

    Raises ScoreError if the folder already holds scores and `overwrite` is false, LockedError if another process is
    writing there, ResourceError if it cannot be written to; earlier scores are then left as they were.
    """
    with hold_scores(folder, overwrite=overwrite) as held:
        return write_held(report, held)


def hold_scores(folder: str | Path, *, overwrite: bool = False) -> AbstractContextManager[HeldFolder]:
    """Keep other processes from writing scores to a folder, even while they are computed. Raises what `write` does."""
    return hold(Path(folder), _SCORE_FILES, overwrite=overwrite)


def write_held(report: Report, held: HeldFolder) -> Path:
    """Like `write`, to a folder that is held. Raises ResourceError if it cannot be written to."""
    return held.replace(partial(_write_all, report))


def write_page(report: Report, folder: Path) -> Path:
    """Replace only the page in a report's folder.

    Raises IntegrityError if the folder holds other scores by now, LockedError if another process is writing there,
    ResourceError if it cannot be written to.
    """
    page = page_of(report)
    with hold_scores(folder, overwrite=True) as held:
        if not _same_scores(read(folder), report):
            raise IntegrityError(f"{folder}: was scored again in the meantime; write the page again")
        summary = strict_json((folder / SUMMARY).read_bytes())
        # While the page is being replaced, the summary does not list it.
        summary["files"].pop(PAGE, None)
        held.replace_one(SUMMARY, _as_json(sealed(summary)))
        held.replace_one(PAGE, page)
        summary["files"] = _listed(folder, [*summary["files"], PAGE])
        held.replace_one(SUMMARY, _as_json(sealed(summary)))
    return folder / PAGE


def _same_scores(one: Report, other: Report) -> bool:
    if isinstance(one.table, ScoresFile) and isinstance(other.table, ScoresFile):
        return one.table.sha256 == other.table.sha256
    return one.scores.equals(other.scores)


def _ours(folder: Path) -> list[str]:
    return [name for name in FILES if (folder / name).is_file() or (folder / name).is_symlink()]


_SCORE_FILES = FileSet("scores", _ours, SUMMARY)


def _write_all(report: Report, folder: Path) -> None:
    # Texts are compressed while figures are computed: neither needs more than one core.
    with ThreadPoolExecutor(1) as thread:
        packed = thread.submit(_write_scores, report, folder)
        _write_figures(report, folder)
        packed.result()
    summary = {**report.summary, "files": _listed(folder, _ours(folder))}
    (folder / SUMMARY).write_bytes(_as_json(sealed(summary)))


def _listed(folder: Path, names: Iterable[str]) -> dict[str, dict[str, Any]]:
    """What the summary says about the other files: their sha256 and size, in the order of FILES."""
    return {
        name: {"sha256": file_sha256(folder / name), "bytes": (folder / name).stat().st_size}
        for name in sorted(names, key=FILES.index)
    }


def _as_json(summary: dict[str, Any]) -> bytes:
    return (json.dumps(summary, ensure_ascii=False, indent=2, allow_nan=False) + "\n").encode()


def _write_scores(report: Report, folder: Path) -> None:
    for table, name in ((report.table, SCORES), (report.sample_table, SAMPLES)):
        if isinstance(table, ScoresFile):
            _take_file(table, folder / name, report)
        elif table is not None:
            _write_frames([table], table.schema, folder / name, report)


def _about(report: Report) -> dict[str, str]:
    return about_run(report.dataset, report.digest8, report.model)


def _take_file(table: ScoresFile, path: Path, report: Report) -> None:
    """Put a file of scores into a folder: a temporary one as a hard link, if it is on the same disk."""
    if table.about != _about(report):
        _write_frames(table.frames(), table.columns.schema, path, report)
        return
    if table.scratch is not None:
        with suppress(OSError):
            os.link(table.path, path)
            return
    table.refuse_changed()
    shutil.copyfile(table.path, path)
    table.refuse_changed()


def _write_frames(
    frames: Iterable[pl.DataFrame], columns: Mapping[str, pl.DataType], path: Path, report: Report
) -> None:
    writer = ScoresWriter(path, columns, _about(report))
    for frame in frames:
        writer.add(frame)
    writer.end()


def _write_figures(report: Report, folder: Path) -> None:
    write_csv(_groups(report), folder / SUMMARY_CSV)
    write_csv(report.cells, folder / CELLS_CSV)
    (folder / OPENCOMPASS_CSV).write_text(opencompass_summary(report.scored, "score", report.model), "utf-8")
    _draw(report, folder)
    (folder / PAGE).write_bytes(page_of(report))
    with (folder / PROBLEMS).open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(problem._asdict(), ensure_ascii=False) + "\n" for problem in report.problems)


def _groups(report: Report) -> pl.DataFrame:
    """The summary's figures of every metric, over all rows (group `all`) and by group.

    `weight`: for a part, its share in the headline.
    """
    import polars as pl

    columns = ("rows", "n", "unanswered", "mean", "low", "high", "method", "low_these", "high_these")
    shares = {part["name"]: part["weight"] for part in report.summary["headline"]["parts"]}
    lines = []
    for metric, figures in report.summary["metrics"].items():
        for group, of_group in {"all": [{"value": None, **figures["overall"]}], **figures["groups"]}.items():
            for line in of_group:
                weight = shares.get(line["value"]) if (metric, group) == ("score", "part") else None
                figure = {name: line[name] for name in columns}
                lines.append({"metric": metric, "group": group, "value": line["value"], **figure, "weight": weight})
    return pl.DataFrame(lines, schema_overrides={"value": pl.String, "weight": pl.Float64}, infer_schema_length=None)


def _draw(report: Report, folder: Path) -> None:
    """Draw the heatmap of each row's own metric, if rows have lengths and depths, and not too many different ones."""
    if has_grid(report.scored) and not any(map(too_fine, grids := report_grids(report))):
        draw(grids, *(folder / name for name in PICTURES), title=title_of_grids(report, grids))
