"""Reads prompt templates: one text, chat messages, or both. Templates are data files.

A template has `text`, `chat` (a list of messages), or both; `{context}` and `{question}` occur once each, the question
at the end. Tables `start` and `both` are the same with the question before the context, or before and after it.
`{opening}`, what an item says before its context, may be anywhere. A name without a language (`niah`) means `niah-en`,
`niah-zh` and so on. `guide` rules change a guided prompt's question. Functions that look names up take `own`: the
user's own templates, by name.

The templates `niah-<language>` are made from the words in the language's file, with the same instruction for every
position of the question. Both forms ask the same; the text form ends where a base model would continue.

Users' own templates come from a file like the library's, or from a recipe that recorded them. `my.toml` with tables
such as `[mine-en]` and `[mine-zh]` means the template `mine`; `my.toml#mine` picks one if a file has several. The
tables become part of the recipe, so that the file is not needed again.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from niah_gen.errors import RecipeError, suggestion
from niah_gen.fields import Fields, one_of, parse_list, parse_string, parse_text, read_toml
from niah_score.contract import Message, PromptForm
from niah_score.text.language import ALWAYS_READ, Language, find_language, language_codes

_FOLDER = Path(__file__).parents[1] / "library" / "templates"
CONTEXT, QUESTION, OPENING = "{context}", "{question}", "{opening}"
# The template that is made for every language.
MADE = "niah"
_GUIDED = ("opencompass", "opencompass-processed")
# Where the question goes, in words.
POSITIONS = {"end": "the end", "start": "the start", "both": "the start and the end"}
_ROLES = ("system", "developer", "user", "assistant")


@dataclass(frozen=True, slots=True)
class GuideRule:
    """How a guided prompt changes the question: one phrase is replaced by another, or a text is appended.

    A question that holds the phrase several times is cut at the second, as in the published generators.
    """

    split: str | None = None
    insert: str = ""
    append: str = ""

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
        if form == "chat" and self.chat:
            return self.chat
        joined = "\n\n".join(message["content"] for message in self.chat or ())
        return (Message(role="user", content=joined if self.text is None else self.text),)


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
    return {name: read_template(name, table, []) for tables in files for name, table in tables.items()}


def named_template(name: str, own: Mapping[str, Template] = {}) -> Template | None:
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
    guide = dict.fromkeys(_GUIDED, GuideRule(append=words.guide)) if words.guide else {}

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


def read_template(name: str, table: object, problems: list[str]) -> Template:
    """The template of a table. Adds everything that is wrong with it to `problems`; each sentence begins `[name]`."""
    known = ("language", "text", "chat", "start", "both", "guide")
    fields = Fields(table, problems, f"[{name}]", known)
    language = fields.take("language", one_of(language_codes()), "", required=True)
    beside = [position for position in ("start", "both") if position in fields.raw]
    wordings = {"end": _wording(fields, "end")} if {"text", "chat"} & fields.raw.keys() or not beside else {}
    for position in beside:
        worded = Fields(fields.raw[position], problems, f"[{name}.{position}]", ("text", "chat"))
        wordings[position] = _wording(worded, position)
    rules = Fields(fields.raw.get("guide", {}), problems, f"[{name}.guide]").raw
    guide = {placement: _guide_rule(rule, f"[{name}.guide].{placement}", problems) for placement, rule in rules.items()}
    return Template(name, language, wordings, guide)


def _wording(fields: Fields, position: str) -> Wording:
    problems, where = fields.problems, fields.where
    before, counts = len(problems), [int(position != "end"), int(position != "start")]
    if not {"text", "chat"} & fields.raw.keys():
        problems.append(f"{where}: has neither text nor chat; expected one of them, or both")
    text = fields.take("text", parse_text, None)
    chat = []
    given: list[Any] = fields.take("chat", parse_list, [])
    for number, table in enumerate(given, 1):
        message = Fields(table, problems, f"{where}.chat[{number}]", ("role", "content"))
        role = message.take("role", one_of(_ROLES), "", required=True)
        chat.append(Message(role=role, content=message.take("content", parse_text, "", required=True)))
    wording = Wording(text, tuple(chat) or None)
    wrong = problems[before:]
    for form in wording.forms():
        if any(problem.startswith(f"{where}.{form}") for problem in wrong):
            continue
        whole = "".join(message["content"] for message in wording.messages(form))
        if [side.count(QUESTION) for side in whole.split(CONTEXT)] != counts:
            sides = " and ".join(side for side, count in zip(("before it", "after it"), counts, strict=True) if count)
            problems.append(f"{where}.{form}: expected {CONTEXT} once, with {QUESTION} once {sides}")
    return wording


def _guide_rule(rule: object, where: str, problems: list[str]) -> GuideRule:
    fields = Fields(rule, problems, where, ("split", "insert", "append"))
    if fields.raw.keys() not in ({"append"}, {"split", "insert"}):
        problems.append(f"{where}: expected either append, or split and insert; found {rule!r}")
    split = fields.take("split", parse_text, None)
    return GuideRule(split, fields.take("insert", parse_string, ""), fields.take("append", parse_string, ""))


def guide_problem(template: Template, placement: str, needle: str, question: str) -> str | None:
    """Why a needle's question cannot be guided; None if it can. `needle`: its name, for the sentence."""
    rule = template.guide_rule(placement)
    if rule is None or rule.split is None or rule.split in question:
        return None
    return (
        f"guide: the question of needle {needle!r} lacks {rule.split!r}, which guided prompts of template "
        f"{template.name!r} rewrite; add the phrase or set guide = false"
    )


def base_name(name: str) -> str:
    """A template's name without its language: `niah` for `niah-en`."""
    code = next((code for code in language_codes() if name.endswith(f"-{code}")), None)
    return name.removesuffix(f"-{code}") if code else name


def template_names(own: Mapping[str, Template]) -> list[str]:
    """The names that a recipe may use: each template's, with and without its language."""
    names = {*_library(), *own, *(f"{MADE}-{code}" for code in language_codes())}
    return sorted({*names, *map(base_name, names)})


def template_for(name: str, language: str, own: Mapping[str, Template] = {}) -> Template | None:
    """The template that a name means in a language; None if there is none."""
    return named_template(name, own) or named_template(f"{name}-{language}", own)


def template_family(
    name: str, own: Mapping[str, Template] = {}, languages: Sequence[str] = ALWAYS_READ
) -> dict[str, object]:
    """Everything that a template name means in some languages, for digests."""
    whole = named_template(name, own)
    members = [whole] if whole else [named_template(f"{name}-{code}", own) for code in languages]
    return {member.name: _digested(member) for member in members if member}


def _digested(template: Template) -> dict[str, object]:
    end = template.wordings.get("end")
    return {
        "text": end and end.text,
        "chat": end and end.chat,
        **{position: [w.text, w.chat] for position, w in template.wordings.items() if position != "end"},
        "guide": {key: [rule.split, rule.insert, rule.append] for key, rule in template.guide.items()},
    }


def is_file(spec: object) -> bool:
    """Whether a recipe's `template` is a file's path, `my.toml` or `my.toml#name`, instead of a name."""
    return isinstance(spec, str) and spec.partition("#")[0].endswith(".toml")


def read_template_file(spec: str) -> tuple[str, dict[str, Any]]:
    """What a file's path means: the name for a recipe's `template`, and the tables that it needs.

    Raises RecipeError with everything that is wrong in the file, and where.
    """
    path, _, name = spec.partition("#")
    text, tables = read_toml(Path(path))
    problems: list[str] = []
    own_templates(tables, problems)
    if problems:
        raise RecipeError([f"{path}:{_line_of(problem, text)}: {problem}" for problem in problems])
    names = sorted({base_name(table_name) for table_name in tables})
    if not name and len(names) > 1:
        raise RecipeError([f"{path}: has templates {', '.join(names)}; say which, such as {path}#{names[0]}"])
    name = name or "".join(names)
    chosen = {full: table for full, table in tables.items() if name in (full, base_name(full))}
    if not chosen:
        raise RecipeError([f"{path}: has no template {name!r}{suggestion(name, names)}"])
    return name, chosen


def _line_of(problem: str, text: str) -> int:
    """The line of the table that a problem begins with."""
    name = re.escape(problem[1 : problem.index("]")].split(".")[0])
    match = re.search(rf"^[ \t]*\[*[ \t]*[\"']?{name}(?![\w-])", text, re.MULTILINE)
    return text.count("\n", 0, match.start()) + 1 if match else 1


def own_templates(tables: Mapping[str, Any], problems: list[str]) -> dict[str, Template]:
    """The templates of the user's tables, by name. Adds everything that is wrong to `problems`, a sentence each."""
    for name, table in tables.items():
        base = base_name(name)
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}", name):
            problems.append(f"[{name}]: expected a name of at most 64 letters, digits, - and _")
        if any(template_for(name, code) for code in language_codes()) or named_template(base):
            problems.append(f"[{name}]: a template of the package has this name; rename yours")
        if base != name and base in tables:
            problems.append(f"[{name}]: clashes with [{base}], which is for every language; rename one of them")
        language = table.get("language") if isinstance(table, Mapping) else None
        if base != name and language in language_codes() and not name.endswith(f"-{language}"):
            problems.append(f"[{name}].language: is {language!r}, but the name ends in another; change one of them")
    return {name: read_template(name, table, problems) for name, table in tables.items()}


def with_system(template: Template, system: str) -> Template:
    """A template whose chats begin with the system message `system`, instead of any of their own."""
    first = Message(role="system", content=system)
    wordings = {
        position: Wording(wording.text, (first, *(one for one in wording.messages("chat") if one["role"] != "system")))
        for position, wording in template.wordings.items()
    }
    return replace(template, wordings=wordings)


def wrong_system(template: Template, form: PromptForm) -> str | None:
    """Why a recipe cannot set the system message of a template's prompts; None if it can."""
    if form == "text":
        return 'a prompt that is one text has no messages; ask for chat (--chat, or form = "chat"), or leave system out'
    chats = (wording.messages("chat") for wording in template.wordings.values())
    held = "".join(message["content"] for chat in chats for message in chat if message["role"] == "system")
    if CONTEXT in held or QUESTION in held:
        return f"the system message of template {template.name!r} holds {CONTEXT} or {QUESTION} and cannot be replaced"
    return None
