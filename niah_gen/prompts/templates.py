"""Reads prompt templates: one text, chat messages, or both. Templates are data files.

A template has `text`, `chat` (a list of messages), or both; `{context}` and `{question}` stand once each, the question
at the end. Tables `start` and `both` hold the same with the question before the context, or before and after it.
`{opening}` may stand anywhere: what an item says before its context. A name without language (`niah`) stands for the
pair `niah-en`, `niah-zh`. `guide` rules change a guided prompt's question. Functions that look names up take `own`:
templates of a user's own, by name.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from niah_score.contract import Message, PromptForm

_FOLDER = Path(__file__).parents[1] / "library" / "templates"
CONTEXT, QUESTION, OPENING = "{context}", "{question}", "{opening}"


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
    """One prompt template: a wording for each position of the question that it has, the usual one first.

    `guide` maps a placement, or `default`, to its rule.
    """

    name: str
    language: str
    wordings: Mapping[str, Wording]
    guide: Mapping[str, GuideRule]

    def forms(self) -> tuple[PromptForm, ...]:
        """The forms that the template itself has, the preferred one first."""
        return next(iter(self.wordings.values())).forms()

    def guide_rule(self, placement: str) -> GuideRule | None:
        """The rule of a placement, if guided prompts differ at all."""
        return self.guide.get(placement, self.guide.get("default"))


@lru_cache(maxsize=1)
def template_library() -> dict[str, Template]:
    """All templates that come with the package, by name, sorted."""
    found: dict[str, Template] = {}
    for file in sorted(_FOLDER.iterdir()):
        for name, table in tomllib.loads(file.read_text("utf-8")).items():
            found[name] = parse_template(name, table)
    return dict(sorted(found.items()))


def parse_template(name: str, table: Mapping[str, Any]) -> Template:
    """The template of a table. Raises ValueError where the question or the context is misplaced."""
    guide = {placement: GuideRule(**rule) for placement, rule in table.get("guide", {}).items()}
    tables = {"end": table} if "text" in table or "chat" in table else {}
    tables |= {position: table[position] for position in POSITIONS if position in table}
    wordings = {
        position: Wording(found.get("text"), tuple(map(_message, found["chat"])) if "chat" in found else None)
        for position, found in tables.items()
    }
    for position, wording in wordings.items():
        for form in wording.forms():
            problem = wrong_sides(position, [message["content"] for message in wording.messages(form)])
            if problem:
                raise ValueError(f"template {name!r}, question at {position}: {problem}")
    return Template(name, table["language"], wordings, guide)


def _message(table: Mapping[str, str]) -> Message:
    return Message(role=table["role"], content=table["content"])


def wrong_sides(position: str, contents: Sequence[str]) -> str | None:
    """What is wrong with where context and question stand in a prompt's messages; None if nothing is."""
    whole = "".join(contents)
    if whole.count(CONTEXT) != 1:
        return f"expected {CONTEXT} once, where the haystack goes; found it {whole.count(CONTEXT)} times"
    before, after = (side.count(QUESTION) for side in whole.split(CONTEXT))
    wanted = POSITIONS[position]
    if (before, after) == (wanted.before, wanted.after):
        return None
    sides = [f"once {side} {CONTEXT}" for side, count in (("before", wanted.before), ("after", wanted.after)) if count]
    return (
        f"with the question at {wanted.words}, expected {QUESTION} {' and '.join(sides)}; "
        f"found it {before} times before and {after} times after"
    )


def guide_problem(template: Template, placement: str, needle: str, question: str) -> str | None:
    """Why a needle's question cannot be guided; None if it can. `needle`: its name, for the sentence."""
    rule = template.guide_rule(placement)
    if rule is None or rule.applies(question):
        return None
    return (
        f"guide: the question of needle {needle!r} lacks {rule.split!r}, where a guided prompt of template "
        f"{template.name!r} is rewritten; add the phrase or set guide = false"
    )


def base_name(name: str) -> str:
    """A template's name without its language: `niah` for `niah-en`."""
    return name.rsplit("-", 1)[0] if name.endswith(("-en", "-zh")) else name


def template_names(own: Mapping[str, Template] | None = None) -> list[str]:
    """Names that a recipe may give: each template, and each pair without its language."""
    library = {**template_library(), **(own or {})}
    return sorted({*library, *map(base_name, library)})


def template_for(name: str, language: str, own: Mapping[str, Template] | None = None) -> Template | None:
    """The template that a name stands for in a language; None if there is none."""
    library = {**template_library(), **own} if own else template_library()
    return library.get(name) or library.get(f"{name}-{language}")


def template_family(name: str, own: Mapping[str, Template] | None = None) -> dict[str, object]:
    """Everything that a template name stands for in any language, which family digests cover."""
    library = {**template_library(), **(own or {})}
    members = [library[found] for found in (name, f"{name}-en", f"{name}-zh") if found in library]
    if name in library:
        members = members[:1]
    return {member.name: _digested(member) for member in members}


def _digested(template: Template) -> dict[str, object]:
    end = template.wordings.get("end")
    return {
        "text": end and end.text,
        "chat": end and end.chat,
        **{position: [w.text, w.chat] for position, w in template.wordings.items() if position != "end"},
        "guide": {key: [rule.split, rule.insert, rule.append] for key, rule in template.guide.items()},
    }
