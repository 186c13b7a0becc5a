"""Publishes a dataset folder on the Hub: checks that its licences allow it, verifies it in full, and uploads it."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from niah_gen.checks.rebuild import rebuild
from niah_gen.errors import IntegrityError, NiahError, listed
from niah_gen.export.hub_files import HubFile, hub_files
from niah_gen.export.hub_rights import forbidding
from niah_gen.export.hub_upload import Upload, upload
from niah_score.contract import Manifest, read_manifest

if TYPE_CHECKING:
    from niah_gen.progress import Progress

# `user/name` as the Hub takes it.
_REPO = re.compile(r"(?=.{3,193}$)[A-Za-z0-9][\w.-]*/(?![-.])[\w.-]{1,96}(?<![-.])", re.ASCII)


@dataclass(frozen=True, slots=True)
class Publication:
    """A dataset ready to publish: it is verified, and its files are as they will be in the repository."""

    repo: str
    manifest: Manifest
    files: tuple[HubFile, ...]
    checked: str

    @property
    def name(self) -> str:
        """The dataset's name, version and digest."""
        return f"{self.manifest.name}/{self.manifest.version}-{self.manifest.digest8}"


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
    """Verify a dataset folder in full and compose its files for the Hub, without any request.

    repo: `user/name`. holds_rights: the user holds the right to publish corpora whose licence does not give it to
    everybody; the card says so. tokenizer, corpora, task_modules: as for `niah_gen.checks.rebuild.rebuild`.
    Raises NiahError for an invalid repository name, and for corpora whose licences do not allow publishing;
    IntegrityError if anything in the folder is not as its manifest says; and what `rebuild` raises.
    """
    if not _REPO.fullmatch(repo) or "--" in repo or ".." in repo:
        raise NiahError(f"{repo!r}: not a repository name; expected user/name in letters, digits, '-', '_' and '.'")
    # Checked first, as building rows again takes longer.
    refused = forbidding(read_manifest(folder).corpora)
    if refused and not holds_rights:
        head = (
            f"{folder}: the licences of these corpora do not let everybody publish prompts made of them; build with "
            "others, or add --i-hold-the-rights if you do (the card will say so)"
        )
        raise NiahError(listed(head, [f"{corpus.name}: {corpus.license or 'no licence'}" for corpus in refused]))
    done = rebuild(folder, tokenizer=tokenizer, corpora=corpora, task_modules=task_modules, progress=progress)
    if done.problems:
        raise IntegrityError(listed(f"{folder}: {done.count} problems, so it is not published", done.problems))
    checked = f"every row as the manifest says, not built again: {done.not_rebuilt}"
    if done.not_rebuilt is None:
        checked = "every row built again, and equal"
    files = hub_files(folder, done.manifest, repo, refused)
    return Publication(repo, done.manifest, tuple(files), checked)


def publish(
    publication: Publication,
    *,
    private: bool = False,
    tag: bool = False,
    say: Callable[[str], None] = lambda _: None,
) -> Upload:
    """Upload a prepared dataset; files that are there already are not sent again. See `hub_upload.upload`.

    tag: whether to tag the version, as `v1.0.0`. Raises what `upload` raises, and NiahError without `huggingface_hub`.
    """
    try:
        from huggingface_hub.utils.tqdm import disable_progress_bars
    except ModuleNotFoundError:
        raise NiahError("publishing needs huggingface_hub: `pip install 'niah-kit[hub]'`") from None
    if not sys.stderr.isatty():
        disable_progress_bars()
    return upload(
        publication.files,
        publication.repo,
        publication.name,
        private=private,
        tag=f"v{publication.manifest.version}" if tag else None,
        say=say,
    )
