"""Lists the datasets below a folder or address, and what looks like one but is not: unfinished, damaged."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from niah_gen.dataset.complete import PARTIAL
from niah_gen.errors import NiahError
from niah_score.contract import DATA_FORMATS, MANIFEST, RECIPE, ContractError, Dataset, open_dataset
from niah_score.machine.stores import Address, manifest_at, objects_below, parse_address
from niah_score.text.visible import one_line

_BUILT_NAME = re.compile(rf"\d+\.\d+\.\d+-[0-9a-f]{{8}}({re.escape(PARTIAL)})?")
_CONFIG = re.compile(r"(.+)-(\d+[km]?)")
# More lengths than this are listed as the first, the last, and how many.
_MOST_LENGTHS = 3


class ListedFolder(NamedTuple):
    """A folder with its dataset, or why it holds none. If there is a dataset, `problem` is about its files."""

    folder: Path | Address
    dataset: Dataset | None = None
    problem: str | None = None


def datasets_below(top: Path) -> tuple[list[ListedFolder], int]:
    """All datasets in a folder and below it, at any depth, and every folder that should be one but is not, by path.

    Links to folders are followed; a folder that can be reached in several ways is listed once, by its real path if that
    is below `top`. No data file is read. The number is of folders skipped as their names begin with a dot. Raises
    NiahError if `top` is not a folder.
    """
    if not top.is_dir():
        raise NiahError(f"{top}: no such folder; expected one that datasets were built in, such as build")
    listed: list[ListedFolder] = []
    hidden = 0
    unread: list[OSError] = []
    seen: set[str] = set()
    tops = [top]
    while tops:
        for place, folders, files in os.walk(tops.pop(0), onerror=unread.append):
            folder, names = Path(place), [*folders, *files]
            if os.path.realpath(place) in seen:
                folders.clear()
                continue
            seen.add(os.path.realpath(place))
            item = _listed(folder, names)
            listed += [item] if item else []
            links = [folder / name for name in sorted(names) if (folder / name).is_symlink()]
            tops += [link for link in links if link.is_dir()]
            dead = [link for link in links if not link.exists()]
            listed += [
                ListedFolder(link, problem=f"a link to {os.readlink(link)}, which is not there") for link in dead
            ]
            hidden += sum(name.startswith(".") for name in folders)
            skipped = DATA_FORMATS.values() if item else ()
            folders[:] = [name for name in folders if not name.startswith(".") and name not in skipped]
    listed += [ListedFolder(Path(error.filename), problem=f"cannot be read ({error.strerror})") for error in unread]
    return sorted(listed, key=lambda item: Path(str(item.folder)).parts), hidden


def _listed(folder: Path, names: Collection[str]) -> ListedFolder | None:
    """The entry of a folder, given the names in it; None if nothing in it suggests a dataset."""
    has_rows = not {*DATA_FORMATS.values()}.isdisjoint(names)
    if MANIFEST in names:
        try:
            dataset = open_dataset(folder)
        except ContractError as error:
            return ListedFolder(folder, problem=str(error).removeprefix(f"{folder}: ").removeprefix(f"{folder}/"))
        sizes = {path: place.stat().st_size for path in _paths(dataset) if (place := folder / path).is_file()}
        return ListedFolder(folder, dataset, _wrong_sizes(dataset, sizes))
    if not has_rows or not (RECIPE in names or _BUILT_NAME.fullmatch(folder.name)):
        return None
    problem = f"no {MANIFEST}, so this is not a finished dataset; build it again"
    if folder.name.endswith(PARTIAL):
        problem = _unfinished(len(list(folder.glob("*/*/*"))))
    return ListedFolder(folder, problem=problem)


def _paths(dataset: Dataset) -> list[str]:
    return [entry.path for entry in dataset.manifest.files]


def _wrong_sizes(dataset: Dataset, sizes: Mapping[str, int]) -> str | None:
    """A sentence if files of a dataset are not there with their size."""
    files = dataset.manifest.files
    wrong = sum(sizes.get(entry.path) != entry.bytes for entry in files)
    return f"{wrong} of {len(files)} files missing or of another size: niah-gen verify" if wrong else None


def _unfinished(files: int) -> str:
    return f"unfinished, {files} files written; run the same build again, or its remaining shards and niah-gen merge"


def datasets_at(text: str) -> list[ListedFolder]:
    """All datasets at an address and below it. Only manifests are read. Raises AddressError and StoreError."""
    top = parse_address(text)
    folders: dict[str, dict[str, int]] = {}
    for name, stored in objects_below(top).items():
        for at in [0, *(found.end() for found in re.finditer("/", name))]:
            folders.setdefault(name[:at], {})[name[at:]] = stored.bytes
    listed = []
    for place, sizes in sorted(folders.items()):
        folder = top / place.rstrip("/") if place else top
        if MANIFEST in sizes:
            try:
                dataset = Dataset(Path(folder.name), manifest_at(folder, sizes)[0])
            except ContractError as error:
                listed.append(ListedFolder(folder, problem=str(error).removeprefix(f"{folder}: ")))
            else:
                listed.append(ListedFolder(folder, dataset, _wrong_sizes(dataset, sizes)))
        elif _BUILT_NAME.fullmatch(folder.name) and folder.name.endswith(PARTIAL):
            listed.append(ListedFolder(folder, problem=_unfinished(sum("/" in name for name in sizes))))
    return listed


def listing_lines(folders: Sequence[ListedFolder]) -> Iterator[str]:
    """A line per folder: folder, name, version, digest8, rows, tokens, lengths by language, formats; or the problem."""
    lines = []
    for item in folders:
        columns = [str(item.folder)]
        if item.dataset is not None:
            manifest = item.dataset.manifest
            columns += [manifest.name, manifest.version, manifest.digest8, f"{manifest.rows:,} rows"]
            columns += [f"{manifest.tokens:,} tokens", _lengths(item.dataset), ", ".join(item.dataset.formats)]
        lines.append([*map(one_line, columns)])
    table = [columns for columns in lines if len(columns) > 1]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)] if table else [0]
    widths[0] = max((len(columns[0]) for columns in lines), default=0)
    for item, columns in zip(folders, lines, strict=True):
        # The numbers of rows and tokens are aligned to the right.
        cells = [
            text.rjust(width) if number in (4, 5) else text.ljust(width)
            for number, (text, width) in enumerate(zip(columns, widths, strict=False))
        ]
        yield "  ".join([*cells, one_line(item.problem or "")]).rstrip()


def _lengths(dataset: Dataset) -> str:
    """The configs in row order: `en 1k to 8k (8), zh 1k, 2k`."""
    lengths: dict[str, list[str]] = {}
    for config in dict.fromkeys(file.config for file in dataset.files()):
        match = _CONFIG.fullmatch(config)
        lengths.setdefault(match[1] if match else config, []).extend([match[2]] if match else [])
    shown = {
        language: f"{of[0]} to {of[-1]} ({len(of)})" if len(of) > _MOST_LENGTHS else ", ".join(of)
        for language, of in lengths.items()
    }
    return ", ".join(f"{language} {of}".strip() for language, of in shown.items())
