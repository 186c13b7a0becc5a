"""Reads the truth of a dataset's rows as one table, sorted by id. Of prompts, only the sha256 of the file is computed.

A dataset is a folder (niah_score.contract), one of its data files, or any Parquet or JSONL file with id, answers and
keywords; hand-made ones may say `answer` for a single answer and give keywords as one flat list.
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
from niah_score.join.dataset_files import DatasetFiles, find_files, read_intact
from niah_score.join.row_columns import OF_ONE_ROW, RowsPart, completed, different, from_records, row_columns
from niah_score.machine.refusals import is_refused
from niah_score.machine.unpacking import batch_rows, bomb, long_line, packed_group

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa
    import pyarrow.parquet as pq

_BATCH = 32_768
# Rows that are scored together.
CHUNK_ROWS = 16_384


@dataclass(frozen=True)
class Rows:
    """The truth of a dataset. `table`: a frame sorted by id; `order`: its column of places in the files.

    `targets`: what answers are judged against, each once; the table's column `target` is the index among them.
    `digest8`: the eight characters of the dataset's folder; for rows that are no whole dataset with a manifest, the
    first 8 hex of the sha256 of the sorted ids. `parts`: those of the dataset that the rows belong to, with their
    weights; none where its manifest names none, or there is no manifest.
    """

    table: pl.DataFrame
    targets: pl.DataFrame
    name: str
    digest8: str
    manifest: Manifest | None
    parts: tuple[PartEntry, ...] = ()

    def whole(self) -> pl.DataFrame:
        """The table with what answers are judged against in every row."""
        import polars as pl

        return pl.concat([self.table, self.targets[self.table["target"]]], how="horizontal")


def read_rows(dataset: Path) -> Rows:
    """Read a dataset's truth. Raises ScoreError or ContractError naming file, line and field."""
    found = find_files(dataset)
    return sorted_rows(found, read_intact(found, parts_of), dataset)


def sorted_rows(found: DatasetFiles, parts: Sequence[RowsPart], dataset: Path) -> Rows:
    """All rows of a dataset's files as one table. Raises what `read_rows` does."""
    import polars as pl

    if not parts:
        raise ScoreError(f"{dataset}: holds no rows")
    table, targets = together(parts)
    check_count(table.height, found.manifest, dataset)
    table = table.with_row_index("order")
    if not table["id"].is_sorted():
        table = table[table["id"].arg_sort()]
    again = table.filter(pl.col("id") == pl.col("id").shift(1))
    if again.height:
        raise doubled_id(dataset, again["id"][0], again["id"].n_unique())
    check_parts(table, found.parts, dataset)
    digest8 = found.manifest.digest8 if found.manifest else IdDigest().add(table["id"]).digest8
    return Rows(table, targets, found.name, digest8, found.manifest, found.parts)


def check_count(rows: int, manifest: Manifest | None, dataset: Path) -> None:
    """Raise ScoreError where there are no rows, IntegrityError where there are not as many as the manifest says."""
    if manifest is not None and rows != manifest.rows:
        raise IntegrityError(f"{dataset}: its files hold {rows} rows, {MANIFEST} says {manifest.rows}; build it again")
    if not rows:
        raise ScoreError(f"{dataset}: holds no rows")


def doubled_id(dataset: Path, name: str, several: int) -> ScoreError:
    """What is wrong where an id stands in several rows."""
    return ScoreError(f"{dataset}: id {name!r} stands in {several} rows or more; every id names one row")


def check_parts(table: pl.DataFrame, parts: Sequence[PartEntry], dataset: Path) -> None:
    """Raise IntegrityError where a row is of a part that the manifest gives no weight."""
    if not parts:
        return
    there = table["part"].unique().sort().to_list() if "part" in table.columns else [None]
    unknown = [name for name in there if name not in {part.name for part in parts}]
    if unknown:
        row = "rows without a part" if unknown[0] is None else f"rows of the part {unknown[0]!r}"
        raise IntegrityError(
            f"{dataset}: holds {row}, and the parts of its {MANIFEST} are {', '.join(part.name for part in parts)}; "
            "build it again"
        )


class IdDigest:
    """The sha256 of sorted ids, a line each, without bringing them all into one text."""

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
    """The rows of all parts, and the different lists of all, in the order of the first row that has them."""
    import polars as pl

    lists, codes = different(pl.concat([part.targets for part in parts], how="vertical"))
    tables, first = [], 0
    for table, targets in parts:
        tables.append(table.with_columns(codes[first + table["target"]].alias("target")))
        first += targets.height
    # In one piece, as sorting takes rows from all over it.
    return stacked(tables).rechunk(), lists


def stacked(frames: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Frames as one; a text that all rows have in a column is held once, a column that a frame lacks is null there.

    polars keeps 16 bytes a row of every column of texts, also of null ones, unless it is a literal.
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
    """Whether all values of some columns are the same, or all null."""
    first = columns[0][0]
    # The last ones tell most columns apart at once.
    return all(column[-1] == first for column in columns) and all(
        bool(column.eq_missing(first).all()) for column in columns
    )


def parts_of(file: Path) -> Iterator[RowsPart]:
    """The rows of a file, some ten thousands at a time; one part at least. Raises what `read_rows` does."""
    try:
        with file.open("rb") as stream:
            magic = stream.read(4)
        yield from _from_parquet(file) if magic == b"PAR1" else _from_json_lines(file)
    except OSError as error:
        if is_refused(error):
            raise
        raise ScoreError(f"{file}: cannot be read ({error.strerror or error})") from None


def _from_parquet(file: Path) -> Iterator[RowsPart]:
    """The wanted columns of a Parquet file, page checksums verified, some ten thousands of rows at a time.

    Texts that rows share are read as numbers into a list of the different ones, which is faster and holds each once.
    """
    import polars as pl
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        # Arrow takes names that are no UTF-8 as bytes.
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
            is_hand_made = _is_hand_made(schema)
            # A column that is read as numbers holds each text once.
            rows = batch_rows(about, _BATCH, wanted if is_hand_made else {*wanted}.difference(texts))
            if is_hand_made:
                batches = _bounded(file, opened.iter_batches(rows, columns=wanted), written_out=True)
                before = 0
                for batch in batches:
                    yield from_records(batch.to_pylist(), file, "row", before)
                    before += batch.num_rows
                if not before:
                    yield from_records([], file, "row")
                return
            # First one without rows, for even a file without any must have the columns of a dataset.
            # `Schema.empty_table` would import pandas.
            empty = pa.Table.from_batches([], schema).select(wanted)
            batches = chain([empty], _bounded(file, opened.iter_batches(rows, columns=wanted)))
            before = 0
            for batch in batches:
                frame = pl.from_arrow(batch)
                assert isinstance(frame, pl.DataFrame)
                yield completed(frame, file, before)
                before += frame.height
            # Batches end where the shortest column does.
            if before != about.num_rows:
                raise IntegrityError(f"{file}: holds {before} rows and not {about.num_rows}; build it again")
    # A damaged name is no text, and polars panics over what Arrow lets pass.
    except (pa.ArrowException, OSError, ValueError, pl.exceptions.PanicException) as error:
        if is_refused(error):
            raise
        raise IntegrityError(
            f"{file}: cannot be read as Parquet ({next(iter(str(error).splitlines()), '')}); build it again"
        ) from None


def _decoded_size(batch: pa.RecordBatch) -> int:
    """The bytes of a batch with every text written out, also those that a dictionary holds once."""
    import pyarrow as pa
    import pyarrow.compute as pc

    total = 0
    for column in batch.columns:
        if pa.types.is_dictionary(column.type):
            total += pc.sum(pc.binary_length(column.dictionary).take(column.indices)).as_py() or 0
        else:
            total += column.nbytes
    return total


def _bounded(file: Path, batches: Iterable[pa.RecordBatch], *, written_out: bool = False) -> Iterator[pa.RecordBatch]:
    """The batches of a file, as long as it is no decompression bomb. Raises ResourceError.

    written_out: whether every text will be written out, as objects of Python are.
    """
    packed, done = file.stat().st_size, 0
    for batch in batches:
        done += _decoded_size(batch) if written_out else batch.nbytes
        if (problem := bomb(file, done, packed)) is not None:
            raise ResourceError(problem)
        yield batch


def _is_hand_made(schema: pa.Schema) -> bool:
    """Whether a Parquet file says `answer`, or has texts where rows have lists."""
    kinds = {name: schema.field(name).type for name in ("answer", "answers", "keywords") if name in schema.names}
    if "answers" not in kinds and "answer" in kinds:
        return True
    texts, groups = kinds.get("answers"), kinds.get("keywords")
    return _is_text(texts) or _is_text(groups) or _is_text(getattr(groups, "value_type", None))


def _is_text(kind: pa.DataType | None) -> bool:
    import pyarrow as pa

    return kind is not None and bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _shared_texts(about: pq.FileMetaData, wanted: Sequence[str]) -> list[str]:
    """The wanted columns of texts that rows share. Not lists of texts: Arrow cannot piece them together as numbers."""
    leaves = (about.schema.column(number) for number in range(len(about.schema)))
    shared = {*wanted} - {*OF_ONE_ROW}
    return [leaf.path for leaf in leaves if leaf.logical_type.type == "STRING" and leaf.path in shared]


def _check_version(found: object, file: Path) -> None:
    if isinstance(found, bytes) and found.isdigit() and int(found) > SCHEMA_VERSION:
        raise ScoreError(
            f"{file}: schema version {int(found)} is newer than the {SCHEMA_VERSION} that this release reads; "
            "upgrade niah-kit"
        )


def _from_json_lines(file: Path) -> Iterator[RowsPart]:
    """A JSONL file, plain, .gz or .zst. Its prompts pass by, as lines are read whole."""
    import orjson

    records: list[dict[str, Any]] = []
    before = 0
    columns = (*row_columns(), "answer")
    for number, line in enumerate(_lines(file), 1):
        if not line.strip():
            continue
        try:
            record = orjson.loads(line)
        except orjson.JSONDecodeError as error:
            raise ScoreError(
                f"{file}:{number}: no JSON object ({error}); expected a row with id, answers and keywords"
            ) from None
        if not isinstance(record, dict):
            raise ScoreError(f"{file}:{number}: expected a JSON object with id, answers and keywords")
        records.append({"line": number, **{name: record[name] for name in columns if name in record}})
        if len(records) == _BATCH:
            yield from_records(records, file, "line", before)
            before += len(records)
            records = []
    if records or not before:
        yield from_records(records, file, "line", before)


def _bounded_lines(file: Path, chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Bytes, as long as no line of them is too long. Raises ResourceError."""
    held = 0
    for chunk in chunks:
        end = chunk.rfind(b"\n")
        held = len(chunk) - end - 1 if end >= 0 else held + len(chunk)
        if (problem := long_line(file, held)) is not None:
            raise ResourceError(problem)
        yield chunk


def _lines(file: Path) -> Iterator[bytes]:
    """Lines of a file; without the limit on unpacking that answers have, for prompts are near-copies of each other."""
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
