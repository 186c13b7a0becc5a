"""OpenCompass's dynamic haystacks: shuffled documents, their tokens end to end, as published."""

from __future__ import annotations

import random
from collections.abc import Sequence

from each import each
from filler import TEXTS, corpus_of, decoded, text_of, token_list
from rendering import request

from niah_gen.haystacks.opencompass import OpenCompassFiller
from niah_gen.tokenizers.find import BytePairTokenizer


def shuffled(texts: Sequence[str], repeat: int) -> list[str]:
    """As published: one list, shuffled again and again, with the global generator reseeded before each shuffle."""
    left = list(texts)
    for counter in range(repeat + 1):
        random.Random(counter).shuffle(left)
    return left


@each("repeat", [0, 1, 2, 9])
def test_an_opencompass_repeat_made_alone_equals_that_repeat_in_sequence(
    cl100k: BytePairTokenizer, repeat: int
) -> None:
    sequence = OpenCompassFiller(corpus_of(TEXTS), cl100k)
    texts = [text_of(sequence.fill(request(cl100k, 120, repeat=number))) for number in range(repeat + 1)]
    alone = OpenCompassFiller(corpus_of(TEXTS), cl100k).fill(request(cl100k, 120, repeat=repeat))
    assert text_of(alone) == texts[-1]
    ids = [token for text in shuffled(TEXTS, repeat) for token in token_list(cl100k, text)]
    assert texts[-1] == decoded(cl100k, ids[:119])
    assert len(set(texts)) > repeat * 0.7


def test_opencompass_makes_the_same_filler_whatever_lengths_came_before(cl100k: BytePairTokenizer) -> None:
    lengths = [60, 500, 120, 60, 499]
    shared = OpenCompassFiller(corpus_of(TEXTS), cl100k)
    for length in lengths:
        alone = OpenCompassFiller(corpus_of(TEXTS), cl100k).fill(request(cl100k, length))
        again = shared.fill(request(cl100k, length))
        assert (again.tokens, text_of(again), again.id) == (alone.tokens, text_of(alone), alone.id)


def test_opencompass_does_not_touch_the_global_generator(cl100k: BytePairTokenizer) -> None:
    state = random.getstate()
    OpenCompassFiller(corpus_of(TEXTS), cl100k).fill(request(cl100k, 120, repeat=3))
    assert random.getstate() == state


def test_opencompass_does_not_repeat_a_corpus_that_is_too_short(cl100k: BytePairTokenizer) -> None:
    haystack = OpenCompassFiller(corpus_of(TEXTS), cl100k).fill(request(cl100k, 100_000))
    assert text_of(haystack) == "".join(shuffled(TEXTS, 0))
    assert haystack.tokens == sum(map(cl100k.count, TEXTS))
    assert haystack.passes == 1.0


def test_opencompass_keeps_the_tokens_that_each_document_has_on_its_own(cl100k: BytePairTokenizer) -> None:
    """`12` and `34` are two tokens here, though `1234` would be encoded as `123` and `4`."""
    haystack = OpenCompassFiller(corpus_of(["12", "34"]), cl100k).fill(request(cl100k, 4))
    assert haystack.tokens == 2
    assert haystack.source.ids.tolist() == [
        token for text in shuffled(["12", "34"], 0) for token in token_list(cl100k, text)
    ]


def test_a_haystack_cut_inside_a_character_ends_in_the_replacement_character(cl100k: BytePairTokenizer) -> None:
    text = "𠮷" * 40
    size = cl100k.count(text)
    ends = {
        text_of(OpenCompassFiller(corpus_of([text]), cl100k).fill(request(cl100k, room + 1)))[-1]
        for room in range(1, size)
    }
    assert ends == {"𠮷", "\ufffd"}
