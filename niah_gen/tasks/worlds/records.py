"""Asks for an attribute of one of two things with near-equal names: `records`, a table whose last cell is empty."""

from __future__ import annotations

from itertools import product

from niah_gen.tasks.worlds.schemas import near_equal, said
from niah_gen.tasks.worlds.world import Draw, Fact, Question, World, fitting, rivals_of, world_task


def _records(given: Draw) -> World:
    """2 things x 3 attributes at level 1, 2 x 6 at level 2, 3 x 6 at level 3; all cells but one are stated."""
    count, most = 3 if given.level == 3 else 2, 3 if given.level == 1 else 6
    sizes = [count * attributes - 1 for attributes in (most, *range(2, 7))]
    stated_cells = fitting(given, sizes, f"`records` states all but one attribute of {count} things, 2 to 6 of each")
    things = near_equal(given.schema, count, given.number, given.seed)
    relations = given.schema["relation"][: (stated_cells + 1) // count]
    cells = [(thing, number) for thing, number in product(things, range(len(relations)))]
    stated = given.random.sample(cells, len(cells) - 1)
    values = given.names.draw(given.schema["kind"], len(stated))
    records = tuple(
        said(given.random.choice(relations[number]["templates"]), thing=thing, value=value[0])
        for (thing, number), value in zip(stated, values, strict=True)
    )
    kind = "number" if given.schema["kind"] == "number" else "text"
    questions = []
    for thing, number in cells:
        record = stated.index((thing, number)) if (thing, number) in stated else None
        right: tuple[Fact, ...] = () if record is None else (values[record],)
        text = said(given.random.choice(relations[number]["questions"]), thing=thing)
        questions.append(Question(text, right, rivals_of(values, right), record, kind))
    return World(records, tuple(questions))


RECORDS = world_task("records", _records)
