"""Draws documents from a corpus that is too large to be read whole, in one pass and bounded memory.

Each document has a lot: the sha256 of the digest of the corpus's files, a seed and the document's number. Those with
the lowest lots are drawn until their text reaches a size, and keep their order. So the choice depends on the corpus and
the seed alone, not on the pieces in which its files are read, and a larger size only adds documents.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import NamedTuple

from niah_gen.corpora.documents import Document

# In words, for manifests. The number counts the documents of the corpus from 0.
RULE = "lowest sha256 of '<sha256 of the files>/<seed>/<number>', in reading order, until they reach the size"
# Bytes that a document takes besides its text; counted with it, so that many tiny ones fit in memory too.
DOCUMENT_BYTES = 256
_MOST_UTF8 = 4  # bytes of a character


class Bounds(NamedTuple):
    """How much of a corpus is read. A corpus of at most `whole` bytes is read whole.

    From a larger one, documents are drawn by `seed` until they reach `drawn` bytes. A document counts as the UTF-8
    bytes of its text and summary, plus 256.
    """

    whole: int
    drawn: int
    seed: int


@dataclass(frozen=True, slots=True)
class CorpusDraw:
    """How the documents of a corpus were drawn. `size`: asked for, in bytes; `of`: documents of the whole corpus."""

    size: int
    seed: int
    of: int


class _Ticket(NamedTuple):
    """A document in the draw; `lot` is negative, as heaps have their lowest entry on top."""

    lot: int
    number: int
    size: int
    document: Document


class Reservoir:
    """Takes a corpus's documents one after another and holds those drawn so far.

    Usage: for each document in order, `wanted()` tells whether to read it; then `add` it, or None.
    """

    def __init__(self, digest: str, bounds: Bounds) -> None:
        self._bounds = bounds
        self._start = hashlib.sha256(f"{digest}/{bounds.seed}/".encode())
        self._all: list[Document] | None = []
        self._tickets: list[_Ticket] = []
        self._size = 0
        # While the corpus is read whole: the most that it can measure, so that small ones need not be measured.
        self._most = self._measured = 0
        self._number = 0
        self._lowest_dropped = 1 << 256

    def wanted(self) -> bool:
        """Whether the next document may be drawn."""
        return self._all is not None or self._lot(self._number) < self._lowest_dropped

    def add(self, document: Document | None) -> None:
        """Take the next document, None for one that was not wanted."""
        number = self._number
        self._number += 1
        if document is None:
            return
        if self._all is not None:
            self._all.append(document)
            self._most += _MOST_UTF8 * (len(document.text) + len(document.summary)) + DOCUMENT_BYTES
            if self._most > self._bounds.whole:
                self._measure(self._all)
        elif (lot := self._lot(number)) < self._lowest_dropped:
            size = document_size(document)
            self._size += size
            heappush(self._tickets, _Ticket(-lot, number, size, document))
            self._drop()

    def documents(self) -> tuple[Document, ...]:
        """What was read or drawn, in the corpus's order."""
        if self._all is not None:
            return tuple(self._all)
        return tuple(ticket.document for ticket in sorted(self._tickets, key=lambda ticket: ticket.number))

    def draw(self) -> CorpusDraw | None:
        """How documents were drawn; None for a corpus that was read whole."""
        return None if self._all is not None else CorpusDraw(self._bounds.drawn, self._bounds.seed, self._number)

    def _lot(self, number: int) -> int:
        state = self._start.copy()
        state.update(b"%d" % number)
        return int.from_bytes(state.digest())

    def _measure(self, documents: Sequence[Document]) -> None:
        """Find out whether the corpus is too large to be read whole, and if so, begin to draw."""
        self._size += sum(map(document_size, documents[self._measured :]))
        self._measured = len(documents)
        self._most = self._size
        if self._size > self._bounds.whole:
            self._begin_to_draw(documents)

    def _begin_to_draw(self, documents: Sequence[Document]) -> None:
        self._all = None
        for number, document in enumerate(documents):
            heappush(self._tickets, _Ticket(-self._lot(number), number, document_size(document), document))
        self._drop()

    def _drop(self) -> None:
        """Drop the highest lots while the others' text reaches the size; no lot above them is drawn any more."""
        while self._size - self._tickets[0].size >= self._bounds.drawn:
            dropped = heappop(self._tickets)
            self._size -= dropped.size
            self._lowest_dropped = -dropped.lot


def document_size(document: Document) -> int:
    """The bytes that a document counts as."""
    return len(document.text.encode()) + len(document.summary.encode()) + DOCUMENT_BYTES
