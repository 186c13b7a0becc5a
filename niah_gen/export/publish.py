"""Publishes a dataset folder on the Hub: checks that its licences allow it, proves it, and uploads it in one commit."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from niah_gen.checks.prove import prove
from niah_gen.dataset.card_text import PLACE
from niah_gen.errors import IntegrityError, NiahError, listed
from niah_score.contract import (
    CARD,
    DATA_FORMATS,
    MANIFEST,
    VERSION,
    CorpusEntry,
    FileEntry,
    Manifest,
    read_manifest,
    sha256_hex,
)

if TYPE_CHECKING:
    from niah_gen.progress import Progress

# `user/name` as the Hub takes it.
_REPO = re.compile(r"(?=.{3,193}$)[A-Za-z0-9][\w.-]*/(?![-.])[\w.-]{1,96}(?<![-.])", re.ASCII)
_KIND = "dataset"
# SPDX ids, in lower case, of licences under which anybody may redistribute texts with needles put into them. Those that
# allow no changes (ND) are left out: a needle is a change. Anything not listed counts as unknown.
_REDISTRIBUTABLE = frozenset({
    "0bsd", "apache-2.0", "bsd-2-clause", "bsd-3-clause", "cc-by-2.0", "cc-by-2.5", "cc-by-3.0", "cc-by-4.0",
    "cc-by-nc-3.0", "cc-by-nc-4.0", "cc-by-nc-sa-3.0", "cc-by-nc-sa-4.0", "cc-by-sa-3.0", "cc-by-sa-4.0", "cc-pddc",
    "cc0-1.0", "cdla-permissive-2.0", "gfdl-1.3", "gfdl-1.3-only", "gfdl-1.3-or-later", "isc", "mit", "mit-0",
    "odbl-1.0", "odc-by-1.0", "pddl-1.0", "unlicense",
})  # fmt: skip
# What joins several licences; brackets do not matter, as each licence must allow it.
_JOINED = re.compile(r"[()]|\s+(?:AND|OR)\s+")
_TOKEN = re.compile(r"hf_\w{8,}|api_org_\w{8,}|(?<=Bearer )\S+")
_PASSWORD = re.compile(r"(?<=//)[^/@\s]+@")


class Publication(NamedTuple):
    """A dataset ready to publish: it is proved, and `files` are its files as they will be in the repository, by path.

    A file is a path on disk, or its bytes. sizes: in bytes, by path. name: the dataset's name, version and digest.
    """

    repo: str
    name: str
    version: str
    files: Mapping[str, Path | bytes]
    sizes: Mapping[str, int]
    proved: str


def prepare(
    folder: Path,
    repo: str,
    *,
    holds_rights: bool = False,
    tokenizer: str | None = None,
    corpora: Sequence[str] = (),
    task_modules: Collection[str] = (),
    progress: Progress | None = None,
) -> Publication:
    """Prove a dataset folder in full and compose its files for the Hub, without any request.

    repo: `user/name`. holds_rights: the user holds the right to publish corpora whose licence does not give it to
    everybody; the card says so. tokenizer, corpora, task_modules: as for `niah_gen.checks.prove.prove`.
    Raises NiahError for an invalid repository name, and for corpora whose licences do not allow publishing;
    IntegrityError if anything in the folder is not as its manifest says; and what `prove` raises.
    """
    if not _REPO.fullmatch(repo) or "--" in repo or ".." in repo:
        raise NiahError(f"{repo!r}: not a repository name; expected user/name in letters, digits, '-', '_' and '.'")
    # Checked first, as proving takes longer.
    refused = [corpus for corpus in read_manifest(folder).corpora if not redistributable(corpus.license)]
    if refused and not holds_rights:
        head = (
            f"{folder}: the licences of these corpora do not let everybody publish prompts made of them; build with "
            "others, or add --i-hold-the-rights if you do (the card will say so)"
        )
        raise NiahError(listed(head, [f"{corpus.name}: {corpus.license or 'no licence'}" for corpus in refused]))
    proof = prove(folder, tokenizer=tokenizer, corpora=corpora, task_modules=task_modules, progress=progress)
    if proof.problems:
        raise IntegrityError(listed(f"{folder}: {proof.count} problems, so it is not published", proof.problems))
    manifest = proof.manifest
    name = f"{manifest.name}/{manifest.version}-{manifest.digest8}"
    return Publication(repo, name, manifest.version, *_files(folder, manifest, repo, refused), str(proof.figures))


def redistributable(licence: str) -> bool:
    """Whether a licence is known to let anybody publish changed texts; of `A AND B` or `A OR B`, whether each does."""
    named = [name.strip().lower() for name in _JOINED.split(licence) if name.strip()]
    return bool(named) and all(name in _REDISTRIBUTABLE for name in named)


def _files(
    folder: Path, manifest: Manifest, repo: str, held: Sequence[CorpusEntry]
) -> tuple[dict[str, Path | bytes], dict[str, int]]:
    """The files for a repository, sorted, the manifest last, and their sizes.

    All are as on disk except the card, which names the repository instead of THIS_FOLDER and says who holds the rights,
    and the manifest, which lists that card: so the download is a dataset that verifies.
    """
    card = _card((folder / CARD).read_bytes(), repo, held)
    there = FileEntry(CARD, sha256_hex(card), None, len(card))
    entries = tuple(there if entry.path == CARD else entry for entry in manifest.files)
    data = replace(manifest, files=entries).to_json()
    in_order = sorted(entries, key=lambda entry: entry.path)
    files = {entry.path: folder / entry.path for entry in in_order}
    sizes = {entry.path: entry.bytes for entry in in_order}
    return {**files, CARD: card, MANIFEST: data}, {**sizes, MANIFEST: len(data)}


def _card(card: bytes, repo: str, held: Sequence[CorpusEntry]) -> bytes:
    card = card.replace(PLACE.encode(), repo.encode())
    if not held:
        return card
    names = "\n".join(f"- {_in_code(corpus.name)}: {_in_code(corpus.license)}" for corpus in held)
    stated = (
        "\n## Rights\n\nThe licences of these corpora do not let everybody publish prompts made of them, or are not "
        "known to. Whoever published this dataset states that they hold the right to do so. Their statement gives "
        f"nobody else a right.\n\n{names}\n"
    )
    return card.rstrip(b"\n") + b"\n" + stated.encode()


def _in_code(text: str) -> str:
    """A text as one line of code, in which neither Markdown nor HTML has any effect."""
    return "`" + " ".join(text.split()).replace("`", "'") + "`"


def shown(publication: Publication) -> list[str]:
    """Lines for each file with its size in bytes, their sum, and the text of the card."""
    sizes = publication.sizes
    total = f"{sum(sizes.values()):,}"
    files = [f"{size:>{len(total)},}  {path}" for path, size in sizes.items()]
    card = publication.files[CARD]
    assert isinstance(card, bytes)
    return [*files, f"{total}  bytes in {len(sizes)} files", "", *card.decode().splitlines()]


def publish(
    publication: Publication,
    *,
    private: bool = False,
    tag: bool = False,
    say: Callable[[str], None] = lambda _: None,
) -> str:
    """Make `main` of a dataset repository hold these files, by one commit; returns the repository's address.

    The repository is created if it does not exist. Files in the dataset's folders that only an earlier version has are
    deleted; others, such as .gitattributes, stay. Files that are there already are not sent again.
    tag: whether to tag the version, as `v1.0.0`. say: called with what was done.
    Raises NiahError without `huggingface_hub`, if the Hub cannot be reached or refuses, if the repository is public
    although `private` is asked for, if it holds data that this package did not publish, or if the tag names other
    files.
    """
    try:
        from huggingface_hub import CommitOperationAdd, CommitOperationDelete, HfApi, constants
        from huggingface_hub.utils.tqdm import disable_progress_bars
    except ModuleNotFoundError:
        raise NiahError("publishing needs huggingface_hub: `pip install 'niah-kit[hub]'`") from None
    if not sys.stderr.isatty():
        disable_progress_bars()
    # The Hub takes large files over HTTP too; what is sent over Xet only the Hub itself could test.
    constants.HF_HUB_DISABLE_XET = True
    repo, files = publication.repo, publication.files
    api = HfApi(library_name="niah-kit", library_version=VERSION)
    with _telling(repo):
        api.whoami()  # so that a wrong token is named as such: without one, a private repository does not exist
        if not api.repo_exists(repo, repo_type=_KIND):
            api.create_repo(repo, repo_type=_KIND, private=private, exist_ok=True)
            say(f"made the {'private ' if private else ''}repository {repo}")
        info = api.dataset_info(repo)
        if private and not info.private:
            raise NiahError(
                f"{repo}: is already public, and --private asks for a private repository; make it private in its "
                "settings, leave --private out, or name another repository"
            )
        there = api.list_repo_files(repo, revision=info.sha, repo_type=_KIND)
        stale = _stale(there, files)
        if stale and MANIFEST not in there:
            head = f"{repo}: holds files that niah-gen did not publish; publish to another repository, or delete them"
            raise NiahError(listed(head, stale))
        version = f"v{publication.version}" if tag else None
        if version in {ref.name for ref in api.list_repo_refs(repo, repo_type=_KIND).tags}:
            # The manifest lists the hashes of all other files.
            at_tag: Any = {"repo_type": _KIND, "revision": version}
            has_it = api.file_exists(repo, MANIFEST, **at_tag)
            if not has_it or Path(api.hf_hub_download(repo, MANIFEST, **at_tag)).read_bytes() != files[MANIFEST]:
                raise NiahError(
                    f"{repo}: the tag {version} already names other files; raise the recipe's version and build it "
                    "again"
                )
        added = [CommitOperationAdd(path, source) for path, source in files.items()]
        deleted = [CommitOperationDelete(path, is_folder=False) for path in stale]
        head = api.create_commit(
            repo, [*deleted, *added], commit_message=publication.name, repo_type=_KIND, parent_commit=info.sha
        ).oid
        if head == info.sha:
            say("everything is there already; nothing sent")
        else:
            say(f"committed {len(added)} files; {len(deleted)} files of an earlier version deleted")
        if version is not None:
            api.create_tag(repo, tag=version, revision=head, repo_type=_KIND, exist_ok=True)
    return f"{api.endpoint}/datasets/{repo}"


def _stale(there: Sequence[str], files: Mapping[str, Path | bytes]) -> list[str]:
    """The files in the dataset's folders there that do not belong to it: a reader would count them."""
    folders = {path.partition("/")[0] for path in files if "/" in path} | set(DATA_FORMATS.values())
    return sorted(path for path in there if path not in files and "/" in path and path.partition("/")[0] in folders)


@contextmanager
def _telling(repo: str) -> Iterator[None]:
    """Raise what the client raises as a NiahError that says why publishing failed, and what to do.

    The original is not chained: its request holds the token.
    """
    from huggingface_hub.errors import HfHubHTTPError, LocalTokenNotFoundError

    again = "run the same command again; it continues where it stopped"
    try:
        yield
    except (NiahError, MemoryError):
        raise
    except LocalTokenNotFoundError:
        raise NiahError(f"{repo}: no token; log in with `hf auth login`, or set HF_TOKEN") from None
    # The client raises much: ValueError for answers it cannot read, RuntimeError for failed transfers, KeyError for
    # missing fields, and errors of its network library, which changed between releases.
    except Exception as error:  # noqa: BLE001
        cause: BaseException = error
        while cause.__cause__ is not None and not isinstance(cause, HfHubHTTPError):
            cause = cause.__cause__
        if not isinstance(cause, HfHubHTTPError):
            reason = without_secrets(f"{type(cause).__name__}: {cause}")
            raise NiahError(f"{repo}: {reason}; {again}") from None
        status = getattr(cause.response, "status_code", 0)
        advice = {
            401: "the token is missing or not valid: log in with `hf auth login`, or set HF_TOKEN",
            403: "the token does not allow that: it needs write access to the repository",
            429: f"too many requests: wait a few minutes and {again}",
        }.get(status, again)
        message = without_secrets(cause.server_message or "no reason given")
        raise NiahError(f"{repo}: the Hub answered {status} ({message}); {advice}") from None


def without_secrets(text: str) -> str:
    """A text on one line, at most 300 characters, without tokens or passwords of addresses."""
    from huggingface_hub import get_token

    token = get_token()
    if token:
        text = text.replace(token, "***")
    text = _PASSWORD.sub("", _TOKEN.sub("***", " ".join(text.split())))
    return text if len(text) <= 300 else text[:300] + "..."
