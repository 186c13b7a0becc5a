"""Reads needles from TOML files, one table each: what is hidden, what is asked, what counts as an answer.

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
distractors = [{text = "...", value = []}] # optional: near misses, which state something else

A keyword group may also be a table that states a value, such as {number = 283}: `facts` lists them.

docs/needles.md explains what makes a good needle.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from niah_gen.errors import RecipeError, suggestion
from niah_gen.tasks.facts import Fact, is_encodable, read_fact, texts_of, told_apart
from niah_score.contract import METRIC_NAMES, parse_toml, unknown_metric
from niah_score.text import fold, holds_group
from niah_score.text.language import language_codes, missing_language, rules_code
from niah_score.text.values import TEXT, is_kind, kinds_expected

_FOLDER = Path(__file__).parents[1] / "library" / "needles"
_FIELDS = {
    "id", "language", "needle", "needles", "question", "paraphrase", "answer", "answers", "keywords", "keyword_kinds",
    "rejects", "metric", "distractors", "literal", "conflict", "questions",
}  # fmt: skip


class Distractor(NamedTuple):
    """A text that could be mistaken for a needle. `value`: spellings of the wrong answer that it states, if any."""

    text: str
    value: tuple[str, ...] = ()

    def table(self) -> dict[str, object]:
        """The text and its value as a needle file states them."""
        return {"text": self.text, "value": list(self.value)}


@dataclass(frozen=True, slots=True)
class Needle:
    """One fact, or one set of facts asked for together. `paraphrase`: the question in other words, or empty.

    `keyword_kinds`, `rejects`: for each keyword group, the kind of its value and what voids a match that it touches.
    `distractors`: near misses, which a recipe may also hide. `literal`: the question in the needle's own words, if
    `question` uses others; `conflict`: a text that says otherwise; each for the control of that name. `questions`: the
    question in other languages, by language code.
    """

    id: str
    language: str
    needles: tuple[str, ...]
    question: str
    answers: tuple[str, ...]
    keywords: tuple[tuple[str, ...], ...]
    metric: str
    paraphrase: str = ""
    keyword_kinds: tuple[str, ...] = ()
    rejects: tuple[tuple[str, ...], ...] = ()
    distractors: tuple[Distractor, ...] = ()
    literal: str = ""
    conflict: Distractor | None = None
    questions: tuple[tuple[str, str], ...] = ()

    @property
    def kind(self) -> str:
        """single, list (every text of the set states a keyword), or chain (the texts lead to one answer)."""
        if len(self.needles) == 1:
            return "single"
        return "list" if all(any(self.holds(text)) for text in self.needles) else "chain"

    def holds(self, text: str) -> list[bool]:
        """Whether a text states the fact of each keyword group."""
        kinds = self.keyword_kinds or (None,) * len(self.keywords)
        rules = rules_code(self.language)
        return [holds_group(fold(text), *fact, rules) for fact in zip(self.keywords, kinds, strict=True)]

    def question_in(self, language: str) -> str:
        """The question in a language; empty if there is none."""
        return self.question if language == self.language else dict(self.questions).get(language, "")

    def asked(self, paraphrase: bool) -> Needle:
        """The needle with only the question that a prompt asks; if that is the paraphrase, `literal` is the other."""
        if not paraphrase:
            return replace(self, paraphrase="")
        return replace(self, question=self.paraphrase, literal=self.question, paraphrase="")

    def for_use(self, distractors: bool, controls: Sequence[str], language: str = "") -> Needle:
        """The needle without the fields for distractors, controls and languages that a recipe does not ask for."""
        return replace(
            self,
            distractors=self.distractors if distractors else (),
            literal=self.literal if "literal" in controls else "",
            conflict=self.conflict if "conflict" in controls else None,
            questions=tuple(pair for pair in self.questions if pair[0] == language),
        )

    def table(self) -> dict[str, object]:
        """The needle as a recipe's inline table."""
        apart = ("distractors", "conflict", "questions")
        table = {name: _lists(value) for name, value in asdict(self).items() if name not in apart}
        for name in ("paraphrase", "literal"):
            if not table[name]:
                del table[name]
        if set(self.keyword_kinds) <= {TEXT}:
            del table["keyword_kinds"]
        if not any(self.rejects):
            del table["rejects"]
        if self.distractors:
            table["distractors"] = [one.table() for one in self.distractors]
        if self.conflict:
            table["conflict"] = self.conflict.table()
        if self.questions:
            table["questions"] = dict(self.questions)
        return table


def _lists(value: object) -> object:
    return [_lists(item) for item in value] if isinstance(value, tuple | list) else value


@lru_cache(maxsize=1)
def needle_files() -> dict[str, tuple[Needle, ...]]:
    """The needles that come with the package, by file name, in file order."""
    return {file.stem: tuple(read_needles(file)) for file in sorted(_FOLDER.iterdir())}


@lru_cache(maxsize=1)
def needle_library() -> dict[str, Needle]:
    """All needles that come with the package, by name, sorted."""
    return {needle.id: needle for needle in sorted(sum(needle_files().values(), ()), key=lambda needle: needle.id)}


def find_needles(spec: str) -> tuple[Needle, ...]:
    """The needles that a name stands for: one of the library, all of a library file, or those of the user's file.

    `path/to/file.toml` names all needles of a file, `file.toml#name` one of them. Raises RecipeError if there are none.
    """
    if spec in needle_library():
        return (needle_library()[spec],)
    if spec in needle_files():
        return needle_files()[spec]
    path, _, name = spec.partition("#")
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
    try:
        text = file.read_bytes().decode("utf-8-sig")
        tables = parse_toml(text)
    except FileNotFoundError:
        raise RecipeError([f"{file}: no such file"]) from None
    except (OSError, ValueError, RecursionError) as error:
        raise RecipeError([f"{file}: cannot be read as TOML: {error}"]) from None
    needles: list[Needle] = []
    problems: list[str] = []
    for name, table in tables.items():
        where = f"{file}:{_line_of(name, text)}: [{name}]"
        if not isinstance(table, dict):
            problems.append(f"{where}: expected a table with needles, question and keywords, found {table!r}")
            continue
        needle, wrong = parse_needle({**table, "id": name})
        needles += [needle] if needle else []
        problems += [f"{where}.{problem}" for problem in wrong]
        problems += [f"{where}.id: the table's name is the id; leave id out"] if "id" in table else []
    if not tables:
        problems.append(f"{file}: expected at least one [name] table, found none")
    if problems:
        raise RecipeError(problems, str(file))
    return needles


def _line_of(name: str, text: str) -> int:
    """The line on which a table or key of the file begins; 1 if its name is written in an unusual way."""
    begins = re.compile(rf"\s*\[?\s*[\"']?{re.escape(name)}[\"']?\s*[\].=]")
    return next((number for number, line in enumerate(text.split("\n"), 1) if begins.match(line)), 1)


def parse_needle(table: dict[str, Any]) -> tuple[Needle | None, list[str]]:
    """A needle from its table, or None and what is wrong with it.

    `needle` and `answer` are accepted for one-element `needles` and `answers`. Without answers, the needles are the
    answer; without a language, the script of the first needle decides.
    """
    problems = [f"unknown field {name!r}" for name in table if name not in _FIELDS]
    needles = texts_of(table.get("needles", table.get("needle")))
    question = table.get("question")
    answers: tuple[str, ...] = ("".join(needles),)
    if "answers" in table or "answer" in table:
        given = texts_of(table.get("answers", table.get("answer")))
        if not given:
            problems.append("answers: expected a text or a list of texts, none empty")
        answers = given or answers
    name = table.get("id")
    if not isinstance(name, str) or not name:
        problems.append(f"id: expected a name, found {name!r}")
    if not needles:
        problems.append("needles: expected a text or a list of texts, none empty")
    if not isinstance(question, str) or not question.strip() or not is_encodable(question):
        problems.append(f"question: expected a text, found {question!r}")
    paraphrase = table.get("paraphrase", "")
    if not isinstance(paraphrase, str) or not is_encodable(paraphrase):
        problems.append(f"paraphrase: expected a text, found {paraphrase!r}")
    language = table.get("language")
    if language is None and needles:
        language = "zh" if any("\u4e00" <= char <= "\u9fff" for char in needles[0]) else "en"
    if language not in language_codes():
        problems.append(f"language: {missing_language(language) if isinstance(language, str) else repr(language)}")
        language = "en"  # to read the rest
    questions = table.get("questions", {})
    if not isinstance(questions, dict) or not all(map(_is_question, questions.items())):
        problems.append(f'questions: expected a table of languages and texts, {{en = "..."}}, found {questions!r}')
        questions = {}
    facts, wrong = _facts(table, str(language), needles or ())
    problems += wrong
    rules = rules_code(str(language))
    distractors, wrong = _distractors(table.get("distractors", []), facts, rules)
    problems += wrong
    conflict = table.get("conflict")
    against, wrong = _distractors([] if conflict is None else [conflict], facts, rules)
    problems += [problem.replace("distractors[0]", "conflict") for problem in wrong]
    if against and not against[0].value:
        problems.append("conflict.value: expected the spellings of the other answer, found none")
    literal = table.get("literal", "")
    if not isinstance(literal, str) or not is_encodable(literal):
        problems.append(f"literal: expected a text, found {literal!r}")
    metric = table.get("metric", _metric_for(facts, needles or ()))
    if not isinstance(metric, str):
        problems.append(f"metric: expected a name, found {metric!r}")
    elif metric not in METRIC_NAMES:
        problems.append(f"metric: {unknown_metric(metric)}")
    if problems or not needles:
        return None, problems
    return Needle(
        str(name),
        str(language),
        needles,
        str(question),
        answers,
        tuple(fact.spellings for fact in facts),
        str(metric),
        str(paraphrase).strip(),
        tuple(fact.kind for fact in facts),
        tuple(fact.rejects for fact in facts),
        distractors,
        str(literal).strip(),
        against[0] if against else None,
        tuple(sorted((code, text.strip()) for code, text in questions.items() if code != language)),
    ), []


def _is_question(item: tuple[object, object]) -> bool:
    code, text = item
    return code in language_codes() and isinstance(text, str) and bool(text.strip()) and is_encodable(text)


def _metric_for(facts: Sequence[Fact], needles: Sequence[str]) -> str:
    """The metric of a needle that names none; for sets of facts, one that also counts wrong ones."""
    is_set = len(facts) > 1 and len(needles) > 1
    return "keyword_f1" if is_set else "keyword" if facts else "edit"


def _facts(table: dict[str, Any], language: str, needles: Sequence[str]) -> tuple[list[Fact], list[str]]:
    """The keyword groups of a needle's table, and what is wrong with them.

    A resolved recipe also states `keyword_kinds` and `rejects` of every group.
    """
    given, problems = table.get("keywords", []), []
    if not isinstance(given, list | tuple):
        return [], [f"keywords: expected a list of keyword groups, found {given!r}"]
    facts: list[Fact] = []
    for number, item in enumerate(given):
        fact = read_fact(item, language, needles)
        if isinstance(fact, str):
            problems.append(f"keywords[{number}]: {fact}")
        else:
            facts.append(fact)
    facts = told_apart(facts)
    kinds, rejects = table.get("keyword_kinds"), table.get("rejects")
    if kinds is not None:
        if not isinstance(kinds, list | tuple) or len(kinds) != len(given) or not all(map(_names_kind, kinds)):
            problems.append(f"keyword_kinds: expected {kinds_expected()} for each keyword group, found {kinds!r}")
        else:
            facts = [fact._replace(kind=kind) for fact, kind in zip(facts, kinds, strict=False)]
    if rejects is not None:
        if not isinstance(rejects, list | tuple) or len(rejects) != len(given) or not all(map(_lists_texts, rejects)):
            problems.append(f"rejects: expected a list of texts for each keyword group, found {rejects!r}")
        else:
            facts = [fact._replace(rejects=tuple(words)) for fact, words in zip(facts, rejects, strict=False)]
    elif kinds is not None:
        facts = [fact._replace(rejects=()) for fact in facts]
    return facts, problems


def _distractors(given: object, facts: Sequence[Fact], rules: str) -> tuple[tuple[Distractor, ...], list[str]]:
    """The distractors of a needle's table, and what is wrong with them."""
    if not isinstance(given, list | tuple):
        return (), [f"distractors: expected a list of tables, found {given!r}"]
    distractors: list[Distractor] = []
    problems: list[str] = []
    for number, item in enumerate(given):
        where = f"distractors[{number}]"
        text, value = (item.get("text"), item.get("value", [])) if isinstance(item, dict) else (None, None)
        if not isinstance(text, str) or not text.strip() or not is_encodable(text) or set(item) - {"text", "value"}:
            problems.append(f"{where}: expected {{text = ..., value = [...]}}, found {item!r}")
        elif (value and not texts_of(value)) or not isinstance(value, str | list | tuple):
            problems.append(f"{where}.value: expected the spellings of the wrong answer, none empty, found {value!r}")
        elif any(holds_group(fold(text), fact.spellings, fact.kind, rules) for fact in facts):
            problems.append(f"{where}: {text!r} states a fact that the question asks for; a distractor must not")
        else:
            distractors.append(Distractor(text.strip(), texts_of(value)))
    return tuple(distractors), problems


def _names_kind(kind: object) -> bool:
    return isinstance(kind, str) and is_kind(kind)


def _lists_texts(words: object) -> bool:
    return isinstance(words, list | tuple) and all(isinstance(word, str) and word for word in words)
