"""Lists the datasets below a folder or address, and what looks like one but is not: unfinished, damaged."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from niah_gen.dataset.folders import PARTIAL, SHEET
from niah_gen.errors import NiahError
from niah_score.contract import DATA_FORMATS, MANIFEST, RECIPE, ContractError, Dataset, FileEntry, open_dataset
from niah_score.machine.addresses import Address, objects_below, parse_address
from niah_score.machine.fetched import manifest_at
from niah_score.text.visible import one_line

_BUILT_NAME = re.compile(r"\d+\.\d+\.\d+-[0-9a-f]{8}")
_CONFIG = re.compile(r"(.+)-(\d+[km]?)")
# More lengths than this are listed as the first, the last, and how many.
_MOST_LENGTHS = 3


class ListedFolder(NamedTuple):
    """A folder with its dataset, or why it holds none. If there is a dataset, `problem` is about its files."""

    folder: Path | Address
    dataset: Dataset | None = None
    problem: str | None = None


class Listing(NamedTuple):
    """The datasets and problems below a folder, by path. `hidden`: folders skipped as their names begin with a dot."""

    folders: tuple[ListedFolder, ...]
    hidden: int


def datasets_below(top: Path) -> Listing:
    """All datasets in a folder and below it, at any depth, and every folder that should be one but is not.

    Links to folders are followed; a folder that can be reached in several ways is listed once, by its real path if that
    is below `top`. No data file is read. Raises NiahError if `top` is not a folder.
    """
    if not top.is_dir():
        raise NiahError(f"{top}: no such folder; expected one that datasets were built in, such as build")
    listed: list[ListedFolder] = []
    hidden = 0
    seen: set[tuple[int, int]] = set()
    folders: list[Path] = [top]
    links: list[Path] = []
    while folders or links:
        folder = folders.pop() if folders else links.pop(links.index(min(links)))
        try:
            status = folder.stat()
            if (status.st_dev, status.st_ino) in seen:
                continue
            seen.add((status.st_dev, status.st_ino))
            with os.scandir(folder) as entries:
                here = sorted(entries, key=lambda entry: entry.name)
        except OSError as error:
            listed.append(ListedFolder(folder, problem=f"cannot be read ({error.strerror})"))
            continue
        names = {entry.name for entry in here}
        if folder.name.endswith(PARTIAL) and names & {"dataset", "parts"}:
            listed.append(ListedFolder(folder, problem=_unfinished(folder)))
            continue
        item = _listed(folder, names)
        listed += [item] if item else []
        for entry in here:
            path = folder / entry.name
            if entry.is_symlink():
                try:
                    if stat.S_ISDIR(path.stat().st_mode):
                        links.append(path)
                except OSError as error:
                    listed.append(ListedFolder(path, problem=f"a link to {_target(path)} ({error.strerror})"))
            elif entry.is_dir(follow_symlinks=False):
                if entry.name.startswith("."):
                    hidden += 1
                elif item is None or entry.name not in DATA_FORMATS.values():
                    folders.append(path)
    return Listing(tuple(sorted(listed, key=lambda item: Path(str(item.folder)).parts)), hidden)


def _listed(folder: Path, names: set[str]) -> ListedFolder | None:
    """The entry of a folder, given the names in it; None if nothing in it suggests a dataset."""
    if MANIFEST not in names:
        has_rows = not names.isdisjoint(DATA_FORMATS.values())
        if has_rows and (RECIPE in names or _BUILT_NAME.fullmatch(folder.name)):
            return ListedFolder(folder, problem=f"no {MANIFEST}, so this is not a finished dataset; build it again")
        return None
    try:
        dataset = open_dataset(folder)
    except ContractError as error:
        problem = str(error).replace(f"{folder / MANIFEST}: ", f"{MANIFEST}: ").removeprefix(f"{folder}: ")
        return ListedFolder(folder, problem=problem)
    wrong = sum(not _is_there(folder, entry) for entry in dataset.manifest.files)
    problem = f"{wrong} of {len(dataset.manifest.files)} files missing or of another size: niah-gen verify"
    return ListedFolder(folder, dataset, problem if wrong else None)


def _is_there(folder: Path, entry: FileEntry) -> bool:
    try:
        return (folder / entry.path).stat().st_size == entry.bytes
    except (OSError, ValueError):
        return False


def _unfinished(folder: Path) -> str:
    written = len(list((folder / "parts").glob("*.json")))
    return f"unfinished, {written} files written; run the same build again, or its remaining shards and niah-gen merge"


def _target(link: Path) -> str:
    try:
        return os.readlink(link)
    except OSError as error:
        return f"an unknown place ({error.strerror})"


def datasets_at(text: str) -> Listing:
    """All datasets at an address and below it. Only manifests are read. Raises AddressError and StoreError."""
    top = parse_address(text)
    objects = objects_below(top)
    folders: dict[str, ListedFolder] = {}
    for name in objects:
        place, slash, last = name.rpartition("/")
        prefix = place + slash
        if last == MANIFEST:
            below = (key for key in objects if key.startswith(prefix))
            sizes = {key.removeprefix(prefix): objects[key].bytes for key in below}
            folders[place] = _listed_at(top / place if place else top, sizes)
        elif place.endswith(PARTIAL) and last == SHEET:
            records = sum(key.startswith(f"{prefix}parts/") for key in objects)
            problem = f"unfinished, {records} files written; build the remaining shards, then run niah-gen merge"
            folders[place] = ListedFolder(top / place, problem=problem)
    return Listing(tuple(listed for _, listed in sorted(folders.items())), 0)


def _listed_at(place: Address, sizes: dict[str, int]) -> ListedFolder:
    """The entry of a dataset, with what is wrong with its objects if anything, or why it is not a dataset."""
    try:
        manifest = manifest_at(place)
    except ContractError as error:
        return ListedFolder(place, problem=str(error).removeprefix(f"{place}: "))
    wrong = sum(sizes.get(entry.path) != entry.bytes for entry in manifest.files)
    problem = f"{wrong} of {len(manifest.files)} files missing or of another size: niah-gen verify"
    return ListedFolder(place, Dataset(Path(place.name), manifest), problem if wrong else None)


def listing_lines(folders: Sequence[ListedFolder]) -> Iterator[str]:
    """A line per folder: folder, name, version, digest8, rows, tokens, lengths by language, formats; or the problem."""
    lines = [_columns(item) for item in folders]
    table = [columns for columns in lines if len(columns) > 1]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)] if table else []
    widths[:1] = [max((len(columns[0]) for columns in lines), default=0)]
    for item, columns in zip(folders, lines, strict=True):
        # The numbers of rows and tokens are aligned to the right.
        cells = [
            text.rjust(width) if number in (4, 5) else text.ljust(width)
            for number, (text, width) in enumerate(zip(columns, widths, strict=False))
        ]
        problem = [one_line(item.problem)] if item.problem else []
        yield "  ".join(cells + problem).rstrip()


def _columns(item: ListedFolder) -> list[str]:
    folder = one_line(str(item.folder))
    if item.dataset is None:
        return [folder]
    manifest = item.dataset.manifest
    rows, tokens = f"{manifest.rows:,} rows", f"{manifest.tokens:,} tokens"
    formats = ", ".join(item.dataset.formats)
    name, version, lengths = map(one_line, (manifest.name, manifest.version, _lengths(item.dataset)))
    return [folder, name, version, one_line(manifest.digest8), rows, tokens, lengths, one_line(formats)]


def _lengths(dataset: Dataset) -> str:
    """The configs in row order: `en 1k to 8k (8), zh 1k, 2k`."""
    lengths: dict[str, list[str]] = {}
    for config in dict.fromkeys(file.config for file in dataset.files()):
        match = _CONFIG.fullmatch(config)
        lengths.setdefault(match[1] if match else config, []).extend([match[2]] if match else [])
    return ", ".join(
        f"{language} {of[0]} to {of[-1]} ({len(of)})"
        if len(of) > _MOST_LENGTHS
        else f"{language} {', '.join(of)}".strip()
        for language, of in lengths.items()
    )
