"""Fitting haystacks to budgets, checked against prompts counted in full at every place."""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Sequence

import numpy as np
from each import each
from filler import OddText, corpus_of
from hypothesis import given
from hypothesis import strategies as st
from properties import examples

from niah_gen.corpora.declarations import CorpusFile
from niah_gen.corpora.documents import Document
from niah_gen.corpora.find import locate
from niah_gen.corpora.read import Corpus, read_corpus
from niah_gen.errors import FitError
from niah_gen.haystacks.boundaries import sentence_ends
from niah_gen.haystacks.fit import MOST_BELOW, Fitting, arrangements
from niah_gen.haystacks.haystack import FillRequest, Haystack, Secret
from niah_gen.haystacks.native import NativeFiller
from niah_gen.haystacks.splice import DepthTargets, nearest, place_nearest
from niah_gen.haystacks.spread import DepthLine, depth_lines
from niah_gen.prompts.frame import Frame, FrameMessage
from niah_gen.tokenizers.find import BytePairTokenizer
from niah_gen.tokenizers.spliced import Counter, encode

steady = examples(25)
seeds = st.integers(0, 2**32 - 1)

ENDS = (". ", "! ", "? ", "。", "！", "？", ".\n", "。\n", "...\n\n", "……", ".” ", "。”", "?! ")


def odd_corpus(rng: random.Random, odd_text: OddText, language: str) -> Corpus:
    def sentence() -> str:
        plain = rng.choice(["The cat sat on the mat", "今天天气很好", "It was 1999", "No", "他说"])
        return plain + (odd_text(rng, rng.randint(1, 6)) if rng.random() < 0.5 else "") + rng.choice(ENDS)

    texts = ["".join(sentence() for _ in range(rng.randint(2, 40))) for _ in range(rng.randint(1, 12))]
    documents = tuple(Document(text, f"{number}.txt", 1) for number, text in enumerate(texts))
    return Corpus("odd", language, "CC0-1.0", "made up", (CorpusFile("0.txt", "0" * 64),), "0" * 64, documents)


def request_of(
    tokenizer: BytePairTokenizer,
    length: int,
    needles: Sequence[str],
    language: str,
    lines: tuple[DepthLine, ...],
    around: Frame,
) -> FillRequest:
    secret = Secret("n", tuple(needles))
    hidden = tuple(encode(needle, tokenizer) for needle in needles)
    return FillRequest(length, length, 0, 0, 0, secret, hidden, around, lines, " " if language == "en" else "")


def prompt_tokens(request: FillRequest, haystack: Haystack, depth: float, tokenizer: BytePairTokenizer) -> int:
    spliced = place_nearest(haystack, request.needles, DepthTargets(depth, 25, request.lines, request.joiner))
    return tokenizer.count(
        request.frame.before + "".join(piece.fragment().text for piece in spliced.pieces) + request.frame.after
    )


NEEDLES = ["The gate is green.", "大门是绿色的。", "12 gates", "“Gates”", "…gate…", "\u0301gate", "gate\u200d", "3.14"]


def frame_of(before: str, after: str) -> Frame:
    return Frame((FrameMessage(None, before + after),), 0, before, after)


FRAMES = [frame_of("", ""), frame_of("<document>\n", "\n</document>\nQ: Which?\nA:"), frame_of("问题：1", "2答")]


@steady
@given(seed=seeds)
def test_prompts_keep_the_budget_at_every_place_of_any_text(
    tokenizer: BytePairTokenizer, odd_text: OddText, seed: int
) -> None:
    rng = random.Random(seed)
    language = rng.choice(["en", "zh"])
    corpus = odd_corpus(rng, odd_text, language)
    filler = NativeFiller(corpus, tokenizer)
    for length in (rng.randint(90, 200), rng.randint(200, 900)):
        request = request_of(
            tokenizer, length, [rng.choice(NEEDLES)], language, depth_lines(1, "even", 25, 0), rng.choice(FRAMES)
        )
        try:
            haystack = filler.fill(request)
        except FitError:
            continue
        assert haystack.before is not None
        depths = (100 * haystack.before / haystack.tokens).tolist()
        counts = [prompt_tokens(request, haystack, depth, tokenizer) for depth in depths]
        assert max(counts) <= length
        few = sum(len(filler._keep(number).ends) for number in range(len(corpus.documents))) < 12
        assert few or min(counts) >= length - MOST_BELOW


@steady
@given(seed=seeds)
def test_prompts_keep_the_budget_in_every_arrangement_of_a_set(
    tokenizer: BytePairTokenizer, odd_text: OddText, seed: int
) -> None:
    rng = random.Random(seed)
    language = rng.choice(["en", "zh"])
    filler = NativeFiller(odd_corpus(rng, odd_text, language), tokenizer)
    count = rng.randint(2, 5)
    needles = [f"{rng.choice(NEEDLES)} no {number} {rng.choice(NEEDLES)}" for number in range(count)]
    lines = depth_lines(count, rng.choice(["even", "diff", "random"]), rng.choice([1, 10, 40]), seed)
    length = rng.randint(300, 700)
    request = request_of(tokenizer, length, needles, language, lines, rng.choice(FRAMES))
    try:
        haystack = filler.fill(request)
    except FitError:
        return
    counts = [prompt_tokens(request, haystack, depth, tokenizer) for depth in np.linspace(0, 100, 301)]
    assert max(counts) <= length


@steady
@given(seed=seeds)
def test_the_extent_of_a_haystack_is_the_fewest_and_most_tokens_of_its_prompts(
    tokenizer: BytePairTokenizer, odd_text: OddText, seed: int
) -> None:
    """Including needles that share a place or a seam, and both ends, where the text meets the template."""
    rng = random.Random(seed)
    language = rng.choice(["en", "zh"])
    filler = NativeFiller(odd_corpus(rng, odd_text, language), tokenizer)
    count = rng.randint(1, 4)
    needles = [f"{rng.choice(NEEDLES)} no {number} {rng.choice(NEEDLES)}" for number in range(count)]
    lines = depth_lines(count, rng.choice(["even", "diff", "random"]), rng.choice([0, 2, 10]), seed)
    request = request_of(tokenizer, rng.randint(200, 500), needles, language, lines, rng.choice(FRAMES))
    try:
        haystack = filler.fill(request)
    except FitError:
        return
    (joined,) = filler._joined.values()
    fitting = Fitting(request, tokenizer, Counter(tokenizer))
    extent = fitting._extent(haystack, joined.sentences, joined.added[request.secret])
    assert haystack.before is not None
    middles = (haystack.before[:-1] + haystack.before[1:]) * (50 / haystack.tokens)
    turns = sorted({0.0, 100.0, *(((middles[:, None] - [x.offset for x in lines]) / [x.slope for x in lines]).ravel())})
    depths = [0.0, 100.0, *((a + b) / 2 for a, b in itertools.pairwise(turns) if a >= 0 and b <= 100)]
    counts = [prompt_tokens(request, haystack, depth, tokenizer) for depth in depths]
    assert (extent.fewest, extent.most) == (min(counts), max(counts))


@steady
@given(seed=seeds)
def test_arrangements_include_the_one_for_every_depth(seed: int) -> None:
    rng = random.Random(seed)
    before = np.cumsum([0, *(rng.randint(1, 60) for _ in range(rng.randint(1, 25)))])
    tokens = int(before[-1])
    count = rng.randint(1, 4)
    lines = depth_lines(count, rng.choice(["even", "diff", "random"]), rng.choice([0, 3, 25, 60]), seed)
    known = {tuple(arrangement) for arrangement in arrangements(before, tokens, lines).tolist()}
    for depth in (0.0, 100.0, *(rng.uniform(0, 100) for _ in range(300))):
        arrangement = nearest(before, [line.at(depth) / 100 * tokens for line in lines])
        assert tuple(arrangement.tolist()) in known


def test_picked_sentences_occur_once_at_the_end_of_an_inner_paragraph(cl100k: BytePairTokenizer) -> None:
    texts = [f"Story {n} is told. Tale {n} has {'very ' * (n % 11)}many words. Yarn {n} ends." for n in range(50)]
    filler = NativeFiller(corpus_of(texts), cl100k)
    put_in = 0
    for length in range(120, 500, 9):
        request = request_of(cl100k, length, ["The gate is green."], "en", depth_lines(1, "even", 25, 0), FRAMES[0])
        haystack = filler.fill(request)
        if haystack.inside is None:
            continue
        put_in += 1
        text = haystack.data.decode()
        inside = haystack.inside.data.decode()
        assert re.match(" [STY]", inside)
        assert text[haystack.at + len(inside)] == "\n"
        assert text.count(inside) == 1
        for sentence in re.split(r"(?<=\.) ", inside.strip()):
            assert any(sentence in document for document in texts)
            assert text.count(sentence) == 1
    assert put_in > 10


@each(("name", "language"), [("en_essays", "en"), ("zh_articles", "zh")])
def test_the_text_before_depth_100_is_a_paragraph_of_the_corpus(
    tokenizer: BytePairTokenizer, name: str, language: str
) -> None:
    """A whole paragraph, or at least four sentences of it, as the corpus has them."""
    corpus = read_corpus(locate(name))
    lines = {line.strip() for document in corpus.documents for line in document.text.split("\n")}
    filler = NativeFiller(corpus, tokenizer)
    needle = ["The gate is green." if language == "en" else "大门是绿色的。"]
    for length in range(1000, 3000, 250):
        request = request_of(tokenizer, length, needle, language, depth_lines(1, "even", 25, 0), FRAMES[1])
        haystack = filler.fill(request)
        last = haystack.data.decode().rsplit("\n", 1)[-1]
        assert any(last in line for line in lines)
        assert last in lines or len(sentence_ends(last)) >= 4
        assert haystack.inside is None or haystack.at + len(haystack.inside.data) + len(last.encode()) < haystack.size


@each("spread", ["even", "diff", "random", [70, 30]])
def test_depth_lines_follow_the_spread_of_a_set(spread: str | list[float]) -> None:
    lines = depth_lines(2, spread, 20, 7)
    first, second = ([line.at(depth) for depth in (0, 50, 95, 100)] for line in lines)
    if isinstance(spread, list):
        assert (first, second) == ([70] * 4, [30] * 4)
    else:
        assert first == [0, 50, 95, 100]
        assert all(a <= b <= 100 for a, b in zip(first, second, strict=True))
    if spread == "even":
        assert second == [50, 75, 97.5, 100]
    if spread == "diff":
        assert second == [20, 70, 100, 100]
    if spread == "random":
        assert depth_lines(2, spread, 20, 7) == lines != depth_lines(2, spread, 20, 8)
