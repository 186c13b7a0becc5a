"""Fills conversations to a token budget with turns of a request and a reply, each request made equally often.

The reply that is made last is picked to fill what is left of the budget. It may stand anywhere, as turns are then put
into a seeded order.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from niah_gen.errors import FitError
from niah_gen.haystacks.haystack import passes_of
from niah_gen.haystacks.replies import Material, Reply, ReplyMaker
from niah_gen.tokenizers.find import Ints
from niah_score.contract import canonical_json, sha256_hex

# A conversation ends at most this many tokens below its budget.
MOST_BELOW = 3
# The size of a reply differs from the mean by at most this share of it.
_VARIATION = 0.4
# A reply has at least this many tokens.
_LEAST_REPLY = 12
# To have this many turns, and so different depths, short conversations may have replies as short as this, in tokens.
_FEWEST_TURNS = 10
_SHORT_REPLY = 40
# Conversations drawn before fewer requests are tried, and replies tried for the last turn of each.
_DRAWS = 3
_PICKS = 8


@dataclass(frozen=True, slots=True)
class Turn:
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
        """Tokens of the turns before a turn, in percent of those of all other turns."""
        return depth_of(int(self.before[number]), self.turns[number].tokens, self.tokens)

    def nearest(self, depth: float) -> int:
        """The number of the turn nearest to a depth in percent; of two equally near, the first."""
        return min(range(len(self.turns)), key=lambda number: (abs(self.depth(number) - depth), number))

    def like(self, number: int) -> list[int]:
        """The numbers of the turns that make the same request as a turn, in order."""
        return [n for n, turn in enumerate(self.turns) if turn.request == self.turns[number].request]


def depth_of(before: int, own: int, tokens: int) -> float:
    """The depth of a turn in percent: the share of the other turns' tokens that is before it; 0 if it is alone."""
    return 100 * before / (tokens - own) if tokens > own else 0.0


@dataclass(frozen=True, slots=True)
class TalkRequest:
    """What a conversation should be made of.

    `like`: how often each request is made; `requests`: those available, taken from the first on; `reply_tokens`: the
    mean size of a reply; `budget`: tokens of all turns; `seed`: what everything is drawn from; `turn_tokens`: counts a
    request and a reply, with what stands around them; `count`: counts turns together.
    """

    like: int
    requests: Sequence[str]
    reply_tokens: int
    budget: int
    seed: str
    turn_tokens: Callable[[str, Reply], int]
    count: Callable[[Sequence[Turn]], int]


def most_requests(like: int, reply_tokens: int, budget: int) -> int:
    """An upper bound on the different requests that a conversation can hold. `budget`: its tokens."""
    return max(budget // (like * reply_tokens), math.ceil(_FEWEST_TURNS / like))


def fill_conversation(material: Material, asked: TalkRequest) -> Conversation:
    """As many turns as the budget holds, each request made `like` times.

    Raises FitError if the budget cannot hold even one request that often, or if the corpus has too few sentences.
    """
    bare = asked.turn_tokens(asked.requests[0], Reply("", 0, 0))
    requests = max(
        asked.budget // (asked.like * (asked.reply_tokens + bare)),
        min(asked.budget // (asked.like * (_SHORT_REPLY + bare)), math.ceil(_FEWEST_TURNS / asked.like)),
    )
    requests = max(1, min(requests, len(asked.requests)))
    for count in dict.fromkeys((requests, max(1, requests // 2), 1)):
        for attempt in range(_DRAWS):
            turns = _fill(material, asked, count, f"{asked.seed}/{attempt}" if attempt else asked.seed)
            if turns is not None:
                random.Random(f"{asked.seed}/order").shuffle(turns)
                used = sum(material.tokenizer.count(turn.reply) for turn in turns)
                return Conversation(tuple(turns), passes_of(used, material.tokens()))
    raise FitError(
        f"a budget of {asked.budget} tokens has no room for {asked.like} requests with replies from "
        f"{material.corpus.name}; ask for longer lengths, a smaller reserve, fewer like requests, shorter replies, or "
        "another corpus"
    )


def _fill(material: Material, asked: TalkRequest, requests: int, seed: str) -> list[Turn] | None:
    """The turns in the order in which they are made; None if they cannot be made to fit."""
    maker, draw = ReplyMaker(material, seed), random.Random(f"{seed}/sizes")
    wanted = [request for request in asked.requests[:requests] for _ in range(asked.like)]
    turns: list[Turn] = []
    used = 0
    for number, request in enumerate(wanted[:-1]):
        left = asked.budget - used
        bare = asked.turn_tokens(request, Reply("", 0, 0))
        mean = left / (len(wanted) - number) - bare
        # The turns after it need room too: at least half of their share.
        most = int(left - bare - (len(wanted) - number - 1) * (bare + max(_LEAST_REPLY, mean / 2)))
        reply = maker.next(mean * draw.uniform(1 - _VARIATION, 1 + _VARIATION), min(most, int(2 * mean)))
        if reply is None:
            return None
        turns.append(Turn(request, reply.text, asked.turn_tokens(request, reply)))
        used += turns[-1].tokens
    return _with_last(asked, maker, turns, wanted[-1])


def _with_last(asked: TalkRequest, maker: ReplyMaker, turns: list[Turn], request: str) -> list[Turn] | None:
    """The turns with one more, whose reply fills the budget to within a few tokens."""
    room = asked.budget - asked.count(turns) - asked.turn_tokens(request, Reply("", 0, 0))
    for _ in range(_PICKS):
        reply = maker.exactly(max(_LEAST_REPLY, room - MOST_BELOW + 1), room)
        if reply is None:
            return None
        whole = [*turns, Turn(request, reply.text, asked.turn_tokens(request, reply))]
        below = asked.budget - asked.count(whole)
        if 0 <= below <= MOST_BELOW:
            return whole
        maker.drop(reply)
        room += below if below < 0 else below - MOST_BELOW
    return None
