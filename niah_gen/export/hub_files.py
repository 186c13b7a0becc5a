"""Composes the files of a dataset for the Hub: those on disk, with a card and a manifest that name the repository."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from niah_gen.dataset.card_text import PLACE
from niah_score.contract import CARD, MANIFEST, CorpusEntry, FileEntry, Manifest, canonical_json, sha256_hex

_CHUNK = 1 << 20


@dataclass(frozen=True)
class HubFile:
    """One file for the Hub. `source`: its bytes, or a file with them."""

    path: str
    source: Path | bytes
    sha256: str
    bytes: int

    @cached_property
    def git_sha1(self) -> str:
        """Git's name for the file's content, which the Hub uses for files outside its large-file storage."""
        digest = hashlib.sha1(f"blob {self.bytes}\0".encode(), usedforsecurity=False)
        if isinstance(self.source, bytes):
            digest.update(self.source)
        else:
            with self.source.open("rb") as file:
                while chunk := file.read(_CHUNK):
                    digest.update(chunk)
        return digest.hexdigest()


def hub_files(folder: Path, manifest: Manifest, repo: str, held: Sequence[CorpusEntry]) -> list[HubFile]:
    """The files of a dataset folder for a repository on the Hub, sorted by path, the manifest last.

    Every file is as on disk except the card, which names the repository instead of THIS_FOLDER and states that the
    publisher holds the right to publish the corpora `held`, and the manifest, which lists that card. So the download is
    a dataset that verifies.
    """
    files, entries = [], []
    for entry in manifest.files:
        source: Path | bytes = folder / entry.path
        listed = entry
        if entry.path == CARD:
            source = _card((folder / entry.path).read_bytes(), repo, held)
            listed = FileEntry(CARD, sha256_hex(source), None, len(source))
        entries.append(listed)
        files.append(HubFile(listed.path, source, listed.sha256, listed.bytes))
    data = replace(manifest, files=tuple(entries)).to_json()
    return [
        *sorted(files, key=lambda file: file.path),
        HubFile(MANIFEST, data, sha256_hex(data), len(data)),
    ]


def tree_digest(files: Sequence[HubFile]) -> str:
    """The sha256 of all paths with the sha256 of their files."""
    return sha256_hex(canonical_json([[file.path, file.sha256] for file in files]))


def tree_lines(files: Sequence[HubFile]) -> list[str]:
    """A line for each file with its size in bytes, and a last one with their sum."""
    sizes = [f"{file.bytes:,}" for file in files]
    total = f"{sum(file.bytes for file in files):,}"
    width = max(map(len, [*sizes, total]))
    lines = [f"{size:>{width}}  {file.path}" for size, file in zip(sizes, files, strict=True)]
    return [*lines, f"{total:>{width}}  bytes in {len(files)} files"]


def card_of(files: Sequence[HubFile]) -> str:
    """The text of the card."""
    return next((file.source.decode() for file in files if file.path == CARD and isinstance(file.source, bytes)), "")


def _card(card: bytes, repo: str, held: Sequence[CorpusEntry]) -> bytes:
    card = card.replace(PLACE.encode(), repo.encode())
    if not held:
        return card
    names = "\n".join(f"- {_plain(corpus.name)}: {_plain(corpus.license)}" for corpus in held)
    stated = (
        "\n## Rights\n\nThe licences of these corpora do not let everybody publish prompts made of them, or are not "
        "known to. Whoever published this dataset states that they hold the right to do so. Their statement gives "
        f"nobody else a right.\n\n{names}\n"
    )
    return card.rstrip(b"\n") + b"\n" + stated.encode()


def _plain(text: str) -> str:
    """A text as one line of code, in which neither Markdown nor HTML has any effect."""
    return "`" + " ".join(text.split()).replace("`", "'") + "`"
