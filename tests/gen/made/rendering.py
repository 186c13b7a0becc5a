"""Finds templates, makes prompts around plain texts, and requests for haystacks, for tests."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from pathlib import Path

from niah_gen.corpora.declarations import CorpusFile
from niah_gen.corpora.read import Corpus, Document
from niah_gen.haystacks.haystack import FillRequest, Haystack, Secret
from niah_gen.prompts.frame import Frame, FrameMessage, said
from niah_gen.prompts.templates import Template, named_template, template_names
from niah_gen.tokenizers.find import Tokenizer
from niah_score.contract import Message


def template_library() -> dict[str, Template]:
    """All templates that the package ships or makes, by name."""
    return {name: template for name in template_names({}) if (template := named_template(name))}


def library(name: str) -> Template:
    """A template that the package ships."""
    return template_library()[name]


def filled(frame: Frame, context: str) -> str | list[Message]:
    """The prompt around a context that is one text."""
    messages = frame.around([said(None, context)])
    contents = [message.text for message in messages]
    if messages[0].role is None:
        return contents[0]
    return [
        Message(role=message.role or "", content=content) for message, content in zip(messages, contents, strict=True)
    ]


def request(tokenizer: Tokenizer, length: int, *, needle: str = "N", keywords: Sequence[str] = ()) -> FillRequest:
    """A request for a haystack that hides one needle in English; its prompt is its context alone."""
    secret = Secret("n", (needle,), tuple((word,) for word in keywords))
    empty = Frame((FrameMessage(None, ""),), 0, "", "")
    return FillRequest(length, length, 0, 0, 0, secret, empty, " ")


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


def request_for(
    hide: Sequence[str], length: int, tokenizer: Tokenizer, joiner: str = "\n", seed: int = 0,
    keywords: tuple[tuple[str, ...], ...] = (),
) -> FillRequest:  # fmt: skip
    """A request to hide some texts, spread evenly, with 100 tokens kept free for the answer."""
    frame = Frame((FrameMessage(None, "Before.\n\n\n\nAfter?"),), 0, "Before.\n\n", "\n\nAfter?", "After?")
    return FillRequest(length, length, 100, 0, seed, Secret("k", tuple(hide), keywords), frame, joiner)


def assert_counted(haystack: Haystack, tokenizer: Tokenizer) -> None:
    """The tokens before each place, and all of them, are those of the text encoded whole."""
    assert haystack.places is not None
    assert haystack.before is not None
    assert haystack.before.tolist() == [tokenizer.count(haystack.text[:place]) for place in haystack.places.tolist()]
    assert haystack.tokens == tokenizer.count(haystack.data.decode())
