"""Places needles as OpenCompass's CDME generators do, bug for bug.

Documents' tokens are laid end to end, in an order that each repeat shuffles again. Needles go between tokens, even
inside a character. The first generator, which wrote files, takes documents in file order, and each record begins with
the document after the record before it: a corpus holds only so many records of a length.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from niah_gen.corpora.read import Corpus
from niah_gen.errors import FitError
from niah_gen.haystacks.documents import EncodedDocuments
from niah_gen.haystacks.haystack import (
    FillRequest,
    Haystack,
    Secret,
    Usage,
    first_tokens,
    needle_tokens,
    published_room,
)
from niah_gen.haystacks.placement import DepthTargets, Laid, Placement, TokenRange, between_tokens, insert
from niah_gen.tokenizers.counted import Counted, counted, join
from niah_gen.tokenizers.find import Tokenizer


class OpenCompassFiller:
    """A corpus whose documents are encoded once each, and joined in the order of a repeat."""

    def __init__(self, corpus: Corpus, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._documents = EncodedDocuments(corpus, tokenizer)
        self._orders: list[list[int]] = []
        self._joined: dict[int, tuple[int, Counted]] = {}

    def fill(self, request: FillRequest) -> Haystack:
        """The first tokens of the joined documents, fewer if the corpus ends early."""
        hidden = needle_tokens(request.secret.texts, self._tokenizer)
        return self.taken(request.repeat, published_room(request.length, request.reserve, hidden))

    def taken(self, repeat: int, tokens: int) -> Haystack:
        """The first `tokens` tokens of the documents in the order of a repeat, fewer if the corpus ends early."""
        known = self._joined.get(repeat)
        if known is None or known[0] < tokens:
            documents = []
            size = 0
            for number in self._shuffled(repeat):
                documents.append(self._documents[number])
                size += documents[-1].size
                if size >= tokens:
                    break
            known = self._joined[repeat] = (tokens, join(documents, self._tokenizer))
        return first_tokens(known[1], min(tokens, known[1].size))

    def usage(self, longest: int, secrets: Sequence[Secret]) -> Usage:
        """Tokens of all documents, all of them used."""
        return Usage(self._documents.tokens(), 0.0)

    def _shuffled(self, repeat: int) -> list[int]:
        """The document order of a repeat: each reseeds Python's generator and shuffles the order of the one before."""
        while len(self._orders) <= repeat:
            numbers = list(self._orders[-1]) if self._orders else list(range(len(self._documents)))
            random.Random(len(self._orders)).shuffle(numbers)
            self._orders.append(numbers)
        return self._orders[repeat]


def place(haystack: Haystack, needles: Sequence[str], targets: DepthTargets, tokenizer: Tokenizer) -> Laid:
    """The published rule. Depth is divided by 100 before it is multiplied, which can change the result of floor."""
    size = haystack.tokens
    encoded = [counted(needle, tokenizer) for needle in needles]
    points = [int(size * (targets.depth / 100))]
    for number in range(1, len(needles)):
        point = int(points[-1] + encoded[number - 1].size + size * (targets.diff / 100))
        points.append(min(point, size + sum(needle.size for needle in encoded[:number])))
    ranges = [TokenRange(haystack.source, 0, size)]
    for number, needle in enumerate(encoded):
        ranges = insert(ranges, points[number], TokenRange(needle, 0, needle.size, number))
        # The points already include the needles before them; the published code adds each needle again.
        for later in range(number + 1, len(points)):
            points[later] += needle.size
    return between_tokens(haystack, ranges, encoded)


class ProcessedFiller:
    """A corpus cut into records of whole documents."""

    def __init__(self, corpus: Corpus, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._documents = EncodedDocuments(corpus, tokenizer)
        self._records: dict[int, list[range]] = {}

    def fill(self, request: FillRequest) -> Haystack:
        """The record whose number is the repeat's. Raises FitError if the corpus ends before it."""
        hidden = needle_tokens(request.secret.texts, self._tokenizer)
        room = published_room(request.length, request.reserve, hidden)
        records = self.records(room)
        if request.repeat >= len(records):
            raise FitError(
                f"length {request.length}: the corpus ends after {len(records)} records, before repeat {request.repeat}"
            )
        documents = [self._documents[number] for number in records[request.repeat]]
        return first_tokens(join(documents, self._tokenizer), room)

    def usage(self, longest: int, secrets: Sequence[Secret]) -> Usage:
        """Tokens of all documents, all of them used."""
        return Usage(self._documents.tokens(), 0.0)

    def repeats(self, length: int, reserve: int, needle_tokens: int) -> int | None:
        """The number of records that the corpus holds."""
        return len(self.records(published_room(length, reserve, needle_tokens)))

    def records(self, room: int) -> list[range]:
        """The documents of each record of `room` tokens of filler."""
        if room not in self._records:
            records: list[range] = []
            first = size = 0
            for number in range(len(self._documents)):
                size += self._documents[number].size
                if size >= room:
                    records.append(range(first, number + 1))
                    first, size = number + 1, 0
            self._records[room] = records
        return self._records[room]


OPENCOMPASS = Placement(
    "opencompass", 1, "opencompass", lambda corpus, tokenizer, *_: OpenCompassFiller(corpus, tokenizer), place,
    boundary="token", spread="diff",
)  # fmt: skip
OPENCOMPASS_PROCESSED = Placement(
    "opencompass-processed", 1, "opencompass-zh", lambda corpus, tokenizer, *_: ProcessedFiller(corpus, tokenizer),
    place, boundary="token", spread="diff", rules="records",
)  # fmt: skip
