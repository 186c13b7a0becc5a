"""Fetches the corpora known by name from the network or a folder, checks them, and installs them.

    <folder>/<name>/              the corpus with its corpus.toml, which appears only when complete
    <folder>/.<name>.fetching/    finished files and `.part` files of an interrupted fetch; reused by the next

Bytes are trusted by their pinned sha256 alone. A damaged corpus is repaired file by file, its corpus.toml last, once
everything that was missing has arrived.
"""

from __future__ import annotations

import http.client
import os
import re
import ssl
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NoReturn

from niah_gen.corpora.declarations import DECLARATION, CorpusFile, declaration_toml, fetchable, known_corpora
from niah_gen.corpora.find import data_folder
from niah_gen.corpora.install import alone, copy_checked, holds, install, is_intact, lacking
from niah_gen.errors import CorpusError, IntegrityError, listed, suggestion
from niah_score.contract import VERSION, file_sha256
from niah_score.machine.address_text import shown_address
from niah_score.machine.files import move_file

# progress(path, done, total): bytes of a file (total 0: the server does not say), or rows of a `datasets` repository.
Progress = Callable[[str, int, int], None]

PART = ".part"
_CONTENT_RANGE = re.compile(r"bytes (\d+)-\d+/(?:\d+|\*)")
_TIMEOUT_SECONDS = 30.0
# Seconds between tries that brought nothing; a try that brings bytes resets the count.
_PAUSES = (0.5, 1.0, 2.0, 4.0)
_CHUNK_BYTES = 64 * 1024


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

    Intact files are kept, and what an interrupted fetch left behind is reused. Raises CorpusError (unknown
    name, offline, refused by the server, files missing in `source`), IntegrityError (bytes that are not the pinned
    ones), LockedError (another process fetches this corpus), and OSError.
    """
    pins = known_corpora().get(name)
    if pins is None:
        known = suggestion(name.partition("/")[0], fetchable())
        raise CorpusError(f"corpus {name!r} is not one that can be fetched{known}")
    if source is not None and url is not None:
        raise CorpusError(f"corpus {name!r}: expected a folder or a URL to fetch it from, found both")
    target = (folder or data_folder()) / name
    toml = declaration_toml(pins)
    if not lacking(target, pins) and holds(target / DECLARATION, toml):
        return target
    report = progress or (lambda path, done, total: None)
    with alone(target):
        if target.exists() and not target.is_dir():
            raise CorpusError(f"{target}: expected a folder or nothing, found a file; move it away")
        staging = target.with_name(f".{name}.fetching")
        staging.mkdir(exist_ok=True)
        missing = lacking(target, pins)
        if source is not None:
            _copy_all(name, source.expanduser(), missing, staging, report)
        else:
            base = url or pins.url or ""
            for file in missing:
                _fetch_file(name, _file_url(base, file.path), file, staging, report)
        install(staging, target, missing, toml)
    return target


def _copy_all(name: str, source: Path, files: Sequence[CorpusFile], staging: Path, report: Progress) -> None:
    """Copy pinned files from a folder. Raises CorpusError or IntegrityError listing all that are missing or wrong."""
    if not source.is_dir():
        raise CorpusError(f"{source}: expected a folder with the files of corpus {name!r}")
    directly = any((source / file.path).exists() for file in files)
    folder = source / name if not directly and (source / name).is_dir() else source
    problems = []
    damaged = False
    for file in files:
        path, staged = folder / file.path, staging / file.path
        if not is_intact(staged, file):
            try:
                sha256 = file_sha256(path)
            except FileNotFoundError:
                problems.append(f"{file.path}: missing")
                continue
            except OSError as error:
                problems.append(f"{file.path}: cannot be read ({error.strerror})")
                continue
            if sha256 == file.sha256:
                sha256 = copy_checked(path, staged)
            if sha256 != file.sha256:
                damaged = True
                problems.append(f"{file.path}: sha256 is {sha256}, expected {file.sha256}")
                continue
        size = staged.stat().st_size
        report(file.path, size, size)
    if problems:
        head = f"{folder}: {len(problems)} of {len(files)} files are not those of corpus {name!r}, nothing installed"
        raise (IntegrityError if damaged else CorpusError)(listed(head, problems))


class _InterruptedError(Exception):
    """A failed try that is worth repeating."""


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


def _fetch_file(name: str, url: str, file: CorpusFile, staging: Path, report: Progress) -> None:
    """Bring one pinned file into the staging folder. Raises IntegrityError if the server sends other bytes."""
    staged = staging / file.path
    if is_intact(staged, file):
        size = staged.stat().st_size
        report(file.path, size, size)
        return
    part = staged.with_name(staged.name + PART)
    part.parent.mkdir(parents=True, exist_ok=True)
    sha256 = ""
    # Twice, as the partial file that the first try continues may be from another time or server.
    for _ in range(2):
        _download(name, url, part, lambda done, total: report(file.path, done, total))
        sha256 = file_sha256(part)
        if sha256 == file.sha256:
            move_file(part, staged)
            return
        part.unlink()
    raise IntegrityError(
        f"{url}: {file.path} has sha256 {sha256}, but corpus {name!r} pins {file.sha256}; nothing was installed: the "
        f"server, or a proxy on the way, sends another file; fetch it from another URL, or {_way_out(name)}"
    )


def _way_out(name: str) -> str:
    return f"get the files elsewhere and run `niah-gen corpora fetch {name} --from FOLDER`"


def _download(name: str, url: str, part: Path, report: Callable[[int, int], None]) -> None:
    """Complete a partial file. Raises CorpusError if the server refuses or too many tries bring nothing."""
    longest = _size(part)
    failures = 0
    while True:
        try:
            _continue(name, url, part, report)
        except _InterruptedError as error:
            size = _size(part)
            failures = failures + 1 if size <= longest else 1
            longest = max(longest, size)
            if failures > len(_PAUSES):
                kept = "what arrived is kept, and the same command continues from there; " if size else ""
                raise CorpusError(
                    f"{url}: {error} ({failures} tries); {kept}without network, {_way_out(name)}"
                ) from None
            time.sleep(_PAUSES[failures - 1])
        else:
            return


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _continue(name: str, url: str, part: Path, report: Callable[[int, int], None]) -> None:
    """Make one request for the rest of a partial file. Raises _InterruptedError, keeping what arrived."""
    start = _size(part)
    headers = {"User-Agent": f"niah-gen/{VERSION}"}
    if start:
        headers["Range"] = f"bytes={start}-"
    try:
        request = urllib.request.Request(url, headers=headers)  # noqa: S310 - _file_url lets only http and https through
        # A new opener: the shared one keeps the proxies of the first request ever made.
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
                raise _InterruptedError("the server continued at another place than asked for")
        else:
            start = 0
        stated_length = response.headers.get("Content-Length", "")
        total = start + int(stated_length) if stated_length.isdecimal() else 0
        done = start
        report(done, total)
        with part.open("ab" if start else "wb") as file:
            while chunk := _received(response, min(_CHUNK_BYTES, total - done) if total else _CHUNK_BYTES):
                file.write(chunk)
                done += len(chunk)
                report(done, total)
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
        # Not OSError: an error of writing the file must not look like one of the network.
        raise _InterruptedError(f"the connection broke ({error or type(error).__name__})") from None
