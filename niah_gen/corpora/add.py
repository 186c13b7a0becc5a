"""Adds the user's own corpora: checked copies of files, or a column of a `datasets` repository.

<folder>/<name>/    the corpus with its corpus.toml, which appears only when complete
"""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

from niah_gen.corpora.declarations import (
    SUFFIXES,
    CorpusFile,
    Declaration,
    declaration_toml,
    fetchable,
    suffix_of,
    wrong_language,
)
from niah_gen.corpora.documents import read_documents
from niah_gen.corpora.fetch import Progress
from niah_gen.corpora.find import bundled_folder, corpus_files, data_folder, search_folders
from niah_gen.corpora.install import alone, copy_checked, install
from niah_gen.corpora.language import LanguageSample
from niah_gen.errors import SHOWN_PROBLEMS, CorpusError, ResourceError, listed
from niah_score.contract import file_sha256, is_safe_path
from niah_score.machine.files import atomic_file

DOCUMENTS = "documents.jsonl"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")
# An owner is required: `load_dataset("json")` and the like name loaders, which would read the working directory.
_REPOSITORY = re.compile(r"[A-Za-z0-9][\w.-]*/[\w.-]+", re.ASCII)
_COMMIT = re.compile(r"[0-9a-f]{40}")
_FULL = (errno.ENOSPC, errno.EDQUOT)


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
    the name cannot be used; ResourceError (the disk is too small), LockedError (another process adds this name), and
    OSError. Then nothing is installed.
    """
    _check_name(name, language)
    files = _own_files(name, sources)
    with _new_corpus(name, folder) as (staging, target):
        _check_disk(name, staging, sum(file.stat().st_size for file in files))
        hashes = {file: file_sha256(file) for file in files}
        recognised = _checked_language(name, files, text_field)
        for file, sha256 in hashes.items():
            if copy_checked(file, staging / file.name) != sha256:
                raise CorpusError(f"{file}: changed while it was copied; add it again once nothing writes to it")
        pins = tuple(CorpusFile(file.name, sha256) for file, sha256 in hashes.items())
        declaration = Declaration(name, language or recognised, license, source, pins, text_field=text_field)
        install(staging, target, pins, declaration_toml(declaration))
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
    string; a name that cannot be used), ResourceError (the disk is full), LockedError (another process adds this name),
    and OSError. Then nothing is installed.
    """
    _check_name(name, language, known=known)
    if documents < 1:
        raise CorpusError(f"corpus {name!r}: expected at least one document, found {documents}")
    place, origin = _origin(repository, revision)
    with _new_corpus(name, folder) as (staging, target):
        path = staging / DOCUMENTS
        rows = _rows(place, origin, config, split, revision, column)
        written = number = 0
        try:
            with atomic_file(path) as file:
                for text in _texts(islice(rows, documents), origin, column):
                    written += file.write(text)
                    number += 1
                    if progress:
                        progress(DOCUMENTS, number, documents)
        except OSError as error:
            if error.errno not in _FULL:
                raise
            raise ResourceError(
                f"corpus {name!r}: the disk of {target.parent} was full after {number:,} of {documents:,} rows, "
                f"{written:,} bytes; all would take about {written * documents // max(number, 1):,}; make room, or "
                "take fewer with --documents. Nothing was installed"
            ) from None
        if not path.stat().st_size:
            raise CorpusError(f"{origin}: split {split!r} holds no rows")
        pins = (CorpusFile(DOCUMENTS, file_sha256(path)),)
        recognised = _checked_language(name, [path], "text")
        source = " ".join(part for part in (origin, config, split, "column", column) if part)
        declaration = Declaration(name, language or recognised, license, source, pins, description)
        install(staging, target, pins, declaration_toml(declaration))
    return target


@contextmanager
def _new_corpus(name: str, folder: Path | None) -> Iterator[tuple[Path, Path]]:
    """An empty staging folder, removed in the end, and its target. Raises CorpusError if the name is taken."""
    target = (folder or data_folder()) / name
    with alone(target):
        for place in (target.parent, *search_folders()):
            for taken in (place / f"{name}{suffix}" for suffix in ("", *SUFFIXES)):
                if os.path.lexists(taken):
                    raise CorpusError(f"corpus {name!r} is there already ({taken}); choose another name or remove it")
        staging = target.with_name(f".{name}.adding")
        shutil.rmtree(staging, ignore_errors=True)
        staging.mkdir()
        try:
            yield staging, target
        finally:
            shutil.rmtree(staging, ignore_errors=True)


def _check_disk(name: str, staging: Path, needed: int) -> None:
    """Raise ResourceError if the disk is too small for the copies."""
    free = shutil.disk_usage(staging).free
    if needed > free:
        raise ResourceError(
            f"corpus {name!r}: its files take {needed:,} bytes, and the disk of {staging.parent} has {free:,} left; "
            "make room, or put $XDG_DATA_HOME on another disk. A corpus can also be used where it is: --corpus PATH"
        )


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
    files: list[Path] = []
    problems = []
    for path in (Path(source).expanduser() for source in sources):
        if path.is_dir():
            names = corpus_files(path)
            files += [path / file for file in names]
            if not names:
                problems.append(f"{path}: the folder holds no {', '.join(SUFFIXES)} file")
        elif not path.is_file():
            problems.append(f"{path}: no such file or folder")
        elif suffix_of(path.name) is None:
            problems.append(f"{path}: expected a {', '.join(SUFFIXES)} file")
        else:
            files.append(path)
    first: dict[str, Path] = {}
    for file in files:
        # Ignoring case, as some file systems would keep only one of them.
        other = first.setdefault(file.name.casefold(), file)
        if other is not file:
            problems.append(f"{file}: has the same name as {other}; rename one, or give it once")
        if not is_safe_path(file.name) or any("\ud800" <= char <= "\udfff" for char in file.name):
            problems.append(f"{str(file)!r}: the name would not work on every system; rename the file")
    if not files and not problems:
        problems.append("no file or folder was given")
    if problems:
        raise CorpusError(listed(f"corpus {name!r}: nothing was installed", problems))
    return files


def _checked_language(name: str, files: Sequence[Path], field: str) -> str:
    """The language of the files. Raises CorpusError with the first problem of every file that has one."""
    problems = []
    sample = LanguageSample()
    has_text = False
    for file in files:
        try:
            for document in read_documents(file, file.name, field):
                has_text = has_text or bool(document.text.strip())
                sample.add(document)
        except CorpusError as error:
            problems.append(str(error))
    if not problems and not has_text:
        problems.append(f"{', '.join(file.name for file in files[:SHOWN_PROBLEMS])}: no document holds any text")
    if problems:
        raise CorpusError(listed(f"corpus {name!r}: nothing was installed", problems))
    return sample.language()


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
    if path.is_file():
        raise CorpusError(f"{repository}: is a file; add it with `niah-gen corpora add`")
    if not _REPOSITORY.fullmatch(repository):
        raise CorpusError(f"{repository!r}: no such folder, and a repository on the Hub is named OWNER/NAME")
    if revision is None or not _COMMIT.fullmatch(revision):
        raise CorpusError(
            f"{repository}: expected the 40 hex digits of a commit as the revision, found {revision!r}; branches and "
            f"tags move. Find it under https://huggingface.co/datasets/{repository}/commits/main, or by "
            f"`git ls-remote https://huggingface.co/datasets/{repository} HEAD`"
        )
    return repository, f"{repository}@{revision}"


def _rows(
    place: str, origin: str, config: str | None, split: str, revision: str | None, column: str
) -> Iterator[Mapping[str, Any]]:
    """The rows of a repository, one at a time. Raises CorpusError if the library raises anything."""
    import datasets

    try:
        stream = datasets.load_dataset(place, config, split=split, streaming=True, revision=revision)
        if column in (stream.column_names or ()):
            # So that images and sounds beside the text are not decoded.
            stream = stream.select_columns([column])
        yield from stream
    except Exception as error:
        # A dozen libraries are below it, each with its own errors.
        reason = " ".join(str(error).split()) or type(error).__name__
        raise CorpusError(
            f"{origin}: cannot be loaded as split {split!r}{f' of config {config!r}' if config else ''} ({reason}); "
            "check the names, the revision and the network"
        ) from error


def _texts(rows: Iterable[Mapping[str, Any]], origin: str, column: str) -> Iterator[bytes]:
    """The lines of a .jsonl file with a column's values. Raises CorpusError naming a row without one."""
    for number, row in enumerate(rows, 1):
        if column not in row:
            raise CorpusError(f"{origin}: row {number}: no column {column!r}; it has {', '.join(map(str, row))}")
        text = row[column]
        if not isinstance(text, str):
            raise CorpusError(f"{origin}: row {number}: expected a string in {column!r}, found {text!r:.80}")
        try:
            yield json.dumps({"text": text}, ensure_ascii=False).encode() + b"\n"
        except UnicodeEncodeError:
            raise CorpusError(f"{origin}: row {number}: half a surrogate pair in {column!r}") from None
