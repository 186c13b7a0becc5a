"""gkamradt's haystacks: repeated, trimmed, encoded again and trimmed again, checked against the published steps."""

from __future__ import annotations

import random

from filler import TEXTS, OddText, corpus_of, decoded, text_of, token_list
from hypothesis import given
from hypothesis import strategies as st
from properties import examples
from rendering import request

from niah_gen.haystacks.gkamradt import GkamradtFiller
from niah_gen.tokenizers.find import BytePairTokenizer

steady = examples(40)


def test_gkamradt_joins_all_documents_end_to_end_in_order(cl100k: BytePairTokenizer) -> None:
    haystack = GkamradtFiller(corpus_of(TEXTS), cl100k).fill(request(cl100k, 150))
    assert "".join(TEXTS).startswith(text_of(haystack))
    assert haystack.tokens == 150 - 1 == cl100k.count(text_of(haystack))


def test_gkamradt_repeats_the_corpus_until_the_longest_length_is_reached(cl100k: BytePairTokenizer) -> None:
    whole = "".join(TEXTS[:2])
    once = cl100k.count(whole)
    filler = GkamradtFiller(corpus_of(TEXTS[:2]), cl100k)
    haystack = filler.fill(request(cl100k, 4 * once))
    assert (whole * 5).startswith(text_of(haystack))
    assert haystack.passes == round(haystack.tokens / once, 4) > 3.9
    assert filler.usage(4 * once, ()).tokens == once


def test_gkamradt_repeats_whole_copies_only(cl100k: BytePairTokenizer) -> None:
    """The corpus is encoded as one text: whole copies are added until it is long enough, never a part of one."""
    filler = GkamradtFiller(corpus_of(["odd"]), cl100k)
    for longest in range(1, 12):
        whole = filler._repeated(longest).whole
        copies = len(whole.text) // 3
        assert whole.text == "odd" * copies
        assert whole.size >= longest
        assert copies == 1 or cl100k.count("odd" * (copies - 1)) < longest


def test_gkamradt_adds_no_copy_when_the_corpus_is_exactly_long_enough(cl100k: BytePairTokenizer) -> None:
    once = cl100k.count("".join(TEXTS))
    assert GkamradtFiller(corpus_of(TEXTS), cl100k)._repeated(once).whole.size == once


def test_gkamradt_trims_at_every_token_as_encoding_again_would(tokenizer: BytePairTokenizer, odd_text: OddText) -> None:
    """With a needle of one token, whatever the second encoding changes at the end shows in the haystack."""
    rng = random.Random(11)
    for _ in range(25):
        text = odd_text(rng, 25)
        tokens = token_list(tokenizer, text)
        filler = GkamradtFiller(corpus_of([text or "x"]), tokenizer)
        for length in range(2, len(tokens)):
            again = token_list(tokenizer, decoded(tokenizer, tokens[:length]))[: length - 1]
            haystack = filler.fill(request(tokenizer, length, longest=len(tokens)))
            assert haystack.source.ids[: haystack.tokens].tolist() == again
            assert text_of(haystack) == decoded(tokenizer, again)


def test_gkamradt_does_not_repeat_a_corpus_that_is_long_enough(cl100k: BytePairTokenizer) -> None:
    assert GkamradtFiller(corpus_of(TEXTS), cl100k).fill(request(cl100k, 100)).passes == 1.0


@steady
@given(seed=st.integers(0, 2**32 - 1))
def test_gkamradt_trims_encodes_again_and_trims_again(
    tokenizer: BytePairTokenizer, odd_text: OddText, seed: int
) -> None:
    rng = random.Random(seed)
    texts = [odd_text(rng, rng.randint(1, 20)) or "x" for _ in range(rng.randint(1, 4))]
    needle = odd_text(rng, 2) or "needle"
    longest = rng.randint(1, 300)
    taken = tokenizer.count(needle)
    length = taken + rng.randint(1, longest)
    longest = max(longest, length)
    whole = "".join(texts)
    tokens = token_list(tokenizer, whole)
    while len(tokens) < longest:
        whole += "".join(texts)
        tokens = token_list(tokenizer, whole)
    if len(tokens) > length:
        tokens = token_list(tokenizer, decoded(tokenizer, tokens[:length]))
    tokens = tokens[: length - taken]
    haystack = GkamradtFiller(corpus_of(texts), tokenizer).fill(
        request(tokenizer, length, longest=longest, needle=needle)
    )
    assert haystack.source.ids[: haystack.tokens].tolist() == tokens
    assert text_of(haystack) == decoded(tokenizer, tokens)


def test_gkamradt_fills_a_length_the_same_after_a_longer_one(cl100k: BytePairTokenizer) -> None:
    filler = GkamradtFiller(corpus_of(TEXTS), cl100k)
    alone = filler.fill(request(cl100k, 90, longest=700))
    filler.fill(request(cl100k, 700, longest=700))
    assert text_of(filler.fill(request(cl100k, 90, longest=700))) == text_of(alone)
