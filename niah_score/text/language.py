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
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from niah_score.errors import LanguageError

_CURRENCY = re.compile("[A-Z]{3}")
_WORD = re.compile(r"\w+")
_UNESCAPED = r"(?<!\\)(?:\\\\)*"
_GROUP_REFERENCE = re.compile(rf"{_UNESCAPED}(?:\\[1-9]|\(\?P[<=]|\(\?\()")


# Fields ---------------------------------------------------------------------------------------------------------------


class _Kind(NamedTuple):
    """A kind of field. `is_valid`: whether a value of a file is of it; `expected`: what is, for problems.

    `convert`: to what the code works with.
    """

    is_valid: Callable[[Any], bool]
    expected: str
    convert: Callable[[Any], Any]


def _are_texts(value: Any) -> bool:
    """Whether a value is a list of texts, none of them empty."""
    return isinstance(value, list) and all(isinstance(item, str) and item for item in value)


def _is_table(value: Any, is_entry: Callable[[str, Any], Any]) -> bool:
    return isinstance(value, Mapping) and all(is_entry(key, entry) for key, entry in value.items())


def _one_of(*texts: str) -> _Kind:
    return _Kind(lambda value: value in texts, f"one of {', '.join(map(repr, texts))}", str)


def _list_of(what: str, is_item: Callable[[str], bool]) -> _Kind:
    """A list of texts, each of which is of a sort."""
    return _Kind(lambda value: _are_texts(value) and all(map(is_item, value)), f"a list of {what}", tuple)


def _forms(*parts: str) -> _Kind:
    return _list_of(f"texts, each with {' and '.join(parts)} once", lambda form: all(form.count(p) == 1 for p in parts))


def _is_pattern(text: str) -> bool:
    """Whether a text is a regular expression that can be joined to others and matches no empty text."""
    try:
        re.compile(f"(?:{text})")
        return re.compile(text).search("") is None and not _GROUP_REFERENCE.search(text)
    except re.error:
        return False


_TEXT = _Kind(lambda value: isinstance(value, str) and bool(value.strip()), "a text", str)
_ANY_TEXT = _Kind(lambda value: isinstance(value, str), "a text", str)
_ASKING = _Kind(
    lambda value: isinstance(value, str) and value.count("{question}") == 1, "a text that holds {question} once", str
)
_ONE_WORD = _Kind(lambda value: isinstance(value, str) and _WORD.fullmatch(value) is not None, "one word", str)
_NUMBER = _Kind(lambda value: type(value) in (int, float) and 0 < value < math.inf, "a finite number above 0", float)
_YES_OR_NO = _Kind(lambda value: isinstance(value, bool), "true or false", bool)
_TEXTS = _Kind(_are_texts, "a list of texts, none empty", tuple)
_PATTERNS = _list_of(
    "regular expressions without flags, names of groups and references to them, none matching an empty text",
    _is_pattern,
)
_LETTERS = _Kind(
    lambda value: _is_table(value, lambda key, other: isinstance(other, str) and len(key) == len(other) == 1),
    "a table of single letters", dict,
)  # fmt: skip
_COUNTS = _Kind(
    lambda value: _is_table(value, lambda key, count: type(count) is int and count >= 0 and key.strip()),
    "a table of words and the whole numbers that they mean", dict,
)  # fmt: skip
_MONTHS = _Kind(
    lambda value: isinstance(value, list) and len(value) in (0, 12) and all(one and _are_texts(one) for one in value),
    "twelve lists of names, January first", lambda value: tuple(map(tuple, value)),
)  # fmt: skip
_MONEY = _Kind(
    lambda value: _is_table(value, lambda code, words: _CURRENCY.fullmatch(code) and words and _are_texts(words)),
    "ISO codes such as EUR, each with a list of words",
    lambda value: {code: tuple(words) for code, words in value.items()},
)  # fmt: skip


def _of(kind: _Kind, default: Any = MISSING) -> Any:
    """A field of a kind; without a default it must be present. `dict` stands for an empty one."""
    metadata = {"kind": kind}
    return (
        field(default_factory=dict, metadata=metadata) if default is dict else field(default=default, metadata=metadata)
    )


Table = TypeVar("Table")


def _table(record: type[Table], given: Any, where: str, problems: list[str], **others: Any) -> Table | None:
    """A record from a table; None if anything is wrong. `where`: what precedes field names in problems, as `prompt.`.

    `others`: fields that do not come from the table as they are.
    """
    if not isinstance(given, Mapping):
        problems.append(f"{where.rstrip('.')}: found {given!r:.80}; expected a table")
        return None
    before, values = len(problems), dict(others)
    known = {one.name: one for one in fields(record) if "kind" in one.metadata}  # type: ignore[arg-type]
    for name, one in known.items():
        kind: _Kind = one.metadata["kind"]
        if name in given and kind.is_valid(given[name]):
            values[name] = kind.convert(given[name])
        elif name in given or one.default is one.default_factory is MISSING:
            said = f"found {given[name]!r:.80}" if name in given else "is missing"
            problems.append(f"{where}{name}: {said}; expected {kind.expected}")
    names = [one.name for one in fields(record)]  # type: ignore[arg-type]
    for name in given:
        if name not in names or name in ("code", "sha256"):
            near = get_close_matches(name, names, n=1)
            problems.append(f"{where}{name}: unknown field" + (f"; did you mean {near[0]!r}?" if near else ""))
    return record(**values) if len(problems) == before else None


LANGUAGES_VARIABLE = "NIAH_LANGUAGES"
SHIPPED = Path(__file__).parent / "languages"
# Languages whose values the code reads in every text; files of other languages add their own.
ALWAYS_READ = ("en", "zh")
_CODE = re.compile(r"[a-z]{2,3}(?:-[a-z0-9]{2,8})*")


@dataclass(frozen=True, slots=True)
class SentenceRules:
    """Where sentences end: after `marks` followed by white space, and after `marks_anywhere`.

    `closers` belong to the mark before them. A sentence does not end after `abbreviations` and their point, nor where
    the line continues with a lower-case letter, `openers` before it or not, nor after a closer followed by one of
    `continued_by`.
    """

    marks: str = _of(_TEXT)
    marks_anywhere: tuple[str, ...] = _of(_TEXTS, ())
    closers: tuple[str, ...] = _of(_TEXTS, ())
    abbreviations: tuple[str, ...] = _of(_TEXTS, ())
    openers: str = _of(_ANY_TEXT, "")
    continued_by: str = _of(_ANY_TEXT, "")


@dataclass(frozen=True, slots=True)
class PromptWords:
    """The words of prompts. `question` holds `{question}`; `document` is the name of the tags around the context.

    `not_stated`: the answer to give if the document does not tell. `hops`: what follows the question of a chain that
    asks for it. `guide`: what follows a guided question, or empty.
    """

    instruction: str = _of(_TEXT)
    document: str = _of(_ONE_WORD)
    question: str = _of(_ASKING)
    answer: str = _of(_TEXT)
    not_stated: str = _of(_TEXT)
    hops: str = _of(_ANY_TEXT, "")
    guide: str = _of(_ANY_TEXT, "")


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

    letters: Mapping[str, str] = _of(_LETTERS, dict)
    decimal: str = _of(_one_of(".", ","), ".")
    thousands: str = _of(_ANY_TEXT, "")
    numbers: Mapping[str, int] = _of(_COUNTS, dict)
    number_joints: tuple[str, ...] = _of(_TEXTS, ())
    bare_hundreds: bool = _of(_YES_OR_NO, False)
    articles: tuple[str, ...] = _of(_TEXTS, ())
    months: tuple[tuple[str, ...], ...] = _of(_MONTHS, ())
    dates: tuple[str, ...] = _of(_forms("{day}", "{month}"), ())
    times: tuple[str, ...] = _of(_forms("{hour}", "{minute}"), ())
    before_noon: tuple[str, ...] = _of(_TEXTS, ())
    after_noon: tuple[str, ...] = _of(_TEXTS, ())
    money: Mapping[str, tuple[str, ...]] = _of(_MONEY, dict)
    denied_before: tuple[str, ...] = _of(_PATTERNS, ())
    denied_after: tuple[str, ...] = _of(_PATTERNS, ())
    choice: tuple[str, ...] = _of(_TEXTS, ())


@dataclass(frozen=True, slots=True)
class AnswerPhrases:
    """Patterns for folded answers: the document does not tell, no answer is given, or the answer is only a guess."""

    absent: tuple[str, ...] = _of(_PATTERNS, ())
    refuses: tuple[str, ...] = _of(_PATTERNS, ())
    guesses: tuple[str, ...] = _of(_PATTERNS, ())


@dataclass(frozen=True, slots=True, eq=False)
class Language:
    """What the code knows about a language. `code`: the name of its file; `sha256`: of the file.

    `joiner`: what separates two sentences, a space or nothing. `words`: how text is split into words: at spaces, by
    jieba, or into characters. `bytes_per_token`: of its texts, to estimate file sizes. `scripts`: the first words of
    the Unicode names of its letters; `common_words` tell it from other languages in the same script.
    """

    code: str
    sha256: str
    sentences: SentenceRules
    prompt: PromptWords
    matching: MatchingRules | None
    answers: AnswerPhrases
    name: str = _of(_TEXT)
    joiner: str = _of(_one_of(" ", ""))
    words: str = _of(_one_of("spaces", "jieba", "characters"))
    bytes_per_token: float = _of(_NUMBER, 4.0)
    scripts: tuple[str, ...] = _of(_TEXTS, ())
    common_words: tuple[str, ...] = _of(_TEXTS, ())


_SECTIONS: dict[str, type] = {
    "sentences": SentenceRules, "prompt": PromptWords, "matching": MatchingRules, "answers": AnswerPhrases
}  # fmt: skip


def language_codes() -> tuple[str, ...]:
    """The languages that have a file, in the order of rows: English, Chinese, then the others by code."""
    return tuple(_files())


def is_own_language(code: str) -> bool:
    """Whether a language's file was added by the user."""
    return _files().get(code, SHIPPED).parent != SHIPPED


def find_language(code: str) -> Language:
    """A language by its code. Raises LanguageError if it has no file, or with everything that is wrong in the file."""
    file = _files().get(code)
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


def rules_code(code: str) -> str:
    """The code of a language if it has its own matching rules, else an empty text."""
    known = None if code in ALWAYS_READ else known_language(code)
    return code if known and known.matching else ""


def _files() -> dict[str, Path]:
    """The file of each language. Shipped files cannot be replaced, so that their codes mean the same everywhere."""
    return _files_in(os.environ.get(LANGUAGES_VARIABLE, ""))


@lru_cache(maxsize=8)
def _files_in(listed: str) -> dict[str, Path]:
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
    sections: dict[str, Any] = {
        name: _table(record, table.get(name, {}), f"{name}.", problems) for name, record in _SECTIONS.items()
    }
    if "matching" not in table:
        sections["matching"] = None
    language = _table(Language, table, "", problems, code=code, sha256=sha256, **sections)
    return (None, problems) if problems else (language, [])
