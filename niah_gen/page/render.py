"""Draws a dataset folder as one HTML file that loads nothing, for authors to read before publishing."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from niah_gen.dataset.read import rows_at
from niah_gen.errors import NiahError
from niah_gen.page.about import about
from niah_gen.page.choose import MOST_ROWS, in_order
from niah_gen.page.drawing import drawn
from niah_gen.page.figures import GridFigures, SeenRow, figures_of
from niah_gen.page.reserves import Reserves, reserves_of
from niah_score.contract import Dataset, open_dataset
from niah_score.html.document import as_json, document
from niah_score.machine.files import write_atomically

if TYPE_CHECKING:
    from niah_gen.progress import Progress

# The most bytes of rows to show in full, and the most ids to list.
LARGEST = 8_000_000
MOST_IDS = 20_000
STYLES = ("dataset.css",)
# In this order, after the scripts shared by all pages; all are in one scope.
SCRIPTS = ("figures.js", "head.js", "cells.js", "rows.js", "dataset.js")
_WITHOUT_SCRIPT = (
    "This page needs JavaScript, which is switched off. niah-gen show DATASET prints the rows of a dataset."
)


class WrittenPage(NamedTuple):
    """A page that was written: its file, how many rows it shows in full, and how many rows there are."""

    path: Path
    shown: int
    rows: int


def write_page(
    folder: Path,
    out: Path | None = None,
    *,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> WrittenPage:
    """Write the page of a dataset folder; by default as `NAME-digest8.html` in the working directory.

    Raises NiahError if the file exists and may not be replaced, or lies in the dataset; ContractError if the folder is
    not a dataset; IntegrityError for damaged files.
    """
    dataset = open_dataset(folder)
    path = _path(dataset, out)
    _refuse(path, folder, overwrite)
    figures = figures_of(dataset, reserves_of(folder))
    if not figures.rows:
        raise NiahError(f"{folder}: no rows")
    data, shown = page_of(dataset, figures, progress=progress)
    _refuse(path, folder, overwrite)  # again: reading may have taken minutes
    write_atomically(path, data)
    return WrittenPage(path, shown, len(figures.rows))


def page_of(
    dataset: Dataset,
    figures: GridFigures,
    *,
    most: int = MOST_ROWS,
    largest: int = LARGEST,
    progress: Progress | None = None,
) -> tuple[bytes, int]:
    """The page in UTF-8, always the same for the same dataset, and how many rows it shows in full.

    most: the most rows to show in full; largest: the most bytes of these. Prompts are read a row group at a time.
    """
    reserves = reserves_of(dataset.folder)
    chosen = in_order(figures, most)
    texts = _drawn(dataset, chosen, reserves, progress)
    kept: dict[SeenRow, str] = {}
    size = 0
    for row in chosen:
        size += len(texts[row].encode())
        if size > largest:
            break
        kept[row] = texts[row]
    numbers = {row: number for number, row in enumerate(figures.rows, 1)}
    order = sorted(kept, key=numbers.__getitem__)
    shown = ",".join(f"[{row.combination},{numbers[row]},{kept[row]}]" for row in order)
    head = {**about(dataset, figures, reserves), "ids": _ids(figures)}
    data = f'{as_json(head)[:-1]},"rows":[{shown}]}}'
    return document(data, "niah_gen.page", STYLES, SCRIPTS, _WITHOUT_SCRIPT), len(kept)


def _ids(figures: GridFigures) -> dict[str, list[object]] | None:
    """The ids, tokens and combinations of all rows in row order; None if there are too many."""
    if len(figures.rows) > MOST_IDS:
        return None
    return {
        "id": [row.id[:200] for row in figures.rows],
        "tokens": [row.tokens for row in figures.rows],
        "combination": [row.combination for row in figures.rows],
    }


def _drawn(
    dataset: Dataset, chosen: Sequence[SeenRow], reserves: Reserves, progress: Progress | None
) -> dict[SeenRow, str]:
    """What the page shows of each chosen row, as JSON that is safe in a script element."""
    if progress:
        progress.start(len(chosen), sum(row.tokens or 0 for row in chosen))
    by_file: dict[int, dict[int, SeenRow]] = {}
    for row in chosen:
        by_file.setdefault(row.file, {})[row.number] = row
    texts: dict[SeenRow, str] = {}
    for place, file in enumerate(dataset.files()):
        wanted = sorted(by_file.get(place, {}).items())
        read = rows_at(file.path, [number for number, _ in wanted]) if wanted else ()
        for (_, row), value in zip(wanted, read, strict=True):
            columns = {"length": None, "part": None, "control": None, **value}
            texts[row] = as_json(drawn(columns, reserves.budget(columns)))
            if progress:
                progress.advance(1, row.tokens or 0)
    return texts


def _path(dataset: Dataset, out: Path | None) -> Path:
    if out is not None:
        return out
    name = re.sub(r"[^\w.-]+", "-", dataset.manifest.name).strip("-.") or "dataset"
    digest = re.sub(r"\W", "", dataset.manifest.digest8)
    return Path(f"{name[:80]}-{digest}.html")


def _refuse(path: Path, folder: Path, overwrite: bool) -> None:
    if path.resolve().is_relative_to(folder.resolve()):
        raise NiahError(f"{path} lies in the dataset, whose files are all hashed; name a file elsewhere with --out")
    if path.is_dir():
        raise NiahError(f"--out {path} is a folder; name a file in it, such as {path / 'dataset.html'}")
    if path.exists() and not overwrite:
        raise NiahError(f"{path} exists; name another file with --out, or use --overwrite to replace it")
