"""Fills conversations to a token budget with turns of a request and a reply, each request made equally often.

Replies are cut from a corpus: passages of whole sentences, no two alike, each of one document. A document's sentences
are taken in order. When a corpus is used up, another pass through it begins; on pass p each sentence is followed by the
p-th one after it, so that the same sentences make different passages.
"""

from __future__ import annotations

import hashlib
import math
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import NamedTuple

import numpy as np

from niah_gen.corpora.read import Corpus
from niah_gen.errors import FitError
from niah_gen.haystacks.boundaries import joiner_of, sentence_ends
from niah_gen.haystacks.haystack import SEAM, passes_of
from niah_gen.haystacks.native import LONGEST_SEGMENT
from niah_gen.tokenizers.find import Ints, Tokenizer
from niah_score.contract import canonical_json, sha256_hex

# The size of a reply differs from the mean by at most this share of it.
_VARIATION = 0.4
# A reply has at least this many tokens.
_LEAST_REPLY = 12
# To have this many turns, and so different depths, short conversations may have replies as short as this, in tokens.
_FEWEST_TURNS = 10
_SHORT_REPLY = 40
# Conversations drawn before fewer requests are tried.
_DRAWS = 3
# A document's last sentences make a separate reply if they have this share of the size asked for.
_LEAST_SHARE = 0.6


class Turn(NamedTuple):
    """A request and its reply. `tokens`: those of both, with what stands around them."""

    request: str
    reply: str
    tokens: int


@dataclass(frozen=True)
class Conversation:
    """Turns in order. `passes`: how often the corpus was used, at least 1."""

    turns: tuple[Turn, ...]
    passes: float

    @cached_property
    def id(self) -> str:
        """A digest of all turns: rows with the same id share them."""
        return sha256_hex(canonical_json([[turn.request, turn.reply] for turn in self.turns]))[:12]

    @cached_property
    def before(self) -> Ints:
        """Tokens of the turns before each turn, then of all turns."""
        return np.cumsum([0, *(turn.tokens for turn in self.turns)])

    @property
    def tokens(self) -> int:
        """Tokens of all turns."""
        return int(self.before[-1])

    def depth(self, number: int) -> float:
        """Tokens of the turns before a turn, in percent of those of all other turns; 0 if it is alone."""
        others = self.tokens - self.turns[number].tokens
        return 100 * int(self.before[number]) / others if others else 0.0

    def nearest(self, depth: float) -> int:
        """The number of the turn nearest to a depth in percent; of two equally near, the first."""
        return min(range(len(self.turns)), key=lambda number: (abs(self.depth(number) - depth), number))

    def like(self, number: int) -> list[int]:
        """The numbers of the turns that make the same request as a turn, in order."""
        return [n for n, turn in enumerate(self.turns) if turn.request == self.turns[number].request]


class Material:
    """The sentences of a corpus, cut and counted when they are first used; a reply may cross line ends."""

    def __init__(self, corpus: Corpus, tokenizer: Tokenizer) -> None:
        self.corpus = corpus
        self.tokenizer = tokenizer
        self.joiner = joiner_of(corpus.language)
        self.sentences = cache(lambda number: tuple(self._cut(corpus.documents[number].text)))
        first = {document.text: number for number, document in reversed(list(enumerate(corpus.documents)))}
        # Of documents with the same text only the first.
        self.numbers = sorted(first.values())

    def tokens(self) -> int:
        """Tokens of the sentences of all documents."""
        return sum(tokens for number in self.numbers for _, tokens in self.sentences(number))

    def _cut(self, text: str) -> Iterator[tuple[str, int]]:
        """Each sentence on one line, and its tokens after another one.

        Lines without closing punctuation and very long sentences are left out.
        """
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
                    yield sentence, tokens


class ReplyMaker:
    """Makes the replies of one conversation, in a seeded order; none contains another."""

    def __init__(self, material: Material, seed: str) -> None:
        self._material = material
        self._order = sorted(material.numbers, key=lambda number: hashlib.sha256(f"{seed}/{number}".encode()).digest())
        # By their sentences, and by their first sentence.
        self._holding: dict[str, list[str]] = {}
        self._beginning: dict[str, list[str]] = {}
        self._passes = 1
        self._place = 0  # of the document in the order
        self._at = 0  # of the next sentence in the document, as this pass has them

    def next(self, aim: float, most: int) -> str | None:
        """The next reply, of as many sentences as come nearest to `aim` tokens, and at most `most` tokens.

        None if a whole pass through the corpus has none.
        """
        for _ in range(len(self._order) + 1):
            sentences = self._material.sentences(self._order[self._place])
            reply = self._first(in_pass(sentences, self._passes)[self._at :], aim, most)
            if reply is not None:
                return reply
            self._place, self._at = self._place + 1, 0
            if self._place == len(self._order):
                self._place, self._passes = 0, self._passes + 1
        return None

    def _first(self, rest: Sequence[tuple[str, int]], aim: float, most: int) -> str | None:
        """The first reply from the remaining sentences of a document."""
        for start in range(len(rest)):
            count, tokens = 0, 0
            for _, size in rest[start:]:
                more = tokens + size
                if more > most or (count and more - aim > aim - tokens):
                    break
                count, tokens = count + 1, more
            # A short document may be a reply, but the short rest of a document may not.
            is_rest = start + count == len(rest) and self._at + start > 0
            if count and not (is_rest and tokens < _LEAST_SHARE * aim):
                said = [sentence for sentence, _ in rest[start : start + count]]
                reply = self._material.joiner.join(said)
                if self._material.tokenizer.count(reply) <= most and self._keep(reply, said):
                    self._at += start + count
                    return reply
        return None

    def _keep(self, reply: str, sentences: Sequence[str]) -> bool:
        """Remember a reply and return True, unless it contains an earlier one or an earlier one contains it."""
        if any(reply in other for other in self._holding.get(sentences[0], ())) or any(
            other in reply for sentence in sentences for other in self._beginning.get(sentence, ())
        ):
            return False
        self._beginning.setdefault(sentences[0], []).append(reply)
        for sentence in sentences:
            self._holding.setdefault(sentence, []).append(reply)
        return True


def in_pass(sentences: Sequence[tuple[str, int]], number: int) -> Sequence[tuple[str, int]]:
    """A document's sentences in the order of pass `number`, from 1: first every `number`-th one, and so on."""
    return sentences if number == 1 else [one for first in range(number) for one in sentences[first::number]]


def most_requests(like: int, reply_tokens: int, budget: int) -> int:
    """An upper bound on the different requests that a conversation can hold. `budget`: its tokens."""
    return max(budget // (like * reply_tokens), math.ceil(_FEWEST_TURNS / like))


def fill_conversation(
    material: Material,
    requests: Sequence[str],
    like: int,
    reply_tokens: int,
    budget: int,
    seed: str,
    turn_tokens: Callable[[str, str], int],
) -> Conversation:
    """As many turns as the budget surely holds, each request made `like` times.

    `requests`: those available, taken from the first on; `reply_tokens`: the mean size of a reply; `budget`: tokens of
    all turns; `seed`: what everything is drawn from; `turn_tokens`: counts a request and a reply, with what stands
    around them. Raises FitError if the budget cannot hold even one request that often, or if the corpus has too few
    sentences.
    """
    bare = turn_tokens(requests[0], "")
    most = max(
        budget // (like * (reply_tokens + bare)),
        min(budget // (like * (_SHORT_REPLY + bare)), math.ceil(_FEWEST_TURNS / like)),
    )
    most = max(1, min(most, len(requests)))
    for count in dict.fromkeys((most, max(1, most // 2), 1)):
        for attempt in range(_DRAWS):
            own = f"{seed}/{attempt}" if attempt else seed
            wanted = [request for request in requests[:count] for _ in range(like)]
            turns = _fill(ReplyMaker(material, own), wanted, budget, random.Random(f"{own}/sizes"), turn_tokens)
            if turns is not None:
                random.Random(f"{seed}/order").shuffle(turns)
                used = sum(material.tokenizer.count(turn.reply) for turn in turns)
                return Conversation(tuple(turns), passes_of(used, material.tokens()))
    raise FitError(
        f"a budget of {budget} tokens has no room for {like} requests with replies from {material.corpus.name}; ask "
        "for longer lengths, a smaller reserve, fewer like requests, shorter replies, or another corpus"
    )


def _fill(
    maker: ReplyMaker, wanted: Sequence[str], left: int, draw: random.Random, turn_tokens: Callable[[str, str], int]
) -> list[Turn] | None:
    """A turn for each request wanted; None if they cannot be made to fit into the tokens left."""
    turns: list[Turn] = []
    for after, request in reversed(list(enumerate(reversed(wanted)))):
        bare = turn_tokens(request, "")
        mean = left / (after + 1) - bare
        # The turns after it need room too: at least half of their share.
        most = int(left - bare - after * (bare + max(_LEAST_REPLY, mean / 2))) - SEAM
        aim = mean * draw.uniform(1 - _VARIATION, 1 + _VARIATION)
        reply = maker.next(aim, min(most, int(2 * mean))) if after else maker.next(most, most)
        if reply is None:
            return None
        turns.append(Turn(request, reply, turn_tokens(request, reply)))
        left -= turns[-1].tokens
    return turns if left >= 0 else None
