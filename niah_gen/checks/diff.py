"""Compares two versions of a dataset row by row, and says what the difference means for the version.

Rows are read a row group at a time, and only digests of their columns are kept, in a temporary file, so memory stays
flat whatever the length and number of the prompts.
"""

from __future__ import annotations

import hashlib
import re
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from niah_gen.dataset.read import RowGroup, jobs_for, over_row_groups, read_row_group, row_groups_of
from niah_gen.errors import IntegrityError
from niah_score.contract import CARD, Dataset, Manifest, canonical_json, file_problem, open_dataset

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
NOTHING, PATCH, MINOR, MAJOR = "nothing", "PATCH", "MINOR", "MAJOR"
_LEVELS = (NOTHING, PATCH, MINOR, MAJOR)

_DIGEST_BYTES = 8
_NO_COLUMN = bytes(_DIGEST_BYTES)
_VERSION = re.compile(r"(\d+)\.(\d+)\.(\d+)")
_INSERT = {
    "old": "INSERT INTO old VALUES (?, ?, ?, ?, ?, ?)",
    "new": "INSERT INTO new VALUES (?, ?, ?, ?, ?, ?)",
}
_MOST_EXAMPLES = 3
_MOST_CONFIGS = 12


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
        return max((level for level, _ in self.reasons), key=_LEVELS.index, default=NOTHING)


class _DigestedRow(NamedTuple):
    """What is kept of a row: its id, a digest of its coordinates, and one of each column."""

    id: str
    coordinates: bytes
    columns: Mapping[str, bytes]


def compare(
    old: str | Path, new: str | Path, *, jobs: int | None = None, progress: Progress | None = None
) -> Difference:
    """Compare two dataset folders, row by row and column by column.

    Rows are matched by id, the others by coordinates. jobs: number of processes; None decides by size.
    Raises ContractError if a folder is not a dataset, IntegrityError if a data file does not match its manifest, a row
    has no id or two rows share one, ResourceError if a process dies.
    """
    before, after = open_dataset(old), open_dataset(new)
    if progress:
        manifests = (before.manifest, after.manifest)
        progress.start(sum(item.rows for item in manifests), sum(item.tokens for item in manifests))
    diff = Difference(before.manifest, after.manifest)
    # An empty name makes a temporary file that goes when the connection closes.
    with closing(sqlite3.connect("")) as database:
        index = _Index(database)
        for number, row, config in _rows(before, jobs, progress):
            index.add_old(number, row, config)
        for number, row, config in _rows(after, jobs, progress):
            index.add_new(number, row, config, diff)
        index.join_by_coordinates(diff)
        diff.reasons = list(_reasons(diff, index.columns_old, index.columns_new))
    return diff


class _Index:
    """The rows of both datasets on disk. Columns are packed in the order they were first seen."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database
        self._places: dict[str, int] = {}
        self.columns_old: set[str] = set()
        self.columns_new: set[str] = set()
        database.execute("PRAGMA journal_mode = OFF")
        for table in ("old", "new"):
            database.execute(
                f"CREATE TABLE {table} "
                "(number INTEGER PRIMARY KEY, id TEXT, at BLOB, config TEXT, digests BLOB, matched INTEGER DEFAULT 0)"
            )
            database.execute(f"CREATE UNIQUE INDEX {table}_id ON {table} (id)")
        database.execute("CREATE INDEX old_at ON old (at)")

    def add_old(self, number: int, row: _DigestedRow, config: str) -> None:
        self.columns_old.update(row.columns)
        self._insert("old", number, row, config, False)

    def add_new(self, number: int, row: _DigestedRow, config: str, diff: Difference) -> None:
        """Store a row of the new dataset, and compare it with the old row of the same id."""
        self.columns_new.update(row.columns)
        old = self._database.execute("SELECT number, digests FROM old WHERE id = ?", (row.id,)).fetchone()
        self._insert("new", number, row, config, old is not None)
        if old is None:
            return
        self._database.execute("UPDATE old SET matched = 1 WHERE number = ?", (old[0],))
        columns = self._changed(old[1], self._packed(row.columns))
        if columns:
            diff.changed.add(config, row.id, columns)
        else:
            diff.same += 1

    def join_by_coordinates(self, diff: Difference) -> None:
        """Match the rows whose ids only one dataset has by coordinates, and count those left over."""
        for name, at, config, digests in self._database.execute(
            "SELECT id, at, config, digests FROM new WHERE NOT matched ORDER BY number"
        ):
            other = self._database.execute(
                "SELECT number, id, digests FROM old WHERE at = ? AND NOT matched ORDER BY number LIMIT 1", (at,)
            ).fetchone()
            if other is None:
                diff.added.add(config, name)
                continue
            self._database.execute("UPDATE old SET matched = 1 WHERE number = ?", (other[0],))
            diff.renamed.add(config, f"{other[1]} -> {name}", self._changed(other[2], digests))
        for name, config in self._database.execute("SELECT id, config FROM old WHERE NOT matched ORDER BY number"):
            diff.gone.add(config, name)

    def _insert(self, table: str, number: int, row: _DigestedRow, config: str, matched: bool) -> None:
        values = (number, row.id, row.coordinates, config, self._packed(row.columns), matched)
        try:
            self._database.execute(_INSERT[table], values)
        except sqlite3.IntegrityError:
            raise IntegrityError(
                f"the {table} dataset has two rows with the id {row.id}; verify it with --full, and build it again"
            ) from None

    def _packed(self, columns: Mapping[str, bytes]) -> bytes:
        for name in columns:
            self._places.setdefault(name, len(self._places))
        return b"".join(columns.get(name, _NO_COLUMN) for name in self._places)

    def _changed(self, old: bytes, new: bytes) -> tuple[str, ...]:
        """The columns that both rows have, with different values."""
        return tuple(name for name, place in self._places.items() if _differ(_at(old, place), _at(new, place)))


def _at(packed: bytes, place: int) -> bytes:
    return packed[place * _DIGEST_BYTES : (place + 1) * _DIGEST_BYTES] or _NO_COLUMN


def _differ(old: bytes, new: bytes) -> bool:
    return old != new and _NO_COLUMN not in (old, new)


def _rows(dataset: Dataset, jobs: int | None, progress: Progress | None) -> Iterator[tuple[int, _DigestedRow, str]]:
    """The rows in order, each with its number from 1 and its config. Raises IntegrityError."""
    number = 0
    for file in dataset.files():
        problem = file_problem(dataset.folder, file.entry)
        if problem:
            raise IntegrityError(f"{dataset.folder}: {problem}; verify the dataset, and copy or build it again")
    groups = [(file, group) for file in dataset.files() for group in row_groups_of(dataset.folder, file.entry.path)]
    count = jobs_for(dataset.manifest.tokens) if jobs is None else jobs
    results = over_row_groups(_digester, dataset.folder, [group for _, group in groups], count)
    tokens = dataset.manifest.tokens / max(1, dataset.manifest.rows)
    for (file, _), rows in zip(groups, results, strict=True):
        for row in rows:
            number += 1
            yield number, row, file.config
        if progress:
            progress.advance(len(rows), round(len(rows) * tokens))


def _digester(folder: Path) -> Callable[[RowGroup], list[_DigestedRow]]:
    """The function that digests the rows of a row group."""

    def digest_rows(group: RowGroup) -> list[_DigestedRow]:
        rows = []
        for read in read_row_group(folder, group):
            where = f"{folder / group.path} row {read.number}"
            if read.problem is not None:
                raise IntegrityError(f"{where}: the row cannot be read ({read.problem}); build the dataset again")
            if not isinstance(read.value, dict) or not isinstance(read.value.get("id"), str):
                raise IntegrityError(f"{where}: the row has no id; build the dataset again")
            rows.append(_digested(read.value))
        return rows

    return digest_rows


def _digested(row: Mapping[str, Any]) -> _DigestedRow:
    columns = {name: _digest(value) for name, value in row.items()}
    return _DigestedRow(row["id"], _digest([row.get(name) for name in COORDINATES]), columns)


def _digest(value: object) -> bytes:
    try:
        data = canonical_json(value)
    except UnicodeEncodeError:  # half a surrogate pair, which JSON files can spell
        data = repr(value).encode("ascii", "backslashreplace")
    return hashlib.blake2b(data, digest_size=_DIGEST_BYTES).digest()


def _reasons(diff: Difference, old: set[str], new: set[str]) -> Iterator[tuple[str, str]]:
    """Each diff, with the part of the version that it raises."""
    rows_differ = False
    for rows, what in ((diff.changed, "changed, with the same ids"), (diff.renamed, "changed, and so did their ids")):
        if rows.count:
            rows_differ = True
            decisive = rows is diff.renamed or not rows.columns.keys().isdisjoint(DECISIVE)
            yield MAJOR if decisive else MINOR, f"{_counted(rows.count)} {what}"
    if diff.gone.count:
        rows_differ = True
        yield MAJOR, f"{_counted(diff.gone.count)} gone, and {'its id' if diff.gone.count == 1 else 'their ids'}"
    if diff.added.count:
        rows_differ = True
        yield MINOR, f"{_counted(diff.added.count)} added"
    for level, names, what in ((MAJOR, old - new, "gone"), (MINOR, new - old, "added")):
        if names and old and new:
            rows_differ = True
            yield level, f"{'column' if len(names) == 1 else 'columns'} {what}: {', '.join(sorted(names))}"
    if not rows_differ and diff.old.content_digest != diff.new.content_digest:
        yield MINOR, "the same rows in another order"
    weights = [{part.name: part.weight for part in manifest.parts} for manifest in (diff.old, diff.new)]
    for name in [name for name in weights[0] if name in weights[1] and weights[0][name] != weights[1][name]]:
        yield MAJOR, f"the weight of part {name}: {weights[0][name]:g}, now {weights[1][name]:g}"
    files = [{entry.path: entry.sha256 for entry in manifest.files} for manifest in (diff.old, diff.new)]
    if files[0].get(CARD) != files[1].get(CARD):
        yield PATCH, "the card"
    others = {path for path in {*files[0], *files[1]} if path != CARD and files[0].get(path) != files[1].get(path)}
    if others and not rows_differ:
        yield PATCH, f"the bytes of {len(others)} other {'file' if len(others) == 1 else 'files'}"


def difference_lines(diff: Difference) -> Iterator[str]:
    """The lines to print: rows, columns, and what the difference means for the version."""
    for name, manifest in (("old", diff.old), ("new", diff.new)):
        yield f"{name}: {manifest.name} {manifest.version} ({manifest.digest8}), {_counted(manifest.rows)}"
    yield f"same: {_counted(diff.same)}"
    for word, rows in (
        ("changed, same id", diff.changed), ("changed, other id", diff.renamed),
        ("added", diff.added), ("gone", diff.gone),
    ):  # fmt: skip
        if not rows.count:
            continue
        yield f"{word}: {_counted(rows.count)} ({_listed(rows.configs)})"
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
    numbers, stated = tuple(map(int, old.groups())), tuple(map(int, new.groups()))
    place = (MAJOR, MINOR, PATCH).index(level)
    least = (*numbers[:place], numbers[place] + 1, *(0 for _ in numbers[place + 1 :]))
    wanted = ".".join(map(str, least))
    if stated >= least:
        return f"version: {level}; {diff.new.version} after {diff.old.version} says so"
    return f"version: {level}; {diff.new.version} after {diff.old.version} does not say so, call it {wanted} or higher"


def _counted(count: int) -> str:
    return "1 row" if count == 1 else f"{count:,} rows"


def _listed(configs: Counter[str]) -> str:
    shown = ", ".join(f"{name} {count:,}" for name, count in list(configs.items())[:_MOST_CONFIGS])
    more = len(configs) - _MOST_CONFIGS
    return f"{shown} and {more} more configs" if more > 0 else shown
