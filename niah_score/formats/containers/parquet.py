"""Parquet in, Answers and Malformed out: the columns that are needed, a batch at a time, page checksums verified."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from niah_score.errors import ResourceError, ScoreError
from niah_score.formats.containers.streams import FREE_BYTES, MAX_RATIO
from niah_score.formats.fields import answers_of
from niah_score.formats.harness import LIGHTEVAL
from niah_score.formats.plain import (
    ERROR_FIELD,
    FINISH_FIELDS,
    ID_FIELDS,
    ORDERED,
    PARQUET,
    PROMPT_FIELD,
    REASONING_FIELDS,
    SAMPLE_FIELDS,
    TEXT_FIELDS,
)
from niah_score.formats.record import Answer, Choice, Format, Malformed, UnreadableError, brief

if TYPE_CHECKING:
    import pyarrow as pa

_BATCH_ROWS = 1024
# A row of these may hold a whole chat.
_NESTED_BATCH_ROWS = 16


class Layout(NamedTuple):
    """What to read of a file: its format, the leaves of its columns, and the columns kept as dictionaries."""

    kind: Format
    columns: list[str]
    dictionaries: list[str]
    batch_rows: int


def layout_of(path: Path, choice: Choice, forced: Format | None) -> Layout:
    """The columns to read. Raises ScoreError if the file cannot be read or has no answers in it."""
    import pyarrow.parquet as pq

    with _reading(path), pq.ParquetFile(path) as file:
        schema = file.schema_arrow
        leaves = [file.schema.column(place).path for place in range(len(file.schema))]
        names = list(schema.names)
        again = next((name for place, name in enumerate(names) if name in names[:place]), None)
        if again is not None:
            raise ScoreError(f"{path}: column {brief(again)} is there twice; keep the right one")
        lighteval = {"__doc__", "__model_response__"} <= set(names)
        if lighteval and choice == Choice() and forced in (None, LIGHTEVAL):
            kind = LIGHTEVAL
            wanted = [leaf for leaf in leaves if _wanted_of_lighteval(leaf)]
        else:
            kind, wanted = _plain_columns(path, schema, choice, forced)
        columns = [leaf for leaf in leaves if leaf in wanted or leaf.split(".")[0] in wanted]
        _refuse_bomb(path, file.metadata, set(columns))
        flat = [name for name in columns if name in names]
        return Layout(
            kind,
            columns,
            [name for name in flat if _is_text(schema.field(name).type) and _dictionary_coded(file.metadata, name)],
            _BATCH_ROWS if len(flat) == len(columns) else _NESTED_BATCH_ROWS,
        )


def _wanted_of_lighteval(leaf: str) -> bool:
    return leaf.startswith(
        (
            "__doc__.id",
            "__doc__.query",
            "__doc__.specific.id",
            "__doc__.choices",
            "__doc__.gold_index",
            "__model_response__.text.",
            "__model_response__.reasonings.",
        )
    )


def _plain_columns(path: Path, schema: pa.Schema, choice: Choice, forced: Format | None) -> tuple[Format, list[str]]:
    names = list(schema.names)

    def first(known: tuple[str, ...]) -> str | None:
        return next((name for name in known if name in names), None)

    def named(field: str) -> str:
        column = field if field in names else field.split(".")[0]
        if column not in names:
            raise ScoreError(f"{path}: no column {column!r}; found {', '.join(map(brief, names[:20]))}")
        return column

    text = first(TEXT_FIELDS) if choice.text_field is None else named(choice.text_field)
    if text is None and ERROR_FIELD not in names:
        raise ScoreError(
            f"{path}: no column with the answer's text; found {', '.join(map(brief, names[:20])) or 'none'}; expected "
            f"{TEXT_FIELDS[0]!r} (or another one that docs/formats.md lists), or name it with --text-field"
        )
    whose = first(ID_FIELDS) if choice.id_field is None else named(choice.id_field)
    # The prompt is long, and needed only to tell whose answer it is.
    prompt = first((PROMPT_FIELD,)) if whose is None else None
    if whose is not None and choice.id_field in (None, whose):
        kind = schema.field(whose).type
        if not (_is_text(kind) or _is_whole(kind)):
            raise ScoreError(f"{path}: column {whose!r} is {kind}; expected ids as text or whole numbers")
    for name in (text, prompt):
        if name is not None and not _can_be_text(schema.field(name).type):
            raise ScoreError(
                f"{path}: the answer is not text: column {name!r} is {schema.field(name).type}; expected text, content "
                "parts or chat messages, or name another column with --text-field"
            )
    extra = [first((ERROR_FIELD,)), first(FINISH_FIELDS), first(REASONING_FIELDS), first(SAMPLE_FIELDS)]
    columns = [name for name in dict.fromkeys((whose, text, prompt, *extra)) if name is not None]
    return ORDERED if forced is ORDERED or (whose is None and prompt is None) else PARQUET, columns


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


def _dictionary_coded(metadata: Any, name: str) -> bool:
    """Whether a few bytes may stand for many copies of a long text, which are better not all made at once."""
    for group in range(metadata.num_row_groups):
        for place in range(metadata.num_columns):
            column = metadata.row_group(group).column(place)
            if column.path_in_schema == name and any("DICTIONARY" in coding for coding in column.encodings):
                return True
    return False


def _refuse_bomb(path: Path, metadata: Any, columns: set[str]) -> None:
    total = 0
    for group in range(metadata.num_row_groups):
        for place in range(metadata.num_columns):
            column = metadata.row_group(group).column(place)
            total += column.total_uncompressed_size if column.path_in_schema in columns else 0
    _check_size(path, total, path.stat().st_size)


def _check_size(path: Path, unpacked: int, packed: int) -> None:
    if unpacked > FREE_BYTES and unpacked > MAX_RATIO * packed:
        raise ResourceError(
            f"{path}: unpacks to more than {MAX_RATIO} times its {packed:,} bytes, as decompression bombs do; if you "
            "trust it, write it as JSONL first"
        )


def read(path: Path, layout: Layout, choice: Choice) -> Iterator[Answer | Malformed]:
    """All rows; `line` is the row's number from 1."""
    packed = path.stat().st_size
    unpacked = index = 0
    for batch in _batches(path, layout):
        unpacked += batch.nbytes
        _check_size(path, unpacked, packed)
        for record in _rows(path, batch, index):
            index += 1
            try:
                found = answers_of(layout.kind, record, index, index - 1, choice)
            except UnreadableError as error:
                yield Malformed(index, str(error))
            else:
                yield from found


def _batches(path: Path, layout: Layout) -> Iterator[pa.RecordBatch]:
    import pyarrow.parquet as pq

    with (
        _reading(path),
        pq.ParquetFile(
            path, read_dictionary=layout.dictionaries, page_checksum_verification=True, pre_buffer=False
        ) as file,
    ):
        yield from file.iter_batches(layout.batch_rows, columns=layout.columns, use_threads=False)


def _rows(path: Path, batch: pa.RecordBatch, before: int) -> Iterator[dict[str, Any]]:
    import pyarrow as pa

    names = batch.schema.names
    # One value of a dictionary at a time: the copies of a long one are never there together.
    columns = [
        (value.as_py() for value in column) if pa.types.is_dictionary(column.type) else column.to_pylist()
        for column in _decoded(path, batch.columns, before)
    ]
    values = zip(*columns, strict=True)
    while True:
        try:
            row = next(values, None)
        except UnicodeDecodeError:
            raise _not_utf8(path, before) from None
        if row is None:
            return
        yield dict(zip(names, row, strict=True))


def _decoded(path: Path, columns: list[pa.Array], before: int) -> list[pa.Array]:
    """The columns, once their texts are known to be UTF-8, which Parquet does not enforce."""
    import pyarrow as pa

    for column in columns:
        try:
            column.validate(full=True)
        except pa.ArrowInvalid:
            raise _not_utf8(path, before) from None
    return columns


def _not_utf8(path: Path, before: int) -> ScoreError:
    return ScoreError(
        f"{path}: row {before + 1} or one soon after it holds text that is not UTF-8; write the file again"
    )


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    """Whatever the reader raises for a broken file, as one sentence."""
    import pyarrow as pa

    try:
        yield
    except MemoryError:
        raise ResourceError(f"{path}: not enough memory for its pages; write it in smaller row groups") from None
    except (OSError, ValueError, pa.ArrowException) as error:
        reason = " ".join(str(error).split())[:200]
        raise ScoreError(f"{path}: the Parquet file is damaged or cut off ({reason}); get it again") from None
