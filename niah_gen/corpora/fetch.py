"""Fetches the corpora known by name, checks them, and installs them: all of a corpus or nothing.

Bytes are trusted by their pinned sha256 alone. The commit of a corpus on the Hub is not pinned here: it is looked up
when the corpus is fetched, and written into corpus.toml with the sha256 of what arrived.
"""

from __future__ import annotations

import http.client
import re
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

from niah_gen.corpora.add import Progress, add_dataset, install, said_by, staging_folder
from niah_gen.corpora.declarations import (
    DECLARATION,
    CorpusFile,
    Declaration,
    HubCorpus,
    declaration_toml,
    fetchable,
    hub_corpora,
    known_corpora,
)
from niah_gen.corpora.find import data_folder, read_declaration
from niah_gen.errors import CorpusError, IntegrityError, suggestion
from niah_score.contract import VERSION, file_sha256, sha256_hex
from niah_score.machine.files import write_atomically

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
    if source is not None:
        source = source.expanduser() / name if (source.expanduser() / name).is_dir() else source.expanduser()
        if not source.is_dir():
            raise CorpusError(f"{source}: expected a folder with the files of corpus {name!r}")
    with staging_folder(target) as staging:
        for number, file in enumerate(missing, 1):
            if source is not None:
                origin, data = str(source / file.path), _copied(name, source / file.path)
            else:
                origin = _file_url(url or pins.url or "", file.path)
                data = _downloaded(name, origin)
            if (sha256 := sha256_hex(data)) != file.sha256:
                raise IntegrityError(
                    f"{origin}: sha256 is {sha256}, but corpus {name!r} pins {file.sha256}; nothing was installed: it "
                    f"is another file, or a proxy on the way changes it; {_way_out(name)}"
                )
            write_atomically(staging / file.path, data)
            if progress:
                progress(file.path, number, len(missing))
        install(staging, target, pins)
    return target


def _way_out(name: str) -> str:
    return f"get the files elsewhere and run `niah-gen corpora fetch {name} --from FOLDER`"


def _lacking(folder: Path, pins: Declaration) -> list[CorpusFile]:
    """The files that are missing from a folder, or damaged in it."""
    paths = {file: folder / file.path for file in pins.files}
    return [file for file, path in paths.items() if not path.is_file() or file_sha256(path) != file.sha256]


def _copied(name: str, path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise CorpusError(f"{path}: missing, and corpus {name!r} needs it; nothing was installed") from None


def _file_url(base: str, path: str) -> str:
    """Where a file is. Raises CorpusError for anything but http and https, and for a URL with a name or password."""
    if not re.fullmatch(r"https?://[^/@]+(/[^@]*)?", base):
        # What precedes an @ is a secret. urllib would take it for a part of the host.
        shown = "the URL, which holds a name or a password" if "@" in base else base
        raise CorpusError(
            f"{shown}: expected a URL with https:// or http:// and without a name or password; for a folder use --from "
            "FOLDER"
        )
    quoted = urllib.parse.quote(path)
    return base.replace("{path}", quoted) if "{path}" in base else f"{base.rstrip('/')}/{quoted}"


def _downloaded(name: str, url: str) -> bytes:
    """What a URL holds. Raises CorpusError if the server refuses, or no try brings all of the file."""
    problem = ""
    for pause in (*_PAUSES, 0.0):
        try:
            request = urllib.request.Request(url, headers={"User-Agent": f"niah-gen/{VERSION}"})  # noqa: S310 - _file_url
            # A new opener: the shared one keeps the proxies of the first request ever made.
            with urllib.request.build_opener().open(request, timeout=_TIMEOUT_SECONDS) as response:
                data: bytes = response.read()
            return data
        except urllib.error.HTTPError as error:
            problem = f"the server answers with status {error.code} ({error.reason})"
            error.close()
            if error.code < 500:
                raise CorpusError(f"{url}: {problem}; check the URL, or {_way_out(name)}") from None
        except (http.client.InvalidURL, ValueError) as error:
            raise CorpusError(f"{url}: not a valid URL ({error})") from None
        except (OSError, http.client.HTTPException) as error:
            problem = f"no connection, or it broke ({error}): this machine or the server is offline"
        time.sleep(pause)
    raise CorpusError(
        f"{url}: {problem} ({len(_PAUSES) + 1} tries); behind a company proxy set https_proxy, and SSL_CERT_FILE to "
        f"its certificate; without network, {_way_out(name)}"
    )


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
    declared = read_declaration(target)
    if declared is None:
        raise CorpusError(f"{target}: expected corpus {known.name!r} or nothing; move it away")
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
        raise CorpusError(
            f"corpus {known.name!r}: {known.repository} cannot be looked up on the Hub ({said_by(error)}); check the "
            f"network, or copy the repository and run `niah-gen corpora fetch {known.name} --from FOLDER`"
        ) from error
    if not commit:
        raise CorpusError(f"corpus {known.name!r}: the Hub names no commit of {known.repository}; give --revision")
    return commit
