"""Makes safe file names from untrusted text: names of models, datasets and metrics."""

from __future__ import annotations

# Characters, and bytes in UTF-8. File systems allow 255 bytes, and callers append to the name.
_MOST_CHARACTERS, _MOST_BYTES = 100, 200


def plain_name(text: str) -> str:
    """A text as the name of a file or folder: letters and digits of any script, `-`, `_` and `.`; the rest becomes `-`.

    It neither begins nor ends with a dot, so that it is no path and not hidden. At most 100 characters and 200 bytes;
    may be empty.
    """
    plain = "".join(char if char.isalnum() or char in "-_." else "-" for char in text).strip(".")[:_MOST_CHARACTERS]
    return plain.encode()[:_MOST_BYTES].decode(errors="ignore").rstrip(".")
