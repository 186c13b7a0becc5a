"""Reads a corpus: files checked against their hashes; documents whole, or drawn from a corpus too large for that.

Each document has a lot: the sha256 of the digest of the corpus's files, a seed and the document's number. Those with
the lowest lots are drawn until their text reaches a size, and keep their order. So the choice depends on the corpus and
the seed alone, and a larger size only adds documents.
"""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from heapq import heappop, heappush
from pathlib import Path
from typing import Any, NamedTuple

from niah_gen.corpora.declarations import CorpusFile, suffix_of
from niah_gen.corpora.find import Located
from niah_gen.errors import CorpusError, IntegrityError, ResourceError
from niah_score.contract import file_sha256, sha256_hex
from niah_score.errors import ResourceError as LimitError
from niah_score.errors import ScoreError
from niah_score.formats.streams import Source
from niah_score.formats.tables import batches, parquet
from niah_score.machine.files import file_state
from niah_score.text.language import LANGUAGES_VARIABLE, find_language, language_codes

# A line of a .jsonl file, or a file that is one document, in bytes; building from one takes up to 50 times the memory.
LONGEST_BYTES = 32 * 1024 * 1024


class Document(NamedTuple):
    """One text and where it comes from. All later offsets are into `text` joined in corpus order.

    `line`: of a .jsonl file, or the row of a .parquet file, from 1. `summary`: a summary of the text, if its file has a
    field of that name; else empty.
    """

    text: str
    file: str
    line: int
    summary: str = ""


def read_documents(path: Path, name: str, field: str = "text") -> Iterator[Document]:
    """The documents of one file of a corpus.

    Raises CorpusError with file and line, also for a file without any, and ResourceError for a document of more than
    32 MiB.
    """
    line = 0
    readers = {".txt": _text, ".parquet": _rows}
    for line, record in readers.get(suffix_of(path.name) or "", _lines)(path, field):
        fields = record if isinstance(record, dict) else {}
        text, summary = fields.get(field), fields.get("summary")
        summary = summary if isinstance(summary, str) else ""
        if not isinstance(text, str):
            raise CorpusError(f"{path}:{line}: expected a text in {field!r}, found {text!r:.80}; it has {[*fields]}")
        if len(text) > LONGEST_BYTES:
            raise ResourceError(f"{path}:{line}: a text of more than {LONGEST_BYTES:,} characters; split it")
        try:
            (text + summary).encode()
        except UnicodeEncodeError as error:
            raise CorpusError(f"{path}:{line}: half a surrogate pair ({error}); remove it") from None
        yield Document(text, name, line, summary)
    if not line:
        raise CorpusError(f"{path}: the file is empty")


def _decoded(data: bytes, path: Path, line: int = 1, offset: int = 0) -> str:
    """UTF-8 as text, without a byte order mark. `line`, `offset`: where the data begin in the file."""
    try:
        return data.decode("utf-8" if offset else "utf-8-sig")
    except UnicodeDecodeError as error:
        line += data.count(b"\n", 0, error.start)
        byte = f"byte 0x{data[error.start]:02x} at offset {offset + error.start}"
        raise CorpusError(f"{path}:{line}: {byte} is not UTF-8; save it as UTF-8") from None


def _text(path: Path, field: str) -> Iterator[tuple[int, Any]]:
    """A file that is one document; none if it is blank."""
    if (size := path.stat().st_size) > LONGEST_BYTES:
        what = f"{size:,} bytes, and a .txt file is one document, of at most {LONGEST_BYTES:,} bytes"
        raise ResourceError(f"{path}: {what}; split it, or write it as .jsonl, one document per line")
    text = _decoded(path.read_bytes(), path).replace("\r\n", "\n").replace("\r", "\n")
    if text.strip():
        yield 1, {field: text}


def _lines(path: Path, field: str) -> Iterator[tuple[int, Any]]:
    """The lines that are not blank, unpacked, with their numbers."""
    offset = 0
    with _opened(path) as source:
        for number, line in source.lines():
            if len(line) > LONGEST_BYTES:
                what = f"the line is longer than {LONGEST_BYTES:,} bytes; write each document on its own line"
                raise ResourceError(f"{path}:{number}: {what}, and split documents that are longer")
            try:
                if text := _decoded(line, path, number, offset).strip():
                    yield number, json.loads(text)
            except (ValueError, RecursionError) as error:
                raise CorpusError(f"{path}:{number}: not a JSON object ({error})") from None
            offset += len(line)


def _rows(path: Path, field: str) -> Iterator[tuple[int, Any]]:
    """The rows of a Parquet file, numbered from 1, with the column and the summary."""
    with _opened(path) as source, parquet(source) as file:
        names = file.schema_arrow.names
        if field not in names:
            raise CorpusError(f"{path}: no column {field!r}; it has {', '.join(names)}")
        # At most 16 rows are held at once, each of up to 32 MiB.
        rows = batches(source, file, 16, list({field, "summary"} & set(names)))
        yield from enumerate((row for batch in rows for row in batch.to_pylist()), 1)


@contextmanager
def _opened(path: Path) -> Iterator[Source]:
    """An open file; whatever is wrong with it is a CorpusError of one sentence."""
    try:
        with path.open("rb") as file:
            yield Source(path, file)
    except LimitError:
        raise
    except ScoreError as error:
        raise CorpusError(str(error)) from None


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


class CorpusDraw(NamedTuple):
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
            todo = "it was changed or damaged: restore or fetch it again, or declare it as a corpus of another name"
            raise IntegrityError(f"{path}: sha256 is {sha256}, but corpus {located.name!r} pins {file.sha256}; {todo}")
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
    before = _states(located)
    files = checked_files(located)
    sha256 = corpus_digest(files)
    documents, draw = drawn_documents(_documents(located), sha256, bounds)
    if not any(document.text.strip() for document in documents):
        raise CorpusError(f"{located.folder}: corpus {located.name!r} holds no text")
    language = corpus_language(located)
    if _states(located) != before:
        todo = "changed while they were read; try again once nothing writes to them"
        raise CorpusError(f"{located.folder}: files of corpus {located.name!r} {todo}")
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


def corpus_figures(located: Located) -> dict[str, Any]:
    """Check a corpus, read every document of it once, and count; memory stays flat. Raises what `read_corpus` does."""
    files = checked_files(located)
    sizes = [len(document.text) for document in _documents(located)]
    return {
        "language": corpus_language(located), "files": ", ".join(file.path for file in files),
        "documents": len(sizes), "characters": sum(sizes), "sha256": corpus_digest(files),
    }  # fmt: skip


def corpus_language(located: Located) -> str:
    """The language of a corpus: the declared one, else that of its first documents. Raises CorpusError."""
    return located.declaration.language or language_of(document.text for document in _documents(located))


def _documents(located: Located) -> Iterator[Document]:
    for file in located.declaration.files:
        yield from read_documents(located.folder / file.path, file.path, located.declaration.text_field)


def _states(located: Located) -> list[tuple[int, ...] | None]:
    """What changes when files are written to; None for a missing file."""
    paths = [located.folder / file.path for file in located.declaration.files]
    return [file_state(path) if path.exists() else None for path in paths]


def language_of(texts: Iterable[str]) -> str:
    """The language of the first 100,000 characters, by their script, and by common words if several languages share it.

    Japanese if a tenth of what is not white space is kana; Chinese if a fifth is Chinese; another language if half of
    the letters are of its script; otherwise English. Raises CorpusError if at least a thousand letters, and half of
    all, are of a script that no language file names.
    """
    text = ""
    for more in texts:
        text += more[:100_000]
        if len(text) >= 100_000:
            break
    text = text[:100_000]
    sample = Counter("".join(text.split()))
    for code, first, last, share in (("ja", "\u3041", "\u30ff", 0.1), ("zh", "\u4e00", "\u9fff", 0.2)):
        own = sum(times for char, times in sample.items() if first <= char <= last)
        if own and own >= share * sample.total():
            return code
    scripts: Counter[str] = Counter()
    for char, times in sample.items():
        if char.isalpha():
            # The first word of a letter's Unicode name.
            scripts[unicodedata.name(char, "").partition(" ")[0]] += times
    script, count = max(scripts.items(), key=lambda item: item[1], default=("LATIN", 0))
    languages = [language for code in language_codes() if script in (language := find_language(code)).scripts]
    if 2 * count <= scripts.total() or (not languages and count < 1_000):
        return "en"
    if not languages:
        todo = f"name their language (--language, or in corpus.toml), which needs a file in ${LANGUAGES_VARIABLE}"
        raise CorpusError(f"the texts are in {script.title()} script, which no language file names; {todo}")
    words = Counter(re.findall(r"[^\W\d_]+", text.lower()))
    shares = {one.code: sum(words[word] for word in one.common_words) / words.total() for one in languages}
    best = max(shares, key=lambda code: shares[code])
    # Common words are a third of a French or Spanish text, and two or three in a hundred of an English one.
    is_clear = shares[best] >= 0.15 and shares[best] > 1.5 * shares.get("en", 0.0)
    return best if is_clear or "en" not in shares else "en"
