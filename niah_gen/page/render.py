"""Draws a dataset folder as one HTML file that loads nothing, for authors to read before publishing."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Hashable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from niah_gen.dataset.read import rows_at
from niah_gen.errors import NiahError
from niah_gen.page.drawing import drawn
from niah_gen.page.figures import ABOUT, GridFigures, Reserves, SeenRow, figures_of, reserves_of, short
from niah_score.contract import CorpusEntry, Dataset, open_dataset
from niah_score.html.document import as_json, document
from niah_score.machine.files import write_atomically

if TYPE_CHECKING:
    from niah_gen.progress import Progress

# The most rows and bytes of rows to show in full, and the most ids to list.
MOST_ROWS = 2_000
LARGEST = 8_000_000
MOST_IDS = 20_000
# The most of each list to embed.
_MOST_NOTES = 20
_MOST_CORPORA = 60
_MOST_PARTS = 50
_MOST_CONTROLS = 12
_LONGEST_NOTE = 600
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
    head = {**_about(dataset, figures, reserves), "ids": _ids(figures)}
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


def in_order(figures: GridFigures, most: int = MOST_ROWS) -> list[SeenRow]:
    """At most `most` rows, the most telling first; always the same ones for the same dataset.

    First comes a row of every combination of part, control, language and corpus, then one of every cell of the grid,
    of every such combination in every cell, of every needle, and of every needle in every cell; then the others. Equals
    are ordered by a checksum of their ids, so that their other coordinates vary.
    """
    names = [name for name, _ in figures.filters]
    needle = 2 + names.index("needle_id") if "needle_id" in names else None

    def kind(row: SeenRow) -> Hashable:
        code = figures.codes[row.combination]
        return tuple(value for at, value in enumerate(code) if at >= 2 and at != needle)

    def cell(row: SeenRow) -> Hashable:
        return figures.codes[row.combination][:2]

    def of_needle(row: SeenRow) -> Hashable:
        return figures.codes[row.combination][needle] if needle is not None else None

    levels: Sequence[Callable[[SeenRow], Hashable]] = (
        kind,
        cell,
        lambda row: (kind(row), cell(row)),
        of_needle,
        lambda row: row.combination,
    )
    rows = sorted(figures.rows, key=lambda row: (zlib.crc32(row.id.encode("utf-8", "surrogatepass")), row[:2]))
    chosen: dict[SeenRow, None] = {}
    for level in levels:
        seen = {level(row) for row in chosen}
        for row in rows:
            if len(chosen) < most and level(row) not in seen:
                seen.add(level(row))
                chosen[row] = None
    for row in rows:
        if len(chosen) == most:
            break
        chosen[row] = None
    return list(chosen)


def _about(dataset: Dataset, figures: GridFigures, reserves: Reserves) -> dict[str, Any]:
    """The head of the page and the counts of its grid, for JSON."""
    manifest = dataset.manifest
    return {
        "dataset": {
            "name": short(manifest.name),
            "version": short(manifest.version),
            "digest8": manifest.digest8,
            "content_digest": short(manifest.content_digest),
            "rows": manifest.rows,
            "tokens": manifest.tokens,
            "tokenizer": short(manifest.tokenizer.name),
            "generator_version": short(manifest.generator_version),
            "formats": [short(name) for name in dataset.formats],
            "bytes": sum(entry.bytes for entry in manifest.files),
            **{name: [short(value) for value in figures.about[name]] for name in ABOUT},
        },
        "notes": [len(manifest.notes), [short(note, _LONGEST_NOTE) for note in manifest.notes[:_MOST_NOTES]]],
        "corpora": [
            [*map(short, (corpus.name, corpus.license, corpus.source)), *_counts(corpus)]
            for corpus in manifest.corpora[:_MOST_CORPORA]
        ],
        "corpora_left": max(len(manifest.corpora) - _MOST_CORPORA, 0),
        "makeup": _makeup(dataset, figures),
        "budgets": reserves.every is not None or bool(reserves.parts),
        "lengths": figures.lengths.labels,
        "depths": figures.depths.labels,
        "grouped": {"lengths": figures.lengths.grouped, "depths": figures.depths.grouped},
        "filters": [{"name": name, "values": values} for name, values in figures.filters],
        "left_out": figures.left_out,
        "sums": {"codes": [list(column) for column in zip(*figures.codes, strict=True)], **figures.sums},
    }


def _makeup(dataset: Dataset, figures: GridFigures) -> dict[str, Any] | None:
    """How many rows each part has of each control, and its weight; None if there is one part and no control."""
    names = [name for name, _ in figures.filters]
    if "part" not in names and "control" not in names:
        return None
    values = dict(figures.filters)
    parts, controls = values.get("part", [None])[:_MOST_PARTS], values.get("control", [None])
    # Rows of no control come first, although None is the last value.
    shown = sorted(range(len(controls)), key=lambda place: controls[place] is not None)[:_MOST_CONTROLS]
    counts: dict[tuple[int, int], int] = {}
    for code, rows in zip(figures.codes, figures.sums["rows"], strict=True):
        key = (_code(code, names, "part"), _code(code, names, "control"))
        counts[key] = counts.get(key, 0) + rows
    weights: Mapping[str | None, float] = {short(part.name): part.weight for part in dataset.manifest.parts}
    order = {short(part.name): place for place, part in enumerate(dataset.manifest.parts)}
    lines = sorted(range(len(parts)), key=lambda place: (order.get(str(parts[place]), len(order)), place))
    return {
        "controls": [controls[place] for place in shown],
        "weighted": bool(weights),
        "lines": [
            [
                place,
                parts[place],
                weights.get(parts[place]),
                [counts.get((place, control), 0) for control in shown],
                sum(rows for (part, _), rows in counts.items() if part == place),
            ]
            for place in lines
        ],
    }


def _code(code: tuple[int, ...], names: list[str], name: str) -> int:
    return code[2 + names.index(name)] if name in names else 0


def _counts(corpus: CorpusEntry) -> list[float]:
    return [corpus.files, corpus.documents, corpus.tokens, corpus.share_left_out]


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
