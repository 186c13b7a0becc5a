"""Compares two versions of a dataset row by row, and says what the difference means for the version.

A row is kept as digests of its columns. That of the prompt is the column `prompt_sha256`, so prompts are not read.
"""

from __future__ import annotations

import hashlib
import re
import struct
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from niah_gen.dataset.read import jobs_for, over_files, rows_in
from niah_gen.errors import IntegrityError
from niah_score.contract import CARD, COLUMNS, Dataset, Manifest, canonical_json, file_problem, open_dataset

if TYPE_CHECKING:
    from niah_gen.progress import Progress

# The columns that identify a row, whatever its prompt.
COORDINATES = (
    "part", "task", "language", "corpus", "length", "depth_percent", "needle_id", "control", "repeat",
)  # fmt: skip
# The columns that decide what a model is asked and how its answer is scored. A change in any of them makes old scores
# incomparable; all other columns only describe.
DECISIVE = (
    "id", "prompt", "question", "answers", "keywords", "keyword_kinds", "rejects", "decoys", "metric", "answer_prefix",
    "max_new_tokens", "target_span", "target_token_span",
)  # fmt: skip
# The part of the version that a difference raises, from least to most.
LEVELS = NOTHING, PATCH, MINOR, MAJOR = ("nothing", "PATCH", "MINOR", "MAJOR")

_VERSION = re.compile(r"(\d+)\.(\d+)\.(\d+)")
_MOST_EXAMPLES = 3
_MOST_CONFIGS = 12

# Of each row by its id: its config, a digest of its coordinates, and those of its columns (0 for none), packed.
_Digested = dict[str, tuple[str, int, bytes]]
_OF_COLUMNS = struct.Struct(f"{len(COLUMNS)}Q")


@dataclass(slots=True)
class RowsOf:
    """The rows that differ in one respect: how many, in which configs and columns, and the ids of the first few."""

    count: int = 0
    configs: Counter[str] = field(default_factory=Counter)
    columns: Counter[str] = field(default_factory=Counter)
    examples: list[str] = field(default_factory=list)

    def add(self, config: str, example: str, columns: tuple[str, ...] = ()) -> None:
        """Count a row; `columns`: those that changed."""
        self.count += 1
        self.configs[config] += 1
        self.columns.update(columns)
        if len(self.examples) < _MOST_EXAMPLES:
            self.examples.append(example)


@dataclass(slots=True)
class Difference:
    """How two versions of a dataset differ.

    `same`: rows equal in every column that both versions have. `changed`: rows with the same id and another value in
    some column. `renamed`: rows with the same coordinates and another id. `added`, `gone`: rows whose id and
    coordinates only one version has. `reasons`: each diff, with the part of the version that it raises.
    """

    old: Manifest
    new: Manifest
    same: int = 0
    changed: RowsOf = field(default_factory=RowsOf)
    renamed: RowsOf = field(default_factory=RowsOf)
    added: RowsOf = field(default_factory=RowsOf)
    gone: RowsOf = field(default_factory=RowsOf)
    reasons: list[tuple[str, str]] = field(default_factory=list)

    @property
    def level(self) -> str:
        """The part of the version to raise: MAJOR, MINOR, PATCH or nothing."""
        return max((level for level, _ in self.reasons), key=LEVELS.index, default=NOTHING)


def compare(
    old: str | Path, new: str | Path, *, jobs: int | None = None, progress: Progress | None = None
) -> Difference:
    """Compare two dataset folders, row by row and column by column.

    Rows are matched by id, the others by coordinates. jobs: number of processes; None decides by size.
    Raises ContractError if a folder is not a dataset, IntegrityError if a data file does not match its manifest, a row
    has no id or two rows share one, ResourceError if a process dies.
    """
    before, after = open_dataset(old), open_dataset(new)
    diff = Difference(before.manifest, after.manifest)
    if progress:
        progress.start(diff.old.rows + diff.new.rows, diff.old.tokens + diff.new.tokens)
    was, now = _digested(before, jobs, progress), _digested(after, jobs, progress)
    unmatched: dict[int, list[str]] = {}
    for name, (_, at, _) in was.items():
        if name not in now:
            unmatched.setdefault(at, []).append(name)
    for name, (config, at, digests) in now.items():
        if name in was:
            if columns := _changed(was[name][2], digests):
                diff.changed.add(config, name, columns)
            else:
                diff.same += 1
        elif others := unmatched.get(at):
            other = others.pop(0)
            diff.renamed.add(config, f"{other} -> {name}", _changed(was[other][2], digests))
        else:
            diff.added.add(config, name)
    for name in (name for names in unmatched.values() for name in names):
        diff.gone.add(was[name][0], name)
    diff.reasons = list(_reasons(diff, _columns(was), _columns(now)))
    return diff


def _digested(dataset: Dataset, jobs: int | None, progress: Progress | None) -> _Digested:
    """The rows in order. Raises IntegrityError for a damaged file, a row without an id, and two rows with one id."""
    files, manifest = dataset.files(), dataset.manifest
    for file in files:
        if problem := file_problem(dataset.folder, file.entry):
            raise IntegrityError(f"{dataset.folder}: {problem}; verify the dataset, and copy or build it again")
    rows: _Digested = {}
    paths = [file.entry.path for file in files]
    results = over_files(_digester, dataset.folder, paths, jobs_for(manifest.tokens) if jobs is None else jobs)
    for file, of_file in zip(files, results, strict=True):
        for name, at, digests in of_file:
            if name in rows:
                raise IntegrityError(f"{dataset.folder}: two rows have the id {name}; verify it with --full")
            rows[name] = (file.config, at, digests)
        if progress:
            progress.advance(len(of_file), len(of_file) * manifest.tokens // max(1, manifest.rows))
    return rows


def _digester(folder: Path) -> Callable[[str], list[tuple[str, int, bytes]]]:
    """The function that digests the rows of a data file."""
    names = [name for name in COLUMNS if name != "prompt"]

    def digest_rows(path: str) -> list[tuple[str, int, bytes]]:
        rows = []
        for number, row in enumerate(rows_in(folder / path, names), 1):
            if not isinstance(row.get("id"), str):
                raise IntegrityError(f"{folder / path} row {number}: the row has no id; build the dataset again")
            row["prompt"] = row.get("prompt_sha256")
            digests = _OF_COLUMNS.pack(*(_digest(row[name]) if name in row else 0 for name in COLUMNS))
            rows.append((row["id"], _digest([row.get(name) for name in COORDINATES]), digests))
        return rows

    return digest_rows


def _digest(value: Any) -> int:
    return int.from_bytes(hashlib.blake2b(canonical_json(value), digest_size=8).digest())


def _columns(rows: _Digested) -> set[str]:
    """The columns of the last row of each config."""
    last = {config: digests for config, _, digests in rows.values()}
    return {
        name for digests in last.values() for name, one in zip(COLUMNS, _OF_COLUMNS.unpack(digests), strict=True) if one
    }


def _changed(old: bytes, new: bytes) -> tuple[str, ...]:
    """The columns that both rows have, with different values."""
    both = zip(COLUMNS, _OF_COLUMNS.unpack(old), _OF_COLUMNS.unpack(new), strict=True)
    return tuple(name for name, was, now in both if was and now and was != now)


def _reasons(diff: Difference, old: set[str], new: set[str]) -> Iterator[tuple[str, str]]:
    """Each difference, with the part of the version that it raises."""
    decisive = not diff.changed.columns.keys().isdisjoint(DECISIVE)
    for rows, level, what in (
        (diff.changed, MAJOR if decisive else MINOR, "changed, with the same ids"),
        (diff.renamed, MAJOR, "changed, and so did their ids"),
        (diff.gone, MAJOR, "gone, and its id" if diff.gone.count == 1 else "gone, and their ids"),
        (diff.added, MINOR, "added"),
    ):
        if rows.count:
            yield level, f"{_counted(rows.count)} {what}"
    differ = any(rows.count for rows in (diff.changed, diff.renamed, diff.gone, diff.added))
    for level, names, what in ((MAJOR, old - new, "gone"), (MINOR, new - old, "added")):
        if names and old and new:
            differ = True
            yield level, f"column{'s' * (len(names) > 1)} {what}: {', '.join(sorted(names))}"
    if not differ and diff.old.content_digest != diff.new.content_digest:
        yield MINOR, "the same rows in another order"
    weights = [{part.name: part.weight for part in manifest.parts} for manifest in (diff.old, diff.new)]
    for name, weight in weights[0].items():
        if weights[1].get(name, weight) != weight:
            yield MAJOR, f"the weight of part {name}: {weight:g}, now {weights[1][name]:g}"
    files = [{entry.path: entry.sha256 for entry in manifest.files} for manifest in (diff.old, diff.new)]
    if files[0].get(CARD) != files[1].get(CARD):
        yield PATCH, "the card"
    others = {path for path in {*files[0], *files[1]} - {CARD} if files[0].get(path) != files[1].get(path)}
    if others and not differ:
        yield PATCH, f"the bytes of {len(others)} other {'file' if len(others) == 1 else 'files'}"


def difference_lines(diff: Difference) -> Iterator[str]:
    """The lines to print: rows, columns, and what the difference means for the version."""
    for name, manifest in (("old", diff.old), ("new", diff.new)):
        yield f"{name}: {manifest.name} {manifest.version} ({manifest.digest8}), {_counted(manifest.rows)}"
    yield f"same: {_counted(diff.same)}"
    kinds = {
        "changed, same id": diff.changed,
        "changed, other id": diff.renamed,
        "added": diff.added,
        "gone": diff.gone,
    }
    for word, rows in kinds.items():
        if rows.count:
            configs = [f"{name} {count:,}" for name, count in rows.configs.items()]
            more = f" and {len(configs) - _MOST_CONFIGS} more configs" if len(configs) > _MOST_CONFIGS else ""
            yield f"{word}: {_counted(rows.count)} ({', '.join(configs[:_MOST_CONFIGS])}{more})"
            if rows.columns:
                yield f"  columns: {', '.join(f'{name} {count:,}' for name, count in rows.columns.most_common())}"
            yield f"  such as: {', '.join(rows.examples)}"
    for level, reason in diff.reasons:
        yield f"{level}: {reason}"
    yield _verdict(diff)


def _verdict(diff: Difference) -> str:
    """What to call the new dataset."""
    level = diff.level
    if level == NOTHING:
        return "nothing differs: no new version"
    old, new = (_VERSION.fullmatch(manifest.version) for manifest in (diff.old, diff.new))
    if old is None or new is None:
        return f"version: {level}"
    numbers, place = [int(number) for number in old.groups()], (MAJOR, MINOR, PATCH).index(level)
    least = [*numbers[:place], numbers[place] + 1, 0, 0][:3]
    said = f"version: {level}; {diff.new.version} after {diff.old.version}"
    if [int(number) for number in new.groups()] >= least:
        return f"{said} says so"
    return f"{said} does not say so, call it {'.'.join(map(str, least))} or higher"


def _counted(count: int) -> str:
    return "1 row" if count == 1 else f"{count:,} rows"
