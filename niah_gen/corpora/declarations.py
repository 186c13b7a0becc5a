"""Reads and writes corpus.toml, in which a corpus declares its name, language, licence, source and files.

    name = "my_corpus"
    language = "en"                     # one that has a file: docs/languages.md
    license = "CC0-1.0"
    source = "where the texts come from"
    description = "optional"

    [[files]]                           # in the order in which they are read
    path = "first.txt"                  # .txt, .jsonl (field `text`), .parquet (column `text`)
    sha256 = "..."

Corpora that users fetch by name are declared in files of the package, with the place to fetch them from; those on the
Hub are declared by their repository (niah_gen.corpora.fetch).
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from niah_gen.errors import CorpusError
from niah_score.contract import is_safe_path
from niah_score.errors import LanguageError
from niah_score.text.language import find_language

DECLARATION = "corpus.toml"
PLAIN = (".txt", ".jsonl", ".parquet")
COMPRESSED = (".jsonl.gz", ".jsonl.zst")
SUFFIXES = (*PLAIN, *COMPRESSED)
# What messages say of any other file.
EXPECTED = (
    f"expected a {', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]} file; convert Markdown, HTML and others to text first"
)

_LIBRARY = Path(__file__).parents[1] / "library"
_KNOWN = _LIBRARY / "known_corpora"
_HUB = _LIBRARY / "hub_corpora"


@dataclass(frozen=True, slots=True)
class CorpusFile:
    """One file of a corpus; `sha256` is None if no declaration or pin gives it."""

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


class HubCorpus(NamedTuple):
    """A corpus made of the first `documents` rows of a column. `bytes`: the size of their texts; None if unknown."""

    name: str
    language: str
    license: str
    description: str
    repository: str
    split: str
    column: str
    documents: int
    bytes: int | None = None


def suffix_of(path: str) -> str | None:
    """The suffix that says how a corpus file is read, `.jsonl.gz` as one; None if it cannot be part of one."""
    name = path.rpartition("/")[2]
    return next((suffix for suffix in SUFFIXES if name.endswith(suffix) and name != suffix), None)


def of_first_kind(names: Sequence[str]) -> list[str]:
    """The files of a folder that make up a corpus without a declaration: those of the first kind present.

    The kinds are .txt, .jsonl and .parquet; then compressed .jsonl. So a compressed copy does not become part of it.
    """
    plain = [name for name in names if suffix_of(name) in PLAIN]
    return plain or [name for name in names if suffix_of(name)]


def stem_of(path: str) -> str:
    """A file's name without folder and suffix."""
    return Path(path.removesuffix(suffix_of(path) or Path(path).suffix)).name


def parse_declaration(record: dict[str, Any], where: str) -> Declaration:
    """A corpus.toml's content as a Declaration. Raises CorpusError naming the field that is missing or wrong."""
    texts = ("name", "language", "license", "source")
    problems = [f"{f}: expected a string, found {record.get(f)!r}" for f in texts if not isinstance(record.get(f), str)]
    if isinstance(record.get("language"), str) and (problem := wrong_language(record["language"])):
        problems.append(problem)
    files = []
    listed = record.get("files")
    for number, item in enumerate(listed if isinstance(listed, list) else [], 1):
        path, sha256 = (item.get("path"), item.get("sha256")) if isinstance(item, dict) else (None, None)
        if not isinstance(path, str) or not is_safe_path(path) or not suffix_of(path):
            problems.append(f"files[{number}].path: found {path!r}, {EXPECTED}, inside the folder")
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


def wrong_language(code: str) -> str | None:
    """Why no corpus can be in a language, and what to write instead; None if it can."""
    try:
        find_language(code)
    except LanguageError as error:
        return str(error)
    return None


def declaration_toml(declaration: Declaration) -> bytes:
    """A declaration as a corpus.toml. Raises CorpusError if it would not be read back."""
    import tomli_w

    record: dict[str, Any] = {
        "name": declaration.name,
        "language": declaration.language,
        "license": declaration.license,
        "source": declaration.source,
    }
    if declaration.description:
        record["description"] = declaration.description
    if declaration.text_field != "text":
        record["text_field"] = declaration.text_field
    record["files"] = [{"path": file.path, "sha256": file.sha256} for file in declaration.files]
    try:
        data = tomli_w.dumps(record).encode()
    except UnicodeEncodeError:
        raise CorpusError(f"corpus {declaration.name!r}: license, source and field names must be valid text") from None
    parse_declaration(tomllib.loads(data.decode()), DECLARATION)
    return data


@lru_cache(maxsize=1)
def known_corpora() -> dict[str, Declaration]:
    """The corpora that users fetch by name, with their pins."""
    known = [parse_declaration(tomllib.loads(file.read_text("utf-8")), str(file)) for file in sorted(_KNOWN.iterdir())]
    return {corpus.name: corpus for corpus in known}


@lru_cache(maxsize=1)
def hub_corpora() -> dict[str, HubCorpus]:
    """The corpora that users fetch from the Hub by name."""
    on_hub = [HubCorpus(**tomllib.loads(file.read_text("utf-8"))) for file in sorted(_HUB.iterdir())]
    return {corpus.name: corpus for corpus in on_hub}


def fetchable() -> frozenset[str]:
    """The names that `niah-gen corpora fetch` takes."""
    return frozenset({*known_corpora(), *hub_corpora()})
