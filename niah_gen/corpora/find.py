"""Finds corpora by name or path, checks their bytes, and hands out documents.

A corpus is a folder with a `corpus.toml`:

    name = "my_corpus"
    language = "en"                     # en or zh
    license = "CC0-1.0"
    source = "where the texts come from"
    description = "optional"

    [[files]]                           # in the order in which they are read
    path = "first.txt"                  # .txt, .jsonl (field `text`) or .parquet (column `text`)
    sha256 = "..."

A folder or a single file without a corpus.toml is a corpus too; its files are read in sorted order and its language is
told by its script. Names are looked up in `$NIAH_CORPORA` (a path list), the user's data folder, and the bundled
corpora; `name/file-stem` is one file of a corpus.
"""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from niah_gen.errors import CorpusError, IntegrityError, suggestion
from niah_score.contract import file_sha256, is_safe_path, sha256_hex

_PACKAGE = Path(__file__).parents[1]

CORPORA_VARIABLE = "NIAH_CORPORA"
DECLARATION = "corpus.toml"
SUFFIXES = (".txt", ".jsonl", ".parquet")
LANGUAGES = ("en", "zh")
# Shares of Chinese characters in real text of either language lie near 0 and near 1.
_CHINESE_SHARE = 0.2


@dataclass(frozen=True, slots=True)
class CorpusFile:
    """One file of a corpus; `sha256` is None where no declaration or pin gives it."""

    path: str
    sha256: str | None


@dataclass(frozen=True, slots=True)
class Declaration:
    """What a corpus.toml, or the pins of a corpus known by name, say. `url`: where `{path}` can be fetched."""

    name: str
    language: str | None
    license: str
    source: str
    files: tuple[CorpusFile, ...]
    description: str = ""
    url: str | None = None
    text_field: str = "text"


@dataclass(frozen=True, slots=True)
class Located:
    """A corpus found on disk: its recipe name, its folder, and the files it reads."""

    name: str
    folder: Path
    declaration: Declaration


@dataclass(frozen=True, slots=True)
class Document:
    """One text and where it stands. Offsets of everything later are into `text` joined in corpus order."""

    text: str
    file: str
    line: int


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


def data_folder() -> Path:
    """Where corpora of the user's own are installed: `$XDG_DATA_HOME/niah/corpora`, by default under ~/.local/share."""
    base = os.environ.get("XDG_DATA_HOME")
    return (Path(base) if base else Path.home() / ".local" / "share") / "niah" / "corpora"


def bundled_folder() -> Path:
    """The corpora that come with the package; in a checkout they stand beside it."""
    installed = _PACKAGE / "bundled_corpora"
    return installed if installed.is_dir() else _PACKAGE.parent / "corpora"


def search_folders() -> list[Path]:
    """Folders in which a corpus name is looked up, first match wins."""
    listed = [Path(part) for part in os.environ.get(CORPORA_VARIABLE, "").split(os.pathsep) if part]
    return [*listed, data_folder(), bundled_folder()]


@lru_cache(maxsize=1)
def known_corpora() -> dict[str, Declaration]:
    """The corpora that users fetch by name, with their pins."""
    folder = _PACKAGE / "library" / "known_corpora"
    found = [parse_declaration(tomllib.loads(file.read_text("utf-8")), str(file)) for file in sorted(folder.iterdir())]
    return {item.name: item for item in found}


def installed_names() -> list[str]:
    """Names of all corpora that can be found now, sorted."""
    names = set()
    for folder in search_folders():
        if folder.is_dir():
            for entry in folder.iterdir():
                if entry.name.startswith("."):
                    continue  # what a fetch or build is still staging
                if (entry / DECLARATION).is_file() or (entry.is_dir() and entry.name in known_corpora()):
                    names.add(entry.name)
    return sorted(names)


def parse_declaration(record: dict[str, Any], where: str) -> Declaration:
    """A corpus.toml's content as a Declaration. Raises CorpusError naming the field that is missing or wrong."""
    texts = ("name", "language", "license", "source")
    problems = [f"{f}: expected a string, found {record.get(f)!r}" for f in texts if not isinstance(record.get(f), str)]
    if record.get("language") not in LANGUAGES:
        problems.append(f"language: expected one of {', '.join(LANGUAGES)}, found {record.get('language')!r}")
    files = []
    listed = record.get("files")
    for number, item in enumerate(listed if isinstance(listed, list) else [], 1):
        path, sha256 = (item.get("path"), item.get("sha256")) if isinstance(item, dict) else (None, None)
        if not isinstance(path, str) or not is_safe_path(path) or not path.endswith(SUFFIXES):
            problems.append(f"files[{number}].path: expected a {', '.join(SUFFIXES)} inside the folder, found {path!r}")
        elif not isinstance(sha256, str) or len(sha256) != 64:
            problems.append(f"files[{number}].sha256: expected 64 hex digits, found {sha256!r}")
        else:
            files.append(CorpusFile(path, sha256.lower()))
    if not listed:
        problems.append("files: expected at least one [[files]] table with path and sha256")
    if problems:
        raise CorpusError(f"{where}: " + "; ".join(problems))
    return Declaration(
        record["name"], record["language"], record["license"], record["source"], tuple(files),
        str(record.get("description", "")), record.get("url"), str(record.get("text_field", "text")),
    )  # fmt: skip


def locate(spec: str) -> Located:
    """Find a corpus by name, `name/file-stem`, or path. Raises CorpusError that says where it looked.

    A corpus known by name is found in a plain folder of that name too; its files must then match the pins.
    """
    name, _, part = spec.partition("/")
    try:
        found = _find(spec, name, part)
    except (OSError, RuntimeError, ValueError):
        found = None  # too long for a path, a NUL in it, no such home
    if found:
        return found
    spec, name = spec[:100], name[:100]
    if name in known_corpora():
        raise CorpusError(
            f"corpus {spec!r} is not on this machine; run `niah-gen corpora fetch {name}`, or, without network, "
            f"`niah-gen corpora fetch {name} --from FOLDER`, or put its folder's parent into ${CORPORA_VARIABLE}"
        )
    raise CorpusError(
        f"corpus {spec!r}: not in ${CORPORA_VARIABLE}, {data_folder()} or the bundled corpora, and not a path"
        + suggestion(name, [*installed_names(), *known_corpora()])
    )


def _find(spec: str, name: str, part: str) -> Located | None:
    is_path = spec.startswith((".", "/", "~")) or spec.endswith("/")
    for folder in () if is_path else search_folders():
        found = _in_folder(folder, name)
        if found:
            return _one_file(found, spec, part) if part else found
    path = Path(spec).expanduser()
    if path.is_dir():
        declared = _declared(path) or _undeclared(path, path.resolve().name)
        if declared:
            return declared
        raise CorpusError(f"{spec}: the folder holds no {', '.join(SUFFIXES)} file")
    if path.is_file():
        if path.suffix not in SUFFIXES:
            raise CorpusError(f"{spec}: expected a {', '.join(SUFFIXES)} file")
        return Located(path.stem, path.parent, _no_declaration(path.stem, [path.name]))
    return None


def _in_folder(folder: Path, name: str) -> Located | None:
    if not name or not is_safe_path(name):
        return None
    inside = folder / name
    if inside.is_dir():
        if found := _declared(inside):
            return found
        if name in known_corpora():
            return Located(name, inside, known_corpora()[name])
        return _undeclared(inside, name)
    for suffix in SUFFIXES:
        if (folder / f"{name}{suffix}").is_file():
            return Located(name, folder, _no_declaration(name, [f"{name}{suffix}"]))
    return None


def _declared(folder: Path) -> Located | None:
    path = folder / DECLARATION
    if not path.is_file():
        return None
    try:
        declaration = parse_declaration(tomllib.loads(path.read_text("utf-8")), str(path))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise CorpusError(f"{path}: not valid TOML ({error})") from None
    # The folder's name, as that is what a name is looked up by.
    return Located(folder.resolve().name, folder, declaration)


def _undeclared(folder: Path, name: str) -> Located | None:
    files = corpus_files(folder)
    return Located(name, folder, _no_declaration(name, files)) if files else None


def corpus_files(folder: Path) -> list[str]:
    """Names of the files in a folder that a corpus can be made of, sorted."""
    return sorted(entry.name for entry in folder.iterdir() if entry.suffix in SUFFIXES and entry.is_file())


def _no_declaration(name: str, files: Sequence[str]) -> Declaration:
    return Declaration(name, None, "not stated", "local files", tuple(CorpusFile(file, None) for file in files))


def _one_file(located: Located, spec: str, part: str) -> Located:
    whole = located.declaration
    for file in whole.files:
        if part in (file.path, Path(file.path).stem):
            narrowed = Declaration(
                spec, whole.language, whole.license, whole.source, (file,), whole.description, None, whole.text_field
            )
            return Located(f"{located.name}/{Path(file.path).stem}", located.folder, narrowed)
    stems = [Path(file.path).stem for file in whole.files]
    raise CorpusError(f"corpus {spec!r}: {located.folder} has no file {part!r}" + suggestion(part, stems))


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
    """`zh` where at least a fifth of the first 100,000 characters that are not white space are Chinese, else `en`."""
    sample = "".join("".join(document.text for document in documents)[:100_000].split())
    chinese = sum("\u4e00" <= char <= "\u9fff" for char in sample)
    return "zh" if sample and chinese >= _CHINESE_SHARE * len(sample) else "en"


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
        yield Document(_checked(text, path, number), name, number)


def _read_parquet(path: Path, name: str, field: str) -> Iterator[Document]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as file:
            if field not in file.schema_arrow.names:
                raise CorpusError(f"{path}: no column {field!r}; it has {', '.join(file.schema_arrow.names)}")
            number = 0
            for batch in file.iter_batches(columns=[field]):
                for value in batch.column(0).to_pylist():
                    number += 1
                    if not isinstance(value, str):
                        raise CorpusError(f"{path}: row {number}: expected a string in {field!r}, found {value!r}")
                    yield Document(value, name, number)
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
