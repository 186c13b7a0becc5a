"""Fetches the corpora known by name, checks them, and installs them: all of a corpus or nothing.

Bytes are trusted by their pinned sha256 alone. The commit of a corpus on the Hub is not pinned here: it is looked up
when the corpus is fetched, and written into corpus.toml with the sha256 of what arrived.
"""

from __future__ import annotations

import http.client
import shutil
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

from niah_gen.corpora.add import Progress, add_dataset, install, staging_folder
from niah_gen.corpora.declarations import (
    DECLARATION,
    CorpusFile,
    Declaration,
    HubCorpus,
    declaration_toml,
    fetchable,
    hub_corpora,
    known_corpora,
    parse_declaration,
)
from niah_gen.corpora.find import data_folder
from niah_gen.errors import CorpusError, IntegrityError, listed, suggestion
from niah_score.contract import VERSION, file_sha256, parse_toml, sha256_hex
from niah_score.machine.address_text import shown_address

_TIMEOUT_SECONDS = 30.0
# Seconds between tries.
_PAUSES = (0.5, 1.0, 2.0, 4.0)


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
    instead; a URL with `{path}`, or one to which `/<path>` is added. progress(path, files_done, files_wanted).

    Intact files are kept. Raises CorpusError (unknown name, offline, refused by the server, files missing in
    `source`), IntegrityError (bytes that are not the pinned ones), LockedError (another process fetches this corpus),
    and OSError. Then nothing is installed or changed.
    """
    pins = known_corpora().get(name)
    if pins is None:
        known = suggestion(name.partition("/")[0], fetchable())
        raise CorpusError(f"corpus {name!r} is not one that can be fetched{known}")
    if source is not None and url is not None:
        raise CorpusError(f"corpus {name!r}: expected a folder or a URL to fetch it from, found both")
    target = (folder or data_folder()) / name
    if target.exists() and not target.is_dir():
        raise CorpusError(f"{target}: expected a folder or nothing, found a file; move it away")
    toml = target / DECLARATION
    missing = _lacking(target, pins)
    if not missing and toml.is_file() and toml.read_bytes() == declaration_toml(pins):
        return target
    with staging_folder(target) as staging:
        if source is not None:
            _copy_all(name, source.expanduser(), missing, staging)
        for number, file in enumerate(missing if source is None else (), 1):
            staged = staging / file.path
            staged.parent.mkdir(parents=True, exist_ok=True)
            staged.write_bytes(_download(name, _file_url(url or pins.url or "", file.path), file))
            if progress:
                progress(file.path, number, len(missing))
        install(staging, target, pins)
    return target


def _lacking(folder: Path, pins: Declaration) -> list[CorpusFile]:
    """The files that are missing from a folder, or damaged in it."""
    paths = {file: folder / file.path for file in pins.files}
    return [file for file, path in paths.items() if not path.is_file() or file_sha256(path) != file.sha256]


def _copy_all(name: str, source: Path, files: list[CorpusFile], staging: Path) -> None:
    """Copy pinned files from a folder. Raises CorpusError or IntegrityError listing all that are missing or wrong."""
    if not source.is_dir():
        raise CorpusError(f"{source}: expected a folder with the files of corpus {name!r}")
    directly = any((source / file.path).exists() for file in files)
    folder = source if directly or not (source / name).is_dir() else source / name
    kind: type[CorpusError | IntegrityError] = CorpusError
    problems = []
    for file in files:
        staged = staging / file.path
        staged.parent.mkdir(parents=True, exist_ok=True)
        try:
            shutil.copyfile(folder / file.path, staged)
        except FileNotFoundError:
            problems.append(f"{file.path}: missing")
        else:
            if (sha256 := file_sha256(staged)) != file.sha256:
                kind = IntegrityError
                problems.append(f"{file.path}: sha256 is {sha256}, expected {file.sha256}")
    if problems:
        head = f"{folder}: {len(problems)} of {len(files)} files are not those of corpus {name!r}, nothing installed"
        raise kind(listed(head, problems))


def _file_url(base: str, path: str) -> str:
    """Where a file is. Raises CorpusError for anything but http and https, and for a URL with a name or password."""
    if "@" in base:
        # The URL is not repeated: what precedes the @ is a secret. urllib would take it for a part of the host.
        raise CorpusError(
            "the URL holds a name or a password before its host, which is not sent; give the URL without it, or get "
            "the files by other means and use --from FOLDER"
        )
    quoted = urllib.parse.quote(path)
    url = base.replace("{path}", quoted) if "{path}" in base else f"{base.rstrip('/')}/{quoted}"
    try:
        parts = urllib.parse.urlsplit(url)
        valid = parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        valid = False
    if not valid:
        raise CorpusError(
            f"{shown_address(base)}: expected a URL with https:// or http://; for a folder use --from FOLDER"
        )
    return url


def _download(name: str, url: str, file: CorpusFile) -> bytes:
    """One pinned file. Raises CorpusError if the server refuses, or no try brings all of the file."""
    way_out = f"get the files elsewhere and run `niah-gen corpora fetch {name} --from FOLDER`"
    problem = ""
    for pause in (*_PAUSES, 0.0):
        try:
            request = urllib.request.Request(url, headers={"User-Agent": f"niah-gen/{VERSION}"})  # noqa: S310 - _file_url
            # A new opener: the shared one keeps the proxies of the first request ever made.
            with urllib.request.build_opener().open(request, timeout=_TIMEOUT_SECONDS) as response:
                data: bytes = response.read()
            break
        except urllib.error.HTTPError as error:
            problem = f"the server answers with status {error.code} ({error.reason})"
            error.close()
            if error.code < 500:
                raise CorpusError(f"{url}: {problem}; check the URL, or {way_out}") from None
        except (http.client.InvalidURL, UnicodeError) as error:
            raise CorpusError(f"{url}: not a valid URL ({error})") from None
        except (OSError, http.client.HTTPException) as error:
            problem = f"no connection, or it broke ({error}): this machine or the server is offline"
        time.sleep(pause)
    else:
        raise CorpusError(
            f"{url}: {problem} ({len(_PAUSES) + 1} tries); behind a company proxy set https_proxy, and SSL_CERT_FILE "
            f"to its certificate; without network, {way_out}"
        )
    if (sha256 := sha256_hex(data)) != file.sha256:
        raise IntegrityError(
            f"{url}: {file.path} has sha256 {sha256}, but corpus {name!r} pins {file.sha256}; nothing was installed: "
            f"the server, or a proxy on the way, sends another file; fetch it from another URL, or {way_out}"
        )
    return data


def fetch_from_hub(
    name: str,
    *,
    revision: str | None = None,
    source: Path | None = None,
    folder: Path | None = None,
    progress: Progress | None = None,
) -> Path:
    """Install a corpus from the Hub into `folder`, by default the user's data folder; returns `<folder>/<name>`.

    revision: the commit to take, 40 hex digits; by default the newest. source: a folder with a copy of the repository,
    instead of the Hub. progress(path, rows_done, rows_wanted).

    An intact corpus is kept, whatever its commit. Raises CorpusError (the Hub cannot be reached, or has no such commit,
    split or column; a revision together with a folder; another commit is installed), IntegrityError (what is installed
    is damaged), LockedError (another process adds this name), and OSError.
    """
    known = hub_corpora()[name]
    target = (folder or data_folder()) / name
    if target.exists():
        return _kept(target, known, revision)
    place = known.repository if source is None else str(source.expanduser())
    if source is not None and not source.expanduser().is_dir():
        raise CorpusError(f"{source}: expected a folder with a copy of {known.repository}")
    if source is None and revision is None:
        revision = _newest_commit(known)
    return add_dataset(
        name, place, revision=revision, column=known.column, split=known.split, documents=known.documents,
        language=known.language, license=known.license, description=known.description, known=True,
        folder=folder, progress=progress,
    )  # fmt: skip


def _kept(target: Path, known: HubCorpus, revision: str | None) -> Path:
    """The existing folder, if it is intact and of the commit that is asked for."""
    path = target / DECLARATION
    try:
        declared = parse_declaration(parse_toml(path.read_text("utf-8")), str(path))
    except (FileNotFoundError, NotADirectoryError, ValueError):
        raise CorpusError(f"{target}: expected corpus {known.name!r} or nothing; move it away") from None
    if _lacking(target, declared):
        raise IntegrityError(f"{target}: not what its {DECLARATION} says; remove it, then fetch it again")
    if revision is not None and f"@{revision}" not in declared.source:
        raise CorpusError(f"{target} is from {declared.source}; remove it to fetch another commit")
    return target


def _newest_commit(known: HubCorpus) -> str:
    """The newest commit of the repository. Raises CorpusError if the Hub cannot be asked."""
    import huggingface_hub

    try:
        commit = huggingface_hub.HfApi().dataset_info(known.repository, timeout=_TIMEOUT_SECONDS).sha
    except Exception as error:
        # Several libraries are below it, each with its own errors.
        reason = " ".join(str(error).split()) or type(error).__name__
        raise CorpusError(
            f"corpus {known.name!r}: {known.repository} cannot be looked up on the Hub ({reason}); check the network, "
            f"or copy the repository and run `niah-gen corpora fetch {known.name} --from FOLDER`"
        ) from error
    if not commit:
        raise CorpusError(f"corpus {known.name!r}: the Hub names no commit of {known.repository}; give --revision")
    return commit
