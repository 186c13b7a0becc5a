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

from niah_gen.corpora.declarations import (
    DECLARATION,
    EXPECTED,
    SUFFIXES,
    CorpusFile,
    Declaration,
    declaration_toml,
    fetchable,
    suffix_of,
    wrong_language,
)
from niah_gen.corpora.documents import read_documents
from niah_gen.corpora.find import bundled_folder, corpus_files, data_folder, search_folders
from niah_gen.corpora.language import language_of
from niah_gen.errors import CorpusError, LockedError, listed
from niah_score.contract import file_sha256, is_safe_path
from niah_score.machine.files import (
    HeldError,
    atomic_file,
    locked,
    move_file,
    remove_folder,
    sync_folder,
    write_atomically,
)

# progress(path, done, wanted): rows of a repository, or files.
Progress = Callable[[str, int, int], None]

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
    source: str = "local files",
    folder: Path | None = None,
    text_field: str = "text",
) -> Path:
    """Copy the user's own files, of any size, into a corpus; returns `<folder>/<name>`.

    sources: files in reading order, or folders, whose `corpus_files` are taken, sorted. language: one that has a
    language file; by default recognised by the script and by common words. text_field: the .jsonl field or .parquet
    column that holds the texts.

    Raises CorpusError listing every file that cannot be part of a corpus, each with its first bad line, or saying why
    the name cannot be used; ResourceError (a document that is too long), LockedError (another process adds this name),
    and OSError. Then nothing is installed.
    """
    _check_name(name, language)
    files = _own_files(name, sources)
    target = (folder or data_folder()) / name
    with staging_folder(target) as staging:
        _check_free(name, target)
        hashes = {file: file_sha256(file) for file in files}
        recognised = _checked_language(name, files, text_field)
        for file, sha256 in hashes.items():
            if copy_checked(file, staging / file.name) != sha256:
                raise CorpusError(f"{file}: changed while it was copied; add it again once nothing writes to it")
        pins = tuple(CorpusFile(file.name, sha256) for file, sha256 in hashes.items())
        install(
            staging, target, Declaration(name, language or recognised, license, source, pins, text_field=text_field)
        )
    return target


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
    folder: Path | None = None,
    progress: Progress | None = None,
) -> Path:
    """Make a corpus from a string column of the first rows of a `datasets` repository; returns `<folder>/<name>`.

    repository: `OWNER/NAME` on the Hub, with the 40 hex digits of a commit as `revision`, or a local folder without a
    revision. documents: the rows to take, fewer if there are fewer. known: the name may be one that `niah-gen corpora
    fetch` installs. progress(path, rows_done, rows_wanted).

    Raises CorpusError (no such repository, config, split or column; offline; no pinned revision; a row without a
    string; a name that cannot be used), LockedError (another process adds this name), and OSError. Then nothing is
    installed.
    """
    _check_name(name, language, known=known)
    if documents < 1:
        raise CorpusError(f"corpus {name!r}: expected at least one document, found {documents}")
    place, origin = _origin(repository, revision)
    target = (folder or data_folder()) / name
    with staging_folder(target) as staging:
        _check_free(name, target)
        path = staging / DOCUMENTS
        with atomic_file(path) as file:
            texts = _texts(place, origin, config, split, revision, column)
            for number, text in enumerate(islice(texts, documents), 1):
                file.write(text)
                if progress:
                    progress(DOCUMENTS, number, documents)
        if not path.stat().st_size:
            raise CorpusError(f"{origin}: split {split!r} holds no rows")
        pins = (CorpusFile(DOCUMENTS, file_sha256(path)),)
        recognised = _checked_language(name, [path], "text")
        source = " ".join(part for part in (origin, config, split, "column", column) if part)
        install(staging, target, Declaration(name, language or recognised, license, source, pins, description))
    return target


@contextmanager
def staging_folder(target: Path) -> Iterator[Path]:
    """An empty folder beside a corpus, removed in the end, that only this process uses.

    Raises LockedError at once if another process installs this corpus; a killed one leaves no lock.
    """
    staging = target.with_name(f".{target.name}.adding")
    try:
        with locked(target.with_name(f".{target.name}.lock")):
            remove_folder(staging)
            staging.mkdir()
            try:
                yield staging
            finally:
                shutil.rmtree(staging, ignore_errors=True)
    except HeldError as error:
        raise LockedError(
            f"{target}: another process is installing it ({error.path} is held); wait for it to end"
        ) from None


def copy_checked(path: Path, target: Path) -> str:
    """Copy a file; returns the sha256 of the copy."""
    with path.open("rb") as file, atomic_file(target) as copy:
        shutil.copyfileobj(file, copy)
    return file_sha256(target)


def install(staging: Path, target: Path, declaration: Declaration) -> None:
    """Give a complete staging folder its name, or move its files over those of an existing corpus, corpus.toml last.

    Other files in an existing folder stay: they are the user's.
    """
    write_atomically(staging / DECLARATION, declaration_toml(declaration))
    if target.exists():
        for path in (*(file.path for file in declaration.files), DECLARATION):
            if (staging / path).exists():
                move_file(staging / path, target / path)
    else:
        staging.rename(target)
    sync_folder(target.parent)


def _check_free(name: str, target: Path) -> None:
    """Raise CorpusError if the name is taken."""
    for place in (target.parent, *search_folders()):
        for taken in (place / f"{name}{suffix}" for suffix in ("", *SUFFIXES)):
            if os.path.lexists(taken):
                raise CorpusError(f"corpus {name!r} is there already ({taken}); choose another name or remove it")


def _check_name(name: str, language: str | None, *, known: bool = False) -> None:
    if not _NAME.fullmatch(name):
        raise CorpusError(f"corpus name {name!r}: expected letters, digits, _ and -, a letter or digit first")
    # Ignoring case, as some file systems would put both into one folder.
    if not known and name.lower() in fetchable():
        raise CorpusError(f"corpus {name!r}: the name belongs to a corpus that `niah-gen corpora fetch` installs")
    if (bundled_folder() / name.lower()).exists():
        raise CorpusError(f"corpus {name!r}: the name belongs to a corpus that comes with the package; choose another")
    if language is not None and (problem := wrong_language(language)):
        raise CorpusError(f"corpus {name!r}: {problem}")


def _own_files(name: str, sources: Iterable[Path]) -> list[Path]:
    """The files to copy, in reading order. Raises CorpusError listing those that cannot be."""
    files: dict[str, Path] = {}
    problems = []
    for path in (Path(source).expanduser() for source in sources):
        found = [path / file for file in corpus_files(path)] if path.is_dir() else [path]
        if not found:
            problems.append(f"{path}: no file of a corpus in this folder; {EXPECTED}")
        for file in found:
            # Ignoring case, as some file systems would keep only one of them.
            other = files.setdefault(file.name.casefold(), file)
            if not file.is_file():
                problems.append(f"{file}: no such file or folder")
            elif suffix_of(file.name) is None:
                problems.append(f"{file}: {EXPECTED}")
            elif other is not file:
                problems.append(f"{file}: has the same name as {other}; rename one, or give it once")
            elif not is_safe_path(file.name) or any("\ud800" <= char <= "\udfff" for char in file.name):
                problems.append(f"{str(file)!r}: the name would not work on every system; rename the file")
    if not files and not problems:
        problems.append("no file or folder was given")
    if problems:
        raise CorpusError(listed(f"corpus {name!r}: nothing was installed", problems))
    return list(files.values())


def _checked_language(name: str, files: Sequence[Path], field: str) -> str:
    """The language of the files. Raises CorpusError with the first problem of every file that has one."""
    problems = []
    has_text = False
    for file in files:
        try:
            for document in read_documents(file, file.name, field):
                has_text = has_text or bool(document.text.strip())
        except CorpusError as error:
            problems.append(str(error))
    if not problems and not has_text:
        problems.append(f"{', '.join(file.name for file in files[:5])}: no document holds any text")
    if problems:
        raise CorpusError(listed(f"corpus {name!r}: nothing was installed", problems))
    return language_of(document.text for file in files for document in read_documents(file, file.name, field))


def _origin(repository: str, revision: str | None) -> tuple[str, str]:
    """What to load, and how to record it. Raises CorpusError if the revision does not fix what will be loaded."""
    path = Path(repository).expanduser()
    if repository and path.is_dir():
        if revision is not None:
            raise CorpusError(
                f"{repository}: is a folder here, and a folder has no revision; leave the revision out, or, for a "
                "repository of that name on the Hub, run this in another folder"
            )
        # Its name alone: what is recorded goes into manifests, which hold no absolute paths.
        return str(path.resolve()), path.resolve().name
    if not _REPOSITORY.fullmatch(repository) or path.is_file():
        raise CorpusError(f"{repository!r}: no such folder, and a repository on the Hub is named OWNER/NAME")
    if revision is None or not _COMMIT.fullmatch(revision):
        raise CorpusError(
            f"{repository}: expected the 40 hex digits of a commit as the revision, found {revision!r}; branches and "
            f"tags move. Find it under https://huggingface.co/datasets/{repository}/commits/main, or by "
            f"`git ls-remote https://huggingface.co/datasets/{repository} HEAD`"
        )
    return repository, f"{repository}@{revision}"


def _texts(
    place: str, origin: str, config: str | None, split: str, revision: str | None, column: str
) -> Iterator[bytes]:
    """The lines of a .jsonl file with a column's values. Raises CorpusError if the library raises anything."""
    import datasets

    try:
        stream = datasets.load_dataset(place, config, split=split, streaming=True, revision=revision)
        if column in (stream.column_names or ()):
            # So that images and sounds beside the text are not decoded.
            stream = stream.select_columns([column])
        for number, row in enumerate(stream, 1):
            if column not in row:
                raise CorpusError(f"{origin}: row {number}: no column {column!r}; it has {', '.join(map(str, row))}")
            text = row[column]
            if not isinstance(text, str):
                raise CorpusError(f"{origin}: row {number}: expected a string in {column!r}, found {text!r:.80}")
            yield json.dumps({"text": text}, ensure_ascii=False).encode() + b"\n"
    except CorpusError:
        raise
    except Exception as error:
        # A dozen libraries are below it, each with its own errors.
        raise CorpusError(
            f"{origin}: cannot be loaded as split {split!r}{f' of config {config!r}' if config else ''} "
            f"({said_by(error)}); check the names, the revision and the network"
        ) from error


def said_by(error: Exception) -> str:
    """The message of an error on one line, or else its name."""
    return " ".join(str(error).split()) or type(error).__name__
