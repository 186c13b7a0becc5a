"""Finds the versions of the libraries that decide, with the plan, the bytes of a dataset's files."""

from __future__ import annotations

import zlib
from collections.abc import Iterable

from niah_score.contract import VERSION

_SUFFIX_WRITERS = {"parquet": "pyarrow", "jsonl.gz": "zlib", "jsonl.zst": "zstandard"}


def releases_of(formats: Iterable[str]) -> dict[str, str]:
    """The versions of niah-kit, which decides the rows, and of the libraries that write files in these formats."""
    names = ["niah-kit", *(_SUFFIX_WRITERS[suffix] for suffix in formats if suffix in _SUFFIX_WRITERS)]
    return {name: release_here(name) for name in names}


def release_here(name: str) -> str:
    """The version of a library on this machine."""
    from importlib.metadata import version

    # An editable install's metadata may be older than its code.
    return {"niah-kit": VERSION, "zlib": zlib.ZLIB_RUNTIME_VERSION}.get(name) or version(name)
