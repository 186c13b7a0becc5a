"""Replies: whole sentences of one document on one line, of the requested size, and never one inside another."""

from __future__ import annotations

from filler import MANY, corpus_of
from hypothesis import given
from hypothesis import strategies as st
from properties import examples

from niah_gen.haystacks.boundaries import sentence_ends
from niah_gen.haystacks.replies import Material, ReplyMaker, Sentence, in_pass
from niah_gen.tokenizers.find import BytePairTokenizer

STORIES = [" ".join(MANY[first : first + 12]) for first in range(0, 60, 12)]


def made(material: Material, seed: str, sizes: list[int]) -> list[str]:
    maker = ReplyMaker(material, seed)
    replies = [maker.next(size, 2 * size) for size in sizes]
    return [reply.text for reply in replies if reply is not None]


def test_sentences_are_whole_and_on_one_line_without_headings_or_repeats(cl100k: BytePairTokenizer) -> None:
    text = "A heading\n\nOne is\there. Two is there.\nThree ends  it. One is here. And a tail"
    material = Material(corpus_of([text]), cl100k)
    assert [one.text for one in material.sentences(0)] == ["One is here.", "Two is there.", "Three ends it."]
    assert [one.tokens for one in material.sentences(0)] == [
        cl100k.count(f" {one.text}") for one in material.sentences(0)
    ]


def test_chinese_sentences_are_joined_without_spaces(cl100k: BytePairTokenizer) -> None:
    material = Material(corpus_of(["第一句。第二句！\n第三句？"], "zh"), cl100k)
    reply = ReplyMaker(material, "s").next(1000, 1000)
    assert reply is not None
    assert reply.text == "第一句。第二句！第三句？"


def test_documents_with_the_same_text_count_as_one(cl100k: BytePairTokenizer) -> None:
    assert Material(corpus_of(["One. Two.", "Three.", "One. Two."]), cl100k).numbers() == [0, 1]


@examples(25)
@given(seed=st.text("ab", max_size=3), sizes=st.lists(st.integers(8, 60), min_size=1, max_size=60))
def test_no_reply_contains_another_or_is_too_long(cl100k: BytePairTokenizer, seed: str, sizes: list[int]) -> None:
    material = Material(corpus_of(STORIES), cl100k)
    maker = ReplyMaker(material, seed)
    replies = [(maker.next(size, 2 * size), size) for size in sizes]
    texts = [reply.text for reply, _ in replies if reply is not None]
    assert not any(one in other for n, one in enumerate(texts) for m, other in enumerate(texts) if n != m)
    for reply, size in replies:
        if reply is not None:
            assert reply.tokens == cl100k.count(reply.text) <= 2 * size
            assert sentence_ends(reply.text)[-1] == len(reply.text)
            known = {one.text for one in material.sentences(reply.document)}
            assert any(reply.text.startswith(text) for text in known)


def test_the_same_seed_makes_the_same_replies_and_other_seeds_make_others(cl100k: BytePairTokenizer) -> None:
    material = Material(corpus_of(STORIES), cl100k)
    assert made(material, "a", [30] * 6) == made(material, "a", [30] * 6)
    assert len({tuple(made(material, seed, [30] * 6)) for seed in "abcdefgh"}) > 3


def test_a_corpus_that_is_used_up_makes_new_replies_until_none_are_left(cl100k: BytePairTokenizer) -> None:
    material = Material(corpus_of(STORIES[:1]), cl100k)
    texts = made(material, "a", [30] * 500)
    assert 500 > len(texts) > material.tokens() / 30
    assert len(set(texts)) == len(texts)


def test_a_reply_of_an_exact_size_is_found_if_one_exists(cl100k: BytePairTokenizer) -> None:
    material = Material(corpus_of(STORIES), cl100k)
    replies = [ReplyMaker(material, "a").exactly(size, size + 1) for size in range(20, 60, 2)]
    assert all(reply is not None for reply in replies)
    assert [reply.tokens - size for reply, size in zip(replies, range(20, 60, 2), strict=True) if reply] <= [1] * 20
    assert ReplyMaker(material, "a").exactly(100_000, 100_001) is None


def test_a_reply_that_is_dropped_can_be_made_again(cl100k: BytePairTokenizer) -> None:
    maker = ReplyMaker(Material(corpus_of(["One is here. Two is there."]), cl100k), "a")
    reply = maker.exactly(1, 4)
    assert reply is not None
    again = maker.exactly(reply.tokens, reply.tokens)
    assert again is None or again.text != reply.text
    maker.drop(reply)
    assert maker.exactly(reply.tokens, reply.tokens) == reply


def test_pass_p_takes_every_pth_sentence_until_all_are_taken() -> None:
    sentences = [Sentence(str(number), 1) for number in range(7)]
    assert [one.text for one in in_pass(sentences, 1)] == list("0123456")
    assert [one.text for one in in_pass(sentences, 3)] == list("0361425")
