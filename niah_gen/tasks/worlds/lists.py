"""Asks who owes and who has paid, of lists whose people are spread singly over the text: `lists`."""

from __future__ import annotations

from niah_gen.tasks.worlds.schemas import nobody, said
from niah_gen.tasks.worlds.world import Draw, Fact, Question, World, rivals_of, world_task

# How many lists a world has by level, and people a list: at most so many that 2,000 tokens hold them.
_LISTS = {1: (2, 4), 2: (3, 7), 3: (4, 5)}
_OWES = ("joined", "promised")
_SETTLED = ("paid", "paid_for")


def _lists(given: Draw) -> World:
    """Two lists of 4 people, three of 7 or four of 5, by level; nobody pays for another at level 1.

    One of the sets that are asked for, two of each list, is empty; with the option `empty` 0 to 2 are, of two lists.
    """
    schema, draw = given.schema, given.random
    lists, size = _LISTS[given.level]
    holders = draw.sample(schema["holders"], lists)
    people = given.names.draw("person", lists * size)
    if given.blanks == 1:
        sets = [draw.randrange(2 * lists)]
    else:
        sets = [2 * number + draw.randrange(2) for number in draw.sample(range(lists), given.asked_blanks)]
    empty = {number // 2: ("owes", "settled")[number % 2] for number in sets}
    records: list[str] = []
    questions: list[Question] = []
    for number, holder in enumerate(holders):
        roster = people[number * size : (number + 1) * size]
        histories = _histories(given, size, empty.get(number, ""))
        for person, history in zip(roster, histories, strict=True):
            records.append(said(draw.choice(schema["joined"]), person=person[0], holder=holder))
            if history == "paid_for":
                other = given.names.draw("person", 1)[0][0]
                records.append(said(draw.choice(schema[history]), person=person[0], holder=holder, other=other))
            elif history != "joined":
                records.append(said(draw.choice(schema[history]), person=person[0], holder=holder))
        for kind, those in (("owes", _OWES), ("settled", _SETTLED)):
            right: tuple[Fact, ...] = tuple(
                person for person, history in zip(roster, histories, strict=True) if history in those
            )
            text = said(draw.choice(schema[kind]), holder=holder)
            questions.append(Question(text, right or (nobody(given.language),), rivals_of(people, right)))
    draw.shuffle(records)
    return World(tuple(records), tuple(questions))


def _histories(given: Draw, size: int, empty: str) -> list[str]:
    """What became of each person of a list: at least one owes and one has paid, unless `empty` says that none does."""
    settled = _SETTLED[:1] if given.level == 1 else _SETTLED
    kinds = [kind for kind, no in ((_OWES, "owes"), (settled, "settled"), (("refunded",), "")) if no != empty or not no]
    histories = [given.random.choice(kind) for kind in kinds]
    histories += [given.random.choice(given.random.choice(kinds)) for _ in range(size - len(kinds))]
    given.random.shuffle(histories)
    return histories


LISTS = world_task("lists", _lists)
