"""Takes corpora from the network, a folder, files or a `datasets` repository, and leaves checked folders to read.

    <folder>/<name>/              the corpus with its corpus.toml, which appears whole
    <folder>/.<name>.fetching/    finished and `.part` files of an interrupted fetch; the next one uses them again

Bytes are trusted by their sha256 alone: that of the pins for a corpus known by name, that of the checked file for one
of the user's own. A damaged corpus is repaired file by file, corpus.toml last, once all that it lacks has arrived.
"""

from __future__ import annotations

import http.client
import json
import os
import re
import shutil
import ssl
import time
import tomllib
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, NoReturn

from niah_gen import __version__
from niah_gen.corpora import (
    DECLARATION,
    LANGUAGES,
    SUFFIXES,
    CorpusFile,
    Declaration,
    Document,
    bundled_folder,
    corpus_files,
    data_folder,
    known_corpora,
    language_of,
    parse_declaration,
    read_documents,
    search_folders,
)
from niah_gen.errors import CorpusError, IntegrityError, LockedError, suggestion
from niah_gen.shards import atomic_file, sync_folder, write_atomically
from niah_score.contract import file_sha256, is_safe_path

# progress(path, done, total): bytes of a file (total 0: the server does not say), or rows of a `datasets` repository.
Progress = Callable[[str, int, int], None]

PART = ".part"
DOCUMENTS = "documents.jsonl"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")
# An owner is asked for: `load_dataset("json")` and the like are loaders, which would read the working directory.
_REPOSITORY = re.compile(r"[A-Za-z0-9][\w.-]*/[\w.-]+", re.ASCII)
_COMMIT = re.compile(r"[0-9a-f]{40}")
_CONTENT_RANGE = re.compile(r"bytes (\d+)-\d+/(?:\d+|\*)")
_TIMEOUT_SECONDS = 30.0
# Between tries that brought nothing; a try that brought bytes starts the count anew.
_PAUSES = (0.5, 1.0, 2.0, 4.0)
_CHUNK_BYTES = 64 * 1024
# As much as `language_of` looks at.
_SAMPLE_CHARACTERS = 100_000
_SHOWN_PROBLEMS = 20


def fetch_corpus(
    name: str,
    *,
    source: Path | None = None,
    url: str | None = None,
    folder: Path | None = None,
    progress: Progress | None = None,
) -> Path:
    """Install a corpus known by name into `folder`, by default the user's data folder; returns `<folder>/<name>`.

    source: copy from this folder, or from the folder of that name in it, instead of the network. url: fetch from here
    instead; a URL with `{path}`, or one to which `/<path>` is added. progress(path, bytes_done, bytes_total).

    What is there and intact is kept, what arrived of an interrupted fetch is used again. Raises CorpusError (unknown
    name, offline, refused by the server, files missing in `source`), IntegrityError (bytes that are not the pinned
    ones), LockedError (another process fetches this corpus), and OSError.
    """
    pins = known_corpora().get(name)
    if pins is None:
        known = suggestion(name.partition("/")[0], known_corpora())
        raise CorpusError(f"corpus {name!r} is not one that can be fetched{known}")
    if source is not None and url is not None:
        raise CorpusError(f"corpus {name!r}: expected a folder or a URL to fetch it from, found both")
    target = (folder or data_folder()) / name
    toml = _toml(pins)
    if not _lacking(target, pins) and _holds(target / DECLARATION, toml):
        return target
    tell = progress or (lambda path, done, total: None)
    with _alone(target):
        if target.exists() and not target.is_dir():
            raise CorpusError(f"{target}: expected a folder or nothing, found a file; move it away")
        staging = target.with_name(f".{name}.fetching")
        staging.mkdir(exist_ok=True)
        lacking = _lacking(target, pins)
        if source is not None:
            _copy_all(name, source.expanduser(), lacking, staging, tell)
        else:
            base = url or pins.url or ""
            for file in lacking:
                _fetch_file(name, _file_url(base, file.path), file, staging, tell)
        _install(staging, target, lacking, toml)
    return target


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
    """Copy .txt, .jsonl and .parquet files of the user's own into a corpus; returns `<folder>/<name>`.

    sources: files in reading order, or folders, of which all such files directly in them are taken, sorted. language:
    en or zh, by default told by the script. text_field: the .jsonl field or .parquet column that holds the texts.

    Raises CorpusError listing every file that cannot be a part of a corpus, each with its first bad line, or saying why
    the name cannot be had; LockedError (another process adds this name), and OSError. Nothing is installed then.
    """
    _check_name(name, language)
    files = _own_files(name, sources)
    with _new_corpus(name, folder) as (staging, target):
        hashes = {file: file_sha256(file) for file in files}
        found = _checked_language(name, files, text_field)
        for file, sha256 in hashes.items():
            if _copy(file, staging / file.name) != sha256:
                raise CorpusError(f"{file}: changed while it was copied; add it again once nothing writes to it")
        pins = tuple(CorpusFile(file.name, sha256) for file, sha256 in hashes.items())
        declaration = Declaration(name, language or found, license, source, pins, text_field=text_field)
        _install(staging, target, pins, _toml(declaration))
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
    folder: Path | None = None,
    progress: Progress | None = None,
) -> Path:
    """Make a corpus of a string column of the first rows of a `datasets` repository; returns `<folder>/<name>`.

    repository: `OWNER/NAME` on the Hub, with the 40 hex digits of a commit as `revision`, or a local folder, without.
    documents: how many rows to take, fewer if there are fewer. progress(path, rows_done, rows_wanted).

    Raises CorpusError (no such repository, config, split or column; offline; no pinned revision; a row that holds no
    string; a name that cannot be had), LockedError (another process adds this name), and OSError. Nothing is installed
    then.
    """
    _check_name(name, language)
    if documents < 1:
        raise CorpusError(f"corpus {name!r}: expected at least one document, found {documents}")
    place, origin = _origin(repository, revision)
    with _new_corpus(name, folder) as (staging, target):
        path = staging / DOCUMENTS
        rows = _rows(place, origin, config, split, revision, column)
        with atomic_file(path) as file:
            for number, text in enumerate(_texts(islice(rows, documents), origin, column), 1):
                file.write(text)
                if progress:
                    progress(DOCUMENTS, number, documents)
        if not path.stat().st_size:
            raise CorpusError(f"{origin}: split {split!r} holds no rows")
        pins = (CorpusFile(DOCUMENTS, file_sha256(path)),)
        found = _checked_language(name, [path], "text")
        said = " ".join(part for part in (origin, config, split, "column", column) if part)
        _install(staging, target, pins, _toml(Declaration(name, language or found, license, said, pins)))
    return target


@contextmanager
def _alone(target: Path) -> Iterator[None]:
    """Hold a corpus alone. Raises LockedError at once if another process holds it; a killed holder leaves no lock."""
    import filelock

    target.parent.mkdir(parents=True, exist_ok=True)
    path = target.with_name(f".{target.name}.lock")
    lock = filelock.FileLock(path, timeout=0)
    try:
        lock.acquire()
    except filelock.Timeout:
        raise LockedError(f"{target}: another process is installing it ({path} is held); wait for it to end") from None
    try:
        yield
    finally:
        lock.release()


@contextmanager
def _new_corpus(name: str, folder: Path | None) -> Iterator[tuple[Path, Path]]:
    """An empty staging folder, gone in the end, and the target it is for. Raises CorpusError if the name is taken."""
    target = (folder or data_folder()) / name
    with _alone(target):
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


def _check_name(name: str, language: str | None) -> None:
    if not _NAME.fullmatch(name):
        raise CorpusError(f"corpus name {name!r}: expected letters, digits, _ and -, a letter or digit first")
    # Without regard to case, as some file systems would put both into one folder.
    if name.lower() in known_corpora():
        raise CorpusError(f"corpus {name!r}: the name belongs to a corpus that `niah-gen corpora fetch` installs")
    if (bundled_folder() / name.lower()).exists():
        raise CorpusError(f"corpus {name!r}: the name belongs to a corpus that comes with the package; choose another")
    if language not in (None, *LANGUAGES):
        raise CorpusError(f"corpus {name!r}: language: expected one of {', '.join(LANGUAGES)}, found {language!r}")


def _toml(declaration: Declaration) -> bytes:
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


def _lacking(folder: Path, pins: Declaration) -> list[CorpusFile]:
    """The files that a folder does not hold, or holds damaged."""
    return [file for file in pins.files if not _is_intact(folder / file.path, file)]


def _is_intact(path: Path, file: CorpusFile) -> bool:
    return path.is_file() and file_sha256(path) == file.sha256


def _holds(path: Path, data: bytes) -> bool:
    return path.is_file() and path.read_bytes() == data


def _install(staging: Path, target: Path, files: Sequence[CorpusFile], toml: bytes) -> None:
    """Give a complete staging folder its name, or move its files over the damaged ones of a corpus that is there."""
    write_atomically(staging / DECLARATION, toml)
    if target.exists():
        # Not the whole folder: the user may keep other files in it.
        for path in (*(file.path for file in files), DECLARATION):
            goal = target / path
            goal.parent.mkdir(parents=True, exist_ok=True)
            (staging / path).replace(goal)
            sync_folder(goal.parent)
        shutil.rmtree(staging)
    else:
        _sweep(staging, {DECLARATION, *(file.path for file in files)})
        staging.rename(target)
    sync_folder(target.parent)


def _sweep(folder: Path, wanted: set[str]) -> None:
    """Remove what an interrupted fetch, perhaps of other pins, left behind."""
    for path in sorted(folder.rglob("*"), reverse=True):
        if path.is_dir() and not path.is_symlink():
            if not any(path.iterdir()):
                path.rmdir()
        elif path.relative_to(folder).as_posix() not in wanted:
            path.unlink()


def _listed(head: str, problems: Sequence[str]) -> str:
    shown = list(problems[:_SHOWN_PROBLEMS])
    if len(problems) > len(shown):
        shown.append(f"and {len(problems) - len(shown)} more")
    return "\n  ".join([head, *shown])


# --- from a folder ---


def _copy(path: Path, goal: Path) -> str:
    """Copy a file; returns the sha256 of the copy."""
    with path.open("rb") as file, atomic_file(goal) as copy:
        shutil.copyfileobj(file, copy)
    return file_sha256(goal)


def _copy_all(name: str, source: Path, files: Sequence[CorpusFile], staging: Path, tell: Progress) -> None:
    """Copy pinned files from a folder. Raises CorpusError or IntegrityError listing all that are missing or wrong."""
    if not source.is_dir():
        raise CorpusError(f"{source}: expected a folder with the files of corpus {name!r}")
    directly = any((source / file.path).exists() for file in files)
    folder = source / name if not directly and (source / name).is_dir() else source
    problems = []
    damaged = False
    for file in files:
        path, goal = folder / file.path, staging / file.path
        if not _is_intact(goal, file):
            try:
                found = file_sha256(path)
            except FileNotFoundError:
                problems.append(f"{file.path}: missing")
                continue
            except OSError as error:
                problems.append(f"{file.path}: cannot be read ({error.strerror})")
                continue
            if found == file.sha256:
                found = _copy(path, goal)
            if found != file.sha256:
                damaged = True
                problems.append(f"{file.path}: sha256 is {found}, expected {file.sha256}")
                continue
        size = goal.stat().st_size
        tell(file.path, size, size)
    if problems:
        head = f"{folder}: {len(problems)} of {len(files)} files are not those of corpus {name!r}, nothing installed"
        raise (IntegrityError if damaged else CorpusError)(_listed(head, problems))


# --- from the network ---


class _InterruptedError(Exception):
    """A try that may go better the next time."""


def _file_url(base: str, path: str) -> str:
    """Where a file is. Raises CorpusError for anything but http and https."""
    quoted = urllib.parse.quote(path)
    url = base.replace("{path}", quoted) if "{path}" in base else f"{base.rstrip('/')}/{quoted}"
    try:
        parts = urllib.parse.urlsplit(url)
        valid = parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        valid = False
    if not valid:
        raise CorpusError(f"{base}: expected a URL with https:// or http://; for a folder use --from FOLDER")
    return url


def _fetch_file(name: str, url: str, file: CorpusFile, staging: Path, tell: Progress) -> None:
    """Bring one pinned file into the staging folder. Raises IntegrityError if the server sends other bytes."""
    goal = staging / file.path
    if _is_intact(goal, file):
        size = goal.stat().st_size
        tell(file.path, size, size)
        return
    part = goal.with_name(goal.name + PART)
    part.parent.mkdir(parents=True, exist_ok=True)
    found = ""
    # Twice, as the partial file that the first try goes on with may be of another time or server.
    for _ in range(2):
        _download(name, url, part, lambda done, total: tell(file.path, done, total))
        found = file_sha256(part)
        if found == file.sha256:
            part.replace(goal)
            sync_folder(goal.parent)
            return
        part.unlink()
    raise IntegrityError(
        f"{url}: {file.path} has sha256 {found}, but corpus {name!r} pins {file.sha256}; nothing was installed: the "
        f"server, or a proxy on the way, sends another file; fetch it from another URL, or {_way_out(name)}"
    )


def _way_out(name: str) -> str:
    return f"get the files elsewhere and run `niah-gen corpora fetch {name} --from FOLDER`"


def _download(name: str, url: str, part: Path, tell: Callable[[int, int], None]) -> None:
    """Bring a partial file to its end. Raises CorpusError if the server refuses or too many tries bring nothing."""
    longest = _size(part)
    failures = 0
    while True:
        try:
            _go_on(name, url, part, tell)
        except _InterruptedError as error:
            size = _size(part)
            failures = failures + 1 if size <= longest else 1
            longest = max(longest, size)
            if failures > len(_PAUSES):
                kept = "what arrived is kept, and the same command goes on from there; " if size else ""
                raise CorpusError(
                    f"{url}: {error} ({failures} tries); {kept}without network, {_way_out(name)}"
                ) from None
            time.sleep(_PAUSES[failures - 1])
        else:
            return


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _go_on(name: str, url: str, part: Path, tell: Callable[[int, int], None]) -> None:
    """One request for what a partial file lacks. Raises _InterruptedError with what arrived kept."""
    start = _size(part)
    headers = {"User-Agent": f"niah-gen/{__version__}"}
    if start:
        headers["Range"] = f"bytes={start}-"
    try:
        request = urllib.request.Request(url, headers=headers)  # noqa: S310 - _file_url lets only http and https through
        # An opener of its own: the shared one keeps the proxies of the first request ever made.
        response = urllib.request.build_opener().open(request, timeout=_TIMEOUT_SECONDS)
    except urllib.error.HTTPError as error:
        with error:
            if error.code == 416 and start:
                # Nothing is left to send: the file is whole, or longer than the server's; its hash tells which.
                return
            _refused(name, url, error.code, error.reason)
    except (http.client.InvalidURL, UnicodeError) as error:
        raise CorpusError(f"{url}: not a valid URL ({error})") from None
    except (OSError, http.client.HTTPException) as error:
        reason = getattr(error, "reason", None) or error
        if isinstance(reason, ssl.SSLCertVerificationError):
            raise CorpusError(
                f"{url}: the server's certificate is not trusted ({reason.verify_message}); behind a company proxy set "
                f"SSL_CERT_FILE to its certificate, or {_way_out(name)}"
            ) from None
        raise _InterruptedError(f"no connection ({reason}): this machine or the server is offline") from None
    with response:
        if response.status == 206:
            stated = _CONTENT_RANGE.match(response.headers.get("Content-Range", ""))
            if stated is None or int(stated[1]) != start:
                part.unlink(missing_ok=True)
                raise _InterruptedError("the server went on at another place than asked for")
        else:
            start = 0
        stated_length = response.headers.get("Content-Length", "")
        total = start + int(stated_length) if stated_length.isdecimal() else 0
        done = start
        tell(done, total)
        with part.open("ab" if start else "wb") as file:
            while chunk := _received(response, min(_CHUNK_BYTES, total - done) if total else _CHUNK_BYTES):
                file.write(chunk)
                done += len(chunk)
                tell(done, total)
            file.flush()
            os.fsync(file.fileno())
        if done < total:
            raise _InterruptedError(f"the connection broke after {done} of {total} bytes")


def _refused(name: str, url: str, status: int, reason: object) -> NoReturn:
    if status >= 500:
        raise _InterruptedError(f"the server answers with status {status} ({reason})")
    raise CorpusError(f"{url}: the server answers with status {status} ({reason}); check the URL, or {_way_out(name)}")


def _received(response: http.client.HTTPResponse, most: int) -> bytes:
    """The next bytes, as soon as there are any."""
    try:
        return response.read1(most) if most else b""
    except (OSError, http.client.HTTPException) as error:
        # Not OSError: one that comes from writing the file must not look like one of the network.
        raise _InterruptedError(f"the connection broke ({error or type(error).__name__})") from None


# --- files of the user's own ---


def _own_files(name: str, sources: Iterable[Path]) -> list[Path]:
    """The files to copy, in reading order. Raises CorpusError listing all that cannot be."""
    files: list[Path] = []
    problems = []
    for path in (Path(source).expanduser() for source in sources):
        if path.is_dir():
            found = corpus_files(path)
            files += [path / file for file in found]
            if not found:
                problems.append(f"{path}: the folder holds no {', '.join(SUFFIXES)} file")
        elif not path.is_file():
            problems.append(f"{path}: no such file or folder")
        elif path.suffix not in SUFFIXES:
            problems.append(f"{path}: expected a {', '.join(SUFFIXES)} file")
        else:
            files.append(path)
    first: dict[str, Path] = {}
    for file in files:
        # Without regard to case, as some file systems would keep only one of them.
        other = first.setdefault(file.name.casefold(), file)
        if other is not file:
            problems.append(f"{file}: has the same name as {other}; rename one, or give it once")
        if not is_safe_path(file.name) or any("\ud800" <= char <= "\udfff" for char in file.name):
            problems.append(f"{str(file)!r}: the name would not work on every system; rename the file")
    if not files and not problems:
        problems.append("no file or folder was given")
    if problems:
        raise CorpusError(_listed(f"corpus {name!r}: nothing was installed", problems))
    return files


def _checked_language(name: str, files: Sequence[Path], field: str) -> str:
    """The language of files that are all sound. Raises CorpusError with the first problem of every file."""
    problems = []
    sample: list[Document] = []
    characters = 0
    has_text = False
    for file in files:
        try:
            for document in read_documents(file, file.name, field):
                has_text = has_text or bool(document.text.strip())
                if characters < _SAMPLE_CHARACTERS:
                    sample.append(document)
                    characters += len(document.text)
        except CorpusError as error:
            problems.append(str(error))
    if not problems and not has_text:
        problems.append(f"{', '.join(file.name for file in files[:_SHOWN_PROBLEMS])}: no document holds any text")
    if problems:
        raise CorpusError(_listed(f"corpus {name!r}: nothing was installed", problems))
    return language_of(sample)


# --- from a `datasets` repository ---


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
    """The rows of a repository, one at a time. Raises CorpusError where the library raises anything."""
    import datasets

    try:
        stream = datasets.load_dataset(place, config, split=split, streaming=True, revision=revision)
        if column in (stream.column_names or ()):
            # So that images and sounds beside the text are not decoded.
            stream = stream.select_columns([column])
        yield from stream
    except Exception as error:
        # A dozen libraries lie below it, each with errors of its own.
        said = " ".join(str(error).split()) or type(error).__name__
        raise CorpusError(
            f"{origin}: cannot be loaded as split {split!r}{f' of config {config!r}' if config else ''} ({said}); "
            "check the names, the revision and the network"
        ) from error


def _texts(rows: Iterable[Mapping[str, Any]], origin: str, column: str) -> Iterator[bytes]:
    """The lines of a .jsonl file with a column's values. Raises CorpusError with the number of a row without one."""
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
