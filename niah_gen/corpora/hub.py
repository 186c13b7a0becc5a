"""Fetches the corpora known by name that are on the Hugging Face Hub, with the library `datasets`.

Their commit is not pinned here: it is looked up when they are fetched, and written into corpus.toml with the sha256 of
what arrived. A later fetch keeps what is there.
"""

from __future__ import annotations

from pathlib import Path

from niah_gen.corpora.add import add_dataset
from niah_gen.corpora.declarations import DECLARATION, HubCorpus, hub_corpora, parse_declaration
from niah_gen.corpora.fetch import Progress
from niah_gen.corpora.find import data_folder
from niah_gen.corpora.install import lacking
from niah_gen.errors import CorpusError, IntegrityError
from niah_score.contract import parse_toml

_TIMEOUT_SECONDS = 30.0


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
    is damaged), ResourceError (the disk is full), LockedError (another process adds this name), and OSError.
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
    if lacking(target, declared):
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
