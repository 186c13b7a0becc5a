"""Counts the tokens of text that is spliced from encoded texts exactly, without encoding all of it again.

The tokens between two safe cuts of a text (`cuts.py`) stay the same whatever is spliced outside them, so only the
windows around seams are encoded again.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache, partial
from typing import NamedTuple

import numpy as np

from niah_gen.tokenizers.cuts import WIDEST, safe_cuts
from niah_gen.tokenizers.find import Ints, Tokenizer, Tokens
from niah_gen.tokenizers.fragments import Fragment, json_growth, json_inside, literal
from niah_score.text import fold

# Literals of fewer characters are encoded with the text around them; of longer ones, so many are remembered.
_SHORT, _MOST_LITERALS = 128, 64


@dataclass(slots=True)
class _Spent:
    """How many bytes of a text have been escaped slice by slice."""

    bytes: int = 0


@dataclass(frozen=True, eq=False)
class Encoded:
    """A text's bytes and tokens.

    `tokens`: computes the tokens when they are first needed, which is never if the text is only spliced at cuts.
    `cuts`: byte offsets of all or some safe cuts; `exact[i]`: tokens between the first cut and cut i, as the tokenizer
    encodes the whole text.

    Single offsets are looked up with bisect, not with numpy, which would release the interpreter lock each time and
    wait for it while another thread is busy.
    """

    data: bytes
    tokens: Callable[[], Tokens]
    cuts: Ints
    exact: Ints

    @cached_property
    def ids(self) -> Ints:
        """The ids of the tokens."""
        return self.tokens().ids

    @cached_property
    def ends(self) -> Ints:
        """The byte offset where each token ends."""
        return self.tokens().ends

    @cached_property
    def size(self) -> int:
        """Number of tokens."""
        return len(self.ids)

    @cached_property
    def marked(self) -> tuple[memoryview, memoryview]:
        """`cuts` and `exact`, for looking up single values."""
        return self.cuts.data, self.exact.data

    def byte_at(self, token: int) -> int:
        """The byte offset at which token `token` begins; for the number after the last, the end of the text."""
        return int(self.ends[token - 1]) if token > 0 else 0

    def tokens_before(self, byte: int) -> int:
        """Number of tokens that end at or before a byte offset."""
        return bisect_right(self.ends.data, byte)

    def text(self, start: int, end: int) -> str:
        """The bytes from `start` to `end`, decoded; broken characters become U+FFFD."""
        return self.data[start:end].decode(errors="replace")

    @cached_property
    def folded(self) -> str:
        """The text as the scorer folds it to compare answers."""
        return fold(self.data.decode())

    @cached_property
    def _view(self) -> memoryview:
        return memoryview(self.data)

    @cached_property
    def _continuations(self) -> Ints:
        """Offsets of the bytes that continue a character."""
        points = np.frombuffer(b"" if self.data.isascii() else self.data, dtype=np.uint8)
        return np.flatnonzero((points & 0xC0) == 0x80)

    @cached_property
    def _json(self) -> tuple[memoryview, Ints]:
        """The text as the inside of a JSON string, and its `json_growth`."""
        return memoryview(json_inside(self.data.decode())), json_growth(self.data)

    def fragment(self, start: int, end: int) -> Fragment:
        """The bytes from `start` to `end` ready to be written, without copying them."""
        if start == 0 and end == len(self.data):
            return self._whole
        first, last = self._next_character(start), self._next_character(end)
        if last > end:  # the last character is cut: it begins before `end`
            last = self._character_before(end)
        if first >= last and (first > start or last < end):
            return literal(self.text(start, end))
        inner = self._inner(first, last)
        if first == start and last == end:
            return inner
        return literal(self.text(start, first)) + inner + literal(self.text(last, end))

    def _inner(self, first: int, last: int) -> Fragment:
        """The bytes from `first` to `last`, which hold whole characters only.

        Slices are escaped one at a time until they add up to the length of the text, because most texts are used in
        only one prompt, and not in full. Then the whole text is escaped once.
        """
        view = self._view[first:last]
        if self._alone.bytes + last - first <= len(self.data):
            self._alone.bytes += last - first
            text = str(view, "utf-8")
            return Fragment((view,), (json_inside(text),), len(text))
        escaped, growth = self._json
        grown_first, grown_last = first + bisect_left(growth.data, first), last + bisect_left(growth.data, last)
        inside = self._continuations.data
        chars = last - first - (bisect_left(inside, last) - bisect_left(inside, first))
        return Fragment((view,), (escaped[grown_first:grown_last],), chars)

    @cached_property
    def _alone(self) -> _Spent:
        return _Spent()

    @cached_property
    def _whole(self) -> Fragment:
        return Fragment((self._view,), (json_inside(text := self.data.decode()),), len(text))

    def _next_character(self, byte: int) -> int:
        """The first offset at or after `byte` where a character begins, or the end of the text."""
        while byte < len(self.data) and self.data[byte] & 0xC0 == 0x80:
            byte += 1
        return byte

    def _character_before(self, byte: int) -> int:
        """The last offset before `byte` where a character begins."""
        byte -= 1
        while self.data[byte] & 0xC0 == 0x80:
            byte -= 1
        return byte


def encode(text: str, tokenizer: Tokenizer) -> Encoded:
    """Tokenise a text. Its characters must be encodable (no lone surrogates)."""
    return with_cuts(text.encode(), tokenizer.encode(text), safe_cuts(text) if tokenizer.local else _NONE)


_NONE = np.zeros(0, dtype=np.int64)


def encode_uncut(text: str, tokenizer: Tokenizer) -> Encoded:
    """A short text that is encoded when its tokens are needed; inside others it is counted with the text around it."""
    return Encoded(text.encode(), partial(tokenizer.encode, text), _NONE, _NONE)


def with_cuts(data: bytes, tokens: Tokens, cuts: Ints) -> Encoded:
    """A text of these tokens, with these safe cuts."""
    before = np.searchsorted(tokens.ends, cuts, side="right")
    exact = before - before[0] if len(before) else _NONE
    return Encoded(data, lambda: tokens, cuts, exact)


def encode_later(data: bytes, tokenizer: Tokenizer, cuts: Ints, exact: Ints) -> Encoded:
    """A text with known numbers of tokens between some safe cuts; it is encoded only when its tokens are needed."""
    return Encoded(data, cache(lambda: tokenizer.encode(data.decode())), cuts, exact)


def join(parts: Sequence[Encoded], tokenizer: Tokenizer) -> Encoded:
    """Parts one after the other, each with the tokens that it has alone; `cuts` and `exact` are of the joined text.

    This is how the OpenCompass generators see documents: token lists laid end to end.
    """
    if len(parts) == 1:
        return parts[0]
    cuts: list[Ints] = []
    exact: list[Ints] = []
    pending = b""  # bytes since the last safe cut of the parts so far
    reached = 0  # exact tokens between the first and the last safe cut so far
    at = 0
    for part in parts:
        if len(part.cuts):
            if cuts:
                reached += tokenizer.count((pending + part.data[: part.cuts[0]]).decode())
            cuts.append(part.cuts + at)
            exact.append(part.exact + reached)
            reached += int(part.exact[-1])
            pending = part.data[part.cuts[-1] :]
        else:
            pending += part.data
        at += len(part.data)
    starts = np.cumsum([0, *(len(part.data) for part in parts)])

    def tokens() -> Tokens:
        ends = [part.ends + start for part, start in zip(parts, starts, strict=False)]
        return Tokens(np.concatenate([part.ids for part in parts]), np.concatenate(ends))

    return Encoded(
        b"".join(part.data for part in parts),
        cache(tokens),
        np.concatenate(cuts) if cuts else _NONE,
        np.concatenate(exact) if exact else _NONE,
    )


def _last_cut(source: Encoded, end: int) -> int:
    """The number of the last safe cut with both its characters before byte `end`; -1 if there is none.

    That includes the cut before a final mark of one byte, with which most texts end, so that many windows are the same.
    """
    cuts, data = source.marked[0], source.data
    last = bisect_left(cuts, end) - 1
    while last >= 0 and cuts[last] > end - WIDEST and data[cuts[last]] >= 0x80:
        last -= 1
    return last


# Windows of at least so many bytes are counted but not kept; of the shorter ones so many are kept with their ends.
_LONG_WINDOW = 4096
_MOST_WINDOWS = 1 << 16


class Slice(NamedTuple):
    """Bytes `start` to `end` of an encoded text, which may begin or end inside a character."""

    source: Encoded
    start: int
    end: int


@lru_cache(maxsize=_MOST_LITERALS)
def _literal(tokenizer: Tokenizer, text: str) -> Slice:
    """A text that is in every prompt, or is counted several times for one; all counters share these."""
    return Slice(encode(text, tokenizer), 0, len(text.encode()))


class Counter:
    """Counts the tokens of texts put together from literals and slices, exactly as encoding them would.

    For a tokenizer that is not local the whole text is encoded.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer
        self._windows: dict[bytes, memoryview] = _windows(tokenizer)
        self._literal = partial(_literal, tokenizer)

    def count(self, parts: Iterable[str | Slice]) -> int:
        """Tokens of the parts one after the other."""
        total = 0
        pending = b""
        windows = self._windows
        for part in parts:
            if isinstance(part, str):
                if len(part) < _SHORT or not self.tokenizer.local:
                    pending += part.encode()
                    continue
                part = self._literal(part)
            source, start, end = part
            cuts, exact = source.marked
            if not cuts:
                pending += source.data[start:end]
                continue
            low = bisect_left(cuts, start + WIDEST)
            high = _last_cut(source, end)
            if low <= high:
                pending += source.data[start : cuts[low]]
                known = windows.get(pending)
                total += (self.window(pending) if known is None else len(known)) + exact[high] - exact[low]
                pending = source.data[cuts[high] : end]
            else:
                pending += source.data[start:end]
        return total + self.window(pending)

    def marks(self, parts: Sequence[str | Slice], marked: Sequence[bool]) -> list[tuple[int, int]]:
        """For each marked part, the tokens of the whole that cover any of its bytes: the first, and one past the last.

        The tokenizer must be local. Parts that are not marked may begin or end inside a character, marked ones may not.
        """
        ranges: list[tuple[int, int]] = []
        total = 0  # tokens before the window
        window = b""
        edges: list[tuple[int, bool]] = []  # byte offsets in the window, and whether a marked part begins there
        first = 0  # token of the marked part that was begun last

        def close() -> None:
            """Count the window, and find the tokens at its edges."""
            nonlocal total, window, first
            if edges:
                ends = self._ends(window)
                ascii_ = window.isascii()
                for place, begins in edges:
                    at = place if ascii_ else len(window[:place].decode(errors="replace").encode())
                    if begins:
                        first = total + bisect_right(ends, at)
                    else:
                        ranges.append((first, total + min(bisect_left(ends, at) + 1, len(ends))))
                total += len(ends)
                edges.clear()
            else:
                total += self.window(window)
            window = b""

        for part, is_marked in zip(parts, marked, strict=True):
            if is_marked:
                edges.append((len(window), True))
            if isinstance(part, str) and len(part) >= _SHORT:
                part = self._literal(part)
            if isinstance(part, str):
                window += part.encode()
            else:
                source, start, end = part
                cuts, exact = source.marked
                low = bisect_left(cuts, start + WIDEST)
                high = _last_cut(source, end)
                if low <= high:
                    window += source.data[start : cuts[low]]
                    close()
                    total += exact[high] - exact[low]
                    window = source.data[cuts[high] : end]
                else:
                    window += source.data[start:end]
            if is_marked:
                edges.append((len(window), False))
        close()
        return ranges

    def window(self, data: bytes) -> int:
        """Tokens of a window, remembered unless it is long; broken characters become U+FFFD."""
        if len(data) < _LONG_WINDOW:
            return len(self._ends(data))
        return self.tokenizer.count(data.decode(errors="replace"))

    def _ends(self, data: bytes) -> memoryview:
        """The byte offsets where the tokens of a window end. Windows around needles recur in a row and across rows."""
        known = self._windows.get(data)
        if known is None:
            known = self.tokenizer.encode(data.decode(errors="replace")).ends.data
            if len(data) < _LONG_WINDOW:
                if len(self._windows) >= _MOST_WINDOWS:
                    self._windows.clear()
                self._windows[data] = known
        return known


@lru_cache(maxsize=4)
def _windows(tokenizer: Tokenizer) -> dict[bytes, memoryview]:
    """The windows that all counters of a tokenizer have encoded."""
    return {}
