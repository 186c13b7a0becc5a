"""Reads the truth of a dataset's rows as one table, sorted by id. Prompts are only hashed, as parts of their file.

A dataset is a folder (niah_score.contract), one of its data files, or any Parquet or JSONL file with id, answers and
keywords; hand-made ones may have `answer` for a single answer, and keywords as one flat list.
"""

from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from niah_score.contract import MANIFEST, SCHEMA_VERSION, Manifest, PartEntry
from niah_score.errors import IntegrityError, ResourceError, ScoreError
from niah_score.join.dataset_files import DatasetFiles, each_intact, find_files
from niah_score.join.row_columns import OF_ONE_ROW, RowsPart, completed, different, from_records, row_columns
from niah_score.machine.refusals import is_refused, reading
from niah_score.machine.unpacking import batch_rows, bomb, long_line, packed_group

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa
    import pyarrow.parquet as pq

_BATCH = 32_768
# Rows that are scored together.
CHUNK_ROWS = 16_384
# In characters.
_LONGEST_LITERAL = 4096


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
        """The table, or some of its columns, after a first column `place`: the index of each row."""
        import polars as pl

        table = self.table.select(columns) if columns else self.table
        return table.with_row_index("place").with_columns(pl.col("place").cast(pl.Int64))


def read_rows(dataset: Path) -> Rows:
    """Read a dataset's truth. Raises ScoreError or ContractError naming file, line and field."""
    files = find_files(dataset)
    return sorted_rows(files, list(each_intact(files, parts_of)), dataset)


def sorted_rows(files: DatasetFiles, parts: Sequence[RowsPart], dataset: Path) -> Rows:
    """All rows of a dataset's files as one table. Raises what `read_rows` does."""
    import polars as pl

    if not parts:
        raise ScoreError(f"{dataset}: holds no rows")
    table, targets = together(parts)
    check_count(table.height, files.manifest, dataset)
    table = table.with_row_index("order")
    if not table["id"].is_sorted():
        table = table[table["id"].arg_sort()]
    again = table.filter(pl.col("id") == pl.col("id").shift(1))
    if again.height:
        raise doubled_id(dataset, again["id"][0], again["id"].n_unique())
    check_parts(table, files.parts, dataset)
    digest8 = files.manifest.digest8 if files.manifest else IdDigest().add(table["id"]).digest8
    return Rows(table, targets, files.name, digest8, files.manifest, files.parts)


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


def check_parts(table: pl.DataFrame, parts: Sequence[PartEntry], dataset: Path) -> None:
    """Raise IntegrityError if a row belongs to a part that the manifest does not list."""
    if not parts:
        return
    there = table["part"].unique().sort().to_list() if "part" in table.columns else [None]
    unknown = [name for name in there if name not in {part.name for part in parts}]
    if unknown:
        row = "rows without a part" if unknown[0] is None else f"rows of the part {unknown[0]!r}"
        raise IntegrityError(
            f"{dataset}: holds {row}, but the parts of its {MANIFEST} are {', '.join(part.name for part in parts)}; "
            "build it again"
        )


class IdDigest:
    """The sha256 of sorted ids, one per line, computed without joining them all into one text."""

    def __init__(self) -> None:
        self._digest, self._any = sha256(), False

    def add(self, ids: pl.Series) -> IdDigest:
        """Take the next ids."""
        for part in ids.to_frame().iter_slices(_BATCH):
            self._digest.update(b"\n" * self._any + part["id"].str.join("\n").item().encode())
            self._any = True
        return self

    @property
    def digest8(self) -> str:
        return self._digest.hexdigest()[:8]


def together(parts: Sequence[RowsPart]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The rows of all parts, and the different lists of all, in order of first appearance."""
    import polars as pl

    lists, codes = different(pl.concat([part.targets for part in parts], how="vertical"))
    tables, first = [], 0
    for table, targets in parts:
        tables.append(table.with_columns(codes[first + table["target"]].alias("target")))
        first += targets.height
    # In one piece, because sorting takes rows from all over it.
    return stacked(tables).rechunk(), lists


def stacked(frames: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Frames as one; a column with the same text in all rows holds it once, a column that a frame lacks is null there.

    polars keeps 16 bytes per row for every column of texts, even if all are null, unless it is a literal. Making a
    literal takes ten times the memory of its text, so longer texts stay as they are.
    """
    import polars as pl

    filled = [frame for frame in frames if frame.height] or list(frames[:1])
    columns = list(dict.fromkeys(name for frame in filled for name in frame.columns))
    same = {
        name: filled[0][name][0]
        for name in columns
        if all(frame.schema.get(name) == pl.String and frame.height for frame in filled)
        and _holds_one_text([frame[name] for frame in filled])
    }
    rest = pl.concat([frame.drop(*same) for frame in filled], how="diagonal", rechunk=False)
    literals = (pl.lit(text, dtype=pl.String).alias(name) for name, text in same.items())
    return rest.with_columns(literals).select(columns)


def _holds_one_text(columns: Sequence[pl.Series]) -> bool:
    """Whether all values of some columns are the same short text, or all null."""
    first = columns[0][0]
    if first is not None and len(first) > _LONGEST_LITERAL:
        return False
    # Comparing the last values rules out most columns at once.
    return all(column[-1] == first for column in columns) and all(
        bool(column.eq_missing(first).all()) for column in columns
    )


def parts_of(file: Path) -> Iterator[RowsPart]:
    """The rows of a file, some ten thousand at a time; at least one part. Raises what `read_rows` does."""
    with reading(file):
        with file.open("rb") as stream:
            magic = stream.read(4)
        yield from _from_parquet(file) if magic == b"PAR1" else _from_json_lines(file)


def _from_parquet(file: Path) -> Iterator[RowsPart]:
    """The wanted columns of a Parquet file, page checksums verified, some ten thousand rows at a time.

    Columns of texts that rows share are read as dictionaries, which is faster and holds each text once.
    """
    import polars as pl
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        # As bytes, Arrow also takes file names that are not UTF-8.
        about = pq.read_metadata(pa.OSFile(os.fsencode(file)))
        schema = about.schema.to_arrow_schema()
        _check_version((about.metadata or {}).get(b"niah_schema_version"), file)
        wanted = [name for name in (*row_columns(), "answer") if name in schema.names]
        texts = _shared_texts(about, wanted)
        with pq.ParquetFile(
            pa.OSFile(os.fsencode(file)), page_checksum_verification=True, metadata=about, read_dictionary=texts
        ) as opened:
            if (problem := packed_group(file, about)) is not None:
                raise ResourceError(problem)
            if _is_hand_made(schema):
                rows = batch_rows(about, _BATCH, wanted)
                yield from _hand_made(file, opened.iter_batches(rows, columns=wanted))
                return
            # Dictionaries hold each text once, so they do not limit the size of a batch.
            rows = batch_rows(about, _BATCH, {*wanted}.difference(texts))
            # The first batch is empty, since even a file without rows must have the columns of a dataset.
            # `Schema.empty_table` would import pandas.
            empty = pa.Table.from_batches([], schema).select(wanted)
            before = 0
            for batch in chain([empty], _bounded(file, opened.iter_batches(rows, columns=wanted))):
                frame = pl.from_arrow(batch)
                assert isinstance(frame, pl.DataFrame)
                yield completed(frame, file, before)
                before += frame.height
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


def _hand_made(file: Path, batches: Iterable[pa.RecordBatch]) -> Iterator[RowsPart]:
    before = 0
    for batch in _bounded(file, batches, written_out=True):
        yield from_records(batch.to_pylist(), file, "row", before)
        before += batch.num_rows
    if not before:
        yield from_records([], file, "row")


def _bounded(file: Path, batches: Iterable[pa.RecordBatch], *, written_out: bool = False) -> Iterator[pa.RecordBatch]:
    """The batches of a file. Raises ResourceError once they show that it is a decompression bomb.

    written_out: whether texts in dictionaries will be written out, as Python objects are.
    """
    from niah_score.formats.containers.parquet import decoded_size

    packed, done = file.stat().st_size, 0
    for batch in batches:
        done += decoded_size(batch) if written_out else batch.nbytes
        if (problem := bomb(file, done, packed)) is not None:
            raise ResourceError(problem)
        yield batch


def _is_hand_made(schema: pa.Schema) -> bool:
    """Whether a Parquet file has a column `answer`, or texts where rows have lists."""
    kinds = {name: schema.field(name).type for name in ("answer", "answers", "keywords") if name in schema.names}
    if "answers" not in kinds and "answer" in kinds:
        return True
    texts, groups = kinds.get("answers"), kinds.get("keywords")
    return _is_text(texts) or _is_text(groups) or _is_text(getattr(groups, "value_type", None))


def _is_text(kind: pa.DataType | None) -> bool:
    import pyarrow as pa

    return kind is not None and bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _shared_texts(about: pq.FileMetaData, wanted: Sequence[str]) -> list[str]:
    """The wanted columns of texts that rows share. Not lists of texts, which Arrow cannot combine as dictionaries."""
    leaves = (about.schema.column(number) for number in range(len(about.schema)))
    shared = {*wanted} - {*OF_ONE_ROW}
    return [leaf.path for leaf in leaves if leaf.logical_type.type == "STRING" and leaf.path in shared]


def _check_version(version: object, file: Path) -> None:
    if isinstance(version, bytes) and version.isdigit() and int(version) > SCHEMA_VERSION:
        raise ScoreError(
            f"{file}: schema version {int(version)} is newer than the {SCHEMA_VERSION} that this release reads; "
            "upgrade niah-kit"
        )


def _from_json_lines(file: Path) -> Iterator[RowsPart]:
    """The rows of a JSONL file. Lines are read whole, but prompts are not kept."""
    records: list[dict[str, Any]] = []
    before = 0
    columns = (*row_columns(), "answer")
    for number, record in json_objects(file):
        records.append({"line": number, **{name: record[name] for name in columns if name in record}})
        if len(records) == _BATCH:
            yield from_records(records, file, "line", before)
            before += len(records)
            records = []
    if records or not before:
        yield from_records(records, file, "line", before)


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


def _bounded_lines(file: Path, chunks: Iterable[bytes]) -> Iterator[bytes]:
    """The chunks of a file. Raises ResourceError if a line in them is too long."""
    held = 0
    for chunk in chunks:
        first = chunk.find(b"\n")
        held += len(chunk) if first < 0 else first
        if (problem := long_line(file, held)) is not None:
            raise ResourceError(problem)
        if first >= 0:
            held = len(chunk) - chunk.rfind(b"\n") - 1
        yield chunk


def _lines(file: Path) -> Iterator[bytes]:
    """Lines of a file, without the limit on unpacking that answers have: prompts are near-copies of each other."""
    import zstandard

    from niah_score.formats.containers.streams import file_range, is_packed, lines, pieces, without_mark

    with file.open("rb") as stream:
        first = stream.read(16)
        stream.seek(0)
        chunks = pieces(stream, first) if is_packed(first) else file_range(file, stream, 0, None)
        try:
            for batch, _ in lines(_bounded_lines(file, without_mark(chunks))):
                yield from batch
        except (EOFError, gzip.BadGzipFile, zlib.error, zstandard.ZstdError) as error:
            raise IntegrityError(f"{file}: damaged or cut off ({error}); build the dataset again") from None
