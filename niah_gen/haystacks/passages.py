"""Cuts the documents of a corpus into passages of about the same size, and fills prompts with numbered ones.

A passage is whole sentences on one line.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from functools import lru_cache, partial
from itertools import pairwise
from typing import NamedTuple

from niah_gen.corpora.read import Corpus, Document
from niah_gen.errors import FitError
from niah_gen.haystacks.boundaries import joiner_of, sentence_ends
from niah_gen.haystacks.native import keep, sizes_between
from niah_gen.tokenizers.find import Tokenizer

# Between two passages.
BLANK_LINE = "\n\n"
# How a passage begins; `{id}` is its number.
MARKERS = {"en": "Passage {id}: ", "zh": "段落{id}："}
_DIGITS = 6
# The fewest passages of a corpus.
_FEWEST = 8


class Passage(NamedTuple):
    """Consecutive sentences of a document. `size`: their tokens, with what joins each to the next.

    `summary`: the document's summary if the passage is the whole document, else empty.
    """

    sentences: tuple[str, ...]
    size: int
    joiner: str
    summary: str = ""

    def text(self, first: int = 0) -> str:
        """The passage from sentence `first` on."""
        return self.joiner.join(self.sentences[first:])


@lru_cache(maxsize=4)
def passages_of(corpus: Corpus, tokenizer: Tokenizer, size: int) -> tuple[Passage, ...]:
    """All passages of a corpus in reading order, no two alike.

    `size`: the fewest tokens of a passage; 0 for whole documents. Raises FitError if there are fewer than eight.
    """
    passages = (
        passage for document in corpus.documents for passage in _cut(document, corpus.language, tokenizer, size)
    )
    different = tuple({passage.sentences: passage for passage in passages}.values())
    if len(different) < _FEWEST:
        raise FitError(
            f"corpus {corpus.name!r} has {len(different)} passages of at least {size} tokens, expected at least "
            f"{_FEWEST}; use a larger corpus, or set options.size lower"
        )
    return different


def _cut(document: Document, language: str, tokenizer: Tokenizer, size: int) -> Iterator[Passage]:
    """The passages of a document: each takes sentences until it has the size; a short rest joins the last one."""
    joiner = joiner_of(language)
    lines = [line.strip() for line in document.text.splitlines() if line.strip()]
    kept = keep(joiner.join(lines), tokenizer, partial(sentence_ends, language=language))
    sentences = [kept.text.text[start:end].strip() for start, end in pairwise([0, *kept.ends.tolist()])]
    if not sentences:
        return
    sizes = sizes_between(kept.text, [0, *kept.ends.tolist()]).tolist()
    starts, taken = [0], 0
    for number, tokens in enumerate(sizes[:-1], 1):
        taken += tokens
        if size and taken >= size:
            starts.append(number)
            taken = 0
    # The rest of a document is a passage only if it is at least half as long as the others.
    if len(starts) > 1 and 2 * (taken + sizes[-1]) < size:
        starts.pop()
    summary = "" if size else " ".join(document.summary.split())
    for start, end in pairwise([*starts, len(sentences)]):
        if end - start > 1:
            yield Passage(tuple(sentences[start:end]), sum(sizes[start:end]), joiner, summary)


def numbers(draw: random.Random, taken: Iterable[str] = ()) -> Iterator[str]:
    """Random numbers of six digits, each at most once and none of those taken."""
    given = set(taken)
    while True:
        number = str(draw.randrange(10 ** (_DIGITS - 1), 10**_DIGITS))
        if number not in given:
            given.add(number)
            yield number


def numbered(passage: str, number: str, language: str) -> str:
    """A passage with its number, as prompts show it."""
    return MARKERS[language].format(id=number) + passage


def marker_tokens(language: str, tokenizer: Tokenizer) -> int:
    """About how many tokens the number of a passage and the blank line after it have."""
    return tokenizer.count(MARKERS[language].format(id="1" * _DIGITS)) + 1


def that_fit(
    passages: Iterable[Passage],
    own: Iterator[str],
    room: int,
    language: str,
    tokenizer: Tokenizer,
    skip: int = 0,
) -> list[str]:
    """Passages with numbers of their own, as many whole ones as surely fit into `room` tokens.

    `skip`: how many in a row at most are skipped because they are too long. Raises FitError if none fits.
    """
    texts: list[str] = []
    left, skipped, number = room, 0, next(own)
    for passage in passages:
        text = numbered(passage.text(), number, language)
        tokens = tokenizer.count(text + BLANK_LINE)
        if tokens <= left:
            texts.append(text)
            left, skipped, number = left - tokens, 0, next(own)
        elif skipped == skip:
            break
        else:
            skipped += 1
    if not texts:
        raise FitError(
            f"the length leaves {max(0, room)} tokens for passages, which is too few; ask for longer lengths, or set "
            "options.size lower"
        )
    return texts
