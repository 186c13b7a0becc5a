"""Makes corpora of texts, and reads what fillers make of them, for tests."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from pathlib import Path

from niah_gen.corpora.declarations import CorpusFile
from niah_gen.corpora.read import Corpus, Document
from niah_gen.haystacks.haystack import FillRequest, Haystack, Secret
from niah_gen.haystacks.placement import DepthTargets, depth_lines, place_nearest
from niah_gen.prompts.frame import Frame, FrameMessage
from niah_gen.tokenizers.counted import edited
from niah_gen.tokenizers.find import BytePairTokenizer, Tokenizer

# What the fixtures odd_text, write_texts and write_jsonl return.
OddText = Callable[[random.Random, int], str]
Write = Callable[[Path, Sequence[str]], Path]

TEXTS = [f"Document number {number} says this. It also says that. 第{number}篇文章。" * 3 for number in range(9)]
MANY = [
    f"Story {n} is about {'a ship' if n % 3 else 'the sea'}. It {'was ' * (n % 7)}ends. So it goes." for n in range(60)
]


def corpus_of(texts: Sequence[str], language: str = "en") -> Corpus:
    """A corpus with one document for each text."""
    documents = tuple(Document(text, f"{number}.txt", 1) for number, text in enumerate(texts))
    return Corpus("test", language, "CC0-1.0", "made up", (CorpusFile("0.txt", "0" * 64),), "0" * 64, documents)


def text_of(haystack: Haystack | None) -> str:
    """The text of a haystack that must be there."""
    assert haystack is not None
    return haystack.text


def request_for(
    hide: Sequence[str], length: int, tokenizer: Tokenizer, joiner: str = "\n", seed: int = 0,
    keywords: tuple[tuple[str, ...], ...] = (),
) -> FillRequest:  # fmt: skip
    """A request to hide some texts, spread evenly, with 100 tokens kept free for the answer."""
    frame = Frame((FrameMessage(None, "Before.\n\n\n\nAfter?"),), 0, "Before.\n\n", "\n\nAfter?", "After?")
    return FillRequest(length, length, 100, 0, seed, Secret("k", tuple(hide), keywords), frame, joiner)


def below_at_all_depths(asked: FillRequest, haystack: Haystack, tokenizer: Tokenizer) -> list[int]:
    """How many tokens whole prompts, encoded in one piece, stay below their budget at several depths."""
    left = []
    for depth in (0, 3, 37, 50, 81.5, 99, 100):
        hide = asked.secret.texts
        targets = DepthTargets(depth, 25, depth_lines(len(hide), "even", 25, 0) if hide else (), asked.joiner)
        context = edited(haystack.source, place_nearest(haystack, hide, targets, tokenizer).edits, haystack.end)
        left.append(asked.length - asked.reserve - tokenizer.count(asked.frame.before + context + asked.frame.after))
    return left


def token_list(tokenizer: BytePairTokenizer, text: str) -> list[int]:
    """The token ids of a text."""
    return list(tokenizer.encode(text).ids.tolist())


def decoded(tokenizer: BytePairTokenizer, ids: Sequence[int]) -> str:
    """The text of token ids."""
    return tokenizer.encoding.decode(list(ids))
