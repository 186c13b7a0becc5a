"""Places needles as OpenCompass's first CDME generator, which wrote files, does, bug for bug.

Documents are taken in file order, and each record begins with the document after the record before it: a corpus holds
only so many records of a length.
"""

from __future__ import annotations

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
from niah_gen.haystacks.opencompass import place
from niah_gen.haystacks.placement import Placement
from niah_gen.tokenizers.counted import join
from niah_gen.tokenizers.find import Tokenizer


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

    def notes(self, secret: Secret) -> tuple[str, ...]:
        """None: the corpus is taken as it is."""
        return ()

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


def depths(asked: Sequence[float]) -> tuple[float, ...]:
    """The published files are named by the integer part of the depth: a later depth overwrites an earlier one."""
    return tuple({int(depth): depth for depth in asked}.values())


OPENCOMPASS_PROCESSED = Placement(
    "opencompass-processed",
    1,
    "opencompass-zh",
    lambda corpus, tokenizer, boundary, leaks: ProcessedFiller(corpus, tokenizer),
    place,
    boundary="token",
    spread="diff",
    depths=depths,
    most_needles=1,
    corpus_may_end=True,
)
