"""Names the files, configs and versions of a dataset folder, and the error for one that breaks the contract."""

from __future__ import annotations

import re
from typing import Literal

# The version of both packages, which are released together.
VERSION = "0.1.0"
SCHEMA_VERSION = 1
MANIFEST = "manifest.json"
CARD = "README.md"
RECIPE = "recipe.toml"
SPLIT = "test"
# The folder of shortened rows for the Hub's viewer; they are in no digest and never read as rows.
PREVIEW = "preview"
# The end of a draw's needle_id.
DRAW_SUFFIX = r"#\d+-\d+$"
ROW_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")

# No name in a path may hold these: some system takes them for a separator, a drive, a stream or the end of a string.
_UNSAFE = re.compile(r"[\\:\x00-\x1f\x7f]")
_DEVICES = {"CON", "PRN", "AUX", "NUL", *(f"{name}{number}" for name in ("COM", "LPT") for number in "0123456789¹²³")}
_MOST_NAME, _MOST_PATH = 255, 1024

PromptForm = Literal["text", "chat"]


class ContractError(Exception):
    """A folder or file breaks the contract; the message names the file and what to do."""


def config_name(language: str, length: int | None) -> str:
    """`zh-8k`, `en-1500`, `en-1m`: the language and the nominal length in tokens, k = 1,000.

    Rows without a length (None, or 0) have the language alone.
    """
    return f"{language}-{length_name(length)}" if length else language


def draw_name(kind: str, length: int, repeat: int) -> str:
    """The needle_id of an item that is drawn anew for each length (tokens) and repeat: its kind, and which draw.

    Intervals treat every draw as a separate needle; tables put all draws of a kind together.
    """
    return f"{kind}#{length}-{repeat}"


def needle_kind(needle_id: str) -> str:
    """The kind that all draws of an item share; any other needle's id unchanged."""
    return re.sub(DRAW_SUFFIX, "", needle_id)


def length_name(length: int) -> str:
    """A number of tokens, abbreviated: `8k`, `1500`, `1m`; k = 1,000."""
    for unit, name in ((1_000_000, "m"), (1000, "k")):
        if length and length % unit == 0:
            return f"{length // unit}{name}"
    return str(length)


def is_safe_path(path: str) -> bool:
    """Whether a relative POSIX path names the same file inside its folder on every system.

    It has no drive, no Windows device, no control character, no name of more than 255 bytes or that ends with a dot or
    a space, and at most 1,024 bytes.
    """
    if not isinstance(path, str) or not path or _UNSAFE.search(path):
        return False
    try:
        sizes = [len(part.encode()) for part in path.split("/")]
    except UnicodeEncodeError:
        return False
    if max(sizes) > _MOST_NAME or sum(sizes) + len(sizes) > _MOST_PATH:
        return False
    return all(
        part and not part.endswith((".", " ")) and part.partition(".")[0].rstrip().upper() not in _DEVICES
        for part in path.split("/")
    )
