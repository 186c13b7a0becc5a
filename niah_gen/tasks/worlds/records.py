"""Asks for an attribute of one of two things with near-equal names: `records`, a table with an empty cell."""

from __future__ import annotations

from itertools import product

from niah_gen.tasks.worlds.schemas import near_equal, said
from niah_gen.tasks.worlds.world import Draw, Fact, Question, World, asked_of, fitting, rivals_of, world_task


def _records(given: Draw) -> World:
    """2 things x 3 attributes at level 1, 2 x 6 at level 2, 3 x 6 at level 3; all cells but the blanks are stated."""
    count, most = 3 if given.level == 3 else 2, 3 if given.level == 1 else 6
    sizes = [count * attributes - given.blanks for attributes in (most, *range(2, 7))]
    what = f"`records` states all but {given.blanks} of the attributes of {count} things, 2 to 6 of each"
    stated_cells = fitting(given, sizes, what)
    things = near_equal(given.schema, count, given.number, given.seed)
    relations = given.schema["relation"][: (stated_cells + given.blanks) // count]
    cells = [(thing, number) for thing, number in product(things, range(len(relations)))]
    stated = given.random.sample(cells, stated_cells)
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
    return World(records, asked_of(given, questions))


RECORDS = world_task("records", _records)
