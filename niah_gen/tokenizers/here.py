"""Lists the tokenizers on this machine: bundled, in tiktoken's cache, and in the folders of `$NIAH_TOKENIZERS`.

Fills a tiktoken cache from the bundled vocabularies, for programs that run without a network.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from niah_gen.tokenizers.find import BUNDLED, TOKENIZERS_VARIABLE, VOCABULARY_FILES, bundled_ranks
from niah_score.machine.files import write_atomically

CACHE_VARIABLE = "TIKTOKEN_CACHE_DIR"
# Where tiktoken would download each file; a cached file is named by the sha1 of its address (tiktoken.load).
_ADDRESS = "https://openaipublic.blob.core.windows.net/{}"

# The files that tiktoken downloads for encodings that are not bundled, relative to their common address.
_PUBLISHED = {
    "gpt2": ("gpt-2/encodings/main/vocab.bpe", "gpt-2/encodings/main/encoder.json"),
    "p50k_base": ("encodings/p50k_base.tiktoken",),
    "p50k_edit": ("encodings/p50k_base.tiktoken",),
    "r50k_base": ("encodings/r50k_base.tiktoken",),
}


class KnownTokenizer(NamedTuple):
    """A tokenizer by its name in recipes. `place`: where it is; None if it is not on this machine."""

    name: str
    place: str | None
    models: tuple[str, ...] = ()


def known_tokenizers() -> Iterator[KnownTokenizer]:
    """The encodings of tiktoken, with the models that use each and where each one is."""
    import tiktoken
    import tiktoken.model

    for name in sorted({*BUNDLED, *tiktoken.list_encoding_names()}):
        models = tuple(model for model, encoding in tiktoken.model.MODEL_TO_ENCODING.items() if encoding == name)
        yield KnownTokenizer(name, "bundled" if name in BUNDLED else _cached(name), models)


def own_tokenizers() -> Iterator[KnownTokenizer]:
    """The tokenizers in the folders of `$NIAH_TOKENIZERS`, by their names in recipes; also folders it cannot read."""
    for text in filter(None, os.environ.get(TOKENIZERS_VARIABLE, "").split(os.pathsep)):
        folder = Path(text)
        try:
            entries = sorted(folder.iterdir())
        except OSError as error:
            yield KnownTokenizer(f"{TOKENIZERS_VARIABLE}: {folder}: {error.strerror}", None)
            continue
        for entry in entries:
            if entry.suffix in (".json", ".model") and entry.is_file():
                yield KnownTokenizer(entry.stem, str(entry))
            elif file := next((entry / name for name in VOCABULARY_FILES if (entry / name).is_file()), None):
                yield KnownTokenizer(entry.name, str(file))


def _cached(name: str) -> str | None:
    """The place of tiktoken's cache, if it has all files of an encoding."""
    folder = os.environ.get(CACHE_VARIABLE, os.environ.get("DATA_GYM_CACHE_DIR"))
    cache = Path(tempfile.gettempdir(), "data-gym-cache") if folder is None else Path(folder)
    files = _PUBLISHED.get(name)
    if folder == "" or not files or not all((cache / cached_name(file)).is_file() for file in files):
        return None
    return f"cache {cache}"


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
