"""Lists the tokenizers that this machine has: bundled, in tiktoken's cache, in the folders of `$NIAH_TOKENIZERS`."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from niah_gen.tokenizers.find import BUNDLED, TOKENIZERS_VARIABLE
from niah_gen.tokenizers.tiktoken_cache import CACHE_VARIABLE, cached_name

# What tiktoken downloads of encodings that are not bundled, below the address of all.
_PUBLISHED = {
    "gpt2": ("gpt-2/encodings/main/vocab.bpe", "gpt-2/encodings/main/encoder.json"),
    "p50k_base": ("encodings/p50k_base.tiktoken",),
    "p50k_edit": ("encodings/p50k_base.tiktoken",),
    "r50k_base": ("encodings/r50k_base.tiktoken",),
}
_IN_FOLDERS = ("tokenizer.json", "tokenizer.model", "spiece.model")


class KnownTokenizer(NamedTuple):
    """A tokenizer by a name that recipes take. `place`: where it is; None if it is not on this machine."""

    name: str
    place: str | None
    models: tuple[str, ...] = ()


def known_tokenizers() -> Iterator[KnownTokenizer]:
    """The encodings of tiktoken, with the models that use each, and whether they are here."""
    import tiktoken
    import tiktoken.model

    for name in sorted({*BUNDLED, *tiktoken.list_encoding_names()}):
        models = tuple(model for model, encoding in tiktoken.model.MODEL_TO_ENCODING.items() if encoding == name)
        yield KnownTokenizer(name, "bundled" if name in BUNDLED else _cached(name), models)


def own_tokenizers() -> Iterator[KnownTokenizer]:
    """What lies in the folders of `$NIAH_TOKENIZERS`, by the name that a recipe gives it; a folder that is missing."""
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
            elif found := next((entry / name for name in _IN_FOLDERS if (entry / name).is_file()), None):
                yield KnownTokenizer(entry.name, str(found))


def _cached(name: str) -> str | None:
    """Where tiktoken's cache has all files of an encoding."""
    folder = os.environ.get(CACHE_VARIABLE, os.environ.get("DATA_GYM_CACHE_DIR"))
    cache = Path(tempfile.gettempdir(), "data-gym-cache") if folder is None else Path(folder)
    files = _PUBLISHED.get(name)
    if folder == "" or not files or not all((cache / cached_name(file)).is_file() for file in files):
        return None
    return f"cache {cache}"
