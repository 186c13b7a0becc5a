"""Reads the needed columns of Parquet files, a batch of rows at a time, with page checksums verified."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from niah_score.errors import ResourceError, ScoreError
from niah_score.formats.answers import answers_of
from niah_score.formats.containers.streams import FREE_BYTES, MAX_RATIO, Source
from niah_score.formats.fields import field_of
from niah_score.formats.record import (
    Answer,
    FieldNames,
    Format,
    Malformed,
    NoAnswersError,
    UnreadableError,
    brief,
)
from niah_score.machine.files import is_refused

if TYPE_CHECKING:
    import pyarrow as pa

# The most rows in a batch, and the most bytes according to the file.
_BATCH_ROWS = 1024
_BATCH_BYTES = 2**24
# The most rows in a batch if a column that is coded by a dictionary is not read as one: a few bytes may then stand for
# many copies of a long text. Only flat columns can be read so, and Arrow loads a whole row group of them into memory.
_FEW_ROWS = 32
_DICTIONARY_BYTES = 2**24
# What a value costs besides its characters, in JSON and in memory.
_VALUE_BYTES = 16


class ParquetFields(NamedTuple):
    """What to read from a file: its format, the leaves of its columns, and the columns kept as dictionaries."""

    form: Format
    leaves: list[str]
    dictionaries: list[str]
    batch_rows: int


def fields_of(source: Source, formats: Sequence[Format], names: FieldNames, forced: Format | None) -> ParquetFields:
    """Recognise a file and what to read from it. Raises ScoreError if it is damaged or has no answers in it."""
    import pyarrow.parquet as pq

    path = source.path
    with _reading(path):
        file = pq.ParquetFile(source.file)
        schema = file.schema_arrow
        leaves = [file.schema.column(place).path for place in range(len(file.schema))]
        form, wanted = _format_and_columns(path, schema, leaves, formats, names, forced)
        leaves = [leaf for leaf in leaves if leaf in wanted or leaf.split(".")[0] in wanted]
        rows, sizes = file.metadata.num_rows, _sizes(file.metadata, set(leaves))
        total = sum(size.unpacked for size in sizes.values())
        _check_size(path, total + rows * len(leaves) * _VALUE_BYTES, source.size)
        dictionaries = [
            leaf
            for leaf, size in sizes.items()
            if leaf in schema.names and _is_text(schema.field(leaf).type) and 0 < size.coded <= _DICTIONARY_BYTES
        ]
        copied = any(size.coded for leaf, size in sizes.items() if leaf not in dictionaries)
        most = _FEW_ROWS if copied else _BATCH_ROWS
        return ParquetFields(form, leaves, dictionaries, max(1, min(most, _BATCH_BYTES * rows // max(1, total))))


def _format_and_columns(
    path: Path,
    schema: pa.Schema,
    leaves: Sequence[str],
    formats: Sequence[Format],
    names: FieldNames,
    forced: Format | None,
) -> tuple[Format, list[str]]:
    """The format of a file, and its columns or leaves that are read."""
    columns = list(schema.names)
    again = next((name for place, name in enumerate(columns) if name in columns[:place]), None)
    if again is not None:
        raise ScoreError(f"{path}: column {brief(again)} appears twice; keep the right one")
    nested = next(((form, layout) for form in formats for layout in form.layouts if _has(layout, columns)), None)
    named = [_named_column(path, field, columns) for field in names if field is not None]
    if nested is not None and forced in (None, nested[0]):
        form, layout = nested
        return form, [leaf for leaf in leaves if leaf.startswith(layout)] + named
    return _flat(path, schema, formats, names)


def _has(layout: tuple[str, ...], columns: list[str]) -> bool:
    return {leaf.split(".")[0] for leaf in layout} <= set(columns)


def _named_column(path: Path, field: str, columns: list[str]) -> str:
    """The column with the field that the user names."""
    column = field if field in columns else field.split(".")[0]
    if column not in columns:
        raise NoAnswersError(str(path), f"no column {column!r}; found {_shown(columns)}")
    return column


def _shown(columns: list[str]) -> str:
    return ", ".join(map(brief, columns[:20])) or "none"


def _flat(path: Path, schema: pa.Schema, formats: Sequence[Format], names: FieldNames) -> tuple[Format, list[str]]:
    """The format of a file with flat columns, and the columns that are read."""
    form, columns = next((form, form.columns) for form in formats if form.columns is not None)
    present = list(schema.names)
    text = field_of(present, columns.texts)
    if names.text_field is not None:
        text = _named_column(path, names.text_field, present)
    if text is None and columns.error not in present:
        raise NoAnswersError(
            str(path),
            f"no column with the answer's text; found {_shown(present)}; expected one of {', '.join(columns.texts)}, "
            "or name it with --text-field",
        )
    name = field_of(present, columns.ids)
    if names.id_field is not None:
        name = _named_column(path, names.id_field, present)
    prompt = field_of(present, (columns.prompt,))
    if name is not None and names.id_field in (None, name):
        kind = schema.field(name).type
        if not (_is_text(kind) or _is_whole(kind)):
            raise ScoreError(f"{path}: column {name!r} is {kind}; expected ids as text or whole numbers")
    if text is not None and not _can_be_text(schema.field(text).type):
        raise ScoreError(
            f"{path}: the answer is not text: column {text!r} is {schema.field(text).type}; expected text, content "
            "parts or chat messages, or name another column with --text-field"
        )
    others = [field_of(present, group) for group in ((columns.error,), *columns.others)]
    if name is None and prompt is None:
        form = form._replace(identify=columns.by_order)
    return form, [column for column in dict.fromkeys((name, text, prompt, *others)) if column is not None]


def _is_text(kind: pa.DataType) -> bool:
    import pyarrow as pa

    if pa.types.is_dictionary(kind):
        return _is_text(kind.value_type)
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _is_whole(kind: pa.DataType) -> bool:
    import pyarrow as pa

    return bool(_is_whole(kind.value_type) if pa.types.is_dictionary(kind) else pa.types.is_integer(kind))


def _can_be_text(kind: pa.DataType) -> bool:
    import pyarrow as pa

    nested = pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_struct(kind)
    return bool(_is_text(kind) or nested or pa.types.is_null(kind))


class _ColumnSize(NamedTuple):
    """Bytes of a column according to the file: unpacked, and of its largest chunk that is coded by a dictionary."""

    unpacked: int
    coded: int


def _sizes(metadata: Any, leaves: set[str]) -> dict[str, _ColumnSize]:
    """The sizes of some columns, in the order of the file."""
    sizes: dict[str, _ColumnSize] = {}
    for group in range(metadata.num_row_groups):
        for place in range(metadata.num_columns):
            column = metadata.row_group(group).column(place)
            if column.path_in_schema in leaves:
                before = sizes.get(column.path_in_schema, _ColumnSize(0, 0))
                size = max(0, column.total_uncompressed_size)
                coded = size if any("DICTIONARY" in coding for coding in column.encodings) else 0
                sizes[column.path_in_schema] = _ColumnSize(before.unpacked + size, max(before.coded, coded))
    return sizes


def _check_size(path: Path, unpacked: int, packed: int) -> None:
    if unpacked > FREE_BYTES and unpacked > MAX_RATIO * packed:
        raise ResourceError(
            f"{path}: unpacks to more than {MAX_RATIO} times its {packed:,} bytes, as decompression bombs do; if you "
            "trust it, write it as JSONL first"
        )


def read(source: Source, fields: ParquetFields, names: FieldNames) -> Iterator[Answer | Malformed]:
    """All rows; `line` is the row's number from 1."""
    packed = source.size
    unpacked = index = 0
    for batch in _batches(source, fields):
        _refuse_broken_texts(source.path, batch, index)
        unpacked += decoded_size(batch) + batch.num_rows * batch.num_columns * _VALUE_BYTES
        _check_size(source.path, unpacked, packed)
        for record in _rows(source.path, batch):
            index += 1
            try:
                answers = answers_of(fields.form, record, index, index - 1, names)
            except UnreadableError as error:
                yield Malformed(index, str(error))
            else:
                yield from answers


def _batches(source: Source, fields: ParquetFields) -> Iterator[pa.RecordBatch]:
    import pyarrow.parquet as pq

    with _reading(source.path):
        file = pq.ParquetFile(
            source.file, read_dictionary=fields.dictionaries, page_checksum_verification=True, pre_buffer=False
        )
        yield from file.iter_batches(fields.batch_rows, columns=fields.leaves, use_threads=False)


def _rows(path: Path, batch: pa.RecordBatch) -> Iterator[dict[str, Any]]:
    with _reading(path):
        columns = [_values(column) for column in batch.columns]
    names = batch.schema.names
    for row in zip(*columns, strict=True):
        yield dict(zip(names, row, strict=True))


def _values(column: pa.Array) -> list[Any]:
    """The values of a column; rows with the same dictionary value share one object."""
    import pyarrow as pa

    if not pa.types.is_dictionary(column.type):
        return list(column.to_pylist())
    coded = column.indices.dictionary_encode()
    values = column.dictionary.take(coded.dictionary).to_pylist()
    return [None if place is None else values[place] for place in coded.indices.to_pylist()]


def _refuse_broken_texts(path: Path, batch: pa.RecordBatch, before: int) -> None:
    """Raise ScoreError for texts that are not UTF-8, which Parquet does not enforce, and other invalid values."""
    import pyarrow as pa

    for column in batch.columns:
        try:
            column.validate(full=True)
        except pa.ArrowInvalid:
            raise ScoreError(
                f"{path}: row {before + 1} or one soon after it holds text that is not UTF-8; write the file again"
            ) from None


def decoded_size(batch: pa.RecordBatch) -> int:
    """The bytes of a batch with every value written out, also those that a dictionary holds once."""
    import pyarrow as pa
    import pyarrow.compute as pc

    total = 0
    for column in batch.columns:
        if pa.types.is_dictionary(column.type):
            lengths = pc.binary_length(column.dictionary)
            total += pc.sum(lengths.take(column.indices)).as_py() or 0
        else:
            total += column.nbytes
    return int(total)


def reader_crashed(name: Path, ending: str) -> ScoreError:
    """The error if the process that read a file ended by a signal or an exit code, `ending`."""
    if ending == "signal 9":
        return ResourceError(f"{name}: the process that read it was killed; it may need more memory than there is")
    return ScoreError(f"{name}: the Parquet file is damaged (its reader crashed: {ending}); get it again")


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    """Turn whatever the reader raises for a broken file into one sentence."""
    import pyarrow as pa

    try:
        yield
    except MemoryError:
        raise ResourceError(f"{path}: not enough memory for its pages; write it in smaller row groups") from None
    except (OSError, ValueError, OverflowError, pa.ArrowException) as error:
        if is_refused(error):
            raise
        reason = " ".join(str(error).split())[:200]
        raise ScoreError(f"{path}: the Parquet file is damaged or cut off ({reason}); get it again") from None
