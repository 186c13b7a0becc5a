"""Conversations: each request as often as asked, budgets met within a few tokens, depths counted over other turns."""

from __future__ import annotations

from collections import Counter

import pytest
from filler import MANY, corpus_of
from hypothesis import given
from hypothesis import strategies as st
from properties import examples

from niah_gen.errors import FitError
from niah_gen.haystacks.conversation import MOST_BELOW, Conversation, TalkRequest, Turn, depth_of, fill_conversation
from niah_gen.haystacks.replies import Material
from niah_gen.tokenizers.find import BytePairTokenizer

STORIES = [" ".join(MANY[first : first + 12]) for first in range(0, 60, 12)]


def talk(material: Material, like: int, budget: int, seed: str = "s", reply_tokens: int = 60) -> Conversation:
    count = material.tokenizer.count
    asked = TalkRequest(
        like, [f"Write about {number}." for number in range(40)], reply_tokens, budget, seed,
        lambda request, reply: count(request) + reply.tokens, lambda turns: sum(turn.tokens for turn in turns),
    )  # fmt: skip
    return fill_conversation(material, asked)


@examples(25)
@given(like=st.integers(2, 8), budget=st.integers(400, 3000), seed=st.text("abc", max_size=2))
def test_a_conversation_meets_its_budget_and_makes_each_request_equally_often(
    cl100k: BytePairTokenizer, like: int, budget: int, seed: str
) -> None:
    conversation = talk(Material(corpus_of(STORIES), cl100k), like, budget, seed)
    tokens = sum(cl100k.count(turn.request) + cl100k.count(turn.reply) for turn in conversation.turns)
    assert 0 <= budget - tokens <= MOST_BELOW
    assert conversation.tokens == tokens
    assert set(Counter(turn.request for turn in conversation.turns).values()) == {like}
    assert len({turn.reply for turn in conversation.turns}) == len(conversation.turns)


def test_short_conversations_have_enough_turns_for_different_depths(cl100k: BytePairTokenizer) -> None:
    material = Material(corpus_of(STORIES), cl100k)
    assert len(talk(material, 2, 700, reply_tokens=300).turns) == 10
    assert len(talk(material, 2, 2000).turns) > 20


def test_a_budget_without_room_for_the_requests_is_refused(cl100k: BytePairTokenizer) -> None:
    with pytest.raises(FitError, match="a budget of 60 tokens has no room for 8 requests with replies from test"):
        talk(Material(corpus_of(STORIES), cl100k), 8, 60)


def test_a_corpus_with_too_few_sentences_for_the_replies_is_refused(cl100k: BytePairTokenizer) -> None:
    with pytest.raises(FitError, match="or another corpus"):
        talk(Material(corpus_of(["It rains. It is cold."]), cl100k), 8, 2000)


def test_the_depth_of_a_turn_is_the_share_of_the_other_turns_before_it() -> None:
    turns = tuple(Turn(f"{number % 2}", f"reply {number}", size) for number, size in enumerate((10, 30, 20, 40)))
    conversation = Conversation(turns, 1.0)
    assert [conversation.depth(number) for number in range(4)] == [0, 100 / 7, 50, 100]
    assert [conversation.nearest(depth) for depth in (0, 7, 8, 32, 33, 75, 76, 100)] == [0, 0, 1, 1, 2, 2, 3, 3]
    assert conversation.like(2) == [0, 2]
    assert depth_of(0, 5, 5) == 0


def test_conversations_have_the_same_id_only_with_the_same_seed(cl100k: BytePairTokenizer) -> None:
    material = Material(corpus_of(STORIES), cl100k)
    assert talk(material, 2, 700).id == talk(material, 2, 700).id != talk(material, 2, 700, "t").id
