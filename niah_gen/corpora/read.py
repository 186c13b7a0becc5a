"""Reads a corpus: its files checked against their hashes, its documents whole or drawn.

Reading takes two passes over the files: one hashes them, the other reads documents.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

from niah_gen.corpora.declarations import MARKUP, CorpusFile
from niah_gen.corpora.documents import Document, read_documents, wanted_documents
from niah_gen.corpora.draw import Bounds, CorpusDraw, Reservoir
from niah_gen.corpora.find import Located
from niah_gen.corpora.language import LanguageSample
from niah_gen.errors import CorpusError, IntegrityError
from niah_score.contract import file_sha256, sha256_hex
from niah_score.machine.files import file_state

_EVERYTHING = Bounds(1 << 62, 1 << 62, 0)


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


def corpus_digest(files: Sequence[CorpusFile], texts: Mapping[str, str] | None = None) -> str:
    """sha256 over names and hashes of files in reading order.

    texts: by file name, the sha256 of the text that a library reads from markup; another release may read another text.
    """
    lines = []
    for file in files:
        lines.append(f"{file.path}\n{file.sha256}\n")
        if texts and file.path in texts:
            lines.append(f"text\n{texts[file.path]}\n")
    return sha256_hex("".join(lines).encode())


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
    """The digest that `read_corpus` gives a corpus, without parsing plain files. Raises what `read_corpus` does."""
    files = checked_files(located)
    marked = [file for file in files if file.path.endswith(MARKUP)]
    return corpus_digest(files, dict(map(_text_hash, _documents(located, marked))))


def read_corpus(located: Located, bounds: Bounds = _EVERYTHING) -> Corpus:
    """Check and read a corpus, whole or as much as the bounds allow.

    Raises CorpusError or IntegrityError naming file and line. Problems in documents that are not drawn go unnoticed.
    """
    declared = located.declaration
    paths = [located.folder / file.path for file in declared.files]
    before = _states(paths)
    files = checked_files(located)
    reservoir = Reservoir(corpus_digest(files), bounds)
    sample = LanguageSample(full=declared.language is not None)
    texts: dict[str, str] = {}
    for file, path in zip(files, paths, strict=True):
        marked = file.path.endswith(MARKUP)
        wanted = partial(_is_wanted, reservoir, sample, marked)
        for document in wanted_documents(path, file.path, declared.text_field, wanted):
            reservoir.add(document)
            if document is not None:
                sample.add(document)
                if marked:
                    texts.update([_text_hash(document)])
    if _states(paths) != before:
        raise CorpusError(
            f"{located.folder}: files of corpus {located.name!r} changed while they were read; try again once nothing "
            "writes to them"
        )
    documents = reservoir.documents()
    _refuse_blank(located, any(document.text.strip() for document in documents))
    language = declared.language or sample.language()
    sha256 = corpus_digest(files, texts)
    return Corpus(located.name, language, declared.license, declared.source, files, sha256, documents, reservoir.draw())


def corpus_figures(located: Located) -> CorpusFigures:
    """Check a corpus, read every document of it once, and count; memory stays flat. Raises what `read_corpus` does."""
    files = checked_files(located)
    documents = characters = 0
    has_text = False
    sample = LanguageSample(full=located.declaration.language is not None)
    texts: dict[str, str] = {}
    for document in _documents(located, files):
        documents += 1
        characters += len(document.text)
        has_text = has_text or bool(document.text.strip())
        sample.add(document)
        if document.file.endswith(MARKUP):
            texts.update([_text_hash(document)])
    _refuse_blank(located, has_text)
    language = located.declaration.language or sample.language()
    return CorpusFigures(language, files, corpus_digest(files, texts), documents, characters)


def corpus_language(located: Located) -> str:
    """The language of a corpus: the declared one, else that of its first documents. Raises CorpusError."""
    if located.declaration.language:
        return located.declaration.language
    sample = LanguageSample()
    for document in _documents(located, located.declaration.files):
        sample.add(document)
        if sample.full:
            break
    return sample.language()


def _documents(located: Located, files: Sequence[CorpusFile]) -> Iterator[Document]:
    for file in files:
        yield from read_documents(located.folder / file.path, file.path, located.declaration.text_field)


def _is_wanted(reservoir: Reservoir, sample: LanguageSample, always: bool) -> bool:
    return always or not sample.full or reservoir.wanted()


def _text_hash(document: Document) -> tuple[str, str]:
    return document.file, sha256_hex(document.text.encode())


def _refuse_blank(located: Located, has_text: bool) -> None:
    if not has_text:
        raise CorpusError(f"{located.folder}: corpus {located.name!r} holds no text")


def _states(paths: Sequence[Path]) -> list[tuple[int, ...] | None]:
    """What changes when files are written to; None for a missing file."""
    states: list[tuple[int, ...] | None] = []
    for path in paths:
        try:
            states.append(file_state(path))
        except OSError:
            states.append(None)
    return states
