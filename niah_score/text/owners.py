"""Tells which owner an answer assigns a fact to, if facts are asked for in pairs: which team wears lilac.

An owner and its fact are usually in one list item, in either order: "the upper team: lilac; the lower team: green",
"lilac (the upper team), green (the lower team)". Several owners in a row have facts in the same order.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise, takewhile
from typing import NamedTuple

from niah_score.text.late_pattern import late

_JOINT = r"(?:\s?(?:[、，,/|&]|和|与|以及|及|\band\b))+\s?"
# What may follow the name of each owner in a row: 队 in 上街队、下街队; "the upper team and the lower team".
_KIND = r"(?:队|组|家|班|\s(?:team|side|crew|group|club|house)s?)"
_IN_A_ROW = late(rf"{_KIND}?{_JOINT}(?:the )?")
_JOINTS = late(_JOINT)
_SHARED = late(r"都|均|皆|全|一样|\bboth\b|\ball\b|\bsame\b")
_ITEM_ENDS = (
    late(r"[、，,；;。！？!?\n]|\.(?=\s|$)|\band\b"),  # an item
    late(r"[；;。！？!?\n]|\.(?=\s|$)"),  # a sentence
)


class _Mention(NamedTuple):
    start: int
    end: int
    is_own: bool


_Row = list[_Mention]


def belongs(text: str, start: int, end: int, own: Sequence[str], others: Sequence[str]) -> bool:
    """Whether a folded, spaced text assigns the fact from `start` to `end` to its own owner.

    `own`: the names of that owner; `others`: those of the other owners.
    """
    mentions = _mentions(text, own, others)
    before = [mention for mention in mentions if mention.end <= start]
    after = [mention for mention in mentions if mention.start >= end]
    in_a_row = _by_order(text, start, end, before, after)
    if in_a_row is not None:
        return in_a_row
    for ends in _ITEM_ENDS:
        first, last = _around(text, start, end, ends)
        inside = {mention.is_own for mention in mentions if first <= mention.start and mention.end <= last}
        if len(inside) == 1:
            return inside.pop()
    return before[-1].is_own if before else bool(after) and after[0].is_own


def _mentions(text: str, own: Sequence[str], others: Sequence[str]) -> list[_Mention]:
    """The places where owners are named; of overlapping names, the first and longest counts."""
    matches = [
        _Mention(match.start(), match.end(), names is own)
        for names in (own, others)
        for name in names
        for match in re.finditer(_edge(name) + re.escape(name), text)
    ]
    mentions: list[_Mention] = []
    for mention in sorted(matches, key=lambda mention: (mention.start, -mention.end)):
        if not mentions or mention.start >= mentions[-1].end:
            mentions.append(mention)
    return mentions


def _edge(name: str) -> str:
    return "(?<![a-z0-9])" if name[:1].isascii() else ""


def _by_order(text: str, start: int, end: int, before: _Row, after: _Row) -> bool | None:
    """Whether a fact before or after several owners in a row belongs to its own; None without such a row."""
    row = _row(text, before[::-1])[::-1]
    if len(row) > 1 and not _SHARED.search(text, row[-1].end, start):
        place = len(_JOINTS.findall(text, row[-1].end, start))
        return place < len(row) and row[place].is_own
    row = _row(text, after)
    if not before and len(row) > 1:
        place = len(row) - 1 - len(_JOINTS.findall(text, end, row[0].start))
        return place >= 0 and row[place].is_own
    return None


def _row(text: str, mentions: _Row) -> _Row:
    """The first of some mentions, and those that follow it in a row."""

    def are_joined(pair: tuple[_Mention, _Mention]) -> bool:
        one, other = sorted(pair)
        return _IN_A_ROW.fullmatch(text, one.end, other.start) is not None

    return [*mentions[:1], *(other for _, other in takewhile(are_joined, pairwise(mentions)))]


def _around(text: str, start: int, end: int, ends: re.Pattern[str]) -> tuple[int, int]:
    """The start and end of the part of a text that contains a fact. `ends`: a pattern for the end of a part."""
    cuts = [match.end() for match in ends.finditer(text, 0, start)]
    after = ends.search(text, end)
    return (cuts[-1] if cuts else 0), (after.start() if after else len(text))
