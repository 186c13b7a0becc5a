"""Cuts the documents of a corpus into passages of about the same size: whole sentences on one line, encoded once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache, partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from niah_gen.corpora.documents import Document
from niah_gen.corpora.read import Corpus
from niah_gen.errors import FitError
from niah_gen.haystacks.boundaries import joiner_of, sentence_ends
from niah_gen.haystacks.sentences import keep
from niah_gen.tokenizers.find import Tokenizer

# Between two passages.
BLANK_LINE = "\n\n"
# How a passage begins; `{id}` is its number.
MARKERS = {"en": "Passage {id}: ", "zh": "段落{id}："}


class Passage(NamedTuple):
    """Consecutive sentences of a document. `tokens`: those of each sentence and of what joins it to the next.

    `summary`: the document's summary if the passage is the whole document, else empty.
    """

    sentences: tuple[str, ...]
    tokens: tuple[int, ...]
    joiner: str
    summary: str = ""

    def text(self, dropped: int = 0, first: int = 0) -> str:
        """The passage from sentence `first` on, without its last `dropped` sentences."""
        return self.joiner.join(self.sentences[first : len(self.sentences) - dropped])

    @property
    def size(self) -> int:
        """Tokens of all sentences."""
        return sum(self.tokens)


@dataclass(frozen=True)
class PassageSource:
    """A corpus to be cut for one tokenizer. `size`: the fewest tokens of a passage; 0 for whole documents."""

    sha256: str
    tokenizer_sha256: str
    size: int
    corpus: Corpus = field(compare=False)
    tokenizer: Tokenizer = field(compare=False)


def passage_source(corpus: Corpus, tokenizer: Tokenizer, size: int) -> PassageSource:
    """A corpus to be cut into passages of a size in tokens."""
    return PassageSource(corpus.sha256, tokenizer.sha256, size, corpus, tokenizer)


@lru_cache(maxsize=4)
def passages_of(source: PassageSource) -> tuple[Passage, ...]:
    """All passages of a corpus in reading order, no two alike. Raises FitError if there are fewer than eight."""
    passages = (passage for document in source.corpus.documents for passage in _cut(document, source))
    different = list({passage.sentences: passage for passage in passages}.values())
    if len(different) < _FEWEST:
        raise FitError(
            f"corpus {source.corpus.name!r} has {len(different)} passages of at least {source.size} tokens, expected "
            f"at least {_FEWEST}; use a larger corpus, or set options.size lower"
        )
    return tuple(different)


_FEWEST = 8


def _cut(document: Document, source: PassageSource) -> Iterator[Passage]:
    """The passages of a document: each takes sentences until it has the size; a short rest joins the last one."""
    joiner = joiner_of(source.corpus.language)
    lines = [line.strip() for line in document.text.splitlines() if line.strip()]
    kept = keep(joiner.join(lines), source.tokenizer, partial(sentence_ends, language=source.corpus.language))
    sentences = [kept.text.text(start, end).strip() for start, end in pairwise([0, *kept.ends.tolist()])]
    if not sentences:
        return
    sizes = np.diff([0, *np.searchsorted(kept.text.ends, kept.ends, side="right").tolist()]).tolist()
    starts = [0]
    size = 0
    for number, tokens in enumerate(sizes[:-1], 1):
        size += tokens
        if source.size and size >= source.size:
            starts.append(number)
            size = 0
    # The rest of a document is a passage only if it is at least half as long as the others.
    if len(starts) > 1 and 2 * (size + sizes[-1]) < source.size:
        starts.pop()
    for start, end in pairwise([*starts, len(sentences)]):
        summary = " ".join(document.summary.split()) if not source.size else ""
        if end - start > 1:
            yield Passage(tuple(sentences[start:end]), tuple(sizes[start:end]), joiner, summary)
