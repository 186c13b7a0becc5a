"""Reads users' own templates, from a file like the library's or from a recipe that recorded them.

`my.toml` with tables such as `[mine-en]` and `[mine-zh]` means the template `mine`; `my.toml#mine` picks one if a
file has several. The tables become part of the recipe, so that the file is not needed again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from niah_gen.errors import RecipeError, suggestion
from niah_gen.prompts.templates import (
    CONTEXT,
    POSITIONS,
    QUESTION,
    Template,
    Wording,
    base_name,
    named_template,
    parse_template,
    template_for,
    wrong_sides,
)
from niah_score.contract import Message, PromptForm, parse_toml
from niah_score.text.language import language_codes

Tables = Mapping[str, Any]

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_ROLES = ("system", "developer", "user", "assistant")
_FORMS = ("text", "chat")
_BESIDE_END = tuple(position for position in POSITIONS if position != "end")
_FIELDS = ("language", *_FORMS, *_BESIDE_END, "guide")
_RULE_FIELDS = ("split", "insert", "append")


class OwnTemplate(NamedTuple):
    """What a file's path means: the name for a recipe's `template`, and the tables that it needs."""

    name: str
    tables: dict[str, Any]


def is_file(spec: object) -> bool:
    """Whether a recipe's `template` is a file's path, `my.toml` or `my.toml#name`, instead of a name."""
    return isinstance(spec, str) and spec.partition("#")[0].endswith(".toml")


def read_template_file(spec: str) -> OwnTemplate:
    """The templates of a file. Raises RecipeError with everything that is wrong in it, and where."""
    path, _, name = spec.partition("#")
    try:
        text = Path(path).read_bytes().decode("utf-8-sig")
        tables = parse_toml(text)
    except FileNotFoundError:
        raise RecipeError([f"{path}: no such file"]) from None
    except (OSError, ValueError, RecursionError) as error:
        raise RecipeError([f"{path}: cannot be read as TOML: {error}"]) from None
    if not tables:
        raise RecipeError([f"{path}: expected a table such as [mine-en] with language and text or chat, found none"])
    problems = [f"{path}:{_line_of(problem, text)}: {problem}" for problem in wrong_tables(tables)]
    if problems:
        raise RecipeError(problems)
    names = sorted({base_name(table_name) for table_name in tables})
    if not name and len(names) > 1:
        raise RecipeError([f"{path}: has templates {', '.join(names)}; say which, such as {path}#{names[0]}"])
    name = name or names[0]
    chosen = {full: table for full, table in tables.items() if name in (full, base_name(full))}
    if not chosen:
        raise RecipeError([f"{path}: has no template {name!r}{suggestion(name, names)}"])
    return OwnTemplate(name, chosen)


def _line_of(problem: str, text: str) -> int:
    """The line of the table that a problem begins with."""
    name = re.escape(problem[1 : problem.index("]")].split(".")[0])
    match = re.search(rf"^[ \t]*\[*[ \t]*[\"']?{name}(?![\w-])", text, re.MULTILINE)
    return text.count("\n", 0, match.start()) + 1 if match else 1


def own_templates(tables: Tables) -> dict[str, Template]:
    """The templates of valid tables, by name."""
    return {name: parse_template(name, table) for name, table in tables.items()}


def wrong_tables(tables: object) -> Iterator[str]:
    """Everything that is wrong with tables of templates, a sentence each, which begins with the table in brackets."""
    if not isinstance(tables, Mapping):
        yield f"[templates]: expected a table of templates, found {tables!r}"
        return
    for name, table in tables.items():
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            yield f"[{name}]: expected a name of at most 64 letters, digits, - and _"
            continue
        if any(template_for(name, code) for code in language_codes()) or named_template(base_name(name), {}):
            yield f"[{name}]: a template of the package has this name; rename yours"
        if base_name(name) != name and base_name(name) in tables:
            yield f"[{name}]: clashes with [{base_name(name)}], which is for every language; rename one of them"
        if not isinstance(table, Mapping):
            yield f"[{name}]: expected a table with language and text or chat, found {table!r}"
            continue
        yield from _unknown_fields(f"[{name}]", table, _FIELDS)
        yield from _wrong_language(name, table)
        positions = {"end": table} if any(form in table for form in _FORMS) else {}
        positions |= {position: table[position] for position in _BESIDE_END if position in table}
        if not positions:
            yield f"[{name}]: has neither text nor chat; expected one of them, or both"
        for position, wording in positions.items():
            where = f"[{name}]" if position == "end" else f"[{name}.{position}]"
            yield from _wrong_wording(where, position, wording)
        yield from _wrong_guide(f"[{name}.guide]", table.get("guide", {}))


def _unknown_fields(where: str, table: Tables, known: Sequence[str]) -> Iterator[str]:
    for field in table:
        if field not in known:
            yield f"{where}.{field}: unknown field{suggestion(field, known)}"


def _wrong_language(name: str, table: Tables) -> Iterator[str]:
    language = table.get("language")
    known = " or ".join(language_codes())
    if language is None:
        yield f"[{name}].language: is missing; expected {known}"
    elif language not in language_codes():
        yield f"[{name}].language: expected {known}; found {language!r}"
    elif base_name(name) != name and not name.endswith(f"-{language}"):
        end = name.removeprefix(base_name(name))
        yield f"[{name}].language: is {language!r}, but the name ends in {end!r}; change one of them"


def _wrong_wording(where: str, position: str, wording: object) -> Iterator[str]:
    """What is wrong with the text and the chat of one position of the question."""
    if not isinstance(wording, Mapping):
        yield f"{where}: expected a table with text or chat, found {wording!r}"
        return
    if position != "end":
        yield from _unknown_fields(where, wording, _FORMS)
        if not any(form in wording for form in _FORMS):
            yield f"{where}: has neither text nor chat; expected one of them, or both"
    text, chat = wording.get("text"), wording.get("chat")
    if "text" in wording:
        if not isinstance(text, str) or not text.strip():
            yield f"{where}.text: expected a text; found {text!r}"
        elif problem := wrong_sides(position, [text]):
            yield f"{where}.text: {problem}"
    if "chat" in wording:
        problems = list(_wrong_messages(f"{where}.chat", chat))
        yield from problems
        if not problems and (problem := wrong_sides(position, [message["content"] for message in chat or ()])):
            yield f"{where}.chat: {problem}"


def _wrong_messages(where: str, chat: object) -> Iterator[str]:
    if not isinstance(chat, list | tuple) or not chat:
        yield f"{where}: expected messages, each with role and content; found {chat!r}"
        return
    for number, message in enumerate(chat, 1):
        if not isinstance(message, Mapping):
            yield f"{where}[{number}]: expected a table with role and content; found {message!r}"
            continue
        yield from _unknown_fields(f"{where}[{number}]", message, ("role", "content"))
        if message.get("role") not in _ROLES:
            yield f"{where}[{number}].role: expected {', '.join(_ROLES)}; found {message.get('role')!r}"
        if not isinstance(message.get("content"), str) or not message["content"]:
            yield f"{where}[{number}].content: expected a text; found {message.get('content')!r}"


def _wrong_guide(where: str, guide: object) -> Iterator[str]:
    if not isinstance(guide, Mapping):
        yield f"{where}: expected a table of rules, one for each placement or `default`; found {guide!r}"
        return
    for placement, rule in guide.items():
        if not isinstance(rule, Mapping) or not rule or not all(isinstance(value, str) for value in rule.values()):
            yield f"{where}.{placement}: expected append, or split and insert, as texts; found {rule!r}"
            continue
        yield from _unknown_fields(f"{where}.{placement}", rule, _RULE_FIELDS)
        if (
            ("split" in rule) != ("insert" in rule)
            or ("append" in rule) == ("split" in rule)
            or rule.get("split") == ""
        ):
            yield f"{where}.{placement}: expected either append, or split and insert"


def with_system(template: Template, system: str) -> Template:
    """A template whose chats begin with the system message `system`, instead of any of their own."""
    first = Message(role="system", content=system)
    wordings = {
        position: Wording(
            wording.text, (first, *(message for message in wording.messages("chat") if message["role"] != "system"))
        )
        for position, wording in template.wordings.items()
    }
    return Template(template.name, template.language, wordings, template.guide)


def wrong_system(name: str, tables: Tables, form: PromptForm) -> list[str]:
    """Why a recipe cannot set the system message of a template's prompts; empty if it can. `tables`: the user's own."""
    if form == "text":
        return [
            'system: a prompt that is one text has no messages; ask for chat (--chat, or form = "chat"), or leave '
            "system out"
        ]
    own = own_templates(tables)
    problems = []
    for template in filter(None, (template_for(name, language, own) for language in language_codes())):
        messages = [message for wording in template.wordings.values() for message in wording.messages("chat")]
        held = "".join(message["content"] for message in messages if message["role"] == "system")
        if CONTEXT in held or QUESTION in held:
            problems.append(
                f"system: the system message of template {template.name!r} holds {CONTEXT} or {QUESTION} and cannot be "
                "replaced; leave system out, or use another template"
            )
    return list(dict.fromkeys(problems))
