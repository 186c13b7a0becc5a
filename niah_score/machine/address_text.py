"""Tells addresses, also mistyped and chained ones, from paths, and shows them without what may be secret in them."""

from __future__ import annotations

import os
import re

_SCHEMES = (
    "https?|ftps?|sftp|ssh|s3a?|r2|gs|gcs|hf|az|adl|abfss?|wasbs?|oci|hdfs|webhdfs|file|local|memory|zip|tar|dbfs|smb|"
    "github|gitlab|dropbox|simplecache|filecache|blockcache|cached|reference|data"
)
# `http:/x` of any scheme, and `https:x` of a known one.
_MISTYPED = re.compile(rf"[a-z][a-z0-9+.-]+:/|(?:{_SCHEMES}):", re.IGNORECASE)
_DRIVE = re.compile(r"[A-Za-z]:[\\/]")
# In sentences. A quoted address ends at its quote, another one at white space.
_IN_TEXT = re.compile(
    r"""(?P<quote>['"]?)(?<![A-Za-z0-9+.-])(?:[a-z][a-z0-9+.-]*::)*(?:[a-z][a-z0-9+.-]+:/|(?:https?|s3a?|gs|hf):)"""
    r"""(?:(?<=['"])[^'"\n]*|[^\s'"]*)""",
    re.IGNORECASE,
)
_SCHEME = re.compile(r"(?:[a-z][a-z0-9+.-]*::)*[a-z][a-z0-9+.-]*:/{0,3}", re.IGNORECASE)
_SECRET = re.compile("[?#;]")
_MOST_SHOWN = 200


def looks_like_address(text: str) -> bool:
    """Whether a text is an address, a chain of them (`zip://x::s3://y`), or one with a mistyped scheme (`s3:/x`).

    A path of something that exists, and a path that begins with a drive, are none.
    """
    if not ("://" in text or "::" in text or _MISTYPED.match(text)) or _DRIVE.match(text):
        return False
    try:
        return not os.path.lexists(text)
    except ValueError:
        return True


def shown_address(text: str) -> str:
    """An address for a message: without user, password, parameters, query and fragment, wherever they stand in it."""
    scheme = _SCHEME.match(text)
    start = scheme[0] if scheme else ""
    # A password may hold any character, so all up to the last @ may be one.
    before, _, rest = text[len(start) :].rpartition("@")
    if _SECRET.search(before):
        return f"{start}..."  # the @ may be a part of a query, or the ? of a password
    shown = start + _SECRET.split(rest, maxsplit=1)[0][:_MOST_SHOWN]
    if "::" in shown[len(start) :]:  # another address follows
        first, _, others = shown[len(start) :].partition("::")
        return f"{start}{first}::{shown_address(others)}"
    return shown


def without_secrets(sentence: str) -> str:
    """A sentence in which every address is shown as `shown_address` does."""
    return _IN_TEXT.sub(_shown_match, sentence)


def _shown_match(match: re.Match[str]) -> str:
    quote = match["quote"]
    address = match[0][len(quote) :]
    if "@" not in address and not _SECRET.search(address):
        return match[0]
    # The punctuation that ends the clause is the sentence's.
    end = address[len(address.rstrip(".,:;)")) :]
    return quote + shown_address(address.removesuffix(end)) + end
