"""Protects exact counts of edited text: every shortcut equals encoding the whole text."""

from __future__ import annotations

import random

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from properties import examples
from rendering import OddText

from niah_gen.tokenizers.counted import Counted, Edit, count, count_to, counted, edited, join, measured, part
from niah_gen.tokenizers.find import BytePairTokenizer, OffsetTokenizer, Tokenizer

steady = examples(120)
seeds = st.integers(0, 2**32 - 1)


def _source(rng: random.Random, odd_text: OddText, tokenizer: Tokenizer) -> Counted:
    """A text made in one of the ways that texts are made in: whole, a part, or joined from both."""
    whole = counted(odd_text(rng, rng.randint(0, 60)), tokenizer)
    start = rng.randint(0, len(whole.text))
    cut = part(whole, start, rng.randint(start, len(whole.text)), tokenizer)
    return rng.choice((whole, cut, join([cut, whole, cut], tokenizer)))


def _edits(rng: random.Random, odd_text: OddText, size: int) -> list[Edit]:
    edges = sorted(rng.randint(0, size) for _ in range(2 * rng.randint(0, 4)))
    return [
        Edit(start, rng.choice((start, end)), odd_text(rng, rng.randint(0, 6)))
        for start, end in zip(edges[::2], edges[1::2], strict=True)
    ]


@steady
@given(seed=seeds)
def test_an_edited_text_is_changed_where_its_edits_say_and_counted_as_if_encoded_whole(
    tokenizer: BytePairTokenizer, odd_text: OddText, seed: int
) -> None:
    rng = random.Random(seed)
    source = _source(rng, odd_text, tokenizer)
    end = rng.randint(0, len(source.text))
    edits = _edits(rng, odd_text, end)
    text, spans, moved = source.text[:end], [], 0
    for start, after, insert in edits:
        text = text[: start + moved] + insert + text[after + moved :]
        if insert:
            spans.append((start + moved, start + moved + len(insert)))
        moved += len(insert) - (after - start)
    ends = tokenizer.encode(text).ends.tolist()
    assert edited(source, edits, end) == text
    assert count(source, edits, end, tokenizer) == len(ends)
    points = np.array(sorted(rng.randint(0, len(source.text)) for _ in range(5)))
    assert count_to(source, points, tokenizer).tolist() == [tokenizer.count(source.text[:p]) for p in points.tolist()]
    # The tokens of a span cover each of its characters.
    found = measured(source, edits, end, spans, tokenizer)[1]
    for (start, stop), (first, last) in zip(spans, found, strict=True):
        low, high = len(text[:start].encode()), len(text[:stop].encode())
        covers = [n for n, (begin, end) in enumerate(zip([0, *ends], ends, strict=False)) if begin < high and end > low]
        assert (first, last) == (covers[0], covers[-1] + 1)


@steady
@given(seed=seeds)
def test_tokens_cut_out_of_a_text_decode_as_their_bytes(
    tokenizer: BytePairTokenizer, odd_text: OddText, seed: int
) -> None:
    rng = random.Random(seed)
    source = counted(odd_text(rng, rng.randint(1, 30)), tokenizer)
    first = rng.randint(0, source.size)
    last = rng.randint(first, source.size)
    offsets = [0, *source.ends.tolist()]
    data = source.text.encode()[offsets[first] : offsets[last]]
    assert source.of_tokens(first, last) == data.decode(errors="replace")
    point, inside = source.point_at(first)
    assert len(source.text[:point].encode()) + inside == offsets[first]
    assert source.tokens_to(point) == sum(end <= len(source.text[:point].encode()) for end in offsets[1:])


def test_a_tokenizer_that_is_not_local_encodes_the_whole_text(tiny_bpe: OffsetTokenizer) -> None:
    source = counted("It rained. The ferry was late.", tiny_bpe)
    edits = [Edit(10, 10, " Nobody came.")]
    text = edited(source, edits, len(source.text))
    assert not len(source.cuts)
    assert count(source, edits, len(source.text), tiny_bpe) == tiny_bpe.count(text)
    _, ((first, last),) = measured(source, edits, len(source.text), [(11, 23)], tiny_bpe)
    ends = tiny_bpe.encode(text).ends.tolist()
    assert ends[first - 1] <= 11
    assert ends[last - 1] >= 23
