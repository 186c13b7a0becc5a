"""Reads and writes corpus.toml, in which a corpus declares its name, language, licence, source and files.

    name = "my_corpus"
    language = "en"                     # one that has a file: docs/languages.md
    license = "CC0-1.0"
    source = "where the texts come from"
    description = "optional"

    [[files]]                           # in the order in which they are read
    path = "first.txt"                  # .txt, .jsonl (field `text`), .parquet (column `text`)
    sha256 = "..."

Corpora that users fetch by name are declared in files of the package: `known_corpora` with the place to fetch their
pinned files from, `hub_corpora` with the arguments of `niah_gen.corpora.add.add_dataset`, and their size in bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from niah_gen.errors import CorpusError
from niah_score.contract import is_safe_path, parse_toml
from niah_score.text.language import language_codes, missing_language

DECLARATION = "corpus.toml"
PLAIN = (".txt", ".jsonl", ".parquet")
SUFFIXES = (*PLAIN, ".jsonl.gz", ".jsonl.zst")
_KINDS = f"{', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}"
# What messages say of any other file.
EXPECTED = f"expected a {_KINDS} file; convert Markdown, HTML and others to text first"
_LIBRARY = Path(__file__).parents[1] / "library"


class CorpusFile(NamedTuple):
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


def parse_declaration(data: bytes, where: str) -> Declaration:
    """Read a corpus.toml. Raises CorpusError naming everything that is missing or wrong."""
    try:
        record = parse_toml(data.decode())
    except ValueError as error:
        raise CorpusError(f"{where}: not valid TOML ({error})") from None
    texts = ("name", "language", "license", "source")
    problems = [f"{f}: expected a string, found {record.get(f)!r}" for f in texts if not isinstance(record.get(f), str)]
    if isinstance(code := record.get("language"), str) and code not in language_codes():
        problems.append(missing_language(code))
    listed = record.get("files")
    files = [item if isinstance(item, dict) else {} for item in listed] if isinstance(listed, list) else []
    for number, item in enumerate(files, 1):
        if not is_safe_path(path := str(item.get("path"))) or not suffix_of(path):
            problems.append(f"files[{number}].path: found {path!r}, {EXPECTED}, inside the folder")
        elif len(str(item.get("sha256"))) != 64:
            problems.append(f"files[{number}].sha256: expected 64 hex digits, found {item.get('sha256')!r}")
    if not files:
        problems.append("files: expected at least one [[files]] table with path and sha256")
    if problems:
        raise CorpusError(f"{where}: " + "; ".join(problems))
    pins = tuple(CorpusFile(str(item["path"]), str(item["sha256"]).lower()) for item in files)
    more = {name: str(record[name]) for name in ("description", "url", "text_field") if name in record}
    return Declaration(record["name"], record["language"], record["license"], record["source"], pins, **more)


def declaration_toml(declaration: Declaration) -> bytes:
    """A declaration as a corpus.toml."""
    import tomli_w

    record = asdict(replace(declaration, url=None, files=()))
    if declaration.text_field == "text":
        del record["text_field"]
    record["files"] = [file._asdict() for file in declaration.files]
    return tomli_w.dumps({name: value for name, value in record.items() if value}).encode()


@lru_cache(maxsize=1)
def known_corpora() -> dict[str, Declaration]:
    """The corpora whose pinned files users fetch by name."""
    files = sorted((_LIBRARY / "known_corpora").iterdir())
    return {corpus.name: corpus for corpus in (parse_declaration(file.read_bytes(), str(file)) for file in files)}


@lru_cache(maxsize=1)
def hub_corpora() -> dict[str, dict[str, Any]]:
    """The corpora that users fetch from the Hub by name."""
    tables = [parse_toml(file.read_text("utf-8")) for file in sorted((_LIBRARY / "hub_corpora").iterdir())]
    return {table["name"]: table for table in tables}


def fetchable() -> frozenset[str]:
    """The names that `niah-gen corpora fetch` takes."""
    return frozenset({*known_corpora(), *hub_corpora()})
