"""Cuts a corpus into replies: passages of whole sentences, no two alike, each of one document.

A document's sentences are taken in order. When a corpus is used up, another pass through it begins; on pass p each
sentence is followed by the p-th one after it, so that the same sentences make different passages.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from niah_gen.corpora.read import Corpus
from niah_gen.haystacks.boundaries import joiner_of, sentence_ends
from niah_gen.haystacks.sentences import LONGEST_SEGMENT
from niah_gen.tokenizers.find import Tokenizer

# A document's last sentences make a separate passage if they have this share of the size asked for.
_LEAST_SHARE = 0.6
# Windows tried for a passage of exactly the size asked for.
_MOST_WINDOWS = 20_000
# By how many tokens a passage may differ from the sum of its sentences.
_UNSURE = 3


class Sentence(NamedTuple):
    """A sentence on one line, and its tokens after another sentence."""

    text: str
    tokens: int


class Reply(NamedTuple):
    """A passage of a document, on one line, and its tokens. `document`: its number in the corpus."""

    text: str
    tokens: int
    document: int


class Material:
    """The sentences of a corpus, cut and counted when they are first used; a passage may cross line ends."""

    def __init__(self, corpus: Corpus, tokenizer: Tokenizer) -> None:
        self.corpus = corpus
        self.tokenizer = tokenizer
        self.joiner = joiner_of(corpus.language)
        self._known: dict[int, tuple[Sentence, ...]] = {}

    def sentences(self, number: int) -> tuple[Sentence, ...]:
        """The sentences of a document; lines without closing punctuation and very long sentences are left out."""
        known = self._known.get(number)
        if known is None:
            known = self._known[number] = tuple(self._cut(self.corpus.documents[number].text))
        return known

    def tokens(self) -> int:
        """Tokens of the sentences of all documents."""
        return sum(sentence.tokens for number in self.numbers() for sentence in self.sentences(number))

    def numbers(self) -> list[int]:
        """The numbers of the documents; of those with the same text only the first."""
        first = {document.text: number for number, document in reversed(list(enumerate(self.corpus.documents)))}
        return sorted(first.values())

    def _cut(self, text: str) -> Iterator[Sentence]:
        seen = set()
        for line in text.splitlines():
            at = 0
            for end in sentence_ends(line, self.corpus.language):
                sentence = " ".join(line[at:end].split())
                at = end
                tokens = self.tokenizer.count(self.joiner + sentence)
                # If a document repeated a sentence, two of its passages could be the same.
                if sentence and tokens <= LONGEST_SEGMENT and sentence not in seen:
                    seen.add(sentence)
                    yield Sentence(sentence, tokens)


class ReplyMaker:
    """Makes the replies of one conversation, in a seeded order; none contains another."""

    def __init__(self, material: Material, seed: str) -> None:
        self._material = material
        self._seed = seed
        self._order = sorted(
            material.numbers(), key=lambda number: hashlib.sha256(f"{seed}/{number}".encode()).digest()
        )
        self._holding: dict[str, list[str]] = {}
        self._beginning: dict[str, list[str]] = {}
        self._passes = 1
        self._place = 0  # of the document in the order
        self._at = 0  # of the next sentence in the document, as this pass has them

    def next(self, aim: float, most: int) -> Reply | None:
        """The next passage, of as many sentences as come nearest to `aim` tokens, and at most `most` tokens.

        None if a whole pass through the corpus has none.
        """
        refused = 0
        while refused <= len(self._order):
            number = self._order[self._place]
            rest = in_pass(self._material.sentences(number), self._passes)[self._at :]
            reply = self._first(number, rest, aim, most)
            if reply is not None:
                return reply
            refused += 1
            self._place, self._at = self._place + 1, 0
            if self._place == len(self._order):
                self._place, self._passes = 0, self._passes + 1
        return None

    def _first(self, number: int, rest: Sequence[Sentence], aim: float, most: int) -> Reply | None:
        """The first passage from the remaining sentences of a document."""
        for start in range(len(rest)):
            count, tokens = 0, 0
            for sentence in rest[start:]:
                more = tokens + sentence.tokens
                if more > most or (count and more - aim > aim - tokens):
                    break
                count, tokens = count + 1, more
            # A short document may be a reply, but the short rest of a document may not.
            is_rest = start + count == len(rest) and self._at + start > 0
            if count and not (is_rest and tokens < _LEAST_SHARE * aim):
                reply = self._reply(number, rest[start : start + count])
                if reply.tokens <= most and self._keep(reply, rest[start : start + count]):
                    self._at += start + count
                    return reply
        return None

    def exactly(self, fewest: int, most: int) -> Reply | None:
        """A passage of `fewest` to `most` tokens: the next one anywhere in the corpus, or None.

        Its sentences stay available for the passages that follow.
        """
        looked = 0
        for passes in range(self._passes, self._passes + 8):
            for step in range(len(self._order)):
                number = self._order[(self._place + 1 + step) % len(self._order)]
                sentences = in_pass(self._material.sentences(number), passes)
                for start in range(len(sentences)):
                    tokens = 0
                    for end in range(start + 1, len(sentences) + 1):
                        tokens += sentences[end - 1].tokens
                        if tokens > most + _UNSURE:
                            break
                        looked += 1
                        if tokens < fewest - _UNSURE:
                            continue
                        reply = self._reply(number, sentences[start:end])
                        if fewest <= reply.tokens <= most and self._keep(reply, sentences[start:end]):
                            return reply
                if looked > _MOST_WINDOWS:
                    return None
        return None

    def drop(self, reply: Reply) -> None:
        """Forget a reply that was made but is not used."""
        for known in (self._holding, self._beginning):
            for texts in known.values():
                if reply.text in texts:
                    texts.remove(reply.text)

    def _reply(self, number: int, sentences: Sequence[Sentence]) -> Reply:
        text = self._material.joiner.join(sentence.text for sentence in sentences)
        return Reply(text, self._material.tokenizer.count(text), number)

    def _keep(self, reply: Reply, sentences: Sequence[Sentence]) -> bool:
        """Remember a reply and return True, unless it contains an earlier one or an earlier one contains it."""
        first = sentences[0].text
        if any(reply.text in other for other in self._holding.get(first, ())) or any(
            other in reply.text for sentence in sentences for other in self._beginning.get(sentence.text, ())
        ):
            return False
        self._beginning.setdefault(first, []).append(reply.text)
        for sentence in sentences:
            self._holding.setdefault(sentence.text, []).append(reply.text)
        return True


def in_pass(sentences: Sequence[Sentence], number: int) -> Sequence[Sentence]:
    """A document's sentences in the order of pass `number`, from 1: first every `number`-th one, and so on."""
    return sentences if number == 1 else [one for first in range(number) for one in sentences[first::number]]
