"""Asks how many entries of a log are of a class, or by a person; common knowledge tells the classes: `tally`."""

from __future__ import annotations

import random

from niah_gen.tasks.worlds.schemas import alternatives, said
from niah_gen.tasks.worlds.world import Draw, Question, World, rivals_of, world_task

# Entries by level, those that are withdrawn included, and how many are.
_ENTRIES = {1: (16, 2), 2: (40, 6), 3: (40, 8)}
_MOST = 20


def _tally(given: Draw) -> World:
    """16 entries at level 1, else 40; the numbers asked for are all different."""
    schema, draw = given.schema, given.random
    entries, withdrawn = _ENTRIES[given.level]
    classes = draw.sample(schema["class"], 4)
    people = given.names.draw("person", 4)
    places = given.names.draw("place", 16)
    by_class, by_person = _counts(draw, entries - withdrawn)
    kinds = [number for number, count in enumerate(by_class) for _ in range(count)]
    authors = [number for number, count in enumerate(by_person) for _ in range(count)]
    draw.shuffle(authors)
    kinds += [draw.randrange(4) for _ in range(withdrawn)]
    # Of each person who is asked about equally often none, one and so on: a count of the sentences does not tell.
    of_asked = [number for number in range(2) for _ in range(draw.randrange(withdrawn // 2 + 1))]
    authors += [*of_asked, *(draw.randrange(2, 4) for _ in range(withdrawn - len(of_asked)))]
    logged: dict[tuple[str, str], str] = {}  # the person, by item and place: nothing is logged twice at a place
    for kind, author in zip(kinds, authors, strict=True):
        entry = draw.choice(classes[kind]["items"]), draw.choice(places)[0]
        while entry in logged:
            entry = draw.choice(classes[kind]["items"]), draw.choice(places)[0]
        logged[entry] = people[author][0]
    told = list(logged.items())
    records = [("templates", one) for one in told] + [("withdrawn", one) for one in told[entries - withdrawn :]]
    draw.shuffle(records)
    texts = tuple(
        said(draw.choice(schema[kind]), person=person, item=item, place=place)
        for kind, ((item, place), person) in records
    )
    questions = [
        *(
            _count(said(draw.choice(schema["class_count"]), **{"class": classes[n]["asked"]}), by_class[n])
            for n in range(3)
        ),
        *(_count(said(draw.choice(schema["person_count"]), person=people[n][0]), by_person[n]) for n in range(2)),
    ]
    asked = [(one["asked"],) for one in classes]
    most = (asked[by_class.index(max(by_class))],)
    named = alternatives([one for (one,) in draw.sample(asked, 4)], given.language)
    questions.append(Question(said(draw.choice(schema["class_most"]), classes=named), most, rivals_of(asked, most)))
    draw.shuffle(questions)
    return World(texts, tuple(questions))


def _count(text: str, count: int) -> Question:
    return Question(text, ((str(count),),), (), None, "number")


def _counts(draw: random.Random, total: int) -> tuple[list[int], list[int]]:
    """How many of `total` entries each class and each person has; the first three and two of them all differ.

    No two classes share the greatest number.
    """
    while True:
        first = draw.sample(range(1, _MOST + 1), 5)
        classes, people = [*first[:3], total - sum(first[:3])], [*first[3:], total - sum(first[3:])]
        if classes[3] > 0 and people[2] > 1 and classes.count(max(classes)) == 1:
            break
    third = draw.randrange(1, people[2])
    return classes, [*people[:2], third, people[2] - third]


TALLY = world_task("tally", _tally)
