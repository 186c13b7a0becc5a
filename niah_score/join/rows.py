"""Reads the truth of a dataset's rows as one table, sorted by id. Prompts are only hashed, as parts of their file.

A dataset is a folder (niah_score.contract), one of its data files, or any Parquet or JSONL file with id, answers and
keywords; hand-made ones may have `answer` for a single answer, and keywords as one flat list.

A file that a manifest lists is read only if it has the sha256 that stands there; one that changes while it is read is
refused.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from niah_score.contract import (
    MANIFEST,
    SCHEMA_VERSION,
    FileEntry,
    Manifest,
    PartEntry,
    dataset_of,
    file_problem,
    open_dataset,
)
from niah_score.errors import IntegrityError, ResourceError, ScoreError
from niah_score.machine.files import batch_rows, bomb, file_state, is_refused, packed_group, reading
from niah_score.text.values import is_kind, kinds_expected
from niah_score.text.visible import without_surrogates

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa

Read = TypeVar("Read")

_BATCH = 32_768
# What scores are computed from and grouped by. Everything else in a row, above all the prompt, stays on disk.
_TEXT = (
    "task", "part", "language", "question_language", "corpus", "tokenizer", "placement", "template", "control",
    "needle_id", "haystack_id", "metric", "answer_prefix", "prompt_sha256",
)  # fmt: skip
_WHOLE = ("length", "repeat")
_LISTS = ("answers", "needles", "keyword_kinds")
# Lists of groups of spellings.
_GROUPS = ("keywords", "rejects", "decoys")


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

    Do not rely on the results before the end: raises IntegrityError if a file is missing, damaged, or changed while it
    was read.
    """
    for path, entry in dataset.files.items():
        before = _state(path)
        with reading(path):
            problem = entry and file_problem(dataset.folder, entry)
        if problem:
            raise IntegrityError(
                f"{dataset.folder}: {problem}; the file is damaged or another dataset's: copy the dataset again, or "
                "build it again"
            )
        yield from read(path)
        if _state(path) != before:
            raise IntegrityError(f"{path}: changed while it was read; score again once nobody writes to it")


def _state(path: Path) -> tuple[int, ...]:
    try:
        return file_state(path)
    except OSError:
        return ()  # missing, which its reader reports


def read_rows(dataset: Path) -> Rows:
    """Read a dataset's truth. Raises ScoreError or ContractError naming file, line and field."""
    import polars as pl

    files = find_files(dataset)
    parts = list(each_intact(files, _parts_of))
    check_count(sum(table.height for table, _ in parts), files.manifest if files.files else None, dataset)
    targets, codes = _different(pl.concat([lists for _, lists in parts]))
    tables, first = [], 0
    for table, lists in parts:
        tables.append(table.with_columns(codes[first + table["target"]].alias("target")))
        first += lists.height
    table = pl.concat(tables).with_row_index("order")
    if not table["id"].is_sorted():
        table = table.sort("id")
    again = table["id"].filter(table["id"] == table["id"].shift(1))
    if len(again):
        raise doubled_id(dataset, again[0], again.n_unique())
    _check_parts(table["part"], files.parts, dataset)
    ids = sha256("\n".join(table["id"]).encode()).hexdigest()
    return Rows(
        table, targets, files.name, files.manifest.digest8 if files.manifest else ids[:8], files.manifest, files.parts
    )


def check_count(rows: int, manifest: Manifest | None, dataset: Path) -> None:
    """Raise ScoreError if there are no rows, IntegrityError if there are not as many as the manifest says."""
    if manifest is not None and rows != manifest.rows:
        raise IntegrityError(f"{dataset}: its files hold {rows} rows, {MANIFEST} says {manifest.rows}; build it again")
    if not rows:
        raise ScoreError(f"{dataset}: holds no rows")


def doubled_id(dataset: Path, name: str, several: int) -> ScoreError:
    """The error if rows share an id. `several`: how many such ids there are."""
    others = f"are {several - 1:,} other ids" if several > 2 else "is one other id"
    more = f", and so {others}" if several > 1 else ""
    return ScoreError(f"{dataset}: id {name!r} is in two or more rows{more}; every id must name one row")


def _check_parts(of_rows: pl.Series, parts: Sequence[PartEntry], dataset: Path) -> None:
    """Raise IntegrityError if a row belongs to a part that the manifest does not list."""
    names = [part.name for part in parts]
    unknown = [name for name in of_rows.unique().sort().to_list() if name not in names]
    if names and unknown:
        row = "rows without a part" if unknown[0] is None else f"rows of the part {unknown[0]!r}"
        raise IntegrityError(
            f"{dataset}: holds {row}, but the parts of its {MANIFEST} are {', '.join(names)}; build it again"
        )


# Some rows of a file: a table without lists, and the different lists, to which its column `target` is an index.
_Part = tuple["pl.DataFrame", "pl.DataFrame"]


def _parts_of(file: Path) -> Iterator[_Part]:
    """The rows of a file, some ten thousand at a time. Raises what `read_rows` does."""
    with reading(file):
        with file.open("rb") as stream:
            magic = stream.read(4)
        yield from _from_parquet(file) if magic == b"PAR1" else _from_json_lines(file)


def _from_parquet(file: Path) -> Iterator[_Part]:
    """The wanted columns of a Parquet file, page checksums verified, some ten thousand rows at a time."""
    import polars as pl
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        # As bytes, Arrow also takes file names that are not UTF-8.
        with pq.ParquetFile(pa.OSFile(os.fsencode(file)), page_checksum_verification=True) as opened:
            about, schema = opened.metadata, opened.schema_arrow
            version = (about.metadata or {}).get(b"niah_schema_version", b"")
            if version.isdigit() and int(version) > SCHEMA_VERSION:
                raise ScoreError(
                    f"{file}: schema version {int(version)} is newer than the {SCHEMA_VERSION} that this release "
                    "reads; upgrade niah-kit"
                )
            if (problem := packed_group(file, about)) is not None:
                raise ResourceError(problem)
            hand_made = _is_hand_made(schema)
            wanted = [name for name in (*row_columns(), "answer") if name in schema.names]
            for name in ("id", "answers"):
                if name not in wanted and not hand_made:
                    raise ScoreError(
                        f"{file}: has no column {name!r}; a dataset needs id and answers (or answer), and usually "
                        "keywords"
                    )
            before, size = 0, 0
            for batch in opened.iter_batches(batch_rows(about, _BATCH, wanted), columns=wanted):
                rows = pa.table({name: _decoded(batch[name]) for name in wanted})
                size += rows.nbytes
                if (problem := bomb(file, size, file.stat().st_size)) is not None:
                    raise ResourceError(problem)
                if hand_made:
                    yield _from_records(rows.to_pylist(), file, "row", before)
                else:
                    yield _completed(pl.DataFrame(rows), file, before)
                before += rows.num_rows
            # Batches end with the shortest column.
            if before != about.num_rows:
                raise IntegrityError(f"{file}: holds {before} rows instead of {about.num_rows}; build it again")
    # A damaged column name may not be text, and polars panics over data that Arrow accepts.
    except (pa.ArrowException, OSError, ValueError, pl.exceptions.PanicException) as error:
        if is_refused(error):
            raise
        raise IntegrityError(
            f"{file}: cannot be read as Parquet ({next(iter(str(error).splitlines()), '')}); build it again"
        ) from None


def _decoded(column: pa.Array) -> pa.Array:
    """A column with every value written out, as they are once they are read."""
    import pyarrow as pa

    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column


def _is_hand_made(schema: pa.Schema) -> bool:
    """Whether a Parquet file has a column `answer`, or texts where rows have lists."""
    import pyarrow as pa

    kinds = {name: schema.field(name).type for name in ("answer", "answers", "keywords") if name in schema.names}
    answers, groups = kinds.get("answers"), kinds.get("keywords")
    texts = (pa.string(), pa.large_string())
    return ("answer" in kinds and answers is None) or any(
        kind in texts for kind in (answers, groups, getattr(groups, "value_type", None))
    )


def _from_json_lines(file: Path) -> Iterator[_Part]:
    """The rows of a JSONL file. Lines are read whole, but prompts are not kept."""
    records: list[dict[str, Any]] = []
    columns = (*row_columns(), "answer")
    for number, record in json_objects(file):
        records.append({"line": number, **{name: record[name] for name in columns if name in record}})
        if len(records) == _BATCH:
            yield _from_records(records, file, "line")
            records = []
    if records:
        yield _from_records(records, file, "line")


def json_objects(file: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """The rows of a JSONL file, plain, .gz or .zst, with the numbers of their lines.

    Raises ScoreError if a line is not an object, ResourceError if one is too long, IntegrityError if the file is
    damaged, and OSError.
    """
    import orjson

    for number, line in enumerate(_lines(file), 1):
        if not line.strip():
            continue
        try:
            record = orjson.loads(line)
        except orjson.JSONDecodeError as error:
            raise ScoreError(
                f"{file}:{number}: not a JSON object ({error}); expected a row with id, answers and keywords"
            ) from None
        if not isinstance(record, dict):
            raise ScoreError(f"{file}:{number}: expected a JSON object with id, answers and keywords")
        yield number, record


def _lines(file: Path) -> Iterator[bytes]:
    """Lines of a file, without the limit on unpacking that answers have: prompts are near-copies of each other."""
    from niah_score.formats.streams import Source

    with file.open("rb") as stream:
        try:
            for _, line in Source(file, stream, bounded=False).lines():
                yield line
        except ResourceError:
            raise
        except ScoreError as error:
            raise IntegrityError(str(error)) from None


def row_columns() -> dict[str, pl.DataType]:
    """The columns of rows that scoring needs."""
    import polars as pl

    text = pl.List(pl.String())
    return {
        "id": pl.String(),
        **dict.fromkeys(_TEXT, pl.String()),
        **dict.fromkeys(_WHOLE, pl.Int64()),
        "depth_percent": pl.Float64(),
        "question": pl.String(),
        **dict.fromkeys(_LISTS, text),
        **dict.fromkeys(_GROUPS, pl.List(text)),
    }


def _completed(frame: pl.DataFrame, file: Path, before: int = 0) -> _Part:
    """Rows with every column of the schema. Raises ScoreError for what scoring cannot use.

    `before`: how many rows of the file came before these.
    """
    import polars as pl

    listed, kinds = (*_LISTS, *_GROUPS), row_columns()
    absent = [pl.lit(None, kind).alias(name) for name, kind in kinds.items() if name not in frame.columns]
    try:
        frame = frame.with_columns(absent).select(pl.col(name).cast(kind) for name, kind in kinds.items())
    except pl.exceptions.PolarsError as error:
        raise ScoreError(f"{file}: a column does not match the contract: {str(error).splitlines()[0]}") from None
    empty = [pl.col(name).fill_null(pl.lit([], dtype=kinds[name])) for name in listed if name != "answers"]
    # Lists are slow to sort and to send; rows of one needle share them.
    targets, target = _different(frame.select("answers", *empty))
    # A copy that holds only its own texts; otherwise these few would keep those of all rows in memory.
    targets = pl.DataFrame(targets.to_arrow(compat_level=pl.CompatLevel.oldest()), schema=targets.schema)
    for place, row in enumerate(targets.iter_rows(named=True)):
        if (wrong := _wrong_lists(row)) is not None:
            number = before + (target == place).arg_max() + 1  # type: ignore[operator]
            raise ScoreError(f"{file}: row {number}: {wrong}")
    windows = (frame["metric"] == "nll").arg_true()
    if len(windows):
        raise ScoreError(
            f"{file}: row {before + windows[0] + 1} is a window that asks for log-probabilities, not for an answer; "
            "score it with niah-score perplexity"
        )
    no_answer = targets["answers"].list.len().fill_null(0) == 0
    blank = ((frame["id"].fill_null("") == "") | no_answer[target]).arg_true()
    if len(blank):
        raise ScoreError(f"{file}: row {before + blank[0] + 1}: id and answers must not be empty")
    by_keywords = (targets["keywords"].list.len() > 0)[target]
    own = pl.when(by_keywords).then(pl.lit("keyword")).otherwise(pl.lit("edit"))
    table = frame.drop(listed).with_columns(
        target, pl.col("metric").fill_null(own), pl.col("language").fill_null(pl.lit("en"))
    )
    return table, targets


def _different(lists: pl.DataFrame) -> tuple[pl.DataFrame, pl.Series]:
    """The different rows of a frame of lists, in order of first appearance, and for each row its index among them."""
    members = lists.with_row_index("row").group_by(lists.columns, maintain_order=True).agg("row")
    places = members.select("row").with_row_index("target").explode("row").sort("row")
    return members.drop("row"), places["target"]


def _wrong_lists(row: Mapping[str, Any]) -> str | None:
    """What is wrong with the lists of a row: a gap, an unknown kind, or not one item per keyword group."""
    for name in ("answers", "needles", *_GROUPS):
        if row[name] is not None and not _fits(name, row[name]):
            return f"{name}: holds a null or an empty group, expected texts (docs/rows.md)"
    wrong = next((kind for kind in row["keyword_kinds"] if not is_kind(kind or "")), None)
    if wrong is not None:
        return f"keyword_kinds: {wrong!r} is unknown; expected {kinds_expected()}"
    groups = len(row["keywords"])
    for name in ("keyword_kinds", "rejects"):
        if len(row[name]) not in (0, groups):
            return f"{name}: found {len(row[name])}, expected one for each of the {groups} keyword groups, or none"
    return None


def _from_records(records: Iterable[dict[str, Any]], file: Path, unit: str, before: int = 0) -> _Part:
    """Records as a part, hand-made ones included. `before`: how many records came before these."""
    import polars as pl

    kinds = row_columns()
    rows = []
    for number, record in enumerate(records, before + 1):
        where = f"{file}:{record['line']}" if unit == "line" else f"{file}: row {number}"
        answers, keywords = record.get("answers", record.get("answer")), record.get("keywords")
        row = {name: record.get(name) for name in kinds}
        row["answers"] = [answers] if isinstance(answers, str) else answers
        row["id"] = str(row["id"]) if type(row["id"]) is int else row["id"]
        keywords = [keywords] if isinstance(keywords, str) else keywords
        # Each text of a flat list is a group.
        row["keywords"] = (
            [[group] if isinstance(group, str) else group for group in keywords]
            if isinstance(keywords, list)
            else keywords
        )
        for name, expected in (("id", "a text"), ("answers", "a text or a list of texts")):
            if not row[name]:
                raise ScoreError(f"{where}: {name}: expected {expected}, found none")
        for name, value in row.items():
            if value is not None and not _fits(name, value):
                raise ScoreError(
                    f"{where}: {name}: found {str(value)[:80]!r}, which is not what a row holds there (docs/rows.md)"
                )
        rows.append(row)
    return _completed(pl.DataFrame(rows, kinds, orient="row"), file, before)


def _fits(name: str, value: Any) -> bool:
    if name in _LISTS:
        return isinstance(value, list) and all(isinstance(item, str) for item in value)
    if name in _GROUPS:
        return isinstance(value, list) and all(
            isinstance(group, list) and (group or name == "rejects") and all(isinstance(word, str) for word in group)
            for group in value
        )
    if name in _WHOLE:
        return type(value) is int and abs(value) < 2**62
    if name == "depth_percent":
        return type(value) in (int, float)
    return isinstance(value, str)
