"""Reads the documents of a corpus, its bytes checked against their hashes.

Files are .txt (one document each), .jsonl (one a line) or .parquet (one a row), in the order of the declaration.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from niah_gen.corpora.declarations import CorpusFile
from niah_gen.corpora.find import Located
from niah_gen.errors import CorpusError, IntegrityError
from niah_score.contract import file_sha256, sha256_hex
from niah_score.text.language import LANGUAGES_VARIABLE, find_language, language_codes

# Shares of Chinese characters in real text of either language lie near 0 and near 1.
_CHINESE_SHARE = 0.2
# Japanese text has a third to two thirds of kana, Chinese hardly any.
_KANA_SHARE = 0.1
# Common words are a third of a French or Spanish text, and two or three in a hundred of an English one.
_WORD_SHARE, _CLEARLY = 0.15, 1.5
# Fewer letters of a script that no file names say little.
_FEWEST_LETTERS = 1_000


@dataclass(frozen=True, slots=True)
class Document:
    """One text and where it stands. Offsets of everything later are into `text` joined in corpus order.

    `summary`: what it says in short, where its file has a field of that name; else empty.
    """

    text: str
    file: str
    line: int
    summary: str = ""


@dataclass(frozen=True, slots=True)
class Corpus:
    """Documents in reading order with their provenance; `sha256` is over the names and hashes of the files."""

    name: str
    language: str
    license: str
    source: str
    files: tuple[CorpusFile, ...]
    sha256: str
    documents: tuple[Document, ...]


def corpus_digest(files: Sequence[CorpusFile]) -> str:
    """sha256 over names and hashes of files in reading order."""
    return sha256_hex("".join(f"{file.path}\n{file.sha256}\n" for file in files).encode())


def checked_files(located: Located) -> tuple[CorpusFile, ...]:
    """The files with their true hashes.

    Raises IntegrityError where a pin says otherwise, CorpusError if one is missing.
    """
    files = []
    for file in located.declaration.files:
        path = located.folder / file.path
        try:
            found = file_sha256(path)
        except OSError as error:
            raise CorpusError(f"{path}: cannot be read ({error.strerror}); corpus {located.name!r} needs it") from None
        if file.sha256 not in (None, found):
            raise IntegrityError(
                f"{path}: sha256 is {found}, but corpus {located.name!r} pins {file.sha256}; "
                "the file was changed or damaged: restore or fetch it again, or declare it as a corpus of another name"
            )
        files.append(CorpusFile(file.path, found))
    return tuple(files)


def read_corpus(located: Located) -> Corpus:
    """Check and read a corpus whole. Raises CorpusError or IntegrityError naming file and line."""
    files = checked_files(located)
    field = located.declaration.text_field
    documents = [doc for file in files for doc in read_documents(located.folder / file.path, file.path, field)]
    if not any(document.text.strip() for document in documents):
        raise CorpusError(f"{located.folder}: corpus {located.name!r} holds no text")
    language = located.declaration.language or language_of(documents)
    declared = located.declaration
    return Corpus(
        located.name, language, declared.license, declared.source, files, corpus_digest(files), tuple(documents)
    )


def language_of(documents: Sequence[Document]) -> str:
    """The language of the first 100,000 characters, told by their script, and by common words where several share it.

    Japanese where a tenth of what is not white space is kana; Chinese where a fifth is Chinese; another language where
    half of the letters are of its script. English is what nothing else tells. Raises CorpusError where a thousand
    letters and half of all are of a script that no language file names.
    """
    text = "".join(document.text for document in documents)[:100_000]
    sample = "".join(text.split())
    chinese = sum("\u4e00" <= char <= "\u9fff" for char in sample)
    if not sample or sample.isascii():
        return _by_words(text, "LATIN")
    if sum("\u3041" <= char <= "\u30ff" for char in sample) >= _KANA_SHARE * len(sample):
        return "ja"
    if chinese >= _CHINESE_SHARE * len(sample):
        return "zh"
    scripts = Counter(
        script for char, times in Counter(sample).items() if (script := _script(char)) for _ in range(times)
    )
    script, count = scripts.most_common(1)[0] if scripts else ("LATIN", 0)
    known = any(script in find_language(code).scripts for code in language_codes())
    if 2 * count <= scripts.total() or (not known and count < _FEWEST_LETTERS):
        return "en"
    return _by_words(text, script)


def _script(char: str) -> str | None:
    """The script of a letter, the first word of its Unicode name; None for what is no letter."""
    return unicodedata.name(char, "").partition(" ")[0] if char.isalpha() else None


def _by_words(text: str, script: str) -> str:
    """The language of a script whose common words a text has most of; English where none has a fair share of them."""
    found = [find_language(code) for code in language_codes()]
    own = [language for language in found if script in language.scripts]
    if not own:
        raise CorpusError(
            f"the texts are in {script.title()} script, which no language file names; say which language they are in "
            f"(--language, or language in corpus.toml); one without a file needs one in ${LANGUAGES_VARIABLE} "
            "(docs/languages.md)"
        )
    if len(own) == 1:
        return own[0].code
    words = Counter(re.findall(r"[^\W\d_]+", text.lower()))
    shares = {
        language.code: sum(words[word] for word in language.common_words) / max(1, words.total()) for language in own
    }
    best = max(shares, key=lambda code: shares[code])
    usual = shares.get("en", 0.0)
    return best if shares[best] >= _WORD_SHARE and shares[best] > _CLEARLY * usual else "en" if "en" in shares else best


def read_documents(path: Path, name: str, field: str = "text") -> Iterator[Document]:
    """The documents of one .txt, .jsonl or .parquet file.

    A .txt file is one document, its line ends read as "\\n". Raises CorpusError with file and line.
    """
    reader: Callable[[Path, str, str], Iterator[Document]] = {
        ".txt": _read_txt, ".jsonl": _read_jsonl, ".parquet": _read_parquet,
    }[path.suffix]  # fmt: skip
    empty = True
    for document in reader(path, name, field):
        empty = False
        yield document
    if empty:
        raise CorpusError(f"{path}: the file is empty")


def _decode(data: bytes, path: Path) -> str:
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise CorpusError(f"{path}:1: the file is UTF-16; save it as UTF-8")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise CorpusError(
            f"{path}:{line}: byte 0x{data[error.start]:02x} at offset {error.start} is not UTF-8; save it as UTF-8"
        ) from None


def _read_txt(path: Path, name: str, field: str) -> Iterator[Document]:
    text = _decode(path.read_bytes(), path).replace("\r\n", "\n").replace("\r", "\n")
    if text.strip():
        yield Document(text, name, 1)


def _read_jsonl(path: Path, name: str, field: str) -> Iterator[Document]:
    for number, line in enumerate(_decode(path.read_bytes(), path).split("\n"), 1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise CorpusError(f"{path}:{number}: not a JSON object ({error})") from None
        text = record.get(field) if isinstance(record, dict) else None
        if not isinstance(text, str):
            found = ", ".join(record) if isinstance(record, dict) else type(record).__name__
            raise CorpusError(f"{path}:{number}: expected a string field {field!r}, found {found}")
        summary = record.get("summary")
        short = _checked(summary, path, number) if isinstance(summary, str) else ""
        yield Document(_checked(text, path, number), name, number, short)


def _read_parquet(path: Path, name: str, field: str) -> Iterator[Document]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as file:
            if field not in file.schema_arrow.names:
                raise CorpusError(f"{path}: no column {field!r}; it has {', '.join(file.schema_arrow.names)}")
            number = 0
            more = ["summary"] if "summary" in file.schema_arrow.names and field != "summary" else []
            for batch in file.iter_batches(columns=[field, *more]):
                for record in batch.to_pylist():
                    number += 1
                    value, summary = record[field], record.get("summary") if more else None
                    if not isinstance(value, str):
                        raise CorpusError(f"{path}: row {number}: expected a string in {field!r}, found {value!r}")
                    yield Document(value, name, number, summary if isinstance(summary, str) else "")
    except pa.ArrowInvalid as error:
        raise CorpusError(f"{path}: not a readable Parquet file ({error})") from None


def _checked(text: str, path: Path, line: int) -> str:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise CorpusError(
            f"{path}:{line}: half a surrogate pair (\\u{ord(text[error.start]):04x}); remove it"
        ) from None
    return text
