"""Describes a prompt as messages of pieces: slices of texts that many prompts share, and short texts of our own.

A prompt that is one text is a single message without a role.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from niah_gen.tokenizers.fragments import Fragment, literal
from niah_gen.tokenizers.spliced import Counter, Slice
from niah_score.contract import canonical_json

NO_NEEDLE = -1


class Piece(NamedTuple):
    """A piece of a message. `needle`: the number of the needle that it is, or is part of; else -1."""

    content: Slice | str
    needle: int = NO_NEEDLE

    def fragment(self) -> Fragment:
        """The piece ready to be written; broken characters become U+FFFD."""
        if isinstance(self.content, str):
            return literal(self.content)
        return self.content.source.fragment(self.content.start, self.content.end)


class PromptMessage(NamedTuple):
    """One message of a prompt. `role`: None for a prompt that is one text."""

    role: str | None
    pieces: tuple[Piece, ...]


def count_tokens(messages: Sequence[PromptMessage], counter: Counter) -> int:
    """Tokens of a prompt: the sum over its messages, without what a chat template adds around each."""
    return sum(counter.count(piece.content for piece in message.pieces) for message in messages)


def prompt_json(
    prompt: Sequence[PromptMessage], fragments: Sequence[Sequence[Fragment]]
) -> Iterator[bytes | memoryview]:
    """A prompt's canonical JSON in pieces: a string, or a list of messages. `fragments`: those of each message."""
    if prompt[0].role is None:
        yield b'"'
        for fragment in fragments[0]:
            yield from fragment.json
        yield b'"'
        return
    opening = b'[{"content":"'
    for message, parts in zip(prompt, fragments, strict=True):
        yield opening
        for fragment in parts:
            yield from fragment.json
        yield b'","role":' + canonical_json(message.role) + b"}"
        opening = b',{"content":"'
    yield b"]"
