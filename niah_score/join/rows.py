"""Reads the truth of a dataset's rows as one table, sorted by id. Prompts are only hashed, as parts of their file.

A dataset is a folder (niah_score.contract), one of its data files, or any Parquet or JSONL file with id, answers and
keywords; hand-made JSONL may have `answer` for a single answer, and keywords as one flat list.

A file that a manifest lists is read only if it has the sha256 that stands there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from niah_score.contract import (
    MANIFEST,
    FileEntry,
    Manifest,
    PartEntry,
    Truth,
    dataset_of,
    file_problem,
    open_dataset,
)
from niah_score.errors import IntegrityError, ScoreError
from niah_score.formats.data_files import PARQUET, column_names, opened_rows, records_of
from niah_score.formats.tables import batches, parquet
from niah_score.machine.files import reading, unchanged
from niah_score.text.values import is_kind, kinds_expected
from niah_score.text.visible import without_surrogates

if TYPE_CHECKING:
    import polars as pl

Read = TypeVar("Read")

_BATCH = 32_768
_IF_WINDOW = "; if a row is a window that asks for log-probabilities, score it with niah-score perplexity"
# What scores are computed from and grouped by. Everything else in a row, above all the prompt, stays on disk.
_LISTS = ("answers", "needles", "keyword_kinds", "keywords", "rejects", "decoys")
_COLUMNS = (
    "id", "task", "part", "language", "question_language", "corpus", "tokenizer", "placement", "template", "control",
    "needle_id", "haystack_id", "metric", "answer_prefix", "prompt_sha256", "length", "repeat", "depth_percent",
    "chance", "question", "prompt_tokens", *_LISTS,
)  # fmt: skip
# Their types, without "or null".
_TYPES = {name: Truth.__annotations__[name].__forward_arg__.removesuffix(" | None") for name in _COLUMNS}


@dataclass(frozen=True)
class Rows:
    """The truth of a dataset. `table`: a frame sorted by id; `order`: its column of places in the files.

    `targets`: what answers are judged against, each once; the table's column `target` is the index among them.
    `digest8`: the eight characters of the dataset's folder; for rows that are not a whole dataset with a manifest, the
    first 8 hex digits of the sha256 of the sorted ids. `parts`: of the dataset that the rows belong to, with their
    weights; empty if its manifest names none, or there is no manifest.
    """

    table: pl.DataFrame
    targets: pl.DataFrame
    name: str
    digest8: str
    manifest: Manifest | None
    parts: tuple[PartEntry, ...] = ()

    def whole(self) -> pl.DataFrame:
        """The table, with what answers are judged against written out in every row."""
        import polars as pl

        return pl.concat([self.table, self.targets[self.table["target"]]], how="horizontal")

    def placed(self, *columns: str) -> pl.DataFrame:
        """Columns of the table after a first column `place`: the index of each row."""
        import polars as pl

        return self.table.select(pl.int_range(pl.len(), dtype=pl.Int64).alias("place"), *columns)


class DatasetFiles(NamedTuple):
    """The files of a dataset in row order, each with its entry in the manifest of `folder`, if one lists it.

    `name`: of the dataset. `manifest`: of the dataset, if these are all its rows; `parts`: of the dataset that the
    files belong to, even if they are not all its rows.
    """

    files: Mapping[Path, FileEntry | None]
    folder: Path
    name: str
    manifest: Manifest | None
    parts: tuple[PartEntry, ...] = ()


def find_files(dataset: Path) -> DatasetFiles:
    """The files that hold the rows of a dataset folder, or a single file.

    Raises ScoreError if there is nothing, ContractError if the folder is not a dataset.
    """
    if not dataset.exists():
        raise ScoreError(f"{dataset}: no such dataset; expected a folder with a {MANIFEST}, or a Parquet or JSONL file")
    if dataset.is_dir():
        opened = open_dataset(dataset)
        files = {file.path: file.entry for file in opened.files()}
        return DatasetFiles(files, opened.folder, opened.manifest.name, opened.manifest, opened.manifest.parts)
    name = without_surrogates(dataset.name.partition(".")[0])
    owner = dataset_of(dataset)
    if owner is None:
        return DatasetFiles({dataset: None}, dataset.parent, name, None)
    opened, file = owner
    manifest = opened.manifest if len(opened.files(file.format)) == 1 else None
    name = manifest.name if manifest else name
    return DatasetFiles({dataset: file.entry}, opened.folder, name, manifest, opened.manifest.parts)


def each_intact(dataset: DatasetFiles, read: Callable[[Path], Iterable[Read]]) -> Iterator[Read]:
    """What `read` yields for each file, in order; it is called once the file's sha256 is known to be the manifest's.

    Raises IntegrityError if a file is missing or damaged.
    """
    for path, entry in dataset.files.items():
        with reading(path), unchanged(path):
            if problem := entry and file_problem(dataset.folder, entry):
                raise IntegrityError(
                    f"{dataset.folder}: {problem}; the file is damaged or another dataset's: copy the dataset again, "
                    "or build it again"
                )
            yield from read(path)


def read_rows(dataset: Path) -> Rows:
    """Read a dataset's truth. Raises ScoreError or ContractError naming file, line and field."""
    import polars as pl

    files = find_files(dataset)
    parts = list(each_intact(files, _parts_of))
    check_count(sum(table.height for table, _ in parts), files, dataset)
    targets, codes = _different(pl.concat([lists for _, lists in parts]))
    tables, first = [], 0
    for table, lists in parts:
        tables.append(table.with_columns(codes[first + table["target"]].alias("target")))
        first += lists.height
    table = pl.concat(tables).with_row_index("order")
    if table["chance"].null_count() == table.height:
        table = table.drop("chance")
    if not table["id"].is_sorted():
        table = table.sort("id")
    digest8 = digest8_of(table["id"], files, dataset)
    names = [part.name for part in files.parts]
    if names and not set(table["part"].unique()) <= set(names):
        # Without a weight, such rows would count in nothing.
        listed = f"only those of the parts {', '.join(names)}, which its {MANIFEST} lists"
        raise IntegrityError(f"{dataset}: holds rows of other parts; expected {listed}: build it again")
    return Rows(table, targets, files.name, digest8, files.manifest, files.parts)


def check_count(rows: int, files: DatasetFiles, dataset: Path) -> None:
    """Raise ScoreError if there are no rows, IntegrityError if there are not as many as the manifest says."""
    if files.manifest is not None and files.files and rows != files.manifest.rows:
        said = f"{MANIFEST} says {files.manifest.rows}"
        raise IntegrityError(f"{dataset}: its files hold {rows} rows, {said}; build it again")
    if not rows:
        raise ScoreError(f"{dataset}: holds no rows")


def digest8_of(ids: pl.Series, files: DatasetFiles, dataset: Path) -> str:
    """The `digest8` of Rows, by their sorted ids. Raises ScoreError if two rows have the same id."""
    again = ids.filter(ids == ids.shift(1))
    if len(again):
        raise ScoreError(f"{dataset}: id {again[0]!r} is in two or more rows; every id must name one row")
    return files.manifest.digest8 if files.manifest else sha256("\n".join(ids).encode()).hexdigest()[:8]


# Some rows of a file: a table without lists, and the different lists, to which its column `target` is an index.
_Part = tuple["pl.DataFrame", "pl.DataFrame"]


def _parts_of(file: Path) -> Iterator[_Part]:
    """The rows of a file, some ten thousand at a time. Raises what `read_rows` does."""
    import polars as pl

    kinds, before = row_columns(), 0
    with opened_rows(file) as source:
        if source.first == PARQUET:
            with parquet(source) as opened:
                names = column_names(source, opened)
                if lacking := [name for name in ("id", "answers") if name not in names]:
                    raise ScoreError(f"{file}: has no column {' and no '.join(lacking)} (docs/rows.md){_IF_WINDOW}")
                for batch in batches(source, opened, _BATCH, [name for name in kinds if name in names]):
                    # Of separate columns: in one of the whole batch, any column that is kept keeps the lists in memory.
                    frame = pl.DataFrame(dict(zip(batch.schema.names, batch.columns, strict=True)))
                    yield _completed(frame, file, partial(_numbered, file, before + 1))
                    before += batch.num_rows
            return
        rows = ((where, _in_full(record, where)) for where, record in records_of(source, (*kinds, "answer"), _BATCH))
        while batch := list(islice(rows, _BATCH)):
            where, records = zip(*batch, strict=True)
            yield _completed(pl.DataFrame(records, kinds, orient="row"), file, where.__getitem__)


def _numbered(file: Path, first: int, row: int) -> str:
    return f"{file}: row {first + row}"


def row_columns() -> dict[str, pl.DataType]:
    """The columns of rows that scoring needs."""
    import polars as pl

    text = pl.List(pl.String())
    kinds = {
        "str": pl.String(), "int": pl.Int64(), "float": pl.Float64(), "list[str]": text,
        "list[list[str]]": pl.List(text),
    }  # fmt: skip
    return {name: kinds[kind] for name, kind in _TYPES.items()}


def _completed(frame: pl.DataFrame, file: Path, where: Callable[[int], str]) -> _Part:
    """Rows with every column of the schema. Raises ScoreError for what scoring cannot use.

    `where`: the place of a row, counted from 0 in the frame.
    """
    import polars as pl

    kinds = row_columns()
    absent = [pl.lit(None, kind).alias(name) for name, kind in kinds.items() if name not in frame.columns]
    frame = pl.DataFrame([_converted(one, kinds[one.name], file) for one in frame]).with_columns(absent).select(*kinds)
    for name in (name for name, kind in kinds.items() if kind.is_numeric()):
        most = 100 if name in ("chance", "depth_percent") else 2**62 - 1
        # NaN is in no range.
        outside = (~frame[name].is_between(0, most)).arg_true()
        if len(outside):
            found = frame[name][outside[0]]
            raise ScoreError(f"{where(outside[0])}: {name}: found {found}, expected a number from 0 to {most:,}")
    empty = [pl.col(name).fill_null(pl.lit([], dtype=kinds[name])) for name in _LISTS if name != "answers"]
    # Lists are slow to sort and to send; rows of one needle share them.
    targets, target = _different(frame.select("answers", *empty))
    # A copy that holds only its own texts; otherwise these few would keep those of all rows in memory.
    targets = pl.DataFrame(targets.to_arrow(compat_level=pl.CompatLevel.oldest()), schema=targets.schema)
    for place, row in enumerate(targets.iter_rows(named=True)):
        if (wrong := _wrong_lists(row)) is not None:
            raise ScoreError(f"{where((target == place).arg_max())}: {wrong}")  # type: ignore[arg-type]
    no_answer = targets["answers"].list.len().fill_null(0) == 0
    blank = ((frame["id"].fill_null("") == "") | no_answer[target]).arg_true()
    if len(blank):
        raise ScoreError(f"{where(blank[0])}: id and answers must not be empty{_IF_WINDOW}")
    by_keywords = (targets["keywords"].list.len() > 0)[target]
    own = pl.when(by_keywords).then(pl.lit("keyword")).otherwise(pl.lit("edit"))
    table = frame.drop(_LISTS).with_columns(
        target, pl.col("metric").fill_null(own), pl.col("language").fill_null(pl.lit("en"))
    )
    return table, targets


def _converted(column: pl.Series, kind: pl.DataType, file: Path) -> pl.Series:
    """A column as the type that rows have. Raises ScoreError if a value would change."""
    import polars as pl

    try:
        converted = column.cast(kind)
        if not kind.is_numeric():
            return converted
        if column.dtype != pl.Boolean and not (column.cast(pl.Float64) != converted.cast(pl.Float64)).any():
            return converted
    except pl.exceptions.PolarsError:
        pass  # a value that has no form of the type
    raise ScoreError(f"{file}: {column.name}: holds {column.dtype}, expected {kind} (docs/rows.md)")


def _different(lists: pl.DataFrame) -> tuple[pl.DataFrame, pl.Series]:
    """The different rows of a frame of lists, in order of first appearance, and for each row its index among them."""
    members = lists.with_row_index("row").group_by(lists.columns, maintain_order=True).agg("row")
    places = members.select("row").with_row_index("target").explode("row").sort("row")
    return members.drop("row"), places["target"]


def _wrong_lists(row: Mapping[str, Any]) -> str | None:
    """What is wrong with the lists of a row: a gap, an unknown kind, or not one item per keyword group."""
    for name in _LISTS:
        if row[name] is not None and not _fits(name, row[name]):
            return f"{name}: holds a null, a blank text or an empty group, expected texts (docs/rows.md)"
    wrong = next((kind for kind in row["keyword_kinds"] if not is_kind(kind)), None)
    if wrong is not None:
        return f"keyword_kinds: {wrong!r} is unknown; expected {kinds_expected()}"
    groups = len(row["keywords"])
    for name in ("keyword_kinds", "rejects"):
        if len(row[name]) not in (0, groups):
            return f"{name}: found {len(row[name])}, expected one for each of the {groups} keyword groups, or none"
    return None


def _in_full(record: Mapping[str, Any], where: str) -> dict[str, Any]:
    """A row with all columns, of a record that may be hand-made. Raises ScoreError for a field with a wrong value."""
    row = {name: record.get(name) for name in _COLUMNS}
    answers, keywords = record.get("answer") if row["answers"] is None else row["answers"], row["keywords"]
    row["answers"] = [answers] if isinstance(answers, str) else answers
    row["id"] = str(row["id"]) if type(row["id"]) is int else row["id"]
    if isinstance(keywords, str | list):
        # Each text of a flat list is a group.
        groups = [keywords] if isinstance(keywords, str) else keywords
        row["keywords"] = [[group] if isinstance(group, str) else group for group in groups]
    for name, value in row.items():
        is_empty = name in ("id", "answers") and not value
        if is_empty or (value is not None and not _fits(name, value)):
            raise ScoreError(f"{where}: {name}: found {str(value)[:80]!r}, not what a row holds there (docs/rows.md)")
    return row


def _fits(name: str, value: Any) -> bool:
    """Whether a value has the type of its column. Groups hold no blank texts; only in `rejects` may one be empty."""
    kind = _TYPES[name]
    if kind == "list[str]":
        return type(value) is list and {*map(type, value)} <= {str}
    if kind == "list[list[str]]":
        if type(value) is not list or not {*map(type, value)} <= {list}:
            return False
        texts = [*chain.from_iterable(value)]
        return {*map(type, texts)} <= {str} and all(map(str.strip, texts)) and (name == "rejects" or all(value))
    if kind == "int":
        return type(value) is int and abs(value) < 2**62
    return type(value) in (int, float) if kind == "float" else isinstance(value, str)
