"""Reads the user's needles from recipes and TOML files, one table each, and says what is wrong with them and where.

[name]
language = "en"
needles = ["The text to hide."]            # several for a set, in order
question = "What is asked?"
paraphrase = "The same in other words?"    # optional: what `paraphrase = true` asks instead
answers = ["Reference answer."]            # any one is accepted; edit metrics compare with the first
keywords = ["group", ["either", "or"]]     # all groups must be found; a list gives the spellings of one group
metric = "keyword"                         # optional: the metric that judges these rows

questions = {zh = "问什么？"}               # optional: the question in other languages, for rows that ask in them

conflict = {text = "...", value = ["..."]} # optional: a contradicting text, and the answer that it gives

A keyword group may also be a table that states a value, such as {number = 283}: `values` lists them. A resolved recipe
also states `keyword_kinds` and `rejects` of every group.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from niah_gen.errors import RecipeError, suggestion
from niah_gen.fields import read_toml
from niah_gen.tasks.needle_library import Conflict, Needle, library_needles, needle_files, needle_library
from niah_gen.tasks.values import Fact, is_text, read_fact, texts_of
from niah_score.contract import METRIC_NAMES, unknown_metric
from niah_score.text import fold, holds_group
from niah_score.text.language import language_codes, missing_language, rules_code
from niah_score.text.values import PAIR, is_kind, kinds_expected

# What a table may hold beside the fields of a needle; `stated` is that of the package's own.
_MORE = ("needle", "answer", "stated")


def find_needles(spec: str) -> tuple[Needle, ...]:
    """The needles that a name stands for: one of the library, all of a library file, or those of the user's file.

    `path/to/file.toml` names all needles of a file, `file.toml#name` one of them. Raises RecipeError if there are none.
    """
    path, _, name = spec.partition("#")
    if library_needles(spec):
        return library_needles(spec)
    if not path.endswith(".toml"):
        known = suggestion(spec, [*needle_files(), *needle_library()])
        raise RecipeError([f"no needle {spec!r} in the library{known}"])
    needles = read_needles(Path(path))
    chosen = tuple(needle for needle in needles if name in ("", needle.id))
    if not chosen:
        raise RecipeError([f"{path} has no needle {name!r}{suggestion(name, [needle.id for needle in needles])}"])
    return chosen


def read_needles(file: Path) -> list[Needle]:
    """The needles of a file, in order. Raises RecipeError that lists everything wrong in it, and where."""
    text, tables = read_toml(file)
    needles: list[Needle] = []
    problems = [] if tables else [f"{file}: expected at least one [name] table, found none"]
    for name, table in tables.items():
        # The line on which the table begins; 1 if its name is written in an unusual way.
        begins = re.compile(rf"\s*\[?\s*[\"']?{re.escape(name)}[\"']?\s*[\].=]")
        line = next((number for number, line in enumerate(text.split("\n"), 1) if begins.match(line)), 1)
        if not isinstance(table, dict):
            problems.append(f"{file}:{line}: [{name}]: expected a table with needles, question and keywords")
            continue
        needle, found = parse_needle({**table, "id": name})
        needles += [needle] if needle else []
        found += ["id: the table's name is the id; leave id out"] if "id" in table else []
        problems += [f"{file}:{line}: [{name}].{problem}" for problem in found]
    if problems:
        raise RecipeError(problems, str(file))
    return needles


def parse_needle(table: Mapping[str, Any]) -> tuple[Needle | None, list[str]]:
    """A needle from its table, or None and what is wrong with it.

    `needle` and `answer` are accepted for one-element `needles` and `answers`. Without answers, the needles are the
    answer; without a language, the script of the first needle decides.
    """
    needles = texts_of(table.get("needles", table.get("needle")))
    answers = texts_of(table.get("answers", table.get("answer", "".join(needles))))
    question, paraphrase, literal = table.get("question"), table.get("paraphrase", ""), table.get("literal", "")
    questions = table.get("questions", {})
    language = table.get("language", "zh" if re.search("[\u4e00-\u9fff]", "".join(needles[:1])) else "en")
    problems = [f"unknown field {name!r}" for name in table if name not in (*Needle.__slots__, *_MORE)]
    for name, is_right, expected in (
        ("id", table.get("id") and isinstance(table["id"], str), "a name"),
        ("needles", needles, "a text or a list of texts, none empty"),
        ("answers", answers or not needles, "a text or a list of texts, none empty"),
        ("question", is_text(question), "a text"),
        ("paraphrase", paraphrase == "" or is_text(paraphrase), "a text"),
        ("literal", literal == "" or is_text(literal), "a text"),
        ("questions", _are_questions(questions), 'a table of languages and texts, {en = "..."}'),
    ):  # fmt: skip
        problems += [] if is_right else [f"{name}: expected {expected}, found {table.get(name)!r}"]
    if not isinstance(language, str) or language not in language_codes():
        problems.append(f"language: {missing_language(language) if isinstance(language, str) else repr(language)}")
        language = "en"  # to read the rest
    facts = _facts(table, language, needles, problems)
    # A set asked for in one question also counts wrong answers.
    metric = table.get("metric", "keyword_f1" if len(facts) > 1 < len(needles) else "keyword" if facts else "edit")
    if metric not in METRIC_NAMES:
        problems.append(f"metric: {unknown_metric(metric) if isinstance(metric, str) else f'found {metric!r}'}")
    conflict = _conflict(table.get("conflict"), facts, rules_code(language), problems)
    if problems:
        return None, problems
    keywords, kinds, rejects = zip(*facts, strict=True) if facts else ((), (), ())
    pairs = tuple(sorted((code, text.strip()) for code, text in questions.items() if code != language))
    return Needle(
        table["id"], language, needles, str(question), answers, keywords, metric, paraphrase.strip(), kinds, rejects,
        literal.strip(), conflict, pairs,
    ), []  # fmt: skip


def _are_questions(given: object) -> bool:
    return isinstance(given, dict) and all(code in language_codes() and is_text(text) for code, text in given.items())


def _facts(table: Mapping[str, Any], language: str, needles: Sequence[str], problems: list[str]) -> list[Fact]:
    """The keyword groups of a needle's table. Adds what is wrong with them to the problems."""
    given, kinds, rejects = table.get("keywords", []), table.get("keyword_kinds"), table.get("rejects")
    for name, values, is_one, expected in (
        ("keywords", given, lambda group: True, "a list of keyword groups"),
        ("keyword_kinds", kinds, lambda kind: isinstance(kind, str) and is_kind(kind), f"{kinds_expected()} for each"),
        ("rejects", rejects, lambda words: not words or texts_of(words), "a list of texts for each keyword group"),
    ):
        fits = isinstance(values, list | tuple) and len(values) == len(given) and all(map(is_one, values))
        if not fits and (values is not None or name == "keywords"):
            problems.append(f"{name}: expected {expected}, found {values!r}")
            return []
    facts = []
    for number, item in enumerate(given):
        try:
            words, kind = texts_of(item), kinds[number] if kinds else ""
            facts.append(Fact(words, kind) if words and kind else read_fact(item, language, needles))
        except ValueError as error:
            problems.append(f"keywords[{number}]: {error}")
    facts = facts if kinds else _told_apart(facts)
    if rejects and len(facts) == len(rejects):
        return [fact._replace(rejects=texts_of(words)) for fact, words in zip(facts, rejects, strict=True)]
    return facts


def _told_apart(facts: Sequence[Fact]) -> list[Fact]:
    """The facts of one needle, in which those of pairs reject the owners of the others."""
    owners = {fact.kind: fact.kind.removeprefix(PAIR).split("|") for fact in facts if fact.kind.startswith(PAIR)}
    told = []
    for fact in facts:
        others = [name for kind in owners if kind != fact.kind for name in owners[kind] if fact.kind in owners]
        told.append(fact._replace(rejects=tuple(dict.fromkeys((*fact.rejects, *others)))))
    return told


def _conflict(given: object, facts: Sequence[Fact], rules: str, problems: list[str]) -> Conflict | None:
    """The text that contradicts a needle, from its table; None if there is none. Adds what is wrong with it."""
    if given is None:
        return None
    fields: dict[str, Any] = given if isinstance(given, dict) else {}
    text, value = fields.get("text", ""), texts_of(fields.get("value"))
    if not is_text(text) or not value or set(fields) - {"text", "value"}:
        problems.append(f"conflict: expected {{text = ..., value = [...]}}, none empty, found {given!r}")
    elif any(holds_group(fold(text), fact.spellings, fact.kind, rules) for fact in facts):
        problems.append(f"conflict: {text!r} states a fact that the question asks for; it must not")
    else:
        return Conflict(text.strip(), value)
    return None
