"""Draws worlds in memory, as they appear to a solver that knows the corpora by heart: the hidden sentences alone."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray
from worlds import pattern

from niah_gen.tasks.base import not_stated
from niah_gen.tasks.records import Cell, Item, Settings
from niah_gen.tasks.registry import find_task
from niah_gen.tasks.words import LIST_JOINER
from niah_gen.tasks.worlds.schemas import Schema, nobody, schemas, written_date
from niah_gen.tasks.worlds.world import WorldOptions
from niah_score.metrics.base import Target
from niah_score.scoring.score import SCORED_COLUMNS, ScoringOptions, score_chunk

LANGUAGES = ("en", "zh")
# How many worlds of each schema one seed gives; no two of them share a name.
_OF_A_SEED = 6
_DAYS = {language: {written_date(language, day): day for day in range(365)} for language in LANGUAGES}
DATE = re.compile(r"\d+ [A-Z][a-z]+|\d+月\d+日")

Answer = frozenset[str]  # the facts that an answer gives; empty if it says that the text does not tell


class Seen(NamedTuple):
    """A world and what meets the eye in it. `values`: the facts that can be answers, numbers of things left out.

    `held`: the values in each record, in its order. `names`: the name in each question, empty if it has none; `named`:
    for each question, which records hold that name. `days`, `asked_days`: the date in each record and question, as a
    day of the year; -1 without. `right`: the answer to each question.
    """

    part: str
    language: str
    schema: str
    item: Item
    records: tuple[str, ...]
    questions: tuple[str, ...]
    values: tuple[str, ...]
    held: list[list[str]]
    names: list[str]
    named: NDArray[np.bool_]
    days: list[int]
    asked_days: list[int]
    right: list[Answer]

    def without_names(self, texts: Iterable[str]) -> list[str]:
        """Texts without the names in any question, and without values."""
        hidden = sorted({*self.names, *self.values} - {""}, key=len, reverse=True)
        names = re.compile("|".join(map(re.escape, hidden)), re.IGNORECASE)
        return [names.sub(" ", text) for text in texts]


def worlds(part: str, language: str, count: int, first_seed: int = 0, level: int = 2) -> Iterator[Seen]:
    """`count` worlds of each schema of a part."""
    task, known = find_task(part), len(schemas(part, language))
    assert callable(task.item)
    for nth, start in enumerate(range(0, count, _OF_A_SEED)):
        settings = Settings(WorldOptions(level, known * min(_OF_A_SEED, count - start)), seed=first_seed + nth)
        for name in task.ids(settings, language):
            yield seen(part, task.item(settings, Cell(language, "corpus", 2000, name, 0, None)))


def seen(part: str, item: Item) -> Seen:
    """How the world of an item appears."""
    schema = schemas(part, item.language)[item.id.rpartition("-")[0]]
    empty = nobody(item.language)[0]
    questions = tuple(asked.question or "" for asked in item.asks)
    right = [frozenset(group[0] for group in asked.keywords) - {empty} for asked in item.asks]
    facts = dict.fromkeys(group[0] for asked in item.asks for group in (*asked.keywords, *asked.decoys))
    values = tuple(fact for fact in facts if fact != empty and not (part in ("moves", "tally") and fact.isdigit()))
    names = [_name(part, schema, values, question) for question in questions]
    named = np.array([[name.lower() in record.lower() for record in item.hide] for name in names])
    days, asked = ([_day(text, item.language) for text in texts] for texts in (item.hide, questions))
    held = [_held(record, values) for record in item.hide]
    return Seen(
        part, item.language, schema["name"], item, item.hide, questions, values, held, names, named, days, asked, right
    )


def _held(record: str, values: tuple[str, ...]) -> list[str]:
    digits = re.findall(r"\d+", record)
    found = [value for value in values if (value in digits if value.isdigit() else value in record)]
    return sorted(found, key=record.index)


def _name(part: str, schema: Schema, values: tuple[str, ...], question: str) -> str:
    """The longest name of a thing, person or list in a question."""
    if part == "tally":
        found = (pattern(text).fullmatch(question) for text in schema["person_count"])
        return next((match["person"] for match in found if match), "")
    names = {"lists": schema.get("holders", ()), "threads": values}.get(part, ())
    if "first" in schema:
        pairs = (schema["join"].join((first, second)) for first in schema["first"] for second in schema["second"])
        names = [schema["thing"].format(name=pair) for pair in pairs]
    return max((name for name in names if name.lower() in question.lower()), key=len, default="")


def _day(text: str, language: str) -> int:
    found = DATE.search(text)
    return _DAYS[language].get(found[0], -1) if found else -1


def said(seen: Seen, answer: Answer) -> str:
    """An answer in words."""
    return LIST_JOINER[seen.language].join(sorted(answer)) or not_stated(seen.language)


def judged(answers: Sequence[tuple[Item, str]]) -> list[bool]:
    """Whether the scorer takes each text for the right answer to its question."""
    targets = [
        Target(one.answers, one.keywords, language=one.language, keyword_kinds=one.keyword_kinds, decoys=one.decoys)
        for one, _ in answers
    ]
    columns = {"sample": 0, "text": [text for _, text in answers], "metric": "correct"}
    kinds = {name: pl.Int64 if name == "sample" else pl.String for name in SCORED_COLUMNS}
    empty = dict.fromkeys((name for name in kinds if name not in columns), None)
    frame = pl.DataFrame({**columns, **empty}, kinds)
    scores = score_chunk(frame, pl.Series(range(len(answers))), targets, ScoringOptions(()))["score"]
    return (scores == 100).to_list()
