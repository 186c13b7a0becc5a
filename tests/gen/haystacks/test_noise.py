"""Noise around needles at fixed depths: filled up to the last sentence that fits, and shared between rows."""

from __future__ import annotations

import pytest
from each import each
from hypothesis import given
from hypothesis import strategies as st
from properties import examples

from niah_gen.errors import FitError
from niah_gen.haystacks.fit import MOST_BELOW
from niah_gen.haystacks.haystack import FillRequest, Haystack, Secret
from niah_gen.haystacks.noise import NOISE, NoiseFiller
from niah_gen.haystacks.splice import DepthTargets, place_nearest
from niah_gen.haystacks.spread import DepthLine
from niah_gen.prompts.frame import Frame, FrameMessage
from niah_gen.tokenizers.find import BytePairTokenizer, OffsetTokenizer, Tokenizer
from niah_gen.tokenizers.spliced import encode, encode_uncut

BEFORE, AFTER = "Keep in mind what follows.\n\n", "\n\nQuestion: which?\n"
RESERVE = 50


def request(length: int, needles: list[str], depths: list[float], tokenizer: Tokenizer) -> FillRequest:
    frame = Frame((FrameMessage(None, BEFORE + AFTER),), 0, BEFORE, AFTER, "which?")
    hidden = tuple((encode_uncut if len(text) % 2 else encode)(text, tokenizer) for text in needles)
    lines = tuple(DepthLine(depth, 0.0) for depth in depths)
    return FillRequest(
        length, length, RESERVE, 0, 0, Secret("n", tuple(needles)), hidden, frame, lines, "\n", 50.0, counted_whole=True
    )  # fmt: skip


def below(asked: FillRequest, haystack: Haystack, tokenizer: Tokenizer) -> int:
    """How many tokens the whole prompt, encoded in one piece, stays below its budget."""
    placed = place_nearest(haystack, asked.needles, DepthTargets(50.0, 0.0, asked.lines, "\n"))
    context = "".join(
        piece.content if isinstance(piece.content, str) else piece.content.source.text(*piece.content[1:])
        for piece in placed.pieces
    )
    return asked.length - RESERVE - tokenizer.count(BEFORE + context + AFTER)


def sentences(haystack: Haystack, language: str) -> int:
    return haystack.data.decode().count("." if language == "en" else "。")


NEEDLES = st.from_regex(r"VAR [A-Z]{5} = [A-Z0-9]{5,60}", fullmatch=True)
WORDS = ("grass", "Grass is", "There and back again", "again.\nThe", "sky is red", "12", "noon", "back again. The")


@examples(60)
@given(
    length=st.integers(200, 3000), language=st.sampled_from(["en", "zh"]),
    needles=st.lists(NEEDLES, min_size=1, max_size=12, unique=True),
    depth=st.floats(0, 100), step=st.floats(0, 40),
)  # fmt: skip
def test_noise_is_filled_until_one_more_sentence_would_not_fit(
    tokenizer: BytePairTokenizer, length: int, language: str, needles: list[str], depth: float, step: float
) -> None:
    depths = [min(100.0, depth + step * number) for number in range(len(needles))]
    asked = request(length, needles, depths, tokenizer)
    filler = NoiseFiller(NOISE[language], tokenizer)
    try:
        haystack = filler.fill(asked)
    except FitError:
        assert length < 1000
        return
    left = below(asked, haystack, tokenizer)
    assert 0 <= left <= MOST_BELOW
    _, longer = filler._endings(*divmod(sentences(haystack, language) + 1, 5))
    assert below(asked, longer, tokenizer) < 0


def test_rows_that_leave_the_same_room_share_one_haystack(cl100k: BytePairTokenizer) -> None:
    filler = NoiseFiller(NOISE["en"], cl100k)
    one, other = (filler.fill(request(2000, [f"VAR ABC = {n}"], [50.0], cl100k)) for n in (101, 202))
    assert one is other
    longer = filler.fill(request(20_000, ["VAR ABC = 303"], [50.0], cl100k))
    again = filler.fill(request(2000, ["VAR ABC = 101"], [50.0], cl100k))
    assert again.id == one.id != longer.id


@each("language", ["en", "zh"])
def test_a_row_has_the_same_haystack_whatever_was_filled_before(cl100k: BytePairTokenizer, language: str) -> None:
    used = NoiseFiller(NOISE[language], cl100k)
    for length in (3000, 700, 1800, 701, 9000, 3000):
        asked = request(length, ["VAR QWXYZ = 12345", "VAR ABCDE = QWXYZ"], [20.0, 100.0], cl100k)
        fresh = NoiseFiller(NOISE[language], cl100k).fill(asked)
        haystack = used.fill(asked)
        assert (haystack.id, haystack.tokens) == (fresh.id, fresh.tokens)
        assert haystack.before is not None
        assert fresh.before is not None
        assert haystack.before.tolist() == fresh.before.tolist()


def test_noise_keeps_the_budget_of_a_tokenizer_that_is_not_local(tiny_bpe: OffsetTokenizer) -> None:
    asked = request(3000, ["VAR QWXYZ = 12345", "VAR ABCDE = QWXYZ"], [20.0, 100.0], tiny_bpe)
    haystack = NoiseFiller(NOISE["en"], tiny_bpe).fill(asked)
    assert 0 <= below(asked, haystack, tiny_bpe) <= MOST_BELOW


def test_a_length_without_room_is_refused(cl100k: BytePairTokenizer) -> None:
    with pytest.raises(FitError, match="leaves no room"):
        NoiseFiller(NOISE["en"], cl100k).fill(request(60, ["VAR QWXYZ = 12345"], [0.0], cl100k))


@examples(60)
@given(word=st.one_of(st.text(max_size=12), st.sampled_from(WORDS)))
def test_leaks_in_repeated_noise_equal_those_in_its_whole_text(cl100k: BytePairTokenizer, word: str) -> None:
    noise = NoiseFiller(NOISE["en"], cl100k).fill(request(700, ["VAR QWXYZ = 12345"], [0.0], cl100k))
    plain = Haystack(noise.source, noise.end, noise.tokens, 1.0)
    assert noise.period > 0
    assert noise.leak([[word]]) == plain.leak([[word]])
