"""Fills a tiktoken cache folder from the bundled vocabularies, for programs that run without a network."""

from __future__ import annotations

import hashlib
from pathlib import Path

from niah_gen.tokenizers.find import BUNDLED, bundled_ranks
from niah_score.machine.files import write_atomically

CACHE_VARIABLE = "TIKTOKEN_CACHE_DIR"

# Where tiktoken would download each file; a cached file is named by the sha1 of its address (tiktoken.load).
_ADDRESS = "https://openaipublic.blob.core.windows.net/{}"


def fill_tiktoken_cache(folder: Path) -> dict[Path, list[str]]:
    """Write the bundled vocabularies under the names that tiktoken looks for; returns the encodings of each file.

    Files that already have the right bytes are left alone, others replaced. Makes the folder. Raises IntegrityError for
    a damaged package, OSError if the folder cannot be written.
    """
    encodings: dict[Path, list[str]] = {}
    for name, bundled in BUNDLED.items():
        path = folder / cached_name(f"encodings/{bundled.file.removesuffix('.gz')}")
        if path not in encodings and not _holds(path, bundled.sha256):
            write_atomically(path, bundled_ranks(name))
        encodings.setdefault(path, []).append(name)
    return encodings


def cached_name(file: str) -> str:
    """The name that a file which tiktoken would download has in its cache."""
    return hashlib.sha1(_ADDRESS.format(file).encode(), usedforsecurity=False).hexdigest()


def _holds(path: Path, sha256: str) -> bool:
    return path.is_file() and hashlib.sha256(path.read_bytes()).hexdigest() == sha256
