"""Asks where things were that moved on dates in no order of the text, some moves of which were cancelled: `moves`."""

from __future__ import annotations

from datetime import date
from typing import NamedTuple

from niah_gen.tasks.worlds.schemas import near_equal, said, written_date
from niah_gen.tasks.worlds.world import Draw, Fact, Question, World, fitting, rivals_of, world_task

# How often the things of a level move.
_MOVES = {1: (2, 3), 2: (2, 3, 4, 5), 3: (2, 3, 4, 5, 6, 7)}
# How many questions ask where a thing was on a date, where before a place, and how often it moved; the end is asked of
# each thing, and one more question asks where a thing was before its first place.
_ASKED = {1: (1, 1, 1), 2: (3, 2, 2), 3: (5, 3, 3)}
# Records are on different dates, far enough apart that a date lies between any two. Neither month nor day is a number
# that counts moves, or a sentence with a date would answer how often a thing moved.
_DAYS = [
    (date(2001, month, day) - date(2001, 1, 1)).days for month in range(8, 13) for day in (10, 13, 16, 19, 22, 25, 28)
]


class _Move(NamedTuple):
    """A move of thing number `thing`. `day`: of the year, from 0."""

    thing: int
    place: Fact
    day: int
    is_cancelled: bool


def _moves(given: Draw) -> World:
    """2 things at level 1, 4 at level 2, 6 at level 3, with a cancelled move each: of half of them it is the last."""
    schema, draw = given.schema, given.random
    *fewer, most = _MOVES[given.level]
    least = sum(fewer) + most + len(fewer) + 1
    count = fitting(
        given, range(least, len(_DAYS) + 1), f"`moves` has {len(fewer) + 1} things that move at least twice"
    )
    counts = draw.sample([*fewer, most + count - least], len(fewer) + 1)
    things = near_equal(schema, len(counts), given.number, given.seed)
    places = given.names.draw(schema["kind"], sum(counts) + len(counts))
    made: list[list[_Move]] = []  # the moves of each thing that took place, by date
    records: list[_Move] = []
    days = iter(draw.sample(_DAYS, len(places)))
    left = iter(places)
    for number, count in enumerate(counts):
        dates = sorted(next(days) for _ in range(count + 1))
        cancelled = count if number % 2 else draw.randrange(count)
        moves = [_Move(number, next(left), day, nth == cancelled) for nth, day in enumerate(dates)]
        made.append([move for move in moves if not move.is_cancelled])
        records += moves
    draw.shuffle(records)
    texts = tuple(
        said(
            draw.choice(schema["cancelled" if move.is_cancelled else "moved"]), thing=things[move.thing],
            value=move.place[0], date=written_date(given.language, move.day),
        )
        for move in records
    )  # fmt: skip

    def ask(kind: str, thing: int, answer: _Move | None, besides: tuple[Fact, ...] = (), **values: str) -> Question:
        right = (answer.place,) if answer else ()
        text = said(draw.choice(schema[kind]), thing=things[thing], **values)
        return Question(text, right, rivals_of(places, (*right, *besides)), records.index(answer) if answer else None)

    on, before, often = _ASKED[given.level]
    earlier = [(moves[nth], moves[nth + 1]) for moves in made for nth in range(len(moves) - 1)]
    chosen = draw.sample(earlier, on + before)
    questions = [ask("end", number, moves[-1]) for number, moves in enumerate(made)]
    for move, following in chosen[:on]:
        day = draw.randrange(move.day + 1, following.day)
        questions.append(ask("on", move.thing, move, date=written_date(given.language, day)))
    for move, following in chosen[on:]:
        questions.append(ask("before", move.thing, move, (following.place,), value=following.place[0]))
    first = draw.choice(made)[0]
    questions.append(ask("before", first.thing, None, (first.place,), value=first.place[0]))
    for number in draw.sample(range(len(made)), often):
        times = str(len(made[number]))
        text = said(draw.choice(schema["count"]), thing=things[number])
        questions.append(Question(text, ((times,),), (), None, "number"))
    draw.shuffle(questions)
    return World(texts, tuple(questions))


MOVES = world_task("moves", _moves)
