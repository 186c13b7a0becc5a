"""The needle library: what is hidden, what is asked, what counts as an answer. Data files, one table a needle.

[name]
language = "en"
needles = ["The text to hide."]            # several for a multi-needle set, in order
question = "What is asked?"
answers = ["Reference answer."]            # any one is accepted; edit metrics compare with the first
keywords = ["group", ["either", "or"]]     # all groups must be found; a list gives the variants of one group
metric = "keyword"                         # optional: the metric these rows are judged by
"""

from __future__ import annotations

import tomllib
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

_FOLDER = Path(__file__).parent / "library" / "needles"
_FIELDS = {
    "id", "language", "needle", "needles", "question", "answer", "answers", "keywords", "metric",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Needle:
    """One fact, or one set of facts asked for together."""

    id: str
    language: str
    needles: tuple[str, ...]
    question: str
    answers: tuple[str, ...]
    keywords: tuple[tuple[str, ...], ...]
    metric: str

    def table(self) -> dict[str, object]:
        """The needle as a recipe's inline table."""
        return {name: _lists(value) for name, value in asdict(self).items()}


def _lists(value: object) -> object:
    return [_lists(item) for item in value] if isinstance(value, tuple | list) else value


@lru_cache(maxsize=1)
def needle_library() -> dict[str, Needle]:
    """All needles that come with the package, by name, sorted."""
    found: dict[str, Needle] = {}
    for file in sorted(_FOLDER.iterdir()):
        for name, table in tomllib.loads(file.read_text("utf-8")).items():
            needle, problems = parse_needle({"id": name, **table})
            if needle is None or name in found:
                raise ValueError(f"{file}: [{name}]: {'; '.join(problems) or 'the name is taken'}")
            found[name] = needle
    return dict(sorted(found.items()))


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
    language = table.get("language")
    if language is None and needles:
        language = "zh" if any("\u4e00" <= char <= "\u9fff" for char in needles[0]) else "en"
    if language not in ("en", "zh"):
        problems.append(f"language: expected en or zh, found {language!r}")
    metric = table.get("metric", "keyword" if keywords else "edit")
    if not isinstance(metric, str):
        problems.append(f"metric: expected a name, found {metric!r}")
    if problems or not needles or keywords is None:
        return None, problems
    return Needle(str(name), str(language), needles, str(question), answers, keywords, str(metric)), []


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
