"""Asks for a person by what an entry implies, in one or two steps of common knowledge: `associations`.

Question and text share no content word. The idea is NoLiMa's (A. Modarressi et al., ICML 2025).
"""

from __future__ import annotations

from typing import Any

from niah_gen.tasks.worlds.schemas import said
from niah_gen.tasks.worlds.world import Draw, Fact, Question, World, asked_of, fitting, rivals_of, world_task

# How many entries a world has by level; beside the last one, or two, is nobody.
_ENTRIES = {1: 6, 2: 12, 3: 12}


def _associations(given: Draw) -> World:
    """Questions take one step at level 1, one or two at level 2, half of them each, and two at level 3."""
    schema = given.schema
    what = f"`associations` has 4 to 12 entries, {given.blanks} of them without anybody"
    count = fitting(given, [_ENTRIES[given.level] - given.blanks, *range(4 - given.blanks, 13 - given.blanks)], what)
    entries = _different(given.random.sample(schema["entry"], len(schema["entry"])), count + given.blanks)
    beside = entries[:count]
    people = given.names.draw("person", len(beside))
    records = tuple(
        said(given.random.choice(schema["templates"]), person=person[0], entry=entry["entry"])
        for person, entry in zip(people, beside, strict=True)
    )
    questions = []
    for number, entry in enumerate(entries):
        steps = "two" if given.level == 3 or (given.level == 2 and number % 2) else "one"
        stated = number < len(beside)
        right: tuple[Fact, ...] = (people[number],) if stated else ()
        text = said(given.random.choice(schema[steps]), **{steps: entry[steps]})
        questions.append(Question(text, right, rivals_of(people, right), number if stated else None))
    given.random.shuffle(questions)
    return World(records, asked_of(given, questions), tuple(tag for entry in entries for tag in entry["tags"]))


def _different(entries: list[dict[str, Any]], count: int) -> list[dict[str, Any]]:
    """The first entries that imply different things, in one step and in two."""
    chosen: dict[str, dict[str, Any]] = {}
    for entry in entries:
        if entry["one"] not in {one["one"] for one in chosen.values()}:
            chosen.setdefault(entry["two"], entry)
    return list(chosen.values())[:count]


ASSOCIATIONS = world_task("associations", _associations)
