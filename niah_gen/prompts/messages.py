"""Describes a prompt as messages, each a text that many prompts share with a few edits.

A prompt that is one text is a single message without a role.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from niah_gen.tokenizers.counted import NOTHING, Counted, Edit, edited, measured
from niah_gen.tokenizers.find import Tokenizer


class PromptMessage(NamedTuple):
    """One message: the first `end` code points of a text, with edits.

    `role`: None for a prompt that is one text. `needles`: where each needle is, in code points of the message; every
    one is in what an edit puts in.
    """

    role: str | None
    source: Counted
    end: int
    edits: tuple[Edit, ...] = ()
    needles: tuple[tuple[int, int], ...] = ()

    @property
    def text(self) -> str:
        """What the message says."""
        return edited(self.source, self.edits, self.end)

    def measured(self, spans: Sequence[tuple[int, int]], tokenizer: Tokenizer) -> tuple[int, list[tuple[int, int]]]:
        """Its tokens, and those that cover each of some code points in what edits put in."""
        return measured(self.source, self.edits, self.end, spans, tokenizer)

    def between(self, before: str, after: str) -> PromptMessage:
        """The message with more text before and after it."""
        edits = (Edit(0, 0, before), *self.edits, Edit(self.end, self.end, after))
        moved = tuple((start + len(before), end + len(before)) for start, end in self.needles)
        return self._replace(edits=edits, needles=moved)


def said(role: str | None, text: str, starts: Sequence[int] = (), needles: Sequence[str] = ()) -> PromptMessage:
    """A message of a text of its own. `starts`: the code point at which each of the needles in it begins."""
    spans = tuple((start, start + len(needle)) for start, needle in zip(starts, needles, strict=True))
    return PromptMessage(role, NOTHING, 0, (Edit(0, 0, text),), spans)
