"""Finds where later sentences can be inserted into a text, so that they neither begin nor end it.

They are joined to a paragraph that others follow: on their own line at the end of the text they would stand out, and so
would a needle beside them.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from niah_gen.haystacks.sentences import Sentences
from niah_gen.tokenizers.find import Ints

# Finds the character offsets right after each sentence of a text, ascending; None if any text may stand anywhere.
EndsOf = Callable[[str], list[int]] | None

# The fewest sentences of the text after the inserted ones, and how many to go back in search of a paragraph's end.
_FEWEST_AFTER = 4
_MOST_AFTER = 32
# A last paragraph that is cut to so few sentences is left out: they are no paragraph.
_SHORT = 3
# How far white space after a sentence is searched for a line end, in bytes.
_GAP = 8
# Sentences before and after a joint that can change how it reads.
_AROUND = 2


class Joint(NamedTuple):
    """A place inside a text where later sentences are inserted. `place`: its number; `joiner`: what separates them."""

    place: int
    joiner: str


def whole_paragraphs(sentences: Sentences, count: int) -> int:
    """How many of the first `count` sentences to keep, so that the last paragraph is whole or has several sentences."""
    for kept in range(count, max(0, count - _SHORT - 1), -1):
        if ends_paragraph(sentences, kept):
            return kept
    return count


def ends_paragraph(sentences: Sentences, place: int) -> bool:
    """Whether the text continues on a new line after a place."""
    at = int(sentences.places[place])
    gap = sentences.text.data[at : at + _GAP]
    return b"\n" in gap[: len(gap) - len(gap.lstrip())]


def find_joint(sentences: Sentences, count: int, joiner: str, ends_of: EndsOf) -> Joint:
    """Where to insert sentences into the first `count`: after the last paragraph that a few sentences follow.

    If no paragraph ends near enough, after a sentence. `joiner` separates sentences of the language; a line end does if
    the text's sentence before the joint would not be read as ending there (a full stop without a space), or if there is
    none.
    """
    latest = max(min(1, count - 1), count - _FEWEST_AFTER)
    ends = (place for place in range(latest, max(0, count - _MOST_AFTER), -1) if ends_paragraph(sentences, place))
    place = max(next(ends, latest), 0)
    if ends_of and joiner != "\n":
        left = _text(sentences, max(0, place - _AROUND), place)
        if not left or len(left) not in ends_of(left + joiner + _PLAIN[joiner]):
            return Joint(place, "\n")
    return Joint(place, joiner)


# An ordinary sentence for each joiner.
_PLAIN = {" ": "So it is.", "": "是的。"}


def unfit(sentences: Sentences, count: int, joint: Joint, texts: Sequence[str], ends_of: EndsOf) -> list[int]:
    """Numbers of the texts that would not be exactly one sentence at the joint, such as the number of a list item.

    If two texts run into each other, both are named.
    """
    if ends_of is None or not texts:
        return []
    place, joiner = joint
    left = _text(sentences, max(0, place - _AROUND), place)
    right = _text(sentences, place, min(place + _AROUND, count))
    parts = [left] if left else []
    edges = []
    at = len(left)
    for text in texts:
        gap = len(joiner) if parts else 0
        edges.append((at, at + gap + len(text)))
        at += gap + len(text)
        parts.append(text)
    whole = joiner.join(parts) + (joiner if right and not left else "") + right
    ends = ends_of(whole)
    breaks = {0, *ends}
    return [
        number
        for number, (start, end) in enumerate(edges)
        if start not in breaks or end not in breaks or bisect_left(ends, end) - bisect_left(ends, start + 1) > 0
    ]


def inside_text(count: int, joint: Joint, texts: Sequence[str]) -> str:
    """The texts as inserted at a joint among the first `count` sentences, with the joiners to these."""
    first, last = joint.place > 0, count > 0 and not joint.place
    return joint.joiner.join([*([""] if first else []), *texts, *([""] if last else [])])


def inside_ends(joint: Joint, texts: Sequence[str]) -> Ints:
    """The byte offsets in `inside_text` where the texts end."""
    gap = len(joint.joiner.encode())
    sizes = np.array([gap + len(text.encode()) for text in texts], dtype=np.int64)
    ends: Ints = np.cumsum(sizes)
    return ends if joint.place else ends - gap


def _text(sentences: Sentences, first: int, last: int) -> str:
    return sentences.text.text(int(sentences.places[first]), int(sentences.places[max(first, last)]))
