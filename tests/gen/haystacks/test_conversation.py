"""Conversations: each request as often as asked, budgets kept, depths counted over other turns; replies never alike."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from properties import examples
from rendering import MANY, corpus_of

from niah_gen.errors import FitError
from niah_gen.haystacks.boundaries import sentence_ends
from niah_gen.haystacks.conversation import Conversation, Material, Turn, fill_conversation
from niah_gen.tokenizers.find import BytePairTokenizer

STORIES = [" ".join(MANY[first : first + 12]) for first in range(0, 60, 12)]
REQUESTS = [f"Write about {number}." for number in range(40)]


def talk(material: Material, like: int, budget: int, seed: str = "s", reply_tokens: int = 60) -> Conversation:
    count = material.tokenizer.count
    return fill_conversation(
        material, REQUESTS, like, reply_tokens, budget, seed, lambda request, reply: count(request) + count(reply)
    )


@examples(25)
@given(like=st.integers(2, 8), budget=st.integers(400, 3000), seed=st.text("abc", max_size=2))
def test_a_conversation_keeps_its_budget_and_makes_each_request_equally_often(
    cl100k: BytePairTokenizer, like: int, budget: int, seed: str
) -> None:
    conversation = talk(Material(corpus_of(STORIES), cl100k), like, budget, seed)
    tokens = sum(cl100k.count(turn.request) + cl100k.count(turn.reply) for turn in conversation.turns)
    assert 0 <= budget - tokens <= 60
    assert conversation.tokens == tokens
    assert set(Counter(turn.request for turn in conversation.turns).values()) == {like}
    replies = [turn.reply for turn in conversation.turns]
    assert not any(one in other for n, one in enumerate(replies) for m, other in enumerate(replies) if n != m)
    assert all(sentence_ends(reply)[-1] == len(reply) for reply in replies)


def test_short_conversations_have_enough_turns_and_shorter_ones_are_refused(cl100k: BytePairTokenizer) -> None:
    assert len(talk(Material(corpus_of(STORIES), cl100k), 2, 700, reply_tokens=300).turns) == 10
    with pytest.raises(FitError, match="a budget of 60 tokens has no room for 8 requests with replies from test"):
        talk(Material(corpus_of(STORIES), cl100k), 8, 60)
    with pytest.raises(FitError, match="or another corpus"):
        talk(Material(corpus_of(["It rains. It is cold."]), cl100k), 8, 2000)


def test_the_depth_of_a_turn_is_the_share_of_the_other_turns_before_it() -> None:
    turns = tuple(Turn(f"{number % 2}", f"reply {number}", size) for number, size in enumerate((10, 30, 20, 40)))
    conversation = Conversation(turns, 1.0)
    assert [conversation.depth(number) for number in range(4)] == [0, 100 / 7, 50, 100]
    assert [conversation.nearest(depth) for depth in (0, 7, 8, 32, 33, 75, 76, 100)] == [0, 0, 1, 1, 2, 2, 3, 3]
    assert conversation.like(2) == [0, 2]
    assert Conversation(turns[:1], 1.0).depth(0) == 0
