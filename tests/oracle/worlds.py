"""Reads a world's records back out of sentences, replays what they say, and answers a question from them alone.

Shares nothing with the families but the schemas: templates become patterns, and every answer is computed again.
"""

from __future__ import annotations

import re
import string
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cache
from itertools import permutations
from typing import Any, NamedTuple


class Read(NamedTuple):
    """A sentence that one template explains. `kind`: the name of the template's list or relation."""

    kind: str
    values: dict[str, str]


_DATE = r"\d+ [A-Z][a-z]+|\d+月\d+日"


@cache
def pattern(template: str, known: tuple[str, ...] = ()) -> re.Pattern[str]:
    """What a template's sentences match, with a group for each placeholder; the first letter may be a capital.

    `known`: what placeholders other than people, places and dates can be.
    """
    parts = []
    for literal, field, _, _ in string.Formatter().parse(template):
        parts.append(re.escape(literal))
        if field is not None:
            names = (
                "|".join(map(re.escape, known)) if known and field in ("thing", "holder", "entry", "item") else ".+?"
            )
            parts.append(f"(?P<{field}>{_DATE if field == 'date' else names})")
    return re.compile("".join(parts), re.IGNORECASE)


def read(sentence: str, lists: Mapping[str, Sequence[str]], known: Sequence[str] = ()) -> Read:
    """The one way in which a sentence can be read. `known`: as in `pattern`."""
    spelled = {name.lower(): name for name in known}
    found = [
        Read(kind, {field: spelled.get(value.lower(), value) for field, value in match.groupdict().items()})
        for kind, templates in lists.items()
        for template in templates
        if (match := pattern(template, tuple(known)).fullmatch(sentence))
    ]
    assert len(found) == 1, f"{len(found)} readings of {sentence!r}: {found}"
    return found[0]


def answer(part: str, schema: Mapping[str, Any], records: Sequence[str], question: str) -> set[str]:
    """The answer to a question over a world's records, a set of facts; empty if the records do not say."""
    return {
        "records": _records, "associations": _associations, "threads": _threads, "moves": _moves, "lists": _lists,
        "tally": _tally,
    }[part](schema, records, question)  # fmt: skip


def _things(schema: Mapping[str, Any]) -> list[str]:
    joined = [f"{first}{schema['join']}{second}" for first in schema["first"] for second in schema["second"]]
    return [schema["thing"].format(name=name) for name in joined]


def _records(schema: Mapping[str, Any], records: Sequence[str], question: str) -> set[str]:
    things = _things(schema)
    templates = {relation["name"]: relation["templates"] for relation in schema["relation"]}
    questions = {relation["name"]: relation["questions"] for relation in schema["relation"]}
    asked = read(question, questions, things)
    stated = [read(record, templates, things) for record in records]
    return {
        one.values["value"] for one in stated if (one.kind, one.values["thing"]) == (asked.kind, asked.values["thing"])
    }


def _associations(schema: Mapping[str, Any], records: Sequence[str], question: str) -> set[str]:
    entries = [entry["entry"] for entry in schema["entry"]]
    stated = [read(record, {"": schema["templates"]}, entries).values for record in records]
    beside = {one["entry"].lower(): one["person"] for one in stated}
    people = set()
    for entry in schema["entry"]:
        for steps in ("one", "two"):
            spelled = [template.format(**{steps: entry[steps]}).lower() for template in schema[steps]]
            if question.lower() in spelled and entry["entry"].lower() in beside:
                people.add(beside[entry["entry"].lower()])
    return people


def _threads(schema: Mapping[str, Any], records: Sequence[str], question: str) -> set[str]:
    stated = [
        read(record, {relation["name"]: relation["templates"] for relation in schema["relation"]}) for record in records
    ]
    after = {(one.kind, one.values["a"]): one.values["b"] for one in stated}
    names = {name for one in stated for name in one.values.values()}
    (path,) = (match["path"] for ask in schema["ask"] if (match := pattern(ask).fullmatch(question)))
    walked: list[str] = []
    while path not in names:
        (inner,) = {
            (relation["name"], match["it"])
            for relation in schema["relation"]
            for step in relation["steps"]
            if (match := pattern(step).fullmatch(path))
        }
        walked.append(inner[0])
        path = inner[1]
    for relation in reversed(walked):
        if (relation, path) not in after:
            return set()
        path = after[relation, path]
    return {path}


def _day(written: str) -> datetime:
    """A date without a year, in a year of 365 days."""
    for form in ("%d %B %Y", "%m月%d日 %Y"):
        try:
            return datetime.strptime(f"{written} 2001", form)
        except ValueError:
            continue
    raise AssertionError(written)


def _moves(schema: Mapping[str, Any], records: Sequence[str], question: str) -> set[str]:
    things = _things(schema)
    stated = [read(record, {name: schema[name] for name in ("moved", "cancelled")}, things) for record in records]
    asked = read(question, {name: schema[name] for name in ("end", "on", "before", "count")}, things)
    mine = [one.values for one in stated if one.kind == "moved" and one.values["thing"] == asked.values["thing"]]
    mine.sort(key=lambda values: _day(values["date"]))
    places = [values["value"] for values in mine]
    if asked.kind == "count":
        return {str(len(mine))}
    if asked.kind == "before":
        at = places.index(asked.values["value"])
        return set(places[at - 1 : at]) if at else set()
    if asked.kind == "on":
        places = [values["value"] for values in mine if _day(values["date"]) <= _day(asked.values["date"])]
    return set(places[-1:])


def _lists(schema: Mapping[str, Any], records: Sequence[str], question: str) -> set[str]:
    told = ("joined", "paid", "promised", "refunded", "paid_for")
    stated = [read(record, {name: schema[name] for name in told}, schema["holders"]) for record in records]
    asked = read(question, {name: schema[name] for name in ("owes", "settled")}, schema["holders"])
    history: dict[str, set[str]] = {}
    for one in stated:
        if one.values["holder"] == asked.values["holder"]:
            history.setdefault(one.values["person"], set()).add(one.kind)
    settled = {person for person, kinds in history.items() if kinds & {"paid", "paid_for"}}
    if asked.kind == "settled":
        return settled
    return {person for person, kinds in history.items() if "refunded" not in kinds} - settled


def _tally(schema: Mapping[str, Any], records: Sequence[str], question: str) -> set[str]:
    logged: dict[str, list[tuple[str, str, str]]] = {"templates": [], "withdrawn": []}
    class_of = {item: one["asked"] for one in schema["class"] for item in one["items"]}
    for record in records:
        one = read(record, {name: schema[name] for name in logged}, sorted(class_of, key=len, reverse=True))
        logged[one.kind].append((one.values["person"], one.values["item"], one.values["place"]))
    assert len(set(logged["templates"])) == len(logged["templates"]), "two entries that cannot be told apart"
    assert set(logged["withdrawn"]) <= set(logged["templates"]), "an entry was withdrawn that nobody made"
    left = set(logged["templates"]) - set(logged["withdrawn"])
    classes = [class_of[item] for _, item, _ in left]
    for one in schema["class"]:
        if question.lower() in [text.format(**{"class": one["asked"]}).lower() for text in schema["class_count"]]:
            return {str(classes.count(one["asked"]))}
    for person in {person for person, _, _ in left}:
        if question.lower() in [text.format(person=person).lower() for text in schema["person_count"]]:
            return {str(sum(by == person for by, _, _ in left))}
    named = [one["asked"] for one in schema["class"]]
    assert any(
        question.lower() == text.format(classes=joined).lower()
        for text in schema["class_most"]
        for order in permutations(named)
        for joined in (f"{', '.join(order[:-1])} or {order[-1]}", f"{'、'.join(order[:-1])}还是{order[-1]}")
    ), question
    return {max(named, key=classes.count)}
