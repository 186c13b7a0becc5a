"""Tokens counted without encoding again: every shortcut, checked against encoding the whole text."""

from __future__ import annotations

import itertools
import json
import random
import unicodedata

import numpy as np
import pytest
from each import each
from filler import OddText
from hypothesis import given
from hypothesis import strategies as st
from properties import examples
from whole_encodings import PROSE, assert_exact, assert_whole, ids

from niah_gen.tokenizers import cuts
from niah_gen.tokenizers.cuts import byte_offsets, safe_cuts
from niah_gen.tokenizers.find import BytePairTokenizer, OffsetTokenizer
from niah_gen.tokenizers.fragments import json_inside, literal
from niah_gen.tokenizers.spliced import (
    Counter,
    Encoded,
    Slice,
    encode,
    join,
)

steady = examples(120)
seeds = st.integers(0, 2**32 - 1)

# Safe cuts ----------------------------------------------------------------------------------------------------------


def test_every_character_of_the_word_table_is_a_letter_or_a_digit() -> None:
    points = np.flatnonzero(cuts._IN_WORD).tolist()
    assert len(points) > 30_000
    assert {unicodedata.category(chr(point))[0] for point in points if not 0x30 <= point <= 0x39} == {"L"}
    assert {chr(point) for point in points} >= set("0123456789azAZ中あア한яث")


def test_no_breaker_can_continue_a_piece_that_a_letter_began() -> None:
    breakers = np.flatnonzero(cuts._IS_BREAKER).tolist()
    assert len(breakers) == len(set(cuts._BREAKERS)) > 30
    for point in breakers:
        assert unicodedata.category(chr(point))[0] not in "LMN"
        assert chr(point) not in "'\u2019\u02bc\uff07"


def test_no_character_in_the_tables_is_wider_than_the_counter_assumes() -> None:
    points = np.flatnonzero(cuts._IN_WORD | cuts._IS_BREAKER).tolist()
    assert max(len(chr(point).encode()) for point in points) <= cuts.WIDEST


@steady
@given(seed=seeds)
def test_both_sides_of_a_safe_cut_encode_to_the_tokens_of_the_whole(
    tokenizer: BytePairTokenizer, odd_text: OddText, seed: int
) -> None:
    rng = random.Random(seed)
    text = odd_text(rng, rng.randint(0, 40))
    data, whole = text.encode(), ids(tokenizer, text)
    for cut in safe_cuts(text).tolist():
        assert ids(tokenizer, data[:cut].decode()) + ids(tokenizer, data[cut:].decode()) == whole


@each("before", ["I'm", "don", "HTTP", "Straße", "中", "한", "ひ", "カ", "ж"])
def test_every_letter_and_breaker_pair_is_a_cut_whatever_follows(tokenizer: BytePairTokenizer, before: str) -> None:
    for breaker, after in itertools.product(
        cuts._BREAKERS, ["", "s", " x", "\n", "\n/\n", "1234", "中", "\u0301", "'s"]
    ):
        text = f"  {before}{breaker}{after}"
        cut = len(f"  {before}".encode())
        assert cut in safe_cuts(text)
        data = text.encode()
        assert ids(tokenizer, data[:cut].decode()) + ids(tokenizer, data[cut:].decode()) == ids(tokenizer, text)


def test_prose_has_a_safe_cut_after_every_other_word() -> None:
    words = PROSE.split()
    assert len(safe_cuts(PROSE)) > len(words) / 2


@steady
@given(text=st.text(max_size=60) | st.text("aZ09 .,-/\n'\"_", max_size=60))
def test_safe_cuts_are_byte_offsets_between_a_letter_and_a_breaker(text: str) -> None:
    offsets = list(itertools.accumulate((len(char.encode()) for char in text), initial=0))
    letter, breaker = cuts._IN_WORD, set(cuts._BREAKERS)
    expected = [
        offsets[at]
        for at in range(1, len(text))
        if ord(text[at - 1]) < 0x10000 and letter[ord(text[at - 1])] and text[at] in breaker
    ]
    assert safe_cuts(text).tolist() == expected


def test_a_text_of_one_character_has_no_cut() -> None:
    assert safe_cuts("").tolist() == safe_cuts("a").tolist() == safe_cuts(" ").tolist() == []


@steady
@given(text=st.text(max_size=40) | st.text("a\x7f\x80\u07ff\u0800\uffff\U00010000", max_size=12))
def test_byte_offsets_are_those_of_the_encoded_text(text: str) -> None:
    points = np.frombuffer(text.encode("utf-32-le"), dtype=np.uint32)
    offsets = byte_offsets(points, np.arange(len(text) + 1))
    assert offsets.tolist() == [len(text[:char].encode()) for char in range(len(text) + 1)]
    assert byte_offsets(points, np.zeros(0, dtype=np.int64)).tolist() == []


# Encoding and joining -----------------------------------------------------------------------------------------------


@steady
@given(seed=seeds)
def test_an_encoded_text_counts_exactly_between_any_two_cuts(
    tokenizer: BytePairTokenizer, odd_text: OddText, seed: int
) -> None:
    rng = random.Random(seed)
    assert_whole(encode(odd_text(rng, rng.randint(0, 30)), tokenizer), tokenizer)


def test_byte_at_and_tokens_before_are_inverse(cl100k: BytePairTokenizer) -> None:
    source = encode(PROSE + "😀🏽", cl100k)
    assert source.byte_at(0) == 0
    assert source.byte_at(source.size) == len(source.data)
    for token in range(source.size + 1):
        assert source.tokens_before(source.byte_at(token)) == token
        assert source.tokens_before(source.byte_at(token) - 1) == max(token - 1, 0)


@steady
@given(seed=seeds)
def test_joined_documents_keep_their_tokens_and_count_as_the_joined_text(
    tokenizer: BytePairTokenizer, odd_text: OddText, seed: int
) -> None:
    rng = random.Random(seed)
    texts = [odd_text(rng, rng.randint(0, 12)) for _ in range(rng.randint(1, 6))]
    parts = [encode(text, tokenizer) for text in texts]
    joined = join(parts, tokenizer)
    assert joined.data == "".join(texts).encode()
    assert joined.ids.tolist() == [token for part in parts for token in part.ids.tolist()]
    sizes = np.diff(joined.ends, prepend=0).tolist()
    assert sizes == [size for part in parts for size in np.diff(part.ends, prepend=0).tolist()]
    assert_exact(joined, tokenizer)
    assert len(joined.cuts) == sum(len(part.cuts) for part in parts)


@steady
@given(seed=seeds)
def test_a_slice_of_joined_documents_has_the_count_of_its_text(
    tokenizer: BytePairTokenizer, odd_text: OddText, seed: int
) -> None:
    rng = random.Random(seed)
    joined = join([encode(odd_text(rng, rng.randint(1, 8)), tokenizer) for _ in range(5)], tokenizer)
    counter = Counter(tokenizer)
    for _ in range(10):
        start, end = sorted(joined.byte_at(rng.randint(0, joined.size)) for _ in range(2))
        expected = len(ids(tokenizer, joined.data[start:end].decode(errors="replace")))
        assert counter.count([Slice(joined, start, end)]) == expected


# Counting splices ---------------------------------------------------------------------------------------------------


def spliced_text(parts: list[str | Slice]) -> str:
    data = b"".join(p.encode() if isinstance(p, str) else p.source.data[p.start : p.end] for p in parts)
    return data.decode(errors="replace")


def random_parts(rng: random.Random, sources: list[Encoded], odd_text: OddText) -> list[str | Slice]:
    """Slices between random token boundaries, many of them inside characters, and literals between them."""
    parts: list[str | Slice] = []
    for _ in range(rng.randint(1, 7)):
        if rng.random() < 0.3:
            parts.append(odd_text(rng, rng.randint(0, 4)))
        else:
            source = rng.choice(sources)
            first, last = sorted(rng.randint(0, source.size) for _ in range(2))
            parts.append(Slice(source, source.byte_at(first), source.byte_at(last)))
    return parts


def test_any_splice_counts_the_tokens_of_its_whole_text(tokenizer: BytePairTokenizer, odd_text: OddText) -> None:
    rng = random.Random(2024)
    counter = Counter(tokenizer)
    seams = inside = 0
    while seams < 20_000:
        sources = [encode(odd_text(rng, rng.randint(1, 40)), tokenizer) for _ in range(3)]
        sources.append(encode(PROSE[rng.randint(0, 200) :], tokenizer))
        for _ in range(12):
            parts = random_parts(rng, sources, odd_text)
            text = spliced_text(parts)
            assert counter.count(parts) == len(ids(tokenizer, text)), parts
            seams += len(parts) - 1
            inside += "\ufffd" in text
    assert inside > 500


@pytest.mark.slow
def test_fuzzed_seams_count_the_tokens_of_the_whole_text(tokenizer: BytePairTokenizer, odd_text: OddText) -> None:
    """Digit runs, white space, punctuation with line ends, emoji, combining marks, Thai, code, joined anywhere."""
    rng = random.Random(2026)
    counter = Counter(tokenizer)
    seams = cut_inside = 0
    while seams < 60_000:
        text, other = (odd_text(rng, rng.randint(4, 14)) for _ in range(2))
        source, needle = encode(text, tokenizer), encode(other, tokenizer)
        places = [len(text[:at].encode()) for at in range(len(text) + 1)]
        for place in rng.sample(places, min(len(places), 40)):
            joiner = rng.choice(("", " ", "\n"))
            end = rng.choice(places[places.index(place) :])
            parts: list[str | Slice] = [
                Slice(source, 0, place), joiner, Slice(needle, 0, len(needle.data)), Slice(source, place, end),
            ]  # fmt: skip
            assert counter.count(parts) == tokenizer.count(spliced_text(parts)), spliced_text(parts)
            seams += 2
            cut_inside += 0 < place < end
    assert cut_inside > 20_000


def test_a_slice_cut_inside_a_character_counts_the_broken_character_too(tokenizer: BytePairTokenizer) -> None:
    source = encode("一段话，𠮷野家。" * 20, tokenizer)
    counter = Counter(tokenizer)
    for start, end in itertools.combinations(range(0, len(source.data), 7), 2):
        parts: list[str | Slice] = ["Before: ", Slice(source, start, end), "\nAfter"]
        assert counter.count(parts) == len(ids(tokenizer, spliced_text(parts)))


def test_counting_does_not_encode_the_inside_of_long_slices(cl100k: BytePairTokenizer) -> None:
    """The point of it all: only windows around the seams go to the tokenizer."""

    class Watched(BytePairTokenizer):
        seen = 0

        def count(self, text: str) -> int:
            self.seen += len(text)
            return super().count(text)

    watched = Watched(cl100k.encoding, cl100k.sha256)
    source = encode(PROSE * 200, watched)
    watched.seen = 0
    middle = len(source.data) // 2
    parts: list[str | Slice] = [
        "Document: ",
        Slice(source, 0, middle),
        " needle. ",
        Slice(source, middle, len(source.data)),
    ]
    assert Counter(watched).count(parts) == len(ids(cl100k, spliced_text(parts)))
    assert watched.seen < 500


def test_a_tokenizer_that_is_not_local_counts_the_whole_text(tiny_bpe: OffsetTokenizer, odd_text: OddText) -> None:
    rng = random.Random(7)
    counter = Counter(tiny_bpe)
    for _ in range(60):
        sources = [encode(odd_text(rng, rng.randint(1, 20)), tiny_bpe) for _ in range(2)]
        assert all(len(source.cuts) == 0 for source in sources)
        parts = random_parts(rng, sources, odd_text)
        assert counter.count(parts) == tiny_bpe.count(spliced_text(parts))


# Ready to be written ------------------------------------------------------------------------------------------------

TRICKY = [
    "",
    "a",
    "\u00e9\u4e2d\U0001f600a",
    "\"\\\b\t\n\f\r\x00\x1f\x7f",
    "q\"中\"\U00020bb7\\n\n",
    "\U0001f468\u200d\U0001f469\x0b\u00e9",
    "\u2028\u2029\ufffd\ud7ff\ue000\U0010ffff",
    "\x01中\x02\U0001f600\x03\"",
    "中文。\n“引号”\\",
]  # fmt: skip


@each("text", TRICKY)
def test_a_stretch_is_its_decoded_bytes_for_every_pair_of_offsets(cl100k: BytePairTokenizer, text: str) -> None:
    source = encode(text, cl100k)
    size = len(source.data)
    for start in range(size + 1):
        for end in range(start, size + 1):
            expected = source.data[start:end].decode(errors="replace")
            stretch = source.fragment(start, end)
            assert b"".join(stretch.utf8) == expected.encode()
            assert stretch.text == expected
            assert b'"' + b"".join(stretch.json) + b'"' == json.dumps(expected, ensure_ascii=False).encode()
            assert stretch.chars == len(expected)


@steady
@given(text=st.text(max_size=40), data=st.data())
def test_any_stretch_of_any_text_is_its_decoded_bytes(
    cl100k: BytePairTokenizer, text: str, data: st.DataObject
) -> None:
    source = encode(text, cl100k)
    start, end = sorted(data.draw(st.tuples(*[st.integers(0, len(source.data))] * 2)))
    expected = source.data[start:end].decode(errors="replace")
    # The first stretches are escaped alone, later ones together with the text.
    for _ in range(3):
        stretch = source.fragment(start, end)
        assert (stretch.text, stretch.chars) == (expected, len(expected))
        assert b'"' + b"".join(stretch.json) + b'"' == json.dumps(expected, ensure_ascii=False).encode()


def test_the_whole_characters_of_a_stretch_are_not_copied(cl100k: BytePairTokenizer) -> None:
    source = encode(PROSE, cl100k)
    views = [piece for piece in source.fragment(1, len(source.data) - 1).utf8 if isinstance(piece, memoryview)]
    assert [view.obj for view in views] == [source.data]


@steady
@given(texts=st.lists(st.text(max_size=10), max_size=4))
def test_literal_stretches_add_up_to_the_joined_text(texts: list[str]) -> None:
    total = sum(map(literal, texts), literal(""))
    whole = "".join(texts)
    assert (total.text, total.chars, b"".join(total.json)) == (whole, len(whole), json_inside(whole))


def test_the_folded_text_is_that_of_the_scorer() -> None:
    from niah_gen.tokenizers.find import find_tokenizer

    assert encode("ＡＢＣ  1,024\nStraße", find_tokenizer("cl100k_base")).folded == "abc 1024 strasse"
