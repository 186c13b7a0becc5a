"""Adds the user's own corpora: checked copies of files, or a column of a `datasets` repository.

<folder>/<name>/    the corpus with its corpus.toml, which appears only when complete
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

from niah_gen.corpora import declarations
from niah_gen.corpora.declarations import DECLARATION, EXPECTED, CorpusFile, Declaration, declaration_toml, suffix_of
from niah_gen.corpora.find import bundled_folder, corpus_files, data_folder, search_folders
from niah_gen.corpora.read import language_of, read_documents
from niah_gen.errors import CorpusError, listed
from niah_score.contract import file_sha256, is_safe_path
from niah_score.machine.files import STAGING, hold
from niah_score.text.language import language_codes, missing_language
from niah_score.text.visible import one_line

DOCUMENTS = "documents.jsonl"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")
# An owner is required: `load_dataset("json")` and the like name loaders, which would read the working directory.
_REPOSITORY = re.compile(r"[A-Za-z0-9][\w.-]*/[\w.-]+", re.ASCII)
_COMMIT = re.compile(r"[0-9a-f]{40}")


def add_corpus(
    name: str,
    sources: Sequence[Path],
    *,
    language: str | None = None,
    license: str = "not stated",
    text_field: str = "text",
) -> Path:
    """Copy the user's own files, of any size, into a corpus in the user's data folder; returns its folder.

    sources: files in reading order, or folders, whose `corpus_files` are taken, sorted. language: one that has a
    language file; by default recognised by the script and by common words. text_field: the .jsonl field or .parquet
    column that holds the texts.

    Raises CorpusError listing every file that cannot be part of a corpus, each with its first bad line, or saying why
    the name cannot be used; ResourceError (a document that is too long), ScoreError and its kinds (another process
    adds this name, no room). Then nothing is installed.
    """
    target = _new_corpus(name, language)
    files = _own_files(name, sources)

    def fill(aside: Path) -> Declaration:
        pins = tuple(CorpusFile(file.name, file_sha256(file)) for file in files)
        found = _checked(name, files, text_field, language)
        for file, pin in zip(files, pins, strict=True):
            shutil.copyfile(file, aside / file.name)
            if file_sha256(aside / file.name) != pin.sha256:
                raise CorpusError(f"{file}: changed while it was copied; add it again once nothing writes to it")
        return Declaration(name, found, license, "local files", pins, text_field=text_field)

    return install(target, fill)


def add_dataset(
    name: str,
    repository: str,
    *,
    revision: str | None,
    column: str,
    split: str = "train",
    config: str | None = None,
    documents: int = 1000,
    language: str | None = None,
    license: str = "not stated",
    description: str = "",
    known: bool = False,
) -> Path:
    """Make a corpus from a string column of the first rows of a `datasets` repository; returns its folder.

    repository: `OWNER/NAME` on the Hub, with the 40 hex digits of a commit as `revision`, or a local folder without a
    revision. documents: the rows to take, fewer if there are fewer. known: the name may be one that `niah-gen corpora
    fetch` installs.

    Raises CorpusError (no such repository, config, split or column; offline; no pinned revision; a row without a
    string; a name that cannot be used), LockedError (another process adds this name), and OSError. Then nothing is
    installed.
    """
    place, origin = _origin(repository, revision)
    target = _new_corpus(name, language, known=known)

    def fill(aside: Path) -> Declaration:
        path = aside / DOCUMENTS
        with path.open("wb") as file:
            file.writelines(islice(_texts(place, origin, config, split, revision, column), documents))
        found = _checked(name, [path], "text", language)
        source = " ".join(part for part in (origin, config, split, "column", column) if part)
        return Declaration(name, found, license, source, (CorpusFile(DOCUMENTS, file_sha256(path)),), description)

    return install(target, fill)


def install(target: Path, fill: Callable[[Path], Declaration], *, overwrite: bool = False) -> Path:
    """Make a corpus at once, or with `overwrite` complete one; returns `target`. Its other files stay.

    fill: writes files into a folder, and says what the corpus is. Raises LockedError at once if another process
    installs this corpus, ScoreError if it is there already, and what `fill` does.
    """
    new: list[str] = []

    def write(aside: Path) -> None:
        (aside / DECLARATION).write_bytes(declaration_toml(fill(aside)))
        new.extend(path.relative_to(aside).as_posix() for path in aside.rglob("*") if path.is_file())

    def there(folder: Path) -> list[str]:
        return [name for name in new or [DECLARATION] if (folder / name).is_file()]

    with hold(target, "a corpus", there, head=DECLARATION, overwrite=overwrite) as replace:
        return replace(write)


def _new_corpus(name: str, language: str | None, *, known: bool = False) -> Path:
    """Where a new corpus will be. Raises CorpusError if its name or language cannot be."""
    if not _NAME.fullmatch(name):
        raise CorpusError(f"corpus name {name!r}: expected letters, digits, _ and -, a letter or digit first")
    # Ignoring case, as some file systems would put both into one folder.
    if not known and (name.lower() in declarations.fetchable() or (bundled_folder() / name.lower()).exists()):
        raise CorpusError(f"corpus {name!r}: the name belongs to a corpus of the package (niah-gen corpora list)")
    if language is not None and language not in language_codes():
        raise CorpusError(f"corpus {name!r}: {missing_language(language)}")
    for taken in [place / name for place in (data_folder(), *search_folders())]:
        if not is_free(taken):
            raise CorpusError(f"corpus {name!r} is there already ({taken}); choose another name or remove it")
    return data_folder() / name


def is_free(place: Path) -> bool:
    """Whether nothing is there, or what somebody is installing, or did not finish."""
    return not os.path.lexists(place) or (place.is_dir() and ((place / STAGING).exists() or not any(place.iterdir())))


def _own_files(name: str, sources: Iterable[Path]) -> list[Path]:
    """The files to copy, in reading order. Raises CorpusError listing those that cannot be."""
    files: dict[str, Path] = {}
    problems = []
    for path in (Path(source).expanduser() for source in sources):
        for file in [path / file for file in corpus_files(path)] if path.is_dir() else [path]:
            # Ignoring case, as some file systems would keep only one of them.
            other = files.setdefault(file.name.casefold(), file)
            if not file.is_file() or suffix_of(file.name) is None:
                problems.append(f"{file}: {EXPECTED if file.exists() else 'no such file or folder'}")
            elif other is not file:
                problems.append(f"{file}: has the same name as {other}; rename one, or give it once")
            elif not is_safe_path(file.name) or any("\ud800" <= char <= "\udfff" for char in file.name):
                problems.append(f"{str(file)!r}: the name would not work on every system; rename the file")
    if not files:
        problems.append(f"no file was given, or none in the folders: {EXPECTED}")
    if problems:
        raise CorpusError(listed(f"corpus {name!r}: nothing was installed", problems))
    return list(files.values())


def _checked(name: str, files: Sequence[Path], field: str, language: str | None) -> str:
    """The language of the files, unless it is given. Raises CorpusError with the first problem of every file."""
    problems = []
    texts = 0
    for file in files:
        try:
            texts += sum(bool(document.text.strip()) for document in read_documents(file, file.name, field))
        except CorpusError as error:
            problems.append(str(error))
    if not problems and not texts:
        problems.append(f"{', '.join(file.name for file in files[:5])}: no document holds any text")
    if problems:
        raise CorpusError(listed(f"corpus {name!r}: nothing was installed", problems))
    read = (document.text for file in files for document in read_documents(file, file.name, field))
    return language or language_of(read)


def _origin(repository: str, revision: str | None) -> tuple[str, str]:
    """What to load, and how to record it. Raises CorpusError if the revision does not fix what will be loaded."""
    path = Path(repository).expanduser()
    if repository and path.is_dir() and revision is None:
        # Its name alone: what is recorded goes into manifests, which hold no absolute paths.
        return str(path.resolve()), path.resolve().name
    if not _REPOSITORY.fullmatch(repository) or path.exists():
        raise CorpusError(f"{repository!r}: expected a folder, without a revision, or OWNER/NAME on the Hub, with one")
    if revision is None or not _COMMIT.fullmatch(revision):
        where = f"branches and tags move; find it under https://huggingface.co/datasets/{repository}/commits/main"
        raise CorpusError(f"{repository}: expected the 40 hex digits of a commit, found {revision!r}; {where}")
    return repository, f"{repository}@{revision}"


def _texts(
    place: str, origin: str, config: str | None, split: str, revision: str | None, column: str
) -> Iterator[bytes]:
    """The lines of a .jsonl file with a column's values. Raises CorpusError if the library raises anything."""
    import datasets

    with loading(f"{origin}, split {split!r}" + (f" of config {config!r}" if config else "")):
        stream = datasets.load_dataset(place, config, split=split, streaming=True, revision=revision)
        if column in (stream.column_names or ()):
            # So that images and sounds beside the text are not decoded.
            stream = stream.select_columns([column])
        for number, row in enumerate(stream, 1):
            if not isinstance(text := row.get(column), str):
                there = f"expected a string in column {column!r}, found {text!r:.80}; it has {', '.join(map(str, row))}"
                raise CorpusError(f"{origin}: row {number}: {there}")
            yield json.dumps({"text": text}, ensure_ascii=False).encode() + b"\n"


@contextmanager
def loading(what: str) -> Iterator[None]:
    """Raise CorpusError for whatever the libraries of the Hub raise: a dozen are below them, each with its errors."""
    try:
        yield
    except CorpusError:
        raise
    except Exception as error:
        why = one_line(str(error)) or type(error).__name__
        raise CorpusError(f"{what}: cannot be loaded ({why}); check the names, the revision and the network") from error
