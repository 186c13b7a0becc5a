"""Cuts documents into whole sentences, tokenised once, to fill native haystacks with."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np

from niah_gen.tokenizers.cuts import byte_offsets, safe_cuts
from niah_gen.tokenizers.find import Ints, Tokenizer
from niah_gen.tokenizers.retokenised import retokenised_suffix
from niah_gen.tokenizers.spliced import Encoded, encode, join

# Tables and lists without closing punctuation would leave long stretches without a place for a needle; ordinary
# sentences are far shorter (the longest of the Paul Graham essays has 201 tokens).
LONGEST_SEGMENT = 256


class Kept(NamedTuple):
    """What is kept of a document: whole sentences and a line end, with the byte offsets where sentences end.

    `tokens`: those of the whole document; `text.size` is those kept. `after_cut`: tokens from the text's first safe cut
    to each end, -1 for ends before it; None if they were not counted.
    """

    text: Encoded
    ends: Ints
    tokens: int
    after_cut: Ints | None = None


def keep(document: str, tokenizer: Tokenizer, ends_of: Callable[[str], list[int]]) -> Kept:
    """A document without segments over 256 tokens (from one end to the next) and without what follows its last end.

    `ends_of`: finds the character offsets of the ends in a text. Nothing is kept of a document that has none.
    """
    kept = document.strip()
    tokens = 0
    while True:
        text = encode(kept + "\n", tokenizer)
        tokens = tokens or text.size
        ends = ends_of(kept)
        edges = [0, *ends]
        sizes = np.diff(np.searchsorted(text.ends, _bytes_at(kept, edges), side="right"))
        if ends and ends[-1] == len(kept) and sizes.max() <= LONGEST_SEGMENT:
            return _counted(text, _bytes_at(kept, ends), tokens, tokenizer)
        # The segments that are neighbours now may end elsewhere, so the ends are searched for again.
        kept = "".join(
            kept[start:end]
            for start, end, size in zip(edges, ends, sizes.tolist(), strict=False)
            if size <= LONGEST_SEGMENT
        ).strip()
        if not kept:
            return Kept(encode("", tokenizer), np.zeros(0, dtype=np.int64), tokens)


def tail_of(kept: Kept, number: int, tokenizer: Tokenizer) -> Kept:
    """A document from sentence `number` on."""
    at = int(kept.ends[number - 1])
    rest = kept.text.text(at, len(kept.text.data))
    start = at + len(rest[: len(rest) - len(rest.lstrip())].encode())
    return _counted(retokenised_suffix(kept.text, start, tokenizer), kept.ends[number:] - start, kept.tokens, tokenizer)


def head_of(kept: Kept, number: int, tokenizer: Tokenizer) -> Kept:
    """A document up to sentence `number`."""
    at = int(kept.ends[number - 1])
    return _counted(encode(kept.text.text(0, at) + "\n", tokenizer), kept.ends[:number], 0, tokenizer)


def _counted(text: Encoded, ends: Ints, tokens: int, tokenizer: Tokenizer) -> Kept:
    if not tokenizer.local or not len(text.cuts):
        return Kept(text, ends, tokens)
    after_cut = _tokens_before(text, ends, tokenizer) - tokenizer.count(text.data[: int(text.cuts[0])].decode())
    return Kept(text, ends, tokens, np.where(ends > text.cuts[0], after_cut, -1))


def _bytes_at(text: str, chars: Sequence[int]) -> Ints:
    points = np.frombuffer(text.encode("utf-32-le"), dtype=np.uint32)
    return byte_offsets(points, np.array(chars, dtype=np.int64))


class Seam(NamedTuple):
    """The text around a place from the safe cut before it to the one after it, and its tokens."""

    left: bytes
    right: bytes
    tokens: int


class Seams(NamedTuple):
    """The different seams of a text, and the number of the seam at each place; -1 too near the text's ends."""

    different: tuple[Seam, ...]
    at: Ints


@dataclass(frozen=True, eq=False)
class Sentences:
    """Documents' sentences in a row, one document after the other.

    `places`: byte offsets where needles may stand, ascending from 0; `before`: tokens of the text before each, encoded
    alone. Whatever is inserted at a place, the tokens outside its seam stay the same. `seam_starts`, `seam_ends`: byte
    offsets of each place's seam; `find_seams`: finds the seams when they are first needed, which is never if the
    needles' places are fixed. `once`: tokens of all documents; `per_pass`: the number of their sentences; both None
    while not all documents are in.
    """

    text: Encoded
    places: Ints
    before: Ints
    find_seams: Callable[[], Seams]
    seam_starts: Ints
    seam_ends: Ints
    once: int | None
    per_pass: int | None

    @cached_property
    def seams(self) -> Seams:
        """The seams of the places."""
        return self.find_seams()


def sentences_of(documents: Iterable[Kept], all_of: int, room: int, more: int, tokenizer: Tokenizer) -> Sentences:
    """The sentences of documents, repeated until they have `room` tokens and `more` sentences after those.

    `documents`: endless; `all_of`: after how many documents they repeat.
    """
    taken: list[Kept] = []
    size = count = after = 0
    for document in documents:
        if size >= room:
            after += len(document.ends)
        taken.append(document)
        size += document.text.size
        count += len(document.ends)
        if size >= room and after >= more:
            break
    text = join([document.text for document in taken], tokenizer)
    starts = np.cumsum([0, *(len(document.text.data) for document in taken[:-1])])
    places = np.concatenate(
        [np.zeros(1, dtype=np.int64), *(d.ends + start for d, start in zip(taken, starts, strict=True))]
    )
    complete = len(taken) >= all_of
    before = _tokens_of_joined(text, taken, places, tokenizer)
    # Sentences beyond the room are only ever inserted. Without a local tokenizer, estimates are taken from all places.
    near = int(np.searchsorted(before, room, side="right")) + 1 if tokenizer.local else len(places)
    starts, ends = _edges(text, places, tokenizer)
    return Sentences(
        text,
        places,
        before,
        partial(_seams, text, places[:near], starts, ends, tokenizer),
        starts,
        ends,
        sum(document.text.size for document in taken[:all_of]) if complete else None,
        sum(len(document.ends) for document in taken[:all_of]) if complete else None,
    )


def _tokens_of_joined(text: Encoded, taken: Sequence[Kept], places: Ints, tokenizer: Tokenizer) -> Ints:
    """`_tokens_before` each place of joined documents, from what was counted of each after its first cut."""
    if not tokenizer.local or any(document.after_cut is None for document in taken):
        return _tokens_before(text, places, tokenizer)
    first = tokenizer.count(text.data[: int(text.cuts[0])].decode())
    cuts = np.cumsum([0, *(len(document.text.cuts) for document in taken[:-1])])
    parts = [np.zeros(1, dtype=np.int64)]
    for document, reached in zip(taken, (first + text.exact[cuts]).tolist(), strict=True):
        assert document.after_cut is not None
        parts.append(np.where(document.after_cut < 0, -1, document.after_cut + reached))
    before = np.concatenate(parts)
    missing = np.flatnonzero(before < 0)
    if len(missing):
        before[missing] = _tokens_before(text, places[missing], tokenizer)
    return before


def _tokens_before(text: Encoded, places: Ints, tokenizer: Tokenizer) -> Ints:
    """Tokens of the text before each place, encoded alone; if the tokenizer is not local, as in the whole text.

    Only what follows the last safe cut is counted; most sentences end alike, so few different ends are encoded.
    """
    if not tokenizer.local:
        estimates: Ints = np.searchsorted(text.ends, places, side="right")
        return estimates
    if not len(text.cuts):
        return np.array([tokenizer.count(text.data[:place].decode()) for place in places.tolist()], dtype=np.int64)
    last = np.searchsorted(text.cuts, places) - 1
    starts = np.where(last >= 0, text.cuts[last], 0)
    tails = np.zeros(len(places), dtype=np.int64)
    # Most of these ends are a full stop.
    marks = np.frombuffer(text.data, dtype=np.uint8)[np.minimum(starts, len(text.data) - 1)]
    marks = np.where(places - starts == 1, marks, 0)
    for mark in set(marks[marks > 0].tolist()):
        tails[marks == mark] = tokenizer.count(chr(mark))
    counted: dict[bytes, int] = {b"": 0}
    for number in np.flatnonzero(marks == 0).tolist():
        tail = text.data[int(starts[number]) : int(places[number])]
        if tail not in counted:
            counted[tail] = tokenizer.count(tail.decode())
        tails[number] = counted[tail]
    first = tokenizer.count(text.data[: int(text.cuts[0])].decode())
    heads: Ints = np.where(last >= 0, first + text.exact[last], 0)
    return heads + tails


def _edges(text: Encoded, places: Ints, tokenizer: Tokenizer) -> tuple[Ints, Ints]:
    """The safe cuts before and after each place, or the ends of the text."""
    # Even if the tokenizer is not local, the same windows give good estimates.
    cuts = text.cuts if tokenizer.local else safe_cuts(text.data.decode())
    edges = np.concatenate([np.zeros(1, dtype=np.int64), cuts, np.full(1, len(text.data))])
    return edges[np.searchsorted(cuts, places)], edges[np.searchsorted(cuts, places, side="right") + 1]


def _seams(text: Encoded, places: Ints, starts: Ints, ends: Ints, tokenizer: Tokenizer) -> Seams:
    """The seams around the first places. `starts`, `ends`: the edges of all places."""
    seams: dict[tuple[bytes, bytes], int] = {}
    tokens: list[int] = []
    at = [-1] * len(starts)
    edges_of = zip(starts.tolist(), places.tolist(), ends.tolist(), strict=False)
    for place, (start, middle, end) in enumerate(edges_of):
        if not start or end == len(text.data):
            continue
        sides = text.data[start:middle], text.data[middle:end]
        number = seams.setdefault(sides, len(seams))
        if number == len(tokens):
            tokens.append(_tokens_between(text, start, end, tokenizer))
        at[place] = number
    different = tuple(Seam(*sides, size) for sides, size in zip(seams, tokens, strict=True))
    return Seams(different, np.array(at, dtype=np.int64))


def _tokens_between(text: Encoded, start: int, end: int, tokenizer: Tokenizer) -> int:
    """Tokens between two safe cuts."""
    if not tokenizer.local:
        return tokenizer.count(text.data[start:end].decode())
    cuts, exact = text.marked
    return int(exact[bisect_left(cuts, end)] - exact[bisect_left(cuts, start)])
