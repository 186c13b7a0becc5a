"""Names the files, configs and versions of a dataset folder, and the error for one that breaks the contract."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import Literal

# Of both packages: they are released together.
VERSION = "0.1.0"
SCHEMA_VERSION = 1
MANIFEST = "manifest.json"
CARD = "README.md"
RECIPE = "recipe.toml"
SPLIT = "test"
# The folder of short rows that the Hub's viewer shows; they are in no digest and are never read as rows.
PREVIEW = "preview"
# What the needle_id of a draw ends with.
DRAW_SUFFIX = r"#\d+-\d+$"
ROW_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")

PromptForm = Literal["text", "chat"]


class ContractError(Exception):
    """A folder or file is not what the contract says; the message names the file and what to do."""


def config_name(language: str, length: int | None) -> str:
    """`zh-8k`, `en-1500`, `en-1m`: the language and the nominal length in tokens, k = 1,000.

    Rows without a length (None, or 0) have the language alone.
    """
    return f"{language}-{length_name(length)}" if length else language


def draw_name(kind: str, length: int, repeat: int) -> str:
    """The needle_id of an item that is drawn anew for each length (tokens) and repeat: what it is, and which draw.

    Intervals take every draw for a needle of its own; tables take all draws of a kind together.
    """
    return f"{kind}#{length}-{repeat}"


def needle_kind(needle_id: str) -> str:
    """What all draws of an item are called; any other needle by its own id."""
    return re.sub(DRAW_SUFFIX, "", needle_id)


def length_name(length: int) -> str:
    """A number of tokens in short: `8k`, `1500`, `1m`; k = 1,000."""
    for unit, name in ((1_000_000, "m"), (1000, "k")):
        if length and length % unit == 0:
            return f"{length // unit}{name}"
    return str(length)


def is_safe_path(path: str) -> bool:
    """Whether a relative POSIX path stays in its folder on every system."""
    parts = PurePosixPath(path).parts if isinstance(path, str) else ()
    return bool(parts) and not path.startswith("/") and not set("\\:\0\n") & set(path) and ".." not in parts
