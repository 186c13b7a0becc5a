"""Fills a token budget from a corpus: the haystack that all depths of one (corpus, length, repeat, needle) share.

Each placement has its rule. Native takes whole sentences. The published ones are bug-for-bug: gkamradt repeats the
concatenated corpus until the longest length of the recipe is reached and encodes what it trimmed once more; OpenCompass
lays documents' tokens end to end, in an order that the repeats before it left (dynamic) or in file order, each record
starting with the document after the last one's (processed).
"""

from __future__ import annotations

import hashlib
import random
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from niah_gen.boundaries import sentence_ends
from niah_gen.corpora import Corpus
from niah_gen.encoded import (
    Counter,
    Encoded,
    Slice,
    byte_offsets,
    encode,
    join,
    retokenised_prefix,
    unchanged_tokens,
)
from niah_gen.errors import FitError
from niah_gen.prompts import Frame
from niah_gen.tokenizers import Ints, Tokenizer
from niah_score.contract import sha256_hex
from niah_score.text import fold, holds


@dataclass(frozen=True, eq=False)
class Haystack:
    """Filler text before any needle is in it: the first `end` bytes of `source`, `tokens` tokens long.

    `places`: the byte offsets where a needle may stand; None for every token boundary. `passes`: how often the corpus
    was gone through, at least 1.
    """

    source: Encoded
    end: int
    tokens: int
    passes: float
    places: Ints | None = None

    @cached_property
    def id(self) -> str:
        """A digest of the filler: rows with the same id share it to the byte."""
        return sha256_hex(self.source.data[: self.end])[:12]

    def leak(self, keywords: Sequence[Sequence[str]]) -> str | None:
        """The keywords that the filler already holds, joined by `, `; None if it holds none."""
        found = [word for group in keywords for word in group if self._holds(word)]
        return ", ".join(found) or None

    def _holds(self, word: str) -> bool:
        # The whole source is folded once for all lengths that share it. Only what the end of this filler cuts through
        # can be in the filler and not in the source.
        near = self.source.text(max(0, self.end - 4 * len(word) - _NEAR_BYTES), self.end)
        if fold(word) not in self.source.folded and not holds(fold(near), word):
            return False
        return holds(fold(self.source.text(0, self.end)), word)


_NEAR_BYTES = 64


@dataclass(frozen=True, slots=True)
class Order:
    """What a haystack is wanted for. `longest`: the recipe's greatest length, in tokens as all lengths."""

    length: int
    longest: int
    reserve: int
    repeat: int
    seed: int
    needles: tuple[Encoded, ...]
    frame: Frame

    @property
    def needle_tokens(self) -> int:
        """Tokens of all needles, each encoded alone."""
        return sum(needle.size for needle in self.needles)

    def room(self) -> int:
        """Tokens that the published budgets leave for filler. Raises FitError if there are none."""
        return published_room(self.length, self.reserve, self.needle_tokens)


def published_room(length: int, reserve: int, needle_tokens: int) -> int:
    """length - reserve - needle tokens, which takes no account of the template. Raises FitError if nothing is left."""
    room = length - reserve - needle_tokens
    if room < 1:
        raise FitError(
            f"length {length} leaves no room for a haystack: reserve takes {reserve} tokens and the needles "
            f"{needle_tokens}; ask for longer lengths or a smaller reserve"
        )
    return room


class _Repeated(NamedTuple):
    """A corpus as one text, repeated to at least `longest` tokens; `once`: tokens of a single copy."""

    longest: int
    once: int
    whole: Encoded


class _Sentences(NamedTuple):
    """Documents one a line, with the byte offsets where sentences begin or end.

    `once`: tokens of all documents, each counted once.
    """

    once: int
    source: Encoded
    places: Ints


class Filler:
    """A corpus made ready for one tokenizer: encodes each document once and fills haystacks from it."""

    def __init__(self, corpus: Corpus, tokenizer: Tokenizer) -> None:
        self.corpus = corpus
        self.tokenizer = tokenizer
        self._documents: dict[int, Encoded] = {}
        self._lines: dict[int, tuple[Encoded, Ints]] = {}
        self._whole: _Repeated | None = None
        self._lock = threading.Lock()
        self._orders: list[list[int]] = []
        self._records: dict[int, list[range]] = {}
        self._joined: dict[int, tuple[int, Encoded]] = {}
        self._sentences: dict[int, _Sentences] = {}
        self._counter = Counter(tokenizer)

    def tokens(self, placement: str, longest: int) -> int:
        """Tokens of the whole corpus as a placement reads it: documents encoded alone, by gkamradt as one text."""
        if placement == "gkamradt":
            return self._repeated(longest).once
        return sum(self.tokenizer.count(document.text) for document in self.corpus.documents)

    def fill(self, placement: str, order: Order) -> Haystack | None:
        """The haystack of a placement; None where the published generator makes no record."""
        return _RULES[placement](self, order)

    def _document(self, number: int) -> Encoded:
        known = self._documents.get(number)
        if known is None:
            known = self._documents[number] = encode(self.corpus.documents[number].text, self.tokenizer)
        return known

    # gkamradt ------------------------------------------------------------------------------------------------------

    def gkamradt(self, order: Order) -> Haystack:
        _, once, whole = self._repeated(order.longest)
        room = order.room()
        if whole.size > order.length and room > unchanged_tokens(whole, order.length):
            whole = retokenised_prefix(whole, order.length, self.tokenizer)
        return _haystack(whole, min(room, whole.size), once)

    def _repeated(self, longest: int) -> _Repeated:
        """All documents as one text, the whole repeated until it has `longest` tokens."""
        with self._lock:
            if self._whole is None or self._whole.longest < longest:
                text = "".join(document.text for document in self.corpus.documents)
                copies, whole = 1, encode(text, self.tokenizer)
                once = whole.size
                # Seams may merge tokens, so the number of copies is found by encoding, never by division.
                while whole.size < longest:
                    copies += 1
                    whole = encode(text * copies, self.tokenizer)
                self._whole = _Repeated(longest, once, whole)
            return self._whole

    # OpenCompass ---------------------------------------------------------------------------------------------------

    def opencompass(self, order: Order) -> Haystack:
        room = order.room()
        known = self._joined.get(order.repeat)
        if known is None or known[0] < room:
            documents = []
            size = 0
            for number in self._shuffled(order.repeat):
                documents.append(self._document(number))
                size += documents[-1].size
                if size >= room:
                    break
            known = self._joined[order.repeat] = (room, join(documents, self.tokenizer))
        return _haystack(known[1], min(room, known[1].size))

    def _shuffled(self, repeat: int) -> list[int]:
        """Document order of a repeat: each reseeds Python's generator and shuffles the order that the last one left."""
        while len(self._orders) <= repeat:
            numbers = list(self._orders[-1]) if self._orders else list(range(len(self.corpus.documents)))
            random.Random(len(self._orders)).shuffle(numbers)
            self._orders.append(numbers)
        return self._orders[repeat]

    def opencompass_processed(self, order: Order) -> Haystack | None:
        room = order.room()
        records = self.records(room)
        if order.repeat >= len(records):
            return None
        documents = [self._document(number) for number in records[order.repeat]]
        return _haystack(join(documents, self.tokenizer), room)

    def records(self, room: int) -> list[range]:
        """The documents of each record that the processed placement makes of `room` tokens of filler."""
        if room not in self._records:
            found: list[range] = []
            first = size = 0
            for number in range(len(self.corpus.documents)):
                size += self._document(number).size
                if size >= room:
                    found.append(range(first, number + 1))
                    first, size = number + 1, 0
            self._records[room] = found
        return self._records[room]

    # native --------------------------------------------------------------------------------------------------------

    def native(self, order: Order) -> Haystack:
        """Whole sentences in a seeded document order, up to the last one that fits."""
        frame = order.frame
        beside = order.needle_tokens + sum(self.tokenizer.count(other) for other in frame.others)
        fixed = beside + self._counter.count([frame.before, frame.after])
        budget = order.length - order.reserve - _SEAM_TOKENS
        room = budget - fixed
        once, source, places = self._sentences_of(order, max(room, 1))
        ends = np.searchsorted(source.ends, places, side="right")
        fitting = int(np.searchsorted(ends, room, side="right")) - 1
        # Documents encoded alone may add up to less than their text does together.
        while fitting > 0:
            filler = Slice(source, 0, int(places[fitting]))
            if beside + self._counter.count([frame.before, filler, frame.after]) <= budget:
                break
            fitting -= 1
        if len(places) < 2:
            raise FitError(
                f"corpus {self.corpus.name!r} has no sentence that ends in punctuation and so no place for a "
                'needle; use another corpus, or placement = "opencompass"'
            )
        if room < 1 or fitting < 1:
            raise FitError(
                f"length {order.length} leaves no room for a sentence: the reserve for the answer takes "
                f"{order.reserve} tokens, prompt and needle {fixed}; ask for longer lengths (8k means eight even "
                "ones, 8000 that one) "
                "or a smaller reserve"
            )
        kept = places[: fitting + 1]
        tokens = int(ends[fitting])
        return Haystack(source, int(kept[-1]), tokens, _passes(tokens, once), kept)

    def _sentences_of(self, order: Order, room: int) -> _Sentences:
        """At least `room` tokens of documents, one a line, with the offsets where sentences begin or end."""
        known = self._sentences.get(order.repeat)
        if known is None or known.source.size < room:
            wanted = max(room, order.longest)
            numbers = _seeded_order(len(self.corpus.documents), f"{order.seed}/{self.corpus.name}/{order.repeat}")
            lines = [self._line(number) for number in numbers]
            parts: list[Encoded] = []
            places = [np.zeros(1, dtype=np.int64)]
            size = at = 0
            while size < wanted:
                line, ends = lines[len(parts) % len(lines)]
                parts.append(line)
                places.append(ends + at)
                size += line.size
                at += len(line.data)
            once = sum(line.size for line, _ in lines)
            known = self._sentences[order.repeat] = _Sentences(
                once, join(parts, self.tokenizer), np.concatenate(places)
            )
        return known

    def _line(self, number: int) -> tuple[Encoded, Ints]:
        """A document and the line end after it, with the byte offsets of its sentence ends."""
        known = self._lines.get(number)
        if known is None:
            text = self.corpus.documents[number].text.strip() + "\n"
            known = self._lines[number] = (encode(text, self.tokenizer), _byte_offsets(text, sentence_ends(text)))
        return known


def _byte_offsets(text: str, chars: list[int]) -> Ints:
    points = np.frombuffer(text.encode("utf-32-le"), dtype=np.uint32)
    return byte_offsets(points, np.array(chars, dtype=np.int64))


def _haystack(source: Encoded, tokens: int, once: int | None = None) -> Haystack:
    return Haystack(source, source.byte_at(tokens), tokens, _passes(tokens, once or tokens))


def _passes(tokens: int, once: int) -> float:
    """How often a corpus of `once` tokens was gone through for `tokens` of filler; 1 if it was not repeated."""
    return max(1.0, round(tokens / once, 4)) if once else 1.0


# Tokens that joining needle, sentences and template may add over their separate counts: 0 to 4 were measured on both
# languages; whatever is left unused only makes the prompt a little shorter than its budget.
_SEAM_TOKENS = 8

_RULES: dict[str, Callable[[Filler, Order], Haystack | None]] = {
    "native": Filler.native,
    "gkamradt": Filler.gkamradt,
    "opencompass": Filler.opencompass,
    "opencompass-processed": Filler.opencompass_processed,
}


def _seeded_order(size: int, seed: str) -> list[int]:
    """A permutation that depends on the seed text alone, on every platform and Python."""
    return sorted(range(size), key=lambda number: hashlib.sha256(f"{seed}/{number}".encode()).digest())
