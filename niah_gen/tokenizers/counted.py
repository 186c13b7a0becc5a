"""Counts the tokens of edited text exactly, without encoding all of it again.

A prompt is a long text that many prompts share, with a few edits: what stands before it, needles inside it, what stands
after it. The tokens between two safe cuts of a text (`cut_points`) stay the same whatever is changed outside them, so
only the windows around the edits are encoded.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from niah_gen.tokenizers.find import Ints, Tokenizer, Tokens
from niah_score.text import fold

# Ranges whose characters are all letters or digits in every Unicode version; there are more such characters.
_WORD_RANGES = (
    ("0", "9"), ("A", "Z"), ("a", "z"),
    ("\u00c0", "\u00d6"), ("\u00d8", "\u00f6"), ("\u00f8", "\u02af"), ("\u0391", "\u03a1"),
    ("\u03a3", "\u03f5"), ("\u0410", "\u044f"), ("\u3041", "\u3096"), ("\u30a1", "\u30fa"), ("\u4e00", "\u9fa5"),
    ("\uac00", "\ud7a3"), ("\u05d0", "\u05ea"), ("\u0621", "\u063a"), ("\u0641", "\u064a"), ("\u0905", "\u0939"),
    ("\u0e01", "\u0e2e"),
)  # fmt: skip
# None is a letter, mark, digit or the apostrophe of a contraction.
_BREAKERS = (
    ' \n\t\r.,;:!?()[]{}"/-\u2013\u2014\u2026\u201c\u201d\u2018'
    "\u3001\u3002\u300a\u300b\u300c\u300d\uff01\uff08\uff09\uff0c\uff1a\uff1b\uff1f"
)
# For short ASCII texts, a search is faster than arrays.
_ASCII_CUT = re.compile("[0-9A-Za-z](?=[" + re.escape("".join(filter(str.isascii, _BREAKERS))) + "])")
_SHORT = 400


def _table(ranges: Iterable[tuple[str, str]]) -> npt.NDArray[np.bool_]:
    table = np.zeros(0x10000, dtype=np.bool_)
    for first, last in ranges:
        table[ord(first) : ord(last) + 1] = True
    return table


_IN_WORD = _table(_WORD_RANGES)
_IS_BREAKER = _table((char, char) for char in _BREAKERS)
# A blank begins a token after whatever is not white space: in scripts that have no range here, and after emoji.
_IS_BLANK = _table([(" ", " ")])
_BEFORE_BLANK = ~_table(
    [("\0", "\x85"), ("\xa0", "\xa0"), ("\u1680", "\u1680"), ("\u2000", "\u200a"), ("\u2028", "\u2029"),
     ("\u202f", "\u202f"), ("\u205f", "\u205f"), ("\u3000", "\u3000")]
)  # fmt: skip


def cut_points(text: str) -> Ints:
    """Code points before which a text has its safe cuts, ascending."""
    if len(text) < _SHORT and text.isascii():
        return np.array([match.end() for match in _ASCII_CUT.finditer(text)], dtype=np.int64)
    points = np.frombuffer(text.encode("utf-32-le"), dtype=np.uint32)
    if len(points) < 2:
        return np.zeros(0, dtype=np.int64)
    in_table = np.minimum(points, 0xFFFF)  # U+FFFF is no letter, breaker or white space
    left, right = in_table[:-1], in_table[1:]
    return np.flatnonzero((_IN_WORD[left] & _IS_BREAKER[right]) | (_BEFORE_BLANK[left] & _IS_BLANK[right])) + 1


def bytes_at(text: str, points: Ints) -> Ints:
    """Code points of a text as offsets into its UTF-8 bytes."""
    if text.isascii():
        return points
    codes = np.frombuffer(text.encode("utf-32-le"), dtype=np.uint32)
    wide = np.flatnonzero(codes >= 0x80)
    more = codes[wide]
    extra = 1 + (more >= 0x800).astype(np.int64) + (more >= 0x10000)
    before: Ints = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(extra)])
    return np.add(points, before[np.searchsorted(wide, points)])


# Windows of at least so many code points are encoded but not remembered; of the shorter ones so many are.
_LONG_WINDOW = 4096
_MOST_WINDOWS = 1 << 16
_NONE: Ints = np.zeros(0, dtype=np.int64)


class Edit(NamedTuple):
    """Code points `start` to `end` of a text become `text`; an insertion has start == end."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, eq=False)
class Counted:
    """A text with places where it may be taken apart without changing its tokens.

    `cuts`: code points of all or some of its safe cuts, ascending; none if the tokenizer is not local. `exact`: tokens
    before each cut, up to a number that is the same for all of them. `tokens`: encodes the text when its tokens are
    first needed, which is never if it is only counted; of joined texts, the tokens of each end to end.
    """

    text: str
    cuts: Ints
    exact: Ints
    tokens: Callable[[], Tokens]

    @cached_property
    def marks(self) -> tuple[memoryview, memoryview]:
        """`cuts` and `exact`, in which single values are found faster."""
        return self.cuts.data, self.exact.data

    @cached_property
    def ids(self) -> Ints:
        """The ids of its tokens."""
        return self.tokens().ids

    @cached_property
    def ends(self) -> Ints:
        """The UTF-8 byte offset where each token ends."""
        return self.tokens().ends

    @cached_property
    def size(self) -> int:
        """Number of tokens."""
        return len(self.ids)

    @cached_property
    def starts(self) -> Ints | None:
        """The UTF-8 byte offset of each code point and of the end; None if all of them take one byte."""
        if self.text.isascii():
            return None
        return bytes_at(self.text, np.arange(len(self.text) + 1))

    @cached_property
    def folded(self) -> str:
        """The text as the scorer folds it to compare answers."""
        return fold(self.text)

    def point_at(self, token: int) -> tuple[int, int]:
        """The code point in which a token begins, and how many bytes of that code point are before the token."""
        byte = int(self.ends[token - 1]) if token > 0 else 0
        if self.starts is None:
            return byte, 0
        point = bisect_right(self.starts.data, byte) - 1
        return point, byte - int(self.starts[point])

    def of_tokens(self, first: int, last: int) -> str:
        """Tokens `first` to `last`, decoded; a code point that is cut at an end becomes U+FFFD."""
        start, inside = self.point_at(first)
        end, over = self.point_at(last)
        if not inside and not over:
            return self.text[start:end]
        data = self.text[start : end + bool(over)].encode()
        past = len(self.text[end].encode()) - over if over else 0
        return data[inside : len(data) - past].decode(errors="replace")

    def tokens_to(self, point: int) -> int:
        """Number of tokens of the text, as it is encoded whole, that end at or before a code point."""
        return bisect_right(self.ends.data, point if self.starts is None else int(self.starts[point]))


NOTHING = Counted("", _NONE, _NONE, lambda: Tokens(_NONE, _NONE))


def counted(text: str, tokenizer: Tokenizer) -> Counted:
    """A text, encoded once. Its characters must be encodable (no lone surrogates)."""
    tokens = tokenizer.encode(text)
    cuts = cut_points(text) if tokenizer.local else _NONE
    return Counted(text, cuts, np.searchsorted(tokens.ends, bytes_at(text, cuts), side="right"), lambda: tokens)


def known(text: str, cuts: Ints, exact: Ints, tokenizer: Tokenizer) -> Counted:
    """A text with known numbers of tokens before some of its safe cuts, encoded only if its tokens are needed."""
    return Counted(text, cuts, exact, cache(lambda: tokenizer.encode(text)))


def part(source: Counted, start: int, end: int, tokenizer: Tokenizer) -> Counted:
    """Code points `start` to `end` of a text as a text of their own."""
    low, high = _inside(source, start, end)
    return known(source.text[start:end], source.cuts[low:high] - start, source.exact[low:high], tokenizer)


def join(parts: Sequence[Counted], tokenizer: Tokenizer) -> Counted:
    """Texts one after the other. `tokens` are those of each, laid end to end; counts are of the joined text."""
    if len(parts) == 1:
        return parts[0]
    cuts, exact = [_NONE], [_NONE]
    pending = ""  # the text since the last safe cut
    reached = at = 0  # tokens before that cut, and code points before the part
    for one in parts:
        if len(one.cuts):
            reached += len(_ends(tokenizer, pending + one.text[: one.cuts[0]]))
            cuts.append(one.cuts + at)
            exact.append(one.exact - one.exact[0] + reached)
            reached = int(exact[-1][-1])
            pending = one.text[one.cuts[-1] :]
        else:
            pending += one.text
        at += len(one.text)

    def tokens() -> Tokens:
        sizes = [len(one.text.encode()) for one in parts]
        starts = np.cumsum([0, *sizes[:-1]])
        ends = [one.ends + start for one, start in zip(parts, starts, strict=True)]
        return Tokens(np.concatenate([one.ids for one in parts]), np.concatenate(ends))

    return Counted("".join(one.text for one in parts), np.concatenate(cuts), np.concatenate(exact), cache(tokens))


def edited(source: Counted, edits: Sequence[Edit], end: int) -> str:
    """The first `end` code points of a text with edits, which are in the order of the text and do not overlap."""
    parts = []
    at = 0
    for edit in edits:
        parts += [source.text[at : edit.start], edit.text]
        at = edit.end
    return "".join([*parts, source.text[at:end]])


def count(source: Counted, edits: Sequence[Edit], end: int, tokenizer: Tokenizer) -> int:
    """Tokens of `edited(source, edits, end)`, exactly."""
    if not tokenizer.local:
        return tokenizer.count(edited(source, edits, end))
    return sum(len(_ends(tokenizer, window)) + after for window, after, _ in _windows(source, edits, end))


def count_to(source: Counted, points: Ints, tokenizer: Tokenizer) -> Ints:
    """Tokens of the text before each of some code points, encoded alone.

    points: ascending. With a tokenizer that is not local, the tokens of the whole text that end before them, which may
    be a few more.
    """
    if not tokenizer.local:
        bytes_ = points if source.starts is None else source.starts[points]
        estimates: Ints = np.searchsorted(source.ends, bytes_, side="right")
        return estimates
    last = np.searchsorted(source.cuts, points) - 1  # the last cut with both its characters before a point
    if not len(source.cuts) or last.min(initial=0) < 0:
        first = int(np.searchsorted(last, 0))
        heads = np.array([len(_ends(tokenizer, source.text[:point])) for point in points[:first].tolist()], np.int64)
        return np.append(heads, count_to(source, points[first:], tokenizer) if first < len(points) else _NONE)
    begun = len(_ends(tokenizer, source.text[: source.cuts[0]])) - source.exact[0]
    # Most ends of sentences and lines are alike.
    tails = (source.text[cut:point] for cut, point in zip(source.cuts[last].tolist(), points.tolist(), strict=True))
    before: Ints = source.exact[last] + begun + np.array([len(_ends(tokenizer, tail)) for tail in tails], np.int64)
    return before


def measured(
    source: Counted, edits: Sequence[Edit], end: int, spans: Sequence[tuple[int, int]], tokenizer: Tokenizer
) -> tuple[int, list[tuple[int, int]]]:
    """The tokens of an edited text, and for each span those that cover any of it: the first, and one past the last.

    `spans`: in code points of the edited text, each within edits.
    """
    whole = [(edited(source, edits, end), 0, 0)] if not tokenizer.local else []
    ranges: dict[tuple[int, int], tuple[int, int]] = {}
    at = total = 0  # code points and tokens before the window
    for window, after, skipped in whole or _windows(source, edits, end):
        ends = _ends(tokenizer, window)
        for start, stop in spans:
            if at <= start and stop <= at + len(window):
                first, last = (len(window[: point - at].encode()) for point in (start, stop))
                low, high = covering(ends, first, last)
                ranges[start, stop] = total + low, total + high
        at += len(window) + skipped
        total += len(ends) + after
    return total, [ranges[span] for span in spans]


def covering(ends: Ints, start: int, end: int) -> tuple[int, int]:
    """The tokens that cover any of the bytes from `start` to `end`; `ends`: the byte offset where each token ends.

    Several tokens that end at one offset share the character before it.
    """
    first, last = bisect_right(ends.data, start), bisect_left(ends.data, end)
    if last < len(ends) and ends[last] == end:
        return first, bisect_right(ends.data, end)
    return first, min(last + 1, len(ends))


def _windows(source: Counted, edits: Sequence[Edit], end: int) -> Iterator[tuple[str, int, int]]:
    """The windows of an edited text in order: each with the tokens and the code points between it and the next one."""
    cuts, exact = source.marks
    text = source.text
    window = ""
    at = 0
    for start, after, insert in (*edits, Edit(end, end, "")):
        low, high = _inside(source, at, start)
        if low < high:
            first, last = cuts[low], cuts[high - 1]
            yield window + text[at:first], exact[high - 1] - exact[low], last - first
            window = text[last:start]
        else:
            window += text[at:start]
        window += insert
        at = after
    yield window, 0, 0


def _inside(source: Counted, start: int, end: int) -> tuple[int, int]:
    """The numbers of the cuts between two code points that have the characters on both sides between them, too."""
    cuts = source.marks[0]
    low = bisect_left(cuts, start + 1)
    return low, max(low, bisect_left(cuts, end))


def _ends(tokenizer: Tokenizer, window: str) -> Ints:
    """The byte offsets where the tokens of a window end. Windows recur within a row and across rows."""
    return tokenizer.encode(window).ends if len(window) >= _LONG_WINDOW else _remembered(tokenizer, window)


@lru_cache(maxsize=_MOST_WINDOWS)
def _remembered(tokenizer: Tokenizer, window: str) -> Ints:
    return tokenizer.encode(window).ends
