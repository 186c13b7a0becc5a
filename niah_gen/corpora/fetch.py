"""Fetches the corpora known by name, checks them, and installs them: all of a corpus or nothing.

Bytes are trusted by their pinned sha256 alone. The commit of a corpus on the Hub is not pinned here: it is looked up
when the corpus is fetched, and written into corpus.toml with the sha256 of what arrived.
"""

from __future__ import annotations

import re
import urllib.parse
from pathlib import Path

from niah_gen.corpora.add import add_dataset, install, is_free, loading
from niah_gen.corpora.declarations import DECLARATION, CorpusFile, Declaration, fetchable, hub_corpora, known_corpora
from niah_gen.corpora.find import data_folder, read_declaration
from niah_gen.errors import CorpusError, IntegrityError, suggestion
from niah_score.contract import file_sha256, sha256_hex
from niah_score.machine.files import write_atomically
from niah_score.text.visible import one_line

_TIMEOUT_SECONDS = 30.0
# Seconds between the second try and the third; then always twice as long.
_PAUSE_SECONDS = 0.5


def fetch_corpus(
    name: str,
    *,
    source: Path | None = None,
    url: str | None = None,
    revision: str | None = None,
) -> Path:
    """Install a corpus known by name in the user's data folder; returns its folder.

    source: copy from this folder, or from the folder of that name in it, instead of the network. url: fetch pinned
    files from here instead; a URL with `{path}`, or one to which `/<path>` is added. revision: the commit to take of a
    repository on the Hub, 40 hex digits; by default the newest.

    What is there and intact is kept, from the Hub whatever its commit. Raises CorpusError (unknown name, offline,
    refused by the server, another commit is installed), IntegrityError (bytes that are not the pinned ones, or what is
    installed is damaged), LockedError (another process fetches this corpus), and OSError. Then nothing is installed or
    changed.
    """
    target = data_folder() / name
    if name in hub_corpora():
        return _from_hub(target, source, revision)
    pins = known_corpora().get(name)
    if pins is None:
        known = suggestion(name.partition("/")[0], fetchable())
        raise CorpusError(f"corpus {name!r} is not one that can be fetched{known}")
    if source is not None and url is not None:
        raise CorpusError(f"corpus {name!r}: expected a folder or a URL to fetch it from, found both")
    missing = _lacking(target, pins)
    if source is not None:
        source = source.expanduser() / name if (source.expanduser() / name).is_dir() else source.expanduser()
    way_out = f"get the files elsewhere and run `niah-gen corpora fetch {name} --from FOLDER`"

    def fill(aside: Path) -> Declaration:
        for file in missing:
            origin = _file_url(url or pins.url or "", file.path) if source is None else str(source / file.path)
            data = _downloaded(origin, way_out) if source is None else (source / file.path).read_bytes()
            if (sha256 := sha256_hex(data)) != file.sha256:
                wrong = "nothing was installed: it is another file, or a proxy on the way changes it"
                pinned = f"sha256 is {sha256}, but corpus {name!r} pins {file.sha256}"
                raise IntegrityError(f"{origin}: {pinned}; {wrong}; {way_out}")
            write_atomically(aside / file.path, data)
        return pins

    return install(target, fill, overwrite=True)


def _lacking(folder: Path, pins: Declaration) -> list[CorpusFile]:
    """The files that are missing from a folder, or damaged in it."""
    paths = {file: folder / file.path for file in pins.files}
    return [file for file, path in paths.items() if not path.is_file() or file_sha256(path) != file.sha256]


def _file_url(base: str, path: str) -> str:
    """Where a file is. Raises CorpusError for anything but http and https, and for a URL with a name or password."""
    if not re.fullmatch(r"https?://[^/@]+(/[^@]*)?", base):
        expected = "expected a URL with https:// or http:// and without a name or password"
        # What precedes an @ is a secret.
        raise CorpusError(f"--url {base.rpartition('@')[2]}: {expected}; for a folder use --from FOLDER")
    quoted = urllib.parse.quote(path)
    return base.replace("{path}", quoted) if "{path}" in base else f"{base.rstrip('/')}/{quoted}"


def _downloaded(url: str, way_out: str) -> bytes:
    """What a URL holds. Raises CorpusError if the server refuses, or does not answer any try."""
    import requests
    from urllib3.util import Retry

    retries = Retry(4, backoff_factor=_PAUSE_SECONDS, status_forcelist=(500, 502, 503, 504))
    try:
        with requests.Session() as session:
            for scheme in ("https://", "http://"):
                session.mount(scheme, requests.adapters.HTTPAdapter(max_retries=retries))
            response = session.get(url, timeout=_TIMEOUT_SECONDS)
            response.raise_for_status()
            return response.content
    except (requests.RequestException, ValueError) as error:
        todo = f"check it and the network (https_proxy, REQUESTS_CA_BUNDLE), or {way_out}"
        raise CorpusError(f"{url}: cannot be fetched ({one_line(_reason(error))}); {todo}") from None


def _reason(error: Exception) -> str:
    """Why a request failed, without its address, which may hold secrets and is said beside it."""
    response = getattr(error, "response", None)
    if response is not None:
        return f"{response.status_code} {response.reason}"
    inner = error.args[0] if error.args else error
    return str(inner.reason) if hasattr(inner, "reason") else type(error).__name__


def _from_hub(target: Path, source: Path | None, revision: str | None) -> Path:
    """Install a corpus from the Hub, or from a copy of its repository; what is there already is kept, if intact."""
    known = dict(hub_corpora()[target.name])
    known.pop("bytes", None)
    repository = known.pop("repository")
    if not is_free(target):
        declared = read_declaration(target)
        if declared is None or _lacking(target, declared):
            raise IntegrityError(f"{target}: not what its {DECLARATION} says; remove it, then fetch it again")
        if revision is not None and f"@{revision}" not in declared.source:
            raise CorpusError(f"{target} is from {declared.source}; remove it to fetch another commit")
        return target
    if source is not None:
        repository = str(source.expanduser().resolve())
    elif revision is None:
        import huggingface_hub

        with loading(f"{repository} (or a copy of it, by `niah-gen corpora fetch {target.name} --from FOLDER`)"):
            revision = huggingface_hub.HfApi().dataset_info(repository, timeout=_TIMEOUT_SECONDS).sha
    return add_dataset(repository=repository, revision=revision, known=True, **known)
