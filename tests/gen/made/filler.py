"""Makes corpora of texts, and reads what fillers make of them, for tests."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from pathlib import Path

from niah_gen.corpora.declarations import CorpusFile
from niah_gen.corpora.documents import Document
from niah_gen.corpora.read import Corpus
from niah_gen.haystacks.haystack import Haystack
from niah_gen.tokenizers.find import BytePairTokenizer

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
    return haystack.source.text(0, haystack.end)


def token_list(tokenizer: BytePairTokenizer, text: str) -> list[int]:
    """The token ids of a text."""
    return list(tokenizer.encode(text).ids.tolist())


def decoded(tokenizer: BytePairTokenizer, ids: Sequence[int]) -> str:
    """The text of token ids."""
    return tokenizer.encoding.decode(list(ids))
