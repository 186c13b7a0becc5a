"""Draws a dataset folder as one HTML file that loads nothing, for authors to read before publishing.

Rows are counted by combination of coordinates, without reading prompts; the page adds up those that a reader chooses.
"""

from __future__ import annotations

import re
import zlib
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from niah_gen.dataset.read import columns_in, rows_at
from niah_gen.errors import IntegrityError, NiahError
from niah_gen.page.drawing import drawn, number, short, text, whole
from niah_score.contract import RECIPE, Dataset, open_dataset, parse_toml
from niah_score.html import as_json, axis_of, document
from niah_score.machine.files import write_atomically

if TYPE_CHECKING:
    import polars as pl

# The most rows and bytes of rows to show in full, ids to list, and combinations of coordinates, each a line of numbers.
MOST_ROWS, LARGEST, MOST_IDS, MOST_COMBINATIONS = 2_000, 8_000_000, 20_000, 40_000
# The most of each list to embed.
_MOST_NOTES, _MOST_CORPORA, _MOST_VALUES, _LONGEST_NOTE = 20, 60, 20, 600
_AXES = ("length", "depth_percent")
# The coordinates that the page has a filter for, and the columns of which it lists the values, for the whole dataset.
FILTERS = ("part", "control", "language", "corpus", "needle_id")
ABOUT = ("task", "placement", "template", "boundary", "metric")
_READ = (
    "id", *_AXES, *FILTERS, *ABOUT, "prompt_tokens", "haystack_passes", "world",
    "needle_depths", "needles", "decoys", "leak",
)  # fmt: skip
STYLES = ("dataset.css",)
# In this order, after the scripts shared by all pages; all are in one scope.
SCRIPTS = ("figures.js", "head.js", "cells.js", "rows.js", "dataset.js")
_WITHOUT_SCRIPT = "This page needs JavaScript, which is switched off; niah-gen show DATASET prints rows without it."


def write_page(folder: Path, out: Path | None = None, *, overwrite: bool = False) -> tuple[Path, int, int]:
    """Write the page of a dataset folder; by default as `NAME-digest8.html` in the working directory.

    Returns its path, how many rows it shows in full, and how many there are. Raises NiahError if the file exists and
    may not be replaced, or lies in the dataset; ContractError if the folder is not a dataset; IntegrityError for
    damaged files.
    """
    dataset = open_dataset(folder)
    name = re.sub(r"[^\w.-]+", "-", dataset.manifest.name).strip("-.") or "dataset"
    path = out or Path(f"{name[:80]}-{dataset.manifest.digest8}.html")
    _refuse(path, folder, overwrite)
    data, shown = page_of(dataset)
    _refuse(path, folder, overwrite)  # again: reading may have taken minutes
    write_atomically(path, data)
    return path, shown, dataset.manifest.rows


def _refuse(path: Path, folder: Path, overwrite: bool) -> None:
    if path.resolve().is_relative_to(folder.resolve()):
        raise NiahError(f"{path} lies in the dataset, whose files are all hashed; name a file elsewhere with --out")
    if path.is_dir():
        raise NiahError(f"--out {path} is a folder; name a file in it, such as {path / 'dataset.html'}")
    if path.exists() and not overwrite:
        raise NiahError(f"{path} exists; name another file with --out, or use --overwrite to replace it")


def page_of(dataset: Dataset) -> tuple[bytes, int]:
    """The page in UTF-8, always the same for the same dataset, and how many rows it shows in full.

    Prompts are read a row group at a time. Beyond MOST_COMBINATIONS of coordinates, filters are left out.
    """
    import polars as pl

    reserves = _reserves(dataset.folder)
    rows, ids, values = _counted(dataset, reserves)
    filters = [name for name in FILTERS if len(values[name]) > 1]
    left_out: list[str] = []
    # Readers choose parts and controls first; needles have the most values.
    for name in sorted(filters, key=lambda name: (name in ("part", "control"), -len(values[name]))):
        if rows.select(*_AXES, *filters).n_unique() > MOST_COMBINATIONS:
            filters.remove(name)
            left_out.append(name)
    keys, off = [*_AXES, *filters], pl.col("off")
    sums = rows.group_by(keys, maintain_order=True).agg(
        rows=pl.len(), least=pl.col("tokens").min(), most=pl.col("tokens").max(), room=pl.col("room").min(),
        passes=pl.col("passes").max().round(3), leaks=pl.col("leaks").sum(),
        off=pl.when(-off.min() > off.max()).then(off.min()).otherwise(off.max()).round(3),
    ).sort(keys).with_row_index("combination")  # fmt: skip
    rows = rows.join(sums.select("combination", *keys), on=keys, how="left", maintain_order="left")
    order = _in_order(rows.with_row_index("row"), ids, filters).head(MOST_ROWS)
    texts = _drawn(dataset, order, reserves)
    shown: list[tuple[int, str]] = []
    size = 0
    for row, combination, *place in order.select("row", "combination", "file", "number").iter_rows():
        size += len(texts[place[0], place[1]].encode())
        if size > LARGEST:
            break
        shown.append((row, f"[{combination},{row + 1},{texts[place[0], place[1]]}]"))
    axes = {name: axis_of(values[name]) for name in _AXES}
    columns = ["rows", "least", "most", "room", "passes", "off", "leaks"]
    head = {
        **_about(dataset, values),
        "lengths": axes["length"].labels,
        "depths": axes["depth_percent"].labels,
        "grouped": {"lengths": axes["length"].grouped, "depths": axes["depth_percent"].grouped},
        "filters": [{"name": name, "values": [one and short(one) for one in values[name]]} for name in filters],
        "left_out": left_out,
        "sums": {"codes": [sums[name].to_list() for name in keys], **{name: sums[name].to_list() for name in columns}},
        "ids": None if len(ids) > MOST_IDS else {
            "id": [one[:200] for one in ids],
            "tokens": rows["tokens"].to_list(),
            "combination": rows["combination"].to_list(),
        },
    }  # fmt: skip
    data = f'{as_json(head)[:-1]},"rows":[{",".join(text for _, text in sorted(shown))}]}}'
    return document(data, "niah_gen.page", STYLES, SCRIPTS, _WITHOUT_SCRIPT), len(shown)


def _counted(
    dataset: Dataset, reserves: Mapping[str | None, int]
) -> tuple[pl.DataFrame, list[str], dict[str, list[Any]]]:
    """All rows in order, as numbers; their ids; and the values of each coordinate, sorted, None last.

    A line has where its row is, what its cell adds up, and the place of each of its values on its axis or among them.
    Raises IntegrityError if files cannot be read or have a wrong number of rows, NiahError if there is none.
    """
    import polars as pl

    lines: dict[str, list[Any]] = defaultdict(list)
    for place, file in enumerate(dataset.files()):
        at = 0
        for at, row in enumerate(columns_in(file.path, _READ), 1):
            tokens, budget = whole(row["prompt_tokens"]), _budget(row, reserves)
            for name, value in {
                "file": place, "number": at, "id": text(row["id"]) or "", "tokens": tokens,
                "room": None if tokens is None or budget is None else budget - tokens, "off": _off(row),
                "passes": number(row["haystack_passes"]), "leaks": row["leak"] is not None,
                **{name: number(row[name]) for name in _AXES}, **{name: text(row[name]) for name in (*FILTERS, *ABOUT)},
            }.items():  # fmt: skip
                lines[name].append(value)
        if at != file.rows:
            todo = "verify the dataset, and build it again"
            raise IntegrityError(f"{file.path}: {at} rows, the manifest says {file.rows}; {todo}")
    if not lines:
        raise NiahError(f"{dataset.folder}: no rows")
    values = {name: sorted(set(lines[name]), key=lambda one: (one is None, one)) for name in (*_AXES, *FILTERS, *ABOUT)}
    for name, of in values.items():
        places = axis_of(of).places if name in _AXES else range(len(of))
        code = dict(zip(of, places, strict=True))
        lines[name] = [code[value] for value in lines[name]]
    ids = lines.pop("id")
    types = {"tokens": pl.Int64, "room": pl.Int64, "off": pl.Float64, "passes": pl.Float64}
    return pl.DataFrame(lines, schema_overrides=types, strict=False), ids, values


def _reserves(folder: Path) -> dict[str | None, int]:
    """The tokens that stay free for the answer, by part; None stands for all parts without a number of their own.

    Empty if the recipe does not say: a folder made by hand may have none.
    """
    try:
        recipe = parse_toml((folder / RECIPE).read_text("utf-8"))
        said = [(None, recipe), *((part["name"], part) for part in recipe.get("parts", ()))]
        return {name: table["reserve"] for name, table in said if whole(table.get("reserve")) is not None}
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return {}


def _budget(row: Mapping[str, Any], reserves: Mapping[str | None, int]) -> int | None:
    """The tokens that a row's prompt may have; a control may use the reserve."""
    reserve, length = reserves.get(text(row["part"]), reserves.get(None)), whole(row["length"])
    if reserve is None or length is None:
        return None
    return length - reserve if row["control"] is None else length


def _off(row: Mapping[str, Any]) -> float | None:
    """Obtained minus requested depth of the first needle, in points; None if there are only near misses.

    In a world, of the record that stands nearest to the row's depth: the one that decides the answer.
    """
    depths, needles, decoys = (row[name] if isinstance(row[name], list) else [] for name in _READ[-4:-1])
    obtained, asked = [depth for one in depths if (depth := number(one)) is not None], number(row["depth_percent"])
    if not obtained or asked is None or 0 < len(needles) == len(decoys):
        return None
    return min((depth - asked for depth in (obtained if row["world"] else obtained[:1])), key=abs)


def _in_order(rows: pl.DataFrame, ids: list[str], filters: list[str]) -> pl.DataFrame:
    """The rows, the most telling first; always in the same order for the same dataset.

    First comes a row of every combination of part, control, language and corpus, then one of every cell of the grid,
    of every such combination in every cell, of every needle, and of every needle in every cell; then the others. Equals
    are ordered by a checksum of their ids, so that their other coordinates vary.
    """
    import polars as pl

    lots = pl.Series("lot", [zlib.crc32(one.encode("utf-8", "surrogatepass")) for one in ids])
    mixed = rows.with_columns(lots).sort("lot", "row")
    kind, needle = [name for name in filters if name != "needle_id"], [name for name in filters if name == "needle_id"]
    levels = [one for one in (kind, [*_AXES], [*kind, *_AXES], needle, ["combination"]) if one]
    firsts = [mixed.unique(level, keep="first", maintain_order=True) for level in levels]
    return pl.concat([*firsts, mixed]).unique("row", keep="first", maintain_order=True)


def _drawn(dataset: Dataset, chosen: pl.DataFrame, reserves: Mapping[str | None, int]) -> dict[tuple[int, int], str]:
    """What the page shows of each row, by file and number, as JSON that is safe in a script element."""
    texts: dict[tuple[int, int], str] = {}
    by_file: dict[int, list[int]] = defaultdict(list)
    for place, at in chosen.select("file", "number").sort("file", "number").iter_rows():
        by_file[place].append(at)
    files = list(dataset.files())
    for place, numbers in by_file.items():
        for at, read in zip(numbers, rows_at(files[place].path, numbers), strict=True):
            row = {"length": None, "part": None, "control": None, **read}
            texts[place, at] = as_json(drawn(row, _budget(row, reserves)))
    return texts


def _about(dataset: Dataset, values: Mapping[str, list[Any]]) -> dict[str, Any]:
    """The head of the page, for JSON."""
    manifest = dataset.manifest
    named = {
        name: short(getattr(manifest, name)) for name in ("name", "version", "content_digest", "generator_version")
    }
    return {
        "dataset": {
            **named, "digest8": manifest.digest8, "rows": manifest.rows, "tokens": manifest.tokens,
            "tokenizer": short(manifest.tokenizer.name), "formats": [short(name) for name in dataset.formats],
            **{name: [short(one) for one in values[name][:_MOST_VALUES] if one is not None] for name in ABOUT},
        },
        "notes": [len(manifest.notes), [short(note, _LONGEST_NOTE) for note in manifest.notes[:_MOST_NOTES]]],
        "corpora": [
            [*map(short, (one.name, one.license, one.source)), one.files, one.documents, one.tokens, one.share_left_out]
            for one in manifest.corpora[:_MOST_CORPORA]
        ],
        "corpora_left": max(len(manifest.corpora) - _MOST_CORPORA, 0),
        "parts": [[short(part.name), part.weight] for part in manifest.parts],
    }  # fmt: skip
