"""Fills in a template's question, and puts contexts, texts with edits, into its hole, the place of `{context}`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from niah_gen.errors import RecipeError
from niah_gen.prompts.templates import CONTEXT, OPENING, QUESTION, Template
from niah_gen.tokenizers.counted import NOTHING, Counted, Edit, edited, measured
from niah_gen.tokenizers.find import Tokenizer
from niah_score.contract import PromptForm


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


_NO_TURNS = (
    "template: a conversation needs a chat template with a message that is {context} alone, such as gkamradt-openai"
)


class FrameMessage(NamedTuple):
    """A message of a template with its question filled in. `role`: None for a prompt that is one text."""

    role: str | None
    content: str


@dataclass(frozen=True, slots=True)
class Frame:
    """A prompt without its context, which goes between `before` and `after` in message number `hole`.

    `messages`: all of them; the one with the hole has `before` and `after` joined as its content. `question`: as the
    prompt asks it.
    """

    messages: tuple[FrameMessage, ...]
    hole: int
    before: str
    after: str
    question: str = ""

    @property
    def others(self) -> tuple[str, ...]:
        """The contents of the messages without the hole."""
        return tuple(message.content for n, message in enumerate(self.messages) if n != self.hole)

    def takes_turns(self) -> bool:
        """Whether a conversation can replace the message with the hole: only in a chat, if it is all of the message."""
        return self.messages[self.hole].role is not None and not self.before and not self.after

    def around(self, turns: Sequence[PromptMessage]) -> tuple[PromptMessage, ...]:
        """The prompt around a context.

        `turns`: one message without a role, whose text goes into the hole, or the messages of a conversation, which
        replace the message with the hole. Raises RecipeError if the template takes no conversation.
        """
        if len(turns) == 1 and turns[0].role is None:
            role = self.messages[self.hole].role
            middle = [turns[0].between(self.before, self.after)._replace(role=role)]
        elif self.takes_turns():
            middle = list(turns)
        else:
            raise RecipeError([_NO_TURNS])
        messages = [said(*message) for message in self.messages]
        return (*messages[: self.hole], *middle, *messages[self.hole + 1 :])

    def asked_alone(self) -> tuple[PromptMessage, ...]:
        """The question alone as a prompt of the same form: no context, and nothing that mentions one."""
        is_text = self.messages[0].role is None
        return (said(None, f"{self.question}\n") if is_text else said("user", self.question),)


def make_frame(
    template: Template,
    form: PromptForm,
    placement: str,
    guide: bool,
    question: str,
    position: str = "end",
    opening: str = "",
) -> Frame:
    """The prompt around a context, for one question.

    `position`: where the question goes, a key of POSITIONS. `placement`: whose rule changes a guided question.
    `opening`: what replaces `{opening}` in the template.
    """

    def filled_in(text: str) -> str:
        return text.replace(OPENING, opening).replace(QUESTION, asked)

    rule = template.guide_rule(placement) if guide else None
    asked = rule.apply(question) if rule else question
    messages = template.wordings[position].messages(form)
    hole = next(number for number, message in enumerate(messages) if CONTEXT in message["content"])
    before, after = map(filled_in, messages[hole]["content"].split(CONTEXT))
    filled = [
        FrameMessage(
            None if form == "text" else message["role"],
            before + after if number == hole else filled_in(message["content"]),
        )
        for number, message in enumerate(messages)
    ]
    return Frame(tuple(filled), hole, before, after, asked)
