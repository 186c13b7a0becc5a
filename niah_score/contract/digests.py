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

    Because it needs digests only, shards from different machines are merged without reading their rows again.
    """
    total = hashlib.sha256()
    for digest in row_digests:
        total.update(digest.encode() + b"\n")
    return total.hexdigest()


def sealed(record: Mapping[str, Any]) -> dict[str, Any]:
    """A JSON object with the sha256 of its fields added as the last one, so that a change to them is noticed.

    The sha256 is of their canonical JSON after one round trip through JSON.
    """
    body = {name: value for name, value in record.items() if name != SEAL}
    return {**body, SEAL: sha256_hex(canonical_json(json.loads(json.dumps(body))))}


def seal_is_broken(record: Mapping[str, Any]) -> bool:
    """Whether a JSON object's seal does not match its other fields; an object without a seal is not broken.

    A single flipped bit cannot do harm that way: if it hits the seal's name, the other fields are intact.
    """
    if SEAL not in record:
        return False
    body = {name: value for name, value in record.items() if name != SEAL}
    try:
        return bool(record[SEAL] != sha256_hex(canonical_json(body)))
    except (ValueError, RecursionError):  # a lone surrogate or endless brackets, which we never write
        return True


def file_sha256(path: Path) -> str:
    """sha256 of a file's bytes as 64 hex digits. Raises OSError, also if the path is not a file but, say, a pipe."""
    with open_regular(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
