"""Computes the digests of files, prompts, rows and datasets."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from niah_score.contract.regular_files import open_regular
from niah_score.contract.rows import Message, Row

# The field of a JSON file that holds the sha256 of all its others.
SEAL = "self_sha256"


def canonical_json(value: object) -> bytes:
    """UTF-8 JSON with sorted keys, no spaces and no escapes beyond what JSON needs: what every digest is over."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode()


def sha256_hex(data: bytes) -> str:
    """sha256 of bytes as 64 hex digits."""
    return hashlib.sha256(data).hexdigest()


def prompt_digest(prompt: str | list[Message]) -> str:
    """`prompt_sha256`: of the UTF-8 text, or of the canonical JSON of the messages."""
    return sha256_hex(prompt.encode() if isinstance(prompt, str) else canonical_json(prompt))


def row_digest(row: Row) -> str:
    """sha256 of a row: all its columns as canonical JSON."""
    return sha256_hex(canonical_json(row))


def content_digest(row_digests: Iterable[str]) -> str:
    """sha256 of a dataset's content: over its rows' digests in row order, one per line.

    Two steps, so that shards made on different machines can be joined without reading their rows again.
    """
    total = hashlib.sha256()
    for digest in row_digests:
        total.update(digest.encode() + b"\n")
    return total.hexdigest()


def sealed(record: Mapping[str, Any]) -> dict[str, Any]:
    """A JSON object with its own sha256 as the last field, so that a change to any of the others is seen.

    The sha256 is of the canonical JSON of the other fields as they are read back.
    """
    body = {name: value for name, value in record.items() if name != SEAL}
    return {**body, SEAL: sha256_hex(canonical_json(json.loads(json.dumps(body))))}


def seal_is_broken(record: Mapping[str, Any]) -> bool:
    """Whether a JSON object states a sha256 of its other fields that is not theirs; one that states none is not broken.

    No single flipped bit can hide behind that: one in the name of the field leaves all others as they were.
    """
    if SEAL not in record:
        return False
    body = {name: value for name, value in record.items() if name != SEAL}
    try:
        return bool(record[SEAL] != sha256_hex(canonical_json(body)))
    except (ValueError, RecursionError):  # half a surrogate pair, or brackets without end: never written by us
        return True


def file_sha256(path: Path) -> str:
    """sha256 of a file's bytes as 64 hex digits. Raises OSError, also for what is no file, such as a pipe."""
    with open_regular(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
