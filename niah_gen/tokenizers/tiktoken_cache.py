"""Fills a cache folder of tiktoken's from the bundled vocabularies, for programs that run without a network."""

from __future__ import annotations

import hashlib
from pathlib import Path

from niah_gen.tokenizers.find import BUNDLED, bundled_ranks
from niah_score.machine.files import write_atomically

CACHE_VARIABLE = "TIKTOKEN_CACHE_DIR"

# Where tiktoken would download each file; it looks a cached one up by the sha1 of this (tiktoken.load).
_ADDRESS = "https://openaipublic.blob.core.windows.net/{}"


def fill_tiktoken_cache(folder: Path) -> dict[Path, list[str]]:
    """Write the bundled vocabularies under the names that tiktoken looks for; the encodings that each file serves.

    Files that hold the right bytes already are left as they are, others replaced. Makes the folder. Raises
    IntegrityError for a damaged package, OSError where the folder cannot be written.
    """
    found: dict[Path, list[str]] = {}
    for name, bundled in BUNDLED.items():
        path = folder / cached_name(f"encodings/{bundled.file.removesuffix('.gz')}")
        if path not in found and not _holds(path, bundled.sha256):
            write_atomically(path, bundled_ranks(name))
        found.setdefault(path, []).append(name)
    return found


def cached_name(file: str) -> str:
    """The name in tiktoken's cache of a file that it would download."""
    return hashlib.sha1(_ADDRESS.format(file).encode(), usedforsecurity=False).hexdigest()


def _holds(path: Path, sha256: str) -> bool:
    return path.is_file() and hashlib.sha256(path.read_bytes()).hexdigest() == sha256
