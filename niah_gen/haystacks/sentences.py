"""Cuts documents into whole sentences, tokenised once, to fill native haystacks with."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from niah_gen.tokenizers.counted import NOTHING, Counted, count, count_to, counted, join, part
from niah_gen.tokenizers.find import Ints, Tokenizer

# Tables and lists without closing punctuation would leave long stretches without a place for a needle; ordinary
# sentences are far shorter (the longest of the Paul Graham essays has 201 tokens).
LONGEST_SEGMENT = 256


class Kept(NamedTuple):
    """What is kept of a document: whole sentences and a line end, with the code points where sentences end.

    `size`: its tokens; `tokens`: those of the whole document.
    """

    text: Counted
    ends: Ints
    size: int
    tokens: int


def keep(document: str, tokenizer: Tokenizer, ends_of: Callable[[str], list[int]]) -> Kept:
    """A document without segments over 256 tokens (from one end to the next) and without what follows its last end.

    `ends_of`: finds the character offsets of the ends in a text. Nothing is kept of a document that has none.
    """
    kept = document.strip()
    tokens = 0
    while True:
        text = counted(kept + "\n", tokenizer)
        tokens = tokens or text.size
        ends = ends_of(kept)
        edges = [0, *ends]
        sizes = sizes_between(text, edges)
        if ends and ends[-1] == len(kept) and sizes.max() <= LONGEST_SEGMENT:
            return Kept(text, np.array(ends, dtype=np.int64), text.size, tokens)
        # The segments that are neighbours now may end elsewhere, so the ends are searched for again.
        kept = "".join(
            kept[start:end]
            for start, end, size in zip(edges, ends, sizes.tolist(), strict=False)
            if size <= LONGEST_SEGMENT
        ).strip()
        if not kept:
            return Kept(NOTHING, np.zeros(0, dtype=np.int64), 0, tokens)


def sizes_between(text: Counted, edges: Sequence[int]) -> Ints:
    """The tokens of a text between code points."""
    bytes_: npt.ArrayLike = edges if text.starts is None else text.starts[np.array(edges)]
    return np.diff(np.searchsorted(text.ends, bytes_, side="right"))


def tail_of(kept: Kept, number: int, tokenizer: Tokenizer) -> Kept:
    """A document from sentence `number` on."""
    text, at = kept.text.text, int(kept.ends[number - 1])
    start = at + len(text[at:]) - len(text[at:].lstrip())
    rest = part(kept.text, start, len(text), tokenizer)
    return Kept(rest, kept.ends[number:] - start, count(rest, (), len(rest.text), tokenizer), kept.tokens)


def head_of(kept: Kept, number: int, tokenizer: Tokenizer) -> Kept:
    """A document up to sentence `number`."""
    text = counted(kept.text.text[: kept.ends[number - 1]] + "\n", tokenizer)
    return Kept(text, kept.ends[:number], text.size, 0)


@dataclass(frozen=True, eq=False)
class Sentences:
    """Documents' sentences in a row, one document after the other.

    `places`: code points where needles may stand, ascending from 0; `before`: tokens of the text before each, encoded
    alone. `once`: tokens of all documents; `per_pass`: the number of their sentences; both None while not all documents
    are in.
    """

    text: Counted
    places: Ints
    before: Ints
    once: int | None
    per_pass: int | None


def sentences_of(documents: Iterable[Kept], all_of: int, room: int, more: int, tokenizer: Tokenizer) -> Sentences:
    """The sentences of documents, repeated until they have `room` tokens and `more` sentences after those.

    `documents`: endless; `all_of`: after how many documents they repeat.
    """
    taken: list[Kept] = []
    size = after = 0
    for document in documents:
        if size >= room:
            after += len(document.ends)
        taken.append(document)
        size += document.size
        if size >= room and after >= more:
            break
    text = join([document.text for document in taken], tokenizer)
    starts = np.cumsum([0, *(len(document.text.text) for document in taken[:-1])])
    places = np.concatenate(
        [np.zeros(1, dtype=np.int64), *(d.ends + start for d, start in zip(taken, starts, strict=True))]
    )
    complete = len(taken) >= all_of
    return Sentences(
        text,
        places,
        count_to(text, places, tokenizer),
        sum(document.size for document in taken[:all_of]) if complete else None,
        sum(len(document.ends) for document in taken[:all_of]) if complete else None,
    )
