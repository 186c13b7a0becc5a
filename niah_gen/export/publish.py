"""Publishes a dataset folder on the Hub: checks that its licences allow it, verifies it, uploads it in one commit."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from niah_gen.checks.rebuild import rebuild
from niah_gen.dataset.card import PLACE
from niah_gen.errors import IntegrityError, NiahError, listed
from niah_gen.progress import Progress
from niah_score.contract import CARD, DATA_FORMATS, MANIFEST, FileEntry, read_manifest, sha256_hex
from niah_score.machine import stores
from niah_score.text.visible import in_markdown

# `user/name` as the Hub takes it.
_REPO = re.compile(r"(?=.{3,193}$)(?!.*(--|\.\.))[A-Za-z0-9][\w.-]*/(?![-.])[\w.-]{1,96}(?<![-.])", re.ASCII)
# SPDX ids, in lower case, of licences under which anybody may redistribute texts with needles put into them. Those that
# allow no changes (ND) are left out: a needle is a change. Anything not listed counts as unknown.
_REDISTRIBUTABLE = Path(__file__).parents[1] / "library" / "redistributable.txt"
# What joins several licences; brackets do not matter, as each licence must allow it.
_JOINED = re.compile(r"[()]|\s+(?:AND|OR)\s+")
_TOKEN = re.compile(r"hf_\w{8,}|api_org_\w{8,}|(?<=Bearer )\S+")


# Takes a sentence about what was done.
Say = Callable[[str], None]
_RIGHTS = (
    "\n## Rights\n\nThe licences of these corpora do not let everybody publish prompts made of them, or are not known "
    "to. Whoever published this dataset states that they hold the right to do so. Their statement gives nobody else a "
    "right.\n\n"
)


def publish(
    folder: Path,
    repo: str,
    *,
    private: bool = False,
    dry_run: bool = False,
    tag: bool = False,
    holds_rights: bool = False,
    tokenizer: str | None = None,
    corpora: Sequence[str] = (),
    task_modules: Collection[str] = (),
    say: Say = lambda _: None,
    progress: Progress | None = None,
) -> str:
    """Verify a dataset folder in full, and make `main` of a dataset repository hold its files, by one commit.

    Returns the repository's address, or for a dry run, which makes no request, what would be there: the files with
    their sizes in bytes, and the card. The repository is created if it does not exist. Files in the dataset's folders
    that only an earlier version has are deleted; others, such as .gitattributes, stay.

    repo: `user/name`. tag: whether to tag the version, as `v1.0.0`. holds_rights: the user holds the right to publish
    corpora whose licence does not give it to everybody; the card says so. tokenizer, corpora, task_modules: as for
    `niah_gen.checks.rebuild.rebuild`. say: called with what was done.

    Raises NiahError for an invalid repository name, for corpora whose licences do not allow publishing, and whatever
    the Hub refuses (`_send`); IntegrityError if anything in the folder is not as its manifest says; and what `rebuild`
    raises.
    """
    if not _REPO.fullmatch(repo):
        raise NiahError(f"{repo!r}: not a repository name; expected user/name in letters, digits, '-', '_' and '.'")
    # Checked first, as building rows again takes longer.
    closed = [corpus for corpus in read_manifest(folder).corpora if not redistributable(corpus.license)]
    held = [f"{corpus.name}: {corpus.license or 'no licence'}" for corpus in closed]
    if held and not holds_rights:
        why = "the licences of these corpora do not let everybody publish prompts made of them; build with others, or "
        raise NiahError(listed(f"{folder}: {why}add --i-hold-the-rights if you do (the card will say so)", held))
    done = rebuild(folder, tokenizer=tokenizer, corpora=corpora, task_modules=task_modules, progress=progress)
    if done.problems:
        raise IntegrityError(listed(f"{folder}: {done.count} problems, so it is not published", done.problems))
    again = "built again, and equal" if done.not_rebuilt is None else f"as its manifest says: {done.not_rebuilt}"
    title = f"{done.manifest.name}/{done.manifest.version}-{done.manifest.digest8}"
    say(f"{title}: every row {again}")
    card = (folder / CARD).read_bytes().replace(PLACE.encode(), repo.encode())
    if held:
        card += (_RIGHTS + "".join(f"- {in_markdown(corpus)}\n" for corpus in held)).encode()
    entries = {entry.path: entry for entry in done.manifest.files}
    entries[CARD] = FileEntry(CARD, sha256_hex(card), None, len(card))
    manifest = replace(done.manifest, files=tuple(entries.values()))
    data = manifest.to_json()
    if dry_run:
        sizes = [(entry.bytes, path) for path, entry in sorted(entries.items())] + [(len(data), MANIFEST)]
        lines = [f"{size:>15,}  {path}" for size, path in sizes]
        return "\n".join([*lines, f"{sum(size for size, _ in sizes):>15,}  bytes", "", card.decode()])
    files = {**{path: folder / path for path in sorted(entries)}, CARD: card, MANIFEST: data}
    return _send(repo, title, f"v{manifest.version}" if tag else None, files, private, say)


def redistributable(licence: str) -> bool:
    """Whether a licence is known to let anybody publish changed texts; of `A AND B` or `A OR B`, whether each does."""
    named = [name.strip().lower() for name in _JOINED.split(licence) if name.strip()]
    return bool(named) and set(named) <= set(_REDISTRIBUTABLE.read_text("utf-8").split())


def _send(repo: str, title: str, tag: str | None, files: Mapping[str, Any], private: bool, say: Say) -> str:
    """Commit the files, each a path on disk or its bytes; those that are there already are not sent again.

    Raises NiahError if the Hub cannot be reached or refuses, if the repository is public although `private` is asked
    for, if it holds data that this package did not publish, or if the tag names other files.
    """
    from huggingface_hub import CommitOperationAdd, CommitOperationDelete, HfApi, constants
    from huggingface_hub.utils.tqdm import disable_progress_bars

    if not sys.stderr.isatty():
        disable_progress_bars()
    # The Hub takes large files over HTTP too; what is sent over Xet only the Hub itself could test.
    constants.HF_HUB_DISABLE_XET = True
    api = HfApi(library_name="niah-kit")
    try:
        api.whoami()  # so that a wrong token is named as such: without one, a private repository does not exist
        if not api.repo_exists(repo, repo_type="dataset"):
            api.create_repo(repo, repo_type="dataset", private=private, exist_ok=True)
        info = api.dataset_info(repo)
        if private and not info.private:
            raise NiahError(f"{repo}: is already public, and --private asks for a private one; name another repository")
        there = {file.rfilename for file in info.siblings or ()}
        # What readers would count as the dataset's, and is not.
        folders = {path.partition("/")[0] for path in files if "/" in path} | set(DATA_FORMATS.values())
        stale = sorted(path for path in there - files.keys() if "/" in path and path.partition("/")[0] in folders)
        if stale and MANIFEST not in there:
            why = "holds files that niah-gen did not publish; publish to another repository, or delete them"
            raise NiahError(listed(f"{repo}: {why}", stale))
        if tag in {ref.name for ref in api.list_repo_refs(repo, repo_type="dataset").tags}:
            # The manifest lists the hashes of all other files.
            tagged = api.hf_hub_download(repo, MANIFEST, repo_type="dataset", revision=tag)
            if Path(tagged).read_bytes() != files[MANIFEST]:
                raise NiahError(f"{repo}: the tag {tag} already names other files; raise the recipe's version")
        changes: list[CommitOperationAdd | CommitOperationDelete] = [CommitOperationDelete(path) for path in stale]
        changes += [CommitOperationAdd(path, data) for path, data in files.items()]
        done = api.create_commit(repo, changes, commit_message=title, repo_type="dataset", parent_commit=info.sha)
        sent = f"committed {len(files)} files; {len(stale)} files of an earlier version deleted"
        say(sent if done.oid != info.sha else "everything is there already; nothing sent")
        if tag:
            api.create_tag(repo, tag=tag, revision=done.oid, repo_type="dataset", exist_ok=True)
    except (NiahError, MemoryError):
        raise
    # The client raises much: besides its own errors ValueError for answers that it cannot read, RuntimeError for failed
    # transfers, KeyError for missing fields, and errors of its network library, which changed between releases. None is
    # chained, as its request holds the token.
    except Exception as error:  # noqa: BLE001
        what = without_secrets(f"{type(error).__name__}: {error}")
        todo = "check the network and the token (`hf auth login`, or HF_TOKEN), which needs write access, then "
        raise NiahError(f"{repo}: {what}; {todo}run the same command again: it continues where it stopped") from None
    return f"{api.endpoint}/datasets/{repo}"


def without_secrets(text: str) -> str:
    """A text on one line, at most 300 characters, without tokens or passwords of addresses."""
    from huggingface_hub import get_token

    text = _TOKEN.sub("***", " ".join(text.split()).replace(get_token() or "\0", "***"))
    text = stores.without_secrets(text)
    return text if len(text) <= 300 else text[:300] + "..."
