"""Reads prompt templates: one text, chat messages, or both. Templates are data files.

A template has `text`, `chat` (a list of messages), or both; `{context}` and `{question}` occur once each, the question
at the end. Tables `start` and `both` are the same with the question before the context, or before and after it.
`{opening}`, what an item says before its context, may be anywhere. A name without a language (`niah`) means `niah-en`,
`niah-zh` and so on. `guide` rules change a guided prompt's question. Functions that look names up take `own`: the
user's own templates, by name.

The templates `niah-<language>` are made from the words in the language's file, with the same instruction for every
position of the question. Both forms ask the same; the text form ends where a base model would continue.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from niah_score.contract import Message, PromptForm
from niah_score.text.language import ALWAYS_READ, Language, find_language, language_codes

_FOLDER = Path(__file__).parents[1] / "library" / "templates"
CONTEXT, QUESTION, OPENING = "{context}", "{question}", "{opening}"
# The template that is made for every language.
MADE = "niah"
_GUIDED = ("opencompass", "opencompass-processed")


class Position(NamedTuple):
    """Where the question goes: in words, and how often it is before and after the context."""

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
    """How a guided prompt changes the question: one phrase is replaced by another, or a text is appended.

    A question that holds the phrase several times is cut at the second, as in the published generators.
    """

    split: str | None = None
    insert: str = ""
    append: str = ""

    def applies(self, question: str) -> bool:
        """Whether the question has the phrase to split at."""
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
        """The forms that the wording has, the preferred one first."""
        return (*(("text",) if self.text is not None else ()), *(("chat",) if self.chat is not None else ()))

    def messages(self, form: PromptForm) -> tuple[Message, ...]:
        """The wording as messages. Text is one message of role `user`; chat becomes text joined by blank lines."""
        if form == "text":
            joined = self.text
            if joined is None:
                joined = "\n\n".join(message["content"] for message in self.chat or ())
            return (Message(role="user", content=joined),)
        return self.chat or (Message(role="user", content=self.text or ""),)


@dataclass(frozen=True, slots=True)
class Template:
    """One prompt template: a wording for each position of the question that it supports, the usual one first.

    `guide` maps a placement, or `default`, to its rule.
    """

    name: str
    language: str
    wordings: Mapping[str, Wording]
    guide: Mapping[str, GuideRule]

    def forms(self) -> tuple[PromptForm, ...]:
        """The forms that the template has, the preferred one first."""
        return next(iter(self.wordings.values())).forms()

    def guide_rule(self, placement: str) -> GuideRule | None:
        """The rule of a placement; None if its guided prompts do not differ."""
        return self.guide.get(placement, self.guide.get("default"))


@lru_cache(maxsize=1)
def _library() -> dict[str, Template]:
    files = (tomllib.loads(file.read_text("utf-8")) for file in sorted(_FOLDER.iterdir()))
    return {name: parse_template(name, table) for tables in files for name, table in tables.items()}


def template_library() -> dict[str, Template]:
    """All templates that come with the package or are made from language files, by name, sorted.

    Raises LanguageError if a language file is wrong.
    """
    made = (_made_of(find_language(code)) for code in language_codes())
    return dict(sorted((_library() | {template.name: template for template in made}).items()))


def named_template(name: str, own: Mapping[str, Template]) -> Template | None:
    """The template of exactly that name, of the recipe's `own` or the library's; None if there is none.

    Only the language file that it is made from is read. Raises LanguageError if that is wrong.
    """
    template = own.get(name) or _library().get(name)
    code = name.removeprefix(f"{MADE}-")
    if template is None and code != name and code in language_codes():
        return _made_of(find_language(code))
    return template


@lru_cache(maxsize=64)
def _made_of(language: Language) -> Template:
    """The template made from the words of a language."""
    words = language.prompt
    context = f"<{words.document}>\n{CONTEXT}\n</{words.document}>"
    # Where published placements guide their own prompts, ours are guided too.
    rule = GuideRule(append=words.guide)
    guide = dict.fromkeys(_GUIDED, rule) if words.guide else {}

    def wording(*parts: str) -> Wording:
        said = "\n\n".join((words.instruction, *parts))
        # The answer follows the question on the next line, and a context after a blank one.
        answer = f"\n{words.answer}" if parts[-1] == words.question else f"\n\n{words.answer}"
        return Wording(said + answer, (Message(role="user", content=said),))

    wordings = {
        "end": wording(context, words.question),
        "start": wording(words.question, context),
        "both": wording(words.question, context, words.question),
    }
    return Template(f"{MADE}-{language.code}", language.code, wordings, guide)


def parse_template(name: str, table: Mapping[str, Any]) -> Template:
    """The template of a table. Raises ValueError if the question or the context is misplaced."""
    guide = {placement: GuideRule(**rule) for placement, rule in table.get("guide", {}).items()}
    tables = {"end": table} if "text" in table or "chat" in table else {}
    tables |= {position: table[position] for position in POSITIONS if position in table}
    wordings = {
        position: Wording(worded.get("text"), tuple(map(_message, worded["chat"])) if "chat" in worded else None)
        for position, worded in tables.items()
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
    """What is wrong with the places of context and question in a prompt's messages; None if nothing is."""
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
        f"guide: the question of needle {needle!r} lacks {rule.split!r}, which guided prompts of template "
        f"{template.name!r} rewrite; add the phrase or set guide = false"
    )


def base_name(name: str) -> str:
    """A template's name without its language: `niah` for `niah-en`."""
    code = next((code for code in language_codes() if name.endswith(f"-{code}")), None)
    return name.removesuffix(f"-{code}") if code else name


def template_names(own: Mapping[str, Template] | None = None) -> list[str]:
    """The names that a recipe may use: each template's, with and without its language."""
    names = {*_library(), *(own or {}), *(f"{MADE}-{code}" for code in language_codes())}
    return sorted({*names, *map(base_name, names)})


def template_for(name: str, language: str, own: Mapping[str, Template] | None = None) -> Template | None:
    """The template that a name means in a language; None if there is none."""
    return named_template(name, own or {}) or named_template(f"{name}-{language}", own or {})


def template_family(
    name: str, own: Mapping[str, Template] | None = None, languages: Sequence[str] = ALWAYS_READ
) -> dict[str, object]:
    """Everything that a template name means in some languages, for digests."""
    whole = named_template(name, own or {})
    members = [whole] if whole else [named_template(f"{name}-{code}", own or {}) for code in languages]
    return {member.name: _digested(member) for member in members if member}


def _digested(template: Template) -> dict[str, object]:
    end = template.wordings.get("end")
    return {
        "text": end and end.text,
        "chat": end and end.chat,
        **{position: [w.text, w.chat] for position, w in template.wordings.items() if position != "end"},
        "guide": {key: [rule.split, rule.insert, rule.append] for key, rule in template.guide.items()},
    }
