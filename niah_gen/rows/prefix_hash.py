"""Hashes prompts, many of which begin alike: what a prompt shares with the one before it is hashed only once.

Rows over one haystack share it up to their first needle, which is half of the prompt on average if depths ascend.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

# Shorter stretches are hashed faster than compared.
_LONG = 50_000


class _LastHash(NamedTuple):
    """The state of a hash that has taken the bytes `before` a stretch, and the stretch."""

    before: bytes
    stretch: memoryview
    state: Any


class PrefixHash:
    """sha256 of texts in pieces, one text after another."""

    def __init__(self) -> None:
        self._last: _LastHash | None = None

    def hexdigest(self, pieces: Sequence[bytes | memoryview]) -> str:
        """The digest of pieces laid end to end."""
        at = next((n for n, piece in enumerate(pieces) if len(piece) >= _LONG), None)
        stretch = None if at is None else pieces[at]
        if at is None or not isinstance(stretch, memoryview) or not isinstance(stretch.obj, bytes):
            total = hashlib.sha256()
        else:
            total = self._begin(b"".join(pieces[:at]), stretch)
            pieces = pieces[at + 1 :]
        for piece in pieces:
            total.update(piece)
        return total.hexdigest()

    def _begin(self, before: bytes, stretch: memoryview) -> Any:
        """A hash of a text and a stretch, continuing the last one if that covers a beginning of the same memory."""
        last = self._last
        if last and last.before == before and _address(last.stretch) == _address(stretch) and (
            len(last.stretch) <= len(stretch)
        ):  # fmt: skip
            state = last.state.copy()
            state.update(stretch[len(last.stretch) :])
        else:
            state = hashlib.sha256(before)
            state.update(stretch)
        # Holding the view keeps its memory from being reused.
        self._last = _LastHash(before, stretch, state)
        return state.copy()


def _address(view: memoryview) -> int:
    return np.frombuffer(view, dtype=np.uint8).ctypes.data
