"""Reads prompt templates: one text, chat messages, or both. Templates are data files.

A template has `text`, `chat` (a list of messages), or both; `{context}` and `{question}` stand once each, the question
at the end. Tables `start` and `both` hold the same with the question before the context, or before and after it. A name
without language (`niah`) stands for the pair `niah-en`, `niah-zh`. `guide` rules change a guided prompt's question.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from niah_score.contract import Message, PromptForm

_FOLDER = Path(__file__).parents[1] / "library" / "templates"
CONTEXT, QUESTION = "{context}", "{question}"


class Position(NamedTuple):
    """Where the question stands: in words, and how often before and after the context."""

    words: str
    before: int
    after: int


POSITIONS = {
    "end": Position("the end", 0, 1),
    "start": Position("the start", 1, 0),
    "both": Position("the start and the end", 1, 1),
}


@dataclass(frozen=True, slots=True)
class GuideRule:
    """How a guided prompt changes the question: parts split at a phrase are joined by another, or a text is appended.

    Only the first two parts are kept, as the published generators do.
    """

    split: str | None = None
    insert: str = ""
    append: str = ""

    def applies(self, question: str) -> bool:
        """Whether the question holds the phrase to split at."""
        return self.split is None or self.split in question

    def apply(self, question: str) -> str:
        """The guided question."""
        if self.split is None:
            return question + self.append
        first, second = question.split(self.split)[:2]
        return first + self.insert + second


@dataclass(frozen=True, slots=True)
class Wording:
    """A prompt in its forms: one text, chat messages, or both."""

    text: str | None
    chat: tuple[Message, ...] | None

    def forms(self) -> tuple[PromptForm, ...]:
        """The forms that the wording itself has, the preferred one first."""
        return (*(("text",) if self.text is not None else ()), *(("chat",) if self.chat is not None else ()))

    def messages(self, form: PromptForm) -> tuple[Message, ...]:
        """The wording as messages. A text form is one message of role `user`; chat asked for as text is joined by
        blank lines."""
        if form == "text":
            joined = self.text
            if joined is None:
                joined = "\n\n".join(message["content"] for message in self.chat or ())
            return (Message(role="user", content=joined),)
        return self.chat or (Message(role="user", content=self.text or ""),)


@dataclass(frozen=True, slots=True)
class Template:
    """One prompt template: a wording for each position of the question that it has; `end` is always one of them.

    `guide` maps a placement, or `default`, to its rule.
    """

    name: str
    language: str
    wordings: Mapping[str, Wording]
    guide: Mapping[str, GuideRule]

    def forms(self) -> tuple[PromptForm, ...]:
        """The forms that the template itself has, the preferred one first."""
        return self.wordings["end"].forms()

    def guide_rule(self, placement: str) -> GuideRule | None:
        """The rule of a placement, if guided prompts differ at all."""
        return self.guide.get(placement, self.guide.get("default"))


@lru_cache(maxsize=1)
def template_library() -> dict[str, Template]:
    """All templates that come with the package, by name, sorted."""
    found: dict[str, Template] = {}
    for file in sorted(_FOLDER.iterdir()):
        for name, table in tomllib.loads(file.read_text("utf-8")).items():
            found[name] = _parse(name, table)
    return dict(sorted(found.items()))


def _parse(name: str, table: dict[str, Any]) -> Template:
    guide = {placement: GuideRule(**rule) for placement, rule in table.get("guide", {}).items()}
    tables = {"end": table} | {position: table[position] for position in POSITIONS if position in table}
    wordings = {
        position: Wording(found.get("text"), tuple(found["chat"]) if "chat" in found else None)
        for position, found in tables.items()
    }
    for position, wording in wordings.items():
        for form in wording.forms():
            whole = "".join(message["content"] for message in wording.messages(form))
            sides = [side.count(QUESTION) for side in whole.split(CONTEXT)]
            if sides != [POSITIONS[position].before, POSITIONS[position].after]:
                raise ValueError(f"template {name!r}, question at {position}: {CONTEXT} or {QUESTION} is misplaced")
    return Template(name, table["language"], wordings, guide)


def guide_problem(template: Template, placement: str, needle: str, question: str) -> str | None:
    """Why a needle's question cannot be guided; None if it can. `needle`: its name, for the sentence."""
    rule = template.guide_rule(placement)
    if rule is None or rule.applies(question):
        return None
    return (
        f"guide: the question of needle {needle!r} lacks {rule.split!r}, where a guided prompt of template "
        f"{template.name!r} is rewritten; add the phrase or set guide = false"
    )


def template_names() -> list[str]:
    """Names that a recipe may give: each template, and each pair without its language."""
    library = template_library()
    pairs = {name.rsplit("-", 1)[0] for name in library if name.endswith(("-en", "-zh"))}
    return sorted({*library, *pairs})


def template_for(name: str, language: str) -> Template | None:
    """The template that a name stands for in a language; None if there is none."""
    library = template_library()
    return library.get(name) or library.get(f"{name}-{language}")


def template_family(name: str) -> dict[str, object]:
    """Everything that a template name stands for in any language, which family digests cover."""
    library = template_library()
    members = [library[name]] if name in library else [library[f"{name}-{code}"] for code in ("en", "zh")]
    return {
        member.name: {
            "text": member.wordings["end"].text,
            "chat": member.wordings["end"].chat,
            **{position: [w.text, w.chat] for position, w in member.wordings.items() if position != "end"},
            "guide": {key: [rule.split, rule.insert, rule.append] for key, rule in member.guide.items()},
        }
        for member in members
    }
