"""Fills a token budget from a corpus: the haystack that all depths of one (corpus, length, repeat, needle) share.

Here are the records, and the fillers of the published placements, bug for bug: gkamradt repeats the concatenated corpus
until the longest length of the recipe is reached and encodes what it trimmed once more; OpenCompass lays documents'
tokens end to end, in an order that the repeats before it left (dynamic) or in file order, each record starting with the
document after the last one's (processed). Native haystacks are filled by `native.py`.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Protocol

from niah_gen.corpora.read import Corpus
from niah_gen.errors import FitError
from niah_gen.prompts.templates import Frame
from niah_gen.recipe.schedules import Line
from niah_gen.tasks.needle_library import Needle
from niah_gen.tokenizers.find import Ints, Tokenizer
from niah_gen.tokenizers.spliced import Encoded, Slice, encode, join, retokenised_prefix, unchanged_tokens
from niah_score.contract import sha256_hex
from niah_score.text import fold, holds


@dataclass(frozen=True, eq=False)
class Haystack:
    """Filler text before any needle is in it: the first `end` bytes of `source`, then `closing`; `tokens` long.

    `places`, `before`: the byte offsets where a needle may stand, and the tokens of the filler before each; None where
    any token boundary will do. `passes`: how often the corpus was gone through, at least 1. `cleared`: keywords that it
    is known not to hold.
    """

    source: Encoded
    end: int
    tokens: int
    passes: float
    places: Ints | None = None
    before: Ints | None = None
    closing: Encoded | None = None
    cleared: frozenset[str] = frozenset()

    @property
    def size(self) -> int:
        """Bytes of the filler."""
        return self.end + (len(self.closing.data) if self.closing else 0)

    def slices(self, start: int, end: int) -> list[Slice]:
        """The filler from byte `start` to byte `end`."""
        found = []
        if start < min(end, self.end):
            found.append(Slice(self.source, start, min(end, self.end)))
        if self.closing and end > self.end:
            found.append(Slice(self.closing, max(start, self.end) - self.end, end - self.end))
        return found

    @property
    def data(self) -> bytes:
        """The filler's bytes."""
        return self.source.data[: self.end] + (self.closing.data if self.closing else b"")

    @cached_property
    def id(self) -> str:
        """A digest of the filler: rows with the same id share it to the byte."""
        return sha256_hex(self.data)[:12]

    def leak(self, keywords: Sequence[Sequence[str]]) -> str | None:
        """The keywords that the filler already holds, joined by `, `; None if it holds none."""
        found = [word for group in keywords for word in group if word not in self.cleared and self._holds(word)]
        return ", ".join(found) or None

    def _holds(self, word: str) -> bool:
        # The whole source is folded once for all lengths that share it. Only what the end of this filler cuts through,
        # or what follows, can be in the filler and not in the source.
        near = self.source.text(max(0, self.end - 4 * len(word) - _NEAR_BYTES), self.end)
        near += self.closing.text(0, len(self.closing.data)) if self.closing else ""
        if fold(word) not in self.source.folded and not holds(fold(near), word):
            return False
        return holds(fold(self.data.decode(errors="replace")), word)


_NEAR_BYTES = 64


@dataclass(frozen=True, slots=True)
class Order:
    """What a haystack is wanted for. `longest`: the recipe's greatest length, in tokens as all lengths.

    `needles`: the texts to hide, encoded; `lines`: how they follow the row's depth; `joiner`: what joins them to the
    sentences around. `depth`: of the only row that the haystack is for; None if all depths share it.
    """

    length: int
    longest: int
    reserve: int
    repeat: int
    seed: int
    needle: Needle
    needles: tuple[Encoded, ...]
    frame: Frame
    lines: tuple[Line, ...] = ()
    joiner: str = ""
    depth: float | None = None

    @property
    def needle_tokens(self) -> int:
        """Tokens of all needles, each encoded alone."""
        return sum(needle.size for needle in self.needles)

    def room(self) -> int:
        """Tokens that the published budgets leave for filler. Raises FitError if there are none."""
        return published_room(self.length, self.reserve, self.needle_tokens)


class Usage(NamedTuple):
    """What a placement makes of a corpus: its tokens, and the share of them that is never used, 0 to 1."""

    tokens: int
    share_left_out: float


class Filler(Protocol):
    """Fills haystacks from one corpus for one tokenizer by one placement's rule."""

    def fill(self, order: Order) -> Haystack | None:
        """The haystack; None where the published generator makes no record."""

    def usage(self, longest: int, needles: Sequence[Needle]) -> Usage:
        """What is made of the corpus for lengths up to `longest` tokens and these needles."""

    def notes(self, needle: Needle) -> tuple[str, ...]:
        """What filling haystacks for a needle noticed, a sentence each."""


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


class PublishedFiller:
    """A corpus made ready for one tokenizer by a published placement: encodes each document once."""

    def __init__(self, corpus: Corpus, tokenizer: Tokenizer, placement: str) -> None:
        self.corpus = corpus
        self.tokenizer = tokenizer
        self._placement = placement
        self._documents: dict[int, Encoded] = {}
        self._whole: _Repeated | None = None
        self._lock = threading.Lock()
        self._orders: list[list[int]] = []
        self._records: dict[int, list[range]] = {}
        self._joined: dict[int, tuple[int, Encoded]] = {}

    def usage(self, longest: int, needles: Sequence[Needle]) -> Usage:
        """Tokens of the whole corpus as the placement reads it: documents encoded alone, by gkamradt as one text."""
        if self._placement == "gkamradt":
            return Usage(self._repeated(longest).once, 0.0)
        return Usage(sum(self.tokenizer.count(document.text) for document in self.corpus.documents), 0.0)

    def fill(self, order: Order) -> Haystack | None:
        """The haystack; None where the published generator makes no record."""
        return _RULES[self._placement](self, order)

    def notes(self, needle: Needle) -> tuple[str, ...]:
        """Nothing: the published placements take a corpus as it is."""
        return ()

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


def _haystack(source: Encoded, tokens: int, once: int | None = None) -> Haystack:
    return Haystack(source, source.byte_at(tokens), tokens, passes_of(tokens, once or tokens))


def passes_of(tokens: int, once: int) -> float:
    """How often a corpus of `once` tokens was gone through for `tokens` of filler; 1 if it was not repeated."""
    return max(1.0, round(tokens / once, 4)) if once else 1.0


_RULES: dict[str, Callable[[PublishedFiller, Order], Haystack | None]] = {
    "gkamradt": PublishedFiller.gkamradt,
    "opencompass": PublishedFiller.opencompass,
    "opencompass-processed": PublishedFiller.opencompass_processed,
}
