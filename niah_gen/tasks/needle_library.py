"""Reads needles: what is hidden, what is asked, what counts as an answer. TOML files, one table for each needle.

[name]
language = "en"
needles = ["The text to hide."]            # several for a set, in order
question = "What is asked?"
paraphrase = "The same, asked otherwise?"  # optional: what `paraphrase = true` asks instead
answers = ["Reference answer."]            # any one is accepted; edit metrics compare with the first
keywords = ["group", ["either", "or"]]     # all groups must be found; a list gives the variants of one group
metric = "keyword"                         # optional: the metric these rows are judged by

docs/needles.md says what makes a good one.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from niah_gen.errors import RecipeError, suggestion
from niah_score.contract import METRIC_NAMES, unknown_metric
from niah_score.text import fold, holds

_FOLDER = Path(__file__).parents[1] / "library" / "needles"
_FIELDS = {
    "id", "language", "needle", "needles", "question", "paraphrase", "answer", "answers", "keywords", "metric",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Needle:
    """One fact, or one set of facts asked for together. `paraphrase`: the question in other words, or empty."""

    id: str
    language: str
    needles: tuple[str, ...]
    question: str
    answers: tuple[str, ...]
    keywords: tuple[tuple[str, ...], ...]
    metric: str
    paraphrase: str = ""

    @property
    def kind(self) -> str:
        """single, list (every text of the set holds a keyword), or chain (the texts lead to one answer)."""
        if len(self.needles) == 1:
            return "single"
        return "list" if all(any(_held(text, group) for group in self.keywords) for text in self.needles) else "chain"

    def asked(self, paraphrase: bool) -> Needle:
        """The needle with the one question that a prompt asks."""
        return replace(self, question=self.paraphrase if paraphrase else self.question, paraphrase="")

    def table(self) -> dict[str, object]:
        """The needle as a recipe's inline table."""
        table = {name: _lists(value) for name, value in asdict(self).items()}
        if not self.paraphrase:
            del table["paraphrase"]
        return table


def _lists(value: object) -> object:
    return [_lists(item) for item in value] if isinstance(value, tuple | list) else value


def _held(text: str, group: tuple[str, ...]) -> bool:
    folded = fold(text)
    return any(holds(folded, keyword) for keyword in group)


@lru_cache(maxsize=1)
def needle_files() -> dict[str, tuple[Needle, ...]]:
    """The needles that come with the package, by the name of their file, in its order."""
    return {file.stem: tuple(read_needles(file)) for file in sorted(_FOLDER.iterdir())}


@lru_cache(maxsize=1)
def needle_library() -> dict[str, Needle]:
    """All needles that come with the package, by name, sorted."""
    return {needle.id: needle for needle in sorted(sum(needle_files().values(), ()), key=lambda needle: needle.id)}


def find_needles(spec: str) -> tuple[Needle, ...]:
    """The needles that a name stands for: one of the library, all of a library file, or those of a file of the user's.

    `path/to/file.toml` is all of a file, `file.toml#name` one of it. Raises RecipeError.
    """
    if spec in needle_library():
        return (needle_library()[spec],)
    if spec in needle_files():
        return needle_files()[spec]
    path, _, name = spec.partition("#")
    if not path.endswith(".toml"):
        known = suggestion(spec, [*needle_files(), *needle_library()])
        raise RecipeError([f"no needle {spec!r} in the library{known}"])
    found = read_needles(Path(path))
    chosen = tuple(needle for needle in found if name in ("", needle.id))
    if not chosen:
        raise RecipeError([f"{path} holds no needle {name!r}{suggestion(name, [needle.id for needle in found])}"])
    return chosen


def read_needles(file: Path) -> list[Needle]:
    """The needles of a file, in its order. Raises RecipeError with everything that is wrong in it, and where."""
    try:
        text = file.read_bytes().decode("utf-8-sig")
        tables = tomllib.loads(text)
    except FileNotFoundError:
        raise RecipeError([f"{file}: no such file"]) from None
    except (OSError, ValueError) as error:
        raise RecipeError([f"{file}: cannot be read as TOML: {error}"]) from None
    found: list[Needle] = []
    problems: list[str] = []
    for name, table in tables.items():
        where = f"{file}:{_line_of(name, text)}: [{name}]"
        if not isinstance(table, dict):
            problems.append(f"{where}: expected a table with needles, question and keywords, found {table!r}")
            continue
        needle, wrong = parse_needle({**table, "id": name})
        found += [needle] if needle else []
        problems += [f"{where}.{problem}" for problem in wrong]
        problems += [f"{where}.id: the name is the table's own; leave id out"] if "id" in table else []
    if not tables:
        problems.append(f"{file}: expected at least one [name] table, found none")
    if problems:
        raise RecipeError(problems, str(file))
    return found


def _line_of(name: str, text: str) -> int:
    """The line on which a table or key of the file begins; 1 where its name is spelt in a way of its own."""
    begins = re.compile(rf"\s*\[?\s*[\"']?{re.escape(name)}[\"']?\s*[\].=]")
    return next((number for number, line in enumerate(text.split("\n"), 1) if begins.match(line)), 1)


def parse_needle(table: dict[str, Any]) -> tuple[Needle | None, list[str]]:
    """A needle from its table, or None and what is wrong with it.

    `needle` and `answer` may stand for one-element `needles` and `answers`. Without answers, the needles are the
    answer; without a language, the script of the first needle tells it.
    """
    problems = [f"unknown field {name!r}" for name in table if name not in _FIELDS]
    needles = _texts(table.get("needles", table.get("needle")))
    question = table.get("question")
    answers: tuple[str, ...] = ("".join(needles or ()),)
    if "answers" in table or "answer" in table:
        given = _texts(table.get("answers", table.get("answer")))
        if given is None:
            problems.append("answers: expected a text or a list of texts, none empty")
        answers = given or answers
    keywords = _groups(table.get("keywords", []))
    name = table.get("id")
    if not isinstance(name, str) or not name:
        problems.append(f"id: expected a name, found {name!r}")
    if not needles:
        problems.append("needles: expected a text or a list of texts, none empty")
    if not isinstance(question, str) or not question.strip() or not _is_encodable(question):
        problems.append(f"question: expected a text, found {question!r}")
    if keywords is None:
        problems.append("keywords: expected a list of texts or of lists of texts, none empty")
    paraphrase = table.get("paraphrase", "")
    if not isinstance(paraphrase, str) or not _is_encodable(paraphrase):
        problems.append(f"paraphrase: expected a text, found {paraphrase!r}")
    language = table.get("language")
    if language is None and needles:
        language = "zh" if any("\u4e00" <= char <= "\u9fff" for char in needles[0]) else "en"
    if language not in ("en", "zh"):
        problems.append(f"language: expected en or zh, found {language!r}")
    metric = table.get("metric", "keyword" if keywords else "edit")
    if not isinstance(metric, str):
        problems.append(f"metric: expected a name, found {metric!r}")
    elif metric not in METRIC_NAMES:
        problems.append(f"metric: {unknown_metric(metric)}")
    if problems or not needles or keywords is None:
        return None, problems
    return Needle(
        str(name), str(language), needles, str(question), answers, keywords, str(metric), str(paraphrase).strip()
    ), []


def doubts(needle: Needle) -> list[str]:
    """What makes a needle measure something else than retrieval, a sentence each."""
    found = []
    whole = "\n".join(needle.needles)
    for group in needle.keywords:
        if not _held(whole, group):
            found.append(f"no text to hide holds a keyword of {list(group)}: what is asked for cannot be found")
        if not _held(needle.answers[0], group):
            found.append(
                f"the reference answer holds no keyword of {list(group)}: a perfect answer would count as wrong"
            )
        found += [
            f"the {name} holds a keyword of {list(group)}: repeating it would count as found"
            for name in ("question", "paraphrase")
            if _held(getattr(needle, name), group)
        ]
    if not needle.keywords:
        found.append("no keywords: only the wording of answers can be compared")
    return found


def _texts(value: object) -> tuple[str, ...] | None:
    items = [value] if isinstance(value, str) else value
    if not isinstance(items, list | tuple) or not items:
        return None
    texts = tuple(item for item in items if isinstance(item, str) and item.strip() and _is_encodable(item))
    return texts if len(texts) == len(items) else None


def _is_encodable(text: str) -> bool:
    """Half a surrogate pair is no text."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _groups(value: object) -> tuple[tuple[str, ...], ...] | None:
    if not isinstance(value, list | tuple):
        return None
    groups = [_texts(item) for item in value]
    return None if None in groups else tuple(group for group in groups if group)
