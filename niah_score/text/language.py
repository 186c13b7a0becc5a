"""Reads language files: each language is described by a TOML file, so that anyone can add one.

The files of the package are in `niah_score/text/languages`, a user's own in the folders that `$NIAH_LANGUAGES` lists.
docs/languages.md explains every field. A file is read when its language is first asked for.
"""

from __future__ import annotations

import hashlib
import math
import os
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path
from typing import Any

from niah_score.errors import LanguageError

_CURRENCY = re.compile("[A-Z]{3}")
_WORD = re.compile(r"\w+")
_UNESCAPED = r"(?<!\\)(?:\\\\)*"
_GROUP_REFERENCE = re.compile(rf"{_UNESCAPED}(?:\\[1-9]|\(\?P[<=]|\(\?\()")


class FieldReader:
    """Reads one table. `where`: the prefix of field names in problems, such as `prompt.`."""

    def __init__(self, table: Mapping[str, Any], where: str, problems: list[str]) -> None:
        self._table = table
        self._where = where
        self._problems = problems
        self._asked: list[str] = []

    def refuse_the_rest(self) -> None:
        """Report the fields that nothing reads."""
        for name in self._table:
            if name not in self._asked:
                near = get_close_matches(name, self._asked, n=1)
                self._problems.append(
                    f"{self._where}{name}: unknown field" + (f"; did you mean {near[0]!r}?" if near else "")
                )

    def _take(self, name: str, default: Any = None) -> Any:
        self._asked.append(name)
        return self._table.get(name, default)

    def _valid(self, value: Any, is_valid: bool, name: str, expected: str, fallback: Any) -> Any:
        """The value if it is valid; else the fallback, after reporting a problem."""
        if is_valid:
            return value
        said = f"found {value!r:.80}" if name in self._table else "is missing"
        self._problems.append(f"{self._where}{name}: {said}; expected {expected}")
        return fallback

    def table(self, name: str) -> Mapping[str, Any]:
        """A table; empty by default."""
        table = self._take(name, {})
        return self._valid(table, isinstance(table, Mapping), name, "a table", {})  # type: ignore[no-any-return]

    def text(self, name: str, default: str | None = None, holding: str = "") -> str:
        """A text; without a default it must be present and not blank. `holding`: what it must contain once."""
        text = self._take(name, default)
        is_valid = (
            isinstance(text, str)
            and bool(text.strip() or default is not None)
            and (not holding or text.count(holding) == 1)
        )
        return str(self._valid(text, is_valid, name, f"a text that holds {holding} once" if holding else "a text", ""))

    def word(self, name: str) -> str:
        """One word of letters and digits."""
        word = self._take(name)
        is_valid = isinstance(word, str) and _WORD.fullmatch(word) is not None
        return str(self._valid(word, is_valid, name, "one word", ""))

    def one_of(self, name: str, values: Sequence[str], default: str | None = None) -> str:
        """One of some texts."""
        text = self._take(name, default)
        return str(self._valid(text, text in values, name, f"one of {', '.join(map(repr, values))}", values[0]))

    def number(self, name: str, default: float) -> float:
        """A finite number above 0."""
        number = self._take(name, default)
        is_number = isinstance(number, int | float) and not isinstance(number, bool)
        is_valid = is_number and 0 < number < math.inf
        return float(self._valid(number, is_valid, name, "a finite number above 0", default))

    def boolean(self, name: str) -> bool:
        """True or false; false by default."""
        value = self._take(name, False)
        return bool(self._valid(value, isinstance(value, bool), name, "true or false", False))

    def texts(self, name: str) -> tuple[str, ...]:
        """A list of texts, none empty; an empty list by default."""
        texts = self._take(name, [])
        return tuple(self._valid(texts, _are_texts(texts), name, "a list of texts, none empty", ()))

    def patterns(self, name: str) -> tuple[str, ...]:
        """A list of regular expressions that can be joined to one, none of which matches an empty text."""
        patterns = self.texts(name)
        for number, pattern in enumerate(patterns):
            problem = _pattern_problem(pattern)
            if problem:
                self._problems.append(f"{self._where}{name}[{number}]: {pattern!r} {problem}")
        return patterns

    def forms(self, name: str, fields: Sequence[str]) -> tuple[str, ...]:
        """A list of texts, each of which holds some fields once."""
        forms = self.texts(name)
        for number, form in enumerate(forms):
            if any(form.count(part) != 1 for part in fields):
                self._problems.append(f"{self._where}{name}[{number}]: expected {' and '.join(fields)}, each once")
        return forms

    def letters(self, name: str) -> dict[str, str]:
        """A table of letters: each key is one character, and so is its value."""
        letters = self.table(name)
        is_valid = all(isinstance(value, str) and len(key) == len(value) == 1 for key, value in letters.items())
        return dict(self._valid(letters, is_valid, name, "a table of single letters", {}))

    def counts(self, name: str) -> dict[str, int]:
        """A table of words and whole numbers from 0 up."""
        counts = self.table(name)
        is_valid = all(type(value) is int and value >= 0 and key.strip() for key, value in counts.items())
        return dict(self._valid(counts, is_valid, name, "a table of words and the whole numbers that they mean", {}))

    def months(self, name: str) -> tuple[tuple[str, ...], ...]:
        """Twelve lists of names, the usual name first; an empty list by default."""
        months = self._take(name, [])
        is_list = isinstance(months, list) and len(months) in (0, 12)
        is_valid = is_list and all(names and _are_texts(names) for names in months)
        return tuple(map(tuple, self._valid(months, is_valid, name, "twelve lists of names, January first", ())))

    def money(self, name: str) -> dict[str, tuple[str, ...]]:
        """A table of ISO codes and lists of words, the usual word first."""
        money = self.table(name)
        is_valid = all(_CURRENCY.fullmatch(code) and words and _are_texts(words) for code, words in money.items())
        valid = self._valid(money, is_valid, name, "ISO codes such as EUR, each with a list of words", {})
        return {code: tuple(words) for code, words in valid.items()}


def _are_texts(value: Any) -> bool:
    """Whether a value is a list of texts, none of them empty."""
    return isinstance(value, list) and all(isinstance(item, str) and item for item in value)


def _pattern_problem(pattern: str) -> str:
    """What is wrong with a regular expression that is to be joined to others; empty if nothing is."""
    try:
        if re.compile(pattern).search("") is not None:
            return "matches an empty text"
    except re.error as error:
        return f"is not a regular expression: {error}"
    if _GROUP_REFERENCE.search(pattern):
        return (
            "names or refers to a group, whose number changes when the patterns are joined; rewrite it without groups"
        )
    try:
        re.compile(f"(?:{pattern})")
    except re.error as error:
        return f"cannot be joined to the others: {error}; texts are lower-cased, so (?i) is not needed"
    return ""


LANGUAGES_VARIABLE = "NIAH_LANGUAGES"
SHIPPED = Path(__file__).parent / "languages"
# Languages whose values the code reads in every text; files of other languages add their own.
ALWAYS_READ = ("en", "zh")
_CODE = re.compile(r"[a-z]{2,3}(?:-[a-z0-9]{2,8})*")
_SECTIONS = ("sentences", "prompt", "matching", "answers")


@dataclass(frozen=True, slots=True)
class SentenceRules:
    """Where sentences end: after `marks` followed by white space, and after `marks_anywhere`.

    `closers` belong to the mark before them. A sentence does not end after `abbreviations` and their point, nor where
    the line continues with a lower-case letter, `openers` before it or not, nor after a closer followed by one of
    `continued_by`.
    """

    marks: str
    marks_anywhere: tuple[str, ...]
    closers: tuple[str, ...]
    abbreviations: tuple[str, ...]
    openers: str
    continued_by: str


@dataclass(frozen=True, slots=True)
class PromptWords:
    """The words of prompts. `question` holds `{question}`; `document` is the name of the tags around the context.

    `not_stated`: the answer to give if the document does not tell. `hops`: what follows the question of a chain that
    asks for it. `guide`: what follows a guided question, or empty.
    """

    instruction: str
    document: str
    question: str
    answer: str
    not_stated: str
    hops: str
    guide: str


@dataclass(frozen=True, slots=True)
class MatchingRules:
    """How values and negations are written in folded text. For en and zh, these rules are in the code.

    `letters`: each letter that compares as another one, and that one. `thousands`: the characters that may separate the
    groups of a number; `decimal`: the one before its decimals. `numbers`: number words and their values;
    `number_joints` may stand between them, and `articles` alone are no numbers. `bare_hundreds`: whether 百 and 千 need
    no 一. `months`: the names of each month. `dates`, `times`: how they are written, the usual form first.
    `before_noon`, `after_noon`: words for the halves of the day. `money`: the words for each currency.
    `denied_before`, `denied_after`: patterns that deny a fact when they stand before or after it. `choice`: words for
    "or".
    """

    letters: Mapping[str, str] = field(default_factory=dict)
    decimal: str = "."
    thousands: str = ""
    numbers: Mapping[str, int] = field(default_factory=dict)
    number_joints: tuple[str, ...] = ()
    bare_hundreds: bool = False
    articles: tuple[str, ...] = ()
    months: tuple[tuple[str, ...], ...] = ()
    dates: tuple[str, ...] = ()
    times: tuple[str, ...] = ()
    before_noon: tuple[str, ...] = ()
    after_noon: tuple[str, ...] = ()
    money: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    denied_before: tuple[str, ...] = ()
    denied_after: tuple[str, ...] = ()
    choice: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AnswerPhrases:
    """Patterns for folded answers: the document does not tell, no answer is given, or the answer is only a guess."""

    absent: tuple[str, ...] = ()
    refuses: tuple[str, ...] = ()
    guesses: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Language:
    """What the code knows about a language. `code`: the name of its file; `sha256`: of the file.

    `joiner`: what separates two sentences, a space or nothing. `words`: how text is split into words: at spaces, by
    jieba, or into characters. `bytes_per_token`: of its texts, to estimate file sizes. `scripts`: the first words of
    the Unicode names of its letters; `common_words` tell it from other languages in the same script.
    """

    code: str
    sha256: str
    name: str
    joiner: str
    words: str
    bytes_per_token: float
    scripts: tuple[str, ...]
    common_words: tuple[str, ...]
    sentences: SentenceRules
    prompt: PromptWords
    matching: MatchingRules | None
    answers: AnswerPhrases


def language_codes() -> tuple[str, ...]:
    """The languages that have a file, in the order of rows: English, Chinese, then the others by code."""
    return tuple(_files(os.environ.get(LANGUAGES_VARIABLE, "")))


def is_own_language(code: str) -> bool:
    """Whether a language's file was added by the user."""
    return _files(os.environ.get(LANGUAGES_VARIABLE, "")).get(code, SHIPPED).parent != SHIPPED


def find_language(code: str) -> Language:
    """A language by its code. Raises LanguageError if it has no file, or with everything that is wrong in the file."""
    file = _files(os.environ.get(LANGUAGES_VARIABLE, "")).get(code)
    if file is None:
        raise LanguageError(missing_language(code))
    status = file.stat()
    return _read(file, status.st_mtime_ns, status.st_size)


def known_language(code: str) -> Language | None:
    """A language by its code; None if it has no file, as handmade rows may name any language."""
    return find_language(code) if code in language_codes() else None


def missing_language(code: str) -> str:
    """A sentence on what to do about a language without a file."""
    return (
        f"language {code!r} has no file; expected one of {', '.join(language_codes())}. To add it, write {code}.toml "
        f"with name, joiner, words and the tables [sentences] and [prompt] into a folder, and name the folder in "
        f"${LANGUAGES_VARIABLE} (docs/languages.md has one to copy)"
    )


def matching_of(code: str) -> MatchingRules | None:
    """The rules that a language has in addition to those for every text; None if it has none."""
    language = known_language(code)
    return language.matching if language else None


def rules_code(code: str) -> str:
    """The code of a language if it has its own matching rules, else an empty text."""
    return code if code not in ALWAYS_READ and matching_of(code) is not None else ""


@lru_cache(maxsize=8)
def _files(listed: str) -> dict[str, Path]:
    """The file of each language. Shipped files cannot be replaced, so that their codes mean the same everywhere."""
    shipped = {file.stem: file for file in sorted(SHIPPED.glob("*.toml"))}
    shipped = {code: shipped[code] for code in (*ALWAYS_READ, *(code for code in shipped if code not in ALWAYS_READ))}
    own: dict[str, Path] = {}
    for folder in (Path(part).expanduser() for part in listed.split(os.pathsep) if part):
        for file in sorted(folder.glob("*.toml")):
            if _CODE.fullmatch(file.stem) and file.stem not in shipped:
                own.setdefault(file.stem, file)
    return shipped | dict(sorted(own.items()))


@lru_cache(maxsize=64)
def _read(file: Path, changed: int, size: int) -> Language:
    data = file.read_bytes()
    try:
        table = tomllib.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise LanguageError(f"{file}: cannot be read as TOML: {error}") from None
    language, problems = parse_language(file.stem, hashlib.sha256(data).hexdigest(), table)
    if language is None:
        raise LanguageError("\n  ".join([f"{file}: {len(problems)} problem{'s'[: len(problems) - 1]}", *problems]))
    return language


def parse_language(code: str, sha256: str, table: Mapping[str, Any]) -> tuple[Language | None, list[str]]:
    """A language from its table; or None, and everything that is wrong with it, a sentence each."""
    problems: list[str] = []
    top = FieldReader(table, "", problems)
    sections = {name: FieldReader(top.table(name), f"{name}.", problems) for name in _SECTIONS}
    one, prompt, matching, answers = (sections[name] for name in _SECTIONS)
    language = Language(
        code=code,
        sha256=sha256,
        name=top.text("name"),
        joiner=top.one_of("joiner", (" ", "")),
        words=top.one_of("words", ("spaces", "jieba", "characters")),
        bytes_per_token=top.number("bytes_per_token", 4.0),
        scripts=top.texts("scripts"),
        common_words=top.texts("common_words"),
        sentences=SentenceRules(
            marks=one.text("marks"),
            marks_anywhere=one.texts("marks_anywhere"),
            closers=one.texts("closers"),
            abbreviations=one.texts("abbreviations"),
            openers=one.text("openers", ""),
            continued_by=one.text("continued_by", ""),
        ),
        prompt=PromptWords(
            instruction=prompt.text("instruction"),
            document=prompt.word("document"),
            question=prompt.text("question", holding="{question}"),
            answer=prompt.text("answer"),
            not_stated=prompt.text("not_stated"),
            hops=prompt.text("hops", ""),
            guide=prompt.text("guide", ""),
        ),
        matching=_matching(matching) if "matching" in table else None,
        answers=AnswerPhrases(answers.patterns("absent"), answers.patterns("refuses"), answers.patterns("guesses")),
    )
    for reader in (top, *sections.values()):
        reader.refuse_the_rest()
    return (None, problems) if problems else (language, [])


def _matching(table: FieldReader) -> MatchingRules:
    return MatchingRules(
        letters=table.letters("letters"),
        decimal=table.one_of("decimal", (".", ","), "."),
        thousands=table.text("thousands", ""),
        numbers=table.counts("numbers"),
        number_joints=table.texts("number_joints"),
        bare_hundreds=table.boolean("bare_hundreds"),
        articles=table.texts("articles"),
        months=table.months("months"),
        dates=table.forms("dates", ("{day}", "{month}")),
        times=table.forms("times", ("{hour}", "{minute}")),
        before_noon=table.texts("before_noon"),
        after_noon=table.texts("after_noon"),
        money=table.money("money"),
        denied_before=table.patterns("denied_before"),
        denied_after=table.patterns("denied_after"),
        choice=table.texts("choice"),
    )
