"""Cut and joined texts that are only partly encoded again, checked against encoding the whole result."""

from __future__ import annotations

import random

from filler import OddText
from hypothesis import given
from hypothesis import strategies as st
from properties import examples
from whole_encodings import PROSE, assert_whole, ids

from niah_gen.tokenizers.cuts import safe_cuts
from niah_gen.tokenizers.find import BytePairTokenizer
from niah_gen.tokenizers.retokenised import concatenated, retokenised_prefix, retokenised_suffix, unchanged_tokens
from niah_gen.tokenizers.spliced import encode

steady = examples(120)
seeds = st.integers(0, 2**32 - 1)


@steady
@given(data=st.data())
def test_a_suffix_has_the_tokens_and_cuts_of_its_text(tokenizer: BytePairTokenizer, data: st.DataObject) -> None:
    text = data.draw(st.text(max_size=40)) + PROSE
    source = encode(text, tokenizer)
    start = len(text[: data.draw(st.integers(0, len(text)))].encode())
    suffix = retokenised_suffix(source, start, tokenizer)
    assert suffix.data == source.data[start:]
    assert_whole(suffix, tokenizer)
    assert suffix.cuts.tolist() == safe_cuts(suffix.data.decode()).tolist()


@steady
@given(data=st.data())
def test_concatenated_texts_have_the_tokens_and_cuts_of_the_whole(
    tokenizer: BytePairTokenizer, data: st.DataObject
) -> None:
    some = st.one_of(st.text(max_size=20), st.sampled_from([PROSE, PROSE[:9], "a", " ", "'", "s b", "", "12", "\n\n"]))
    texts = data.draw(st.lists(some, min_size=1, max_size=6))
    joined = concatenated([encode(text, tokenizer) for text in texts], tokenizer)
    whole = "".join(texts)
    assert joined.data == whole.encode()
    assert joined.ids.tolist() == ids(tokenizer, whole)
    assert_whole(joined, tokenizer)
    assert joined.cuts.tolist() == safe_cuts(whole).tolist()


@steady
@given(seed=seeds)
def test_a_retokenised_prefix_is_the_encoding_of_the_decoded_prefix(
    tokenizer: BytePairTokenizer, odd_text: OddText, seed: int
) -> None:
    rng = random.Random(seed)
    source = encode(odd_text(rng, rng.randint(1, 30)), tokenizer)
    for size in {0, source.size, *(rng.randint(0, source.size) for _ in range(12))}:
        prefix = retokenised_prefix(source, size, tokenizer)
        assert prefix.data.decode() == source.data[: source.byte_at(size)].decode(errors="replace")
        assert_whole(prefix, tokenizer)


def test_every_prefix_of_prose_is_retokenised_correctly(tokenizer: BytePairTokenizer) -> None:
    source = encode(PROSE, tokenizer)
    for size in range(source.size + 1):
        prefix = retokenised_prefix(source, size, tokenizer)
        assert prefix.ids.tolist() == ids(tokenizer, source.text(0, source.byte_at(size)))


@steady
@given(seed=seeds)
def test_unchanged_tokens_is_never_too_high(tokenizer: BytePairTokenizer, odd_text: OddText, seed: int) -> None:
    rng = random.Random(seed)
    source = encode(odd_text(rng, rng.randint(1, 30)), tokenizer)
    for size in {0, source.size, *(rng.randint(0, source.size) for _ in range(12))}:
        sure = unchanged_tokens(source, size)
        assert 0 <= sure <= size
        again = ids(tokenizer, source.text(0, source.byte_at(size)))
        assert again[:sure] == source.ids[:sure].tolist()


def test_all_but_the_last_few_tokens_of_prose_are_unchanged(tokenizer: BytePairTokenizer) -> None:
    source = encode(PROSE, tokenizer)
    assert all(unchanged_tokens(source, size) >= size - 40 for size in range(source.size + 1))
