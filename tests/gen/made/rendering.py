"""Finds templates, makes prompts around plain texts, and requests for haystacks, for tests."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from niah_gen.corpora.declarations import CorpusFile
from niah_gen.corpora.read import Corpus, Document
from niah_gen.haystacks.haystack import FillRequest, Haystack, Secret
from niah_gen.haystacks.placement import DepthTargets, depth_lines, place_nearest
from niah_gen.prompts.frame import Frame, FrameMessage, said
from niah_gen.prompts.templates import CONTEXT, QUESTION, Template, named_template, template_for, template_names
from niah_gen.tokenizers.counted import edited
from niah_gen.tokenizers.find import Tokenizer
from niah_score.contract import Message, PromptForm


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


# Extracts and changes the contexts of rows whose context is one text, all of it haystack, for tests


def around(row: Any) -> tuple[str, str]:
    """The text of a row's template before and after the context, with the question filled in."""
    form: PromptForm = "text" if isinstance(row["prompt"], str) else "chat"
    template = template_for(row["template"], row["language"])
    assert template is not None
    contents = [message["content"] for message in template.wordings["end"].messages(form)]
    (content,) = (content for content in contents if CONTEXT in content)
    before, after = content.replace(QUESTION, row["question"] or "").split(CONTEXT)
    return before, after


def context_of(row: Any) -> str:
    before, after = around(row)
    prompt = row["prompt"] if isinstance(row["prompt"], str) else row["prompt"][row["context_message"]]["content"]
    return str(prompt).removeprefix(before).removesuffix(after)


# Makes corpora of texts, and reads what fillers make of them, for tests


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


def below_at_all_depths(asked: FillRequest, haystack: Haystack, tokenizer: Tokenizer) -> list[int]:
    """How many tokens whole prompts, encoded in one piece, stay below their budget at several depths."""
    left = []
    for depth in (0, 3, 37, 50, 81.5, 99, 100):
        hide = asked.secret.texts
        targets = DepthTargets(depth, 25, depth_lines(len(hide), "even", 25, 0) if hide else (), asked.joiner)
        context = edited(haystack.source, place_nearest(haystack, hide, targets, tokenizer).edits, haystack.end)
        left.append(asked.length - asked.reserve - tokenizer.count(asked.frame.before + context + asked.frame.after))
    return left
