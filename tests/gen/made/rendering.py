"""Finds templates, makes prompts around plain texts, and requests for haystacks, for tests."""

from __future__ import annotations

from collections.abc import Sequence

from niah_gen.haystacks.haystack import FillRequest, Secret
from niah_gen.prompts.frame import Frame, FrameMessage, said
from niah_gen.prompts.templates import Template, named_template, template_names
from niah_gen.tokenizers.find import Tokenizer
from niah_score.contract import Message

# A prompt that is its context alone.
EMPTY = Frame((FrameMessage(None, ""),), 0, "", "")


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


def request(
    tokenizer: Tokenizer,
    length: int,
    *,
    longest: int = 0,
    reserve: int = 0,
    repeat: int = 0,
    seed: int = 0,
    needle: str = "N",
    keywords: Sequence[str] = (),
    frame: Frame = EMPTY,
) -> FillRequest:
    """A request for a haystack that hides one needle in English."""
    secret = Secret("n", (needle,), tuple((word,) for word in keywords))
    return FillRequest(length, max(length, longest), reserve, repeat, seed, secret, frame, " ")
