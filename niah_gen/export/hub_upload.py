"""Uploads files to a dataset repository on the Hub: into a pull request, checked there, merged, checked again, tagged.

No progress is stored on disk: each run asks the Hub what is there and does the rest, so an upload that was killed can
be continued on this machine or another. Readers of the repository see all files of one version or all of the other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from niah_gen.errors import IntegrityError, NiahError, listed
from niah_gen.export.hub_errors import telling, without_secrets
from niah_gen.export.hub_files import HubFile, tree_digest
from niah_score.contract import DATA_FORMATS, MANIFEST, VERSION

if TYPE_CHECKING:
    from huggingface_hub import Discussion, HfApi, RepoFile

# The Hub advises against larger commits.
_FILES_IN_COMMIT = 100
_KIND = "dataset"
_MAIN = "main"
# The titles of our pull requests begin so; the user's own are left alone.
_TITLE = "niah-gen publish"


@dataclass(frozen=True, slots=True)
class Upload:
    """The result of an upload. `files`, `bytes`: sent by this run; `commit`: the head of `main`, with the files."""

    url: str
    commit: str
    files: int
    bytes: int
    deleted: int
    tag: str | None


def upload(
    files: Sequence[HubFile],
    repo: str,
    name: str,
    *,
    private: bool = False,
    tag: str | None = None,
    endpoint: str | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> Upload:
    """Make the branch `main` of a dataset repository hold exactly these files in the dataset's folders.

    The repository is created if it does not exist. Files that only an earlier version has are deleted; others outside
    the dataset's folders, such as .gitattributes, stay. Files that are there already are not sent again.
    repo: `user/name`. name: of the dataset, for commit messages. tag: given to the commit that has the files.
    endpoint: of the Hub; None for the client's own choice. say: called with every step.
    Raises NiahError if the Hub cannot be reached or refuses, if the repository is public although `private` is asked
    for, if it holds data that this package did not publish, or if the tag names other files; IntegrityError if the Hub
    holds other bytes than were sent.
    """
    from huggingface_hub import HfApi, constants

    # The Hub takes large files over HTTP too; what is sent over Xet only the Hub itself could test.
    constants.HF_HUB_DISABLE_XET = True
    api = HfApi(endpoint=endpoint, library_name="niah-kit", library_version=VERSION)
    with telling("asking the Hub who the token belongs to"):
        user = str(api.whoami()["name"])
    there = _ensure_repository(api, repo, private, say)
    head, remote = _tree(api, repo, _MAIN)
    _refuse_foreign(remote, files, repo)
    tagged = _tagged(api, repo, tag, files) if there else False
    sent: list[HubFile] = []
    deleted = 0
    if _difference(remote, files):
        sent, deleted = _through_pull_request(api, repo, name, files, head, user, say)
        head, remote = _tree(api, repo, _MAIN)
        _check(remote, files, f"{repo}, branch {_MAIN}")
    if tag is not None and not tagged:
        with telling(f"tagging {repo} as {tag}"):
            api.create_tag(repo, tag=tag, revision=head, repo_type=_KIND)
        say(f"tagged {tag}")
    address = without_secrets(f"{api.endpoint}/datasets/{repo}")
    return Upload(address, head, len(sent), sum(file.bytes for file in sent), deleted, tag)


def _ensure_repository(api: HfApi, repo: str, private: bool, say: Callable[[str], None]) -> bool:
    """Create the repository unless it exists; returns whether it did."""
    from huggingface_hub.errors import RepositoryNotFoundError

    with telling(f"looking for the dataset repository {repo}"):
        try:
            info = api.dataset_info(repo)
        except RepositoryNotFoundError:
            info = None
    if info is None:
        with telling(f"making the dataset repository {repo}"):
            api.create_repo(repo, repo_type=_KIND, private=private, exist_ok=True)
        say(f"made the {'private ' if private else ''}repository {repo}")
        return False
    if private and not info.private:
        raise NiahError(
            f"{repo}: is already public, and --private asks for a private repository; make it private in its settings, "
            "leave --private out, or name another repository"
        )
    return True


def _tree(api: HfApi, repo: str, revision: str) -> tuple[str, dict[str, RepoFile]]:
    """The commit of a revision, and all its files by path."""
    from huggingface_hub import RepoFile

    with telling(f"listing the files of {repo} at {revision}"):
        commit = str(api.dataset_info(repo, revision=revision).sha)
        entries = api.list_repo_tree(repo, recursive=True, revision=commit, repo_type=_KIND)
        return commit, {entry.path: entry for entry in entries if isinstance(entry, RepoFile)}


def _same(there: RepoFile | None, file: HubFile) -> bool:
    """Whether the Hub has the same bytes: by sha256 in its large-file storage, else by git's name for them."""
    if there is None or there.size != file.bytes:
        return False
    return there.lfs.sha256 == file.sha256 if there.lfs is not None else there.blob_id == file.git_sha1


def _stale(remote: Mapping[str, RepoFile], files: Sequence[HubFile]) -> list[str]:
    """The files in the dataset's folders there that do not belong to it: a reader would count them."""
    ours = {file.path for file in files}
    folders = {path.partition("/")[0] for path in ours if "/" in path} | set(DATA_FORMATS.values())
    return sorted(path for path in remote if path not in ours and "/" in path and path.partition("/")[0] in folders)


def _difference(remote: Mapping[str, RepoFile], files: Sequence[HubFile]) -> list[HubFile | str]:
    """What has to change in a tree: files to add, and paths to delete."""
    return [*(file for file in files if not _same(remote.get(file.path), file)), *_stale(remote, files)]


def _refuse_foreign(remote: Mapping[str, RepoFile], files: Sequence[HubFile], repo: str) -> None:
    """Raise NiahError if files would be deleted that this command did not publish."""
    stale = _stale(remote, files)
    if stale and MANIFEST not in remote:
        head = f"{repo}: holds files that niah-gen did not publish; publish to another repository, or delete them"
        raise NiahError(listed(head, stale))


def _tagged(api: HfApi, repo: str, tag: str | None, files: Sequence[HubFile]) -> bool:
    """Whether the tag exists and names these files. Raises NiahError if it names others."""
    if tag is None:
        return False
    with telling(f"listing the tags of {repo}"):
        if tag not in {ref.name for ref in api.list_repo_refs(repo, repo_type=_KIND).tags}:
            return False
    if _difference(_tree(api, repo, tag)[1], files):
        raise NiahError(
            f"{repo}: the tag {tag} already names other files; raise the recipe's version and build it again"
        )
    return True


def _check(remote: Mapping[str, RepoFile], files: Sequence[HubFile], where: str) -> None:
    """Raise IntegrityError unless a tree has the files, and nothing else in their folders."""
    wrong = [
        f"{item}: should not be there" if isinstance(item, str)
        else f"{item.path}: {'missing' if item.path not in remote else 'other bytes than were sent'}"
        for item in _difference(remote, files)
    ]  # fmt: skip
    if wrong:
        raise IntegrityError(listed(f"{where}: not the dataset that was sent; run the same command again", wrong))


def _through_pull_request(
    api: HfApi,
    repo: str,
    name: str,
    files: Sequence[HubFile],
    base: str,
    user: str,
    say: Callable[[str], None],
) -> tuple[list[HubFile], int]:
    """Bring the files to main by a pull request, checked before merging.

    Returns the files sent, and the number deleted.
    """
    # The title names the files and their base, so that the pull request of a killed run, and no other, is recognized.
    title = f"{_TITLE} {name} (files {tree_digest(files)[:16]} onto {base[:8]})"
    number, draft = _pull_request(api, repo, title, user, say)
    ref = f"refs/pr/{number}"
    sent, deleted = _commit(api, repo, ref, name, files, say)
    _check(_tree(api, repo, ref)[1], files, f"{repo}, pull request {number}")
    say(f"the Hub holds all {len(files)} files by their hashes")
    with telling(f"merging pull request {number} of {repo}"):
        if draft:
            api.change_discussion_status(repo, number, "open", repo_type=_KIND)
        api.merge_pull_request(repo, number, repo_type=_KIND)
    say(f"merged pull request {number}")
    return sent, deleted


def _pull_request(api: HfApi, repo: str, title: str, user: str, say: Callable[[str], None]) -> tuple[int, bool]:
    """The number of the pull request with a title, and whether it is a draft; opened if there is none.

    Closes those that another upload of ours left open: they have other files or another base.
    """
    with telling(f"listing the pull requests of {repo}"):
        ours = [
            item for item in api.get_repo_discussions(repo, discussion_type="pull_request", repo_type=_KIND)
            if item.author == user and item.title.startswith(f"{_TITLE} ") and item.status in ("draft", "open")
        ]  # fmt: skip
    kept: Discussion | None = next((item for item in ours if item.title == title), None)
    for item in ours:
        if item is not kept:
            with telling(f"closing pull request {item.num} of {repo}, which an earlier upload left"):
                api.change_discussion_status(repo, item.num, "closed", repo_type=_KIND)
            say(f"closed pull request {item.num}, which an earlier upload left")
    if kept is not None:
        say(f"continuing with pull request {kept.num}")
        return kept.num, kept.status == "draft"
    with telling(f"opening a pull request of {repo}"):
        description = (
            "Opened by `niah-gen publish`, which merges it once every file has its hash. Please do not add to it."
        )
        made = api.create_pull_request(repo, title, description=description, repo_type=_KIND)
    say(f"opened pull request {made.num}")
    return made.num, made.status == "draft"


def _commit(
    api: HfApi, repo: str, ref: str, name: str, files: Sequence[HubFile], say: Callable[[str], None]
) -> tuple[list[HubFile], int]:
    """Commit what changes a tree, at most 100 files at once; returns the files sent, and the number deleted."""
    from huggingface_hub import CommitOperationAdd, CommitOperationDelete

    head, remote = _tree(api, repo, ref)
    items = _difference(remote, files)
    for first in range(0, len(items), _FILES_IN_COMMIT):
        batch = items[first : first + _FILES_IN_COMMIT]
        with telling(f"sending {len(batch)} files to {repo}"):
            operations = [
                CommitOperationDelete(item, is_folder=False) if isinstance(item, str)
                else CommitOperationAdd(item.path, item.source)
                for item in batch
            ]  # fmt: skip
            head = api.create_commit(
                repo, operations, commit_message=name, repo_type=_KIND, revision=ref, parent_commit=head
            ).oid
        say(f"sent {first + len(batch)} of {len(items)} files")
    sent = [item for item in items if not isinstance(item, str)]
    return sent, len(items) - len(sent)
