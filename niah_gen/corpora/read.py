"""Reads a corpus: its files checked against their hashes, its documents whole, or drawn if it is too large for that.

Each document has a lot: the sha256 of the digest of the corpus's files, a seed and the document's number. Those with
the lowest lots are drawn until their text reaches a size, and keep their order. So the choice depends on the corpus and
the seed alone, and a larger size only adds documents.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from pathlib import Path
from typing import NamedTuple

from niah_gen.corpora.declarations import CorpusFile
from niah_gen.corpora.documents import Document, read_documents
from niah_gen.corpora.find import Located
from niah_gen.corpora.language import language_of
from niah_gen.errors import CorpusError, IntegrityError
from niah_score.contract import file_sha256, sha256_hex
from niah_score.machine.files import file_state

# In words, for manifests. The number counts the documents of the corpus from 0.
RULE = "lowest sha256 of '<sha256 of the files>/<seed>/<number>', in reading order, until they reach the size"
# Bytes that a document takes besides its text; counted with it, so that many tiny ones fit in memory too.
DOCUMENT_BYTES = 256


class Bounds(NamedTuple):
    """How much of a corpus is read. A corpus of at most `whole` bytes is read whole.

    From a larger one, documents are drawn by `seed` until they reach `drawn` bytes. A document counts as the UTF-8
    bytes of its text and summary, plus 256.
    """

    whole: int
    drawn: int
    seed: int


_EVERYTHING = Bounds(1 << 62, 1 << 62, 0)


@dataclass(frozen=True, slots=True)
class CorpusDraw:
    """How the documents of a corpus were drawn. `size`: asked for, in bytes; `of`: documents of the whole corpus."""

    size: int
    seed: int
    of: int


@dataclass(frozen=True, slots=True)
class Corpus:
    """Documents in reading order with their provenance; `sha256` is over the names and hashes of the files.

    `draw`: how `documents` were drawn from a corpus too large to be read whole; None if they are all of it.
    """

    name: str
    language: str
    license: str
    source: str
    files: tuple[CorpusFile, ...]
    sha256: str
    documents: tuple[Document, ...]
    draw: CorpusDraw | None = None


class CorpusFigures(NamedTuple):
    """What a whole corpus holds."""

    language: str
    files: tuple[CorpusFile, ...]
    sha256: str
    documents: int
    characters: int


def corpus_digest(files: Sequence[CorpusFile]) -> str:
    """sha256 over names and hashes of files in reading order."""
    return sha256_hex("".join(f"{file.path}\n{file.sha256}\n" for file in files).encode())


def checked_files(located: Located) -> tuple[CorpusFile, ...]:
    """The files with their actual hashes. Raises IntegrityError if a pin differs, CorpusError if a file is missing."""
    files = []
    for file in located.declaration.files:
        path = located.folder / file.path
        try:
            sha256 = file_sha256(path)
        except OSError as error:
            raise CorpusError(f"{path}: cannot be read ({error.strerror}); corpus {located.name!r} needs it") from None
        if file.sha256 not in (None, sha256):
            raise IntegrityError(
                f"{path}: sha256 is {sha256}, but corpus {located.name!r} pins {file.sha256}; "
                "the file was changed or damaged: restore or fetch it again, or declare it as a corpus of another name"
            )
        files.append(CorpusFile(file.path, sha256))
    return tuple(files)


def corpus_sha256(located: Located) -> str:
    """The digest that `read_corpus` gives a corpus, without reading its documents. Raises what `read_corpus` does."""
    return corpus_digest(checked_files(located))


def read_corpus(located: Located, bounds: Bounds = _EVERYTHING) -> Corpus:
    """Check and read a corpus, whole or as much as the bounds allow.

    Raises CorpusError, IntegrityError or ResourceError naming file and line.
    """
    declared = located.declaration
    paths = [located.folder / file.path for file in declared.files]
    before = _states(paths)
    files = checked_files(located)
    sha256 = corpus_digest(files)
    documents, draw = drawn_documents(_documents(located), sha256, bounds)
    if not any(document.text.strip() for document in documents):
        raise _blank(located)
    language = corpus_language(located)
    if _states(paths) != before:
        raise CorpusError(
            f"{located.folder}: files of corpus {located.name!r} changed while they were read; try again once nothing "
            "writes to them"
        )
    return Corpus(located.name, language, declared.license, declared.source, files, sha256, documents, draw)


def drawn_documents(
    documents: Iterable[Document], digest: str, bounds: Bounds
) -> tuple[tuple[Document, ...], CorpusDraw | None]:
    """All documents if they measure at most `bounds.whole` bytes, else those with the lowest lots."""
    start = hashlib.sha256(f"{digest}/{bounds.seed}/".encode())
    # The highest lot is on top: heaps have their lowest entry there, so lots are negative.
    heap: list[tuple[int, int, int, Document]] = []
    kept = total = number = 0
    for number, document in enumerate(documents, 1):
        lot = start.copy()
        lot.update(b"%d" % (number - 1))
        size = len(document.text.encode()) + len(document.summary.encode()) + DOCUMENT_BYTES
        total += size
        kept += size
        heappush(heap, (-int.from_bytes(lot.digest()), number, size, document))
        while total > bounds.whole and kept - heap[0][2] >= bounds.drawn:
            kept -= heappop(heap)[2]
    draw = CorpusDraw(bounds.drawn, bounds.seed, number) if total > bounds.whole else None
    return tuple(entry[3] for entry in sorted(heap, key=lambda entry: entry[1])), draw


def corpus_figures(located: Located) -> CorpusFigures:
    """Check a corpus, read every document of it once, and count; memory stays flat. Raises what `read_corpus` does."""
    files = checked_files(located)
    documents = characters = 0
    has_text = False
    for document in _documents(located):
        documents += 1
        characters += len(document.text)
        has_text = has_text or bool(document.text.strip())
    if not has_text:
        raise _blank(located)
    return CorpusFigures(corpus_language(located), files, corpus_digest(files), documents, characters)


def corpus_language(located: Located) -> str:
    """The language of a corpus: the declared one, else that of its first documents. Raises CorpusError."""
    return located.declaration.language or language_of(document.text for document in _documents(located))


def _documents(located: Located) -> Iterator[Document]:
    for file in located.declaration.files:
        yield from read_documents(located.folder / file.path, file.path, located.declaration.text_field)


def _blank(located: Located) -> CorpusError:
    return CorpusError(f"{located.folder}: corpus {located.name!r} holds no text")


def _states(paths: Sequence[Path]) -> list[tuple[int, ...] | None]:
    """What changes when files are written to; None for a missing file."""
    return [file_state(path) if path.exists() else None for path in paths]
