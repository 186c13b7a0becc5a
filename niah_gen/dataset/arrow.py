"""Builds Arrow tables of rows with one chunk per column: Parquet cuts pages at chunks, which would lose the repeats.

Arrays are built from buffers: each prompt byte is copied once, from the shared haystack into the column. `pa.array`
would also import pandas if it is installed, which costs 0.15 s.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from niah_gen.rows.assemble import PendingRow
from niah_score.contract import PromptForm, row_schema

_NUMBERS: dict[pa.DataType, type[np.generic]] = {pa.int32(): np.int32, pa.int64(): np.int64, pa.float64(): np.float64}


class Scratch:
    """Reusable memory for the prompts of one group at a time: fresh pages cost more than copying.

    A table made with it is valid until the next one is made. `reserve`: the fewest bytes to allocate.
    """

    def __init__(self, reserve: int) -> None:
        self._reserve = reserve
        self._memory = np.empty(0, dtype=np.uint8)

    def fill(self, pieces: Iterable[bytes | memoryview], size: int) -> pa.Buffer:
        """The pieces joined; `size`: their bytes in total."""
        if size > len(self._memory):
            # A reserve costs nothing: only the pages that are written to take up memory.
            self._memory = np.empty(max(size, self._reserve), dtype=np.uint8)
        view = self._memory.data
        at = 0
        for piece in pieces:
            view[at : at + len(piece)] = piece
            at += len(piece)
        return pa.py_buffer(view[:size])


def table(drafts: Sequence[PendingRow], form: PromptForm, scratch: Scratch) -> pa.Table:
    """The rows as a table of the contract's schema, with their prompts in `scratch`."""
    schema = row_schema(form)
    truths: list[Mapping[str, Any]] = [draft.truth for draft in drafts]
    columns = [column([truth[name] for truth in truths], schema.field(name).type) for name in schema.names[:-1]]
    return pa.Table.from_arrays([*columns, _prompts(drafts, schema.field("prompt").type, scratch)], schema=schema)


def column(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """Python values as an Arrow array of a contract type: text, numbers, lists and structs of them, or null."""
    validity = _validity(values)
    if pa.types.is_list(kind):
        children = [column(list(itertools.chain.from_iterable(v or () for v in values)), kind.value_type)]
        return _array(kind, values, [validity, _offsets(map(len, (v or () for v in values)), np.int32)], children)
    if pa.types.is_struct(kind):
        children = [column([None if v is None else v[field.name] for v in values], field.type) for field in kind]
        return _array(kind, values, [validity], children)
    if kind in _NUMBERS:
        numbers = np.array([0 if v is None else v for v in values], dtype=_NUMBERS[kind])
        return _array(kind, values, [validity, pa.py_buffer(numbers)])
    encoded = [b"" if v is None else v.encode() for v in values]
    return _array(kind, values, [validity, _offsets(map(len, encoded), _width(kind)), pa.py_buffer(b"".join(encoded))])


def _prompts(drafts: Sequence[PendingRow], kind: pa.DataType, scratch: Scratch) -> pa.Array:
    if not pa.types.is_list(kind):
        return _texts([draft.messages[0].utf8 for draft in drafts], kind, scratch)
    struct = kind.value_type
    messages = [message for draft in drafts for message in draft.messages]
    roles = column([message.role for message in messages], struct.field("role").type)
    contents = _texts([message.utf8 for message in messages], struct.field("content").type, scratch)
    flat = _array(struct, messages, [None], [roles, contents])
    counts = (len(draft.messages) for draft in drafts)
    return _array(kind, drafts, [None, _offsets(counts, np.int32)], [flat])


def _width(kind: pa.DataType) -> type[np.generic]:
    return np.int64 if pa.types.is_large_string(kind) else np.int32


def _texts(texts: Sequence[tuple[bytes | memoryview, ...]], kind: pa.DataType, scratch: Scratch) -> pa.Array:
    """Texts, each given in pieces, as one string array."""
    sizes = [sum(map(len, pieces)) for pieces in texts]
    data = scratch.fill(itertools.chain.from_iterable(texts), sum(sizes))
    return _array(kind, texts, [None, _offsets(sizes, _width(kind)), data])


def _offsets(sizes: Iterable[int], width: type[np.generic]) -> pa.Buffer:
    return pa.py_buffer(np.fromiter(itertools.accumulate(sizes, initial=0), dtype=width))


def _validity(values: Sequence[Any]) -> pa.Buffer | None:
    if None not in values:
        return None
    return pa.py_buffer(np.packbits([value is not None for value in values], bitorder="little"))


def _array(
    kind: pa.DataType, values: Sequence[Any], buffers: list[pa.Buffer | None], children: list[pa.Array] | None = None
) -> pa.Array:
    return pa.Array.from_buffers(kind, len(values), buffers, children=children)
