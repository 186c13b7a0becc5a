"""Asks where things were that moved on dates in no order of the text, some moves of which were cancelled: `moves`."""

from __future__ import annotations

from datetime import date
from typing import NamedTuple

from niah_gen.tasks.worlds.schemas import near_equal, said, written_date
from niah_gen.tasks.worlds.world import Draw, Fact, Question, World, fitting, rivals_of, world_task

# How often the things of a level move.
_MOVES = {1: (2, 3), 2: (2, 3, 4, 5), 3: (2, 3, 4, 5, 6, 7)}
# How many of the questions on a date and on the place before have a cancelled move between the two moves that decide.
_CROSSED = {1: (1, 0), 2: (2, 1), 3: (3, 1)}
# How many questions ask where a thing was on a date, where before a place, and how often it moved; the end is asked of
# each thing, and one more question (0 to 2 with the option `empty`) asks where a thing was before its first place.
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
    """2 things at level 1, 4 at level 2, 6 at level 3. Of half of them a cancelled move is the last.

    Others lie before a first move, and between the two moves that decide a question, of two thirds of those on a date
    and of half of those on the place before: so who takes no notice of what did not happen is right half the time.
    """
    schema, draw = given.schema, given.random
    *fewer, most = _MOVES[given.level]
    off = sum(_CROSSED[given.level]) + (len(fewer) + 1) // 2 + 1
    least = sum(fewer) + most + off
    count = fitting(
        given, range(least, len(_DAYS) + 1), f"`moves` has {len(fewer) + 1} things that move at least twice"
    )
    counts = draw.sample([*fewer, most + count - least], len(fewer) + 1)
    things = near_equal(schema, len(counts), given.number, given.seed)
    places = given.names.draw(schema["kind"], sum(counts) + off)
    on, before, often = _ASKED[given.level]
    gaps = draw.sample([(thing, nth) for thing, count in enumerate(counts) for nth in range(1, count)], on + before)
    crossed = _CROSSED[given.level]
    between = [*gaps[: crossed[0]], *gaps[on : on + crossed[1]]]
    last = [(thing, counts[thing]) for thing in draw.sample(range(len(counts)), len(counts) // 2)]
    spare = (draw.randrange(len(counts)), 0)
    cancelled = [*between, *last, spare]
    made: list[list[_Move]] = []  # the moves of each thing that took place, by date
    records: list[_Move] = []
    days = iter(draw.sample(_DAYS, len(places)))
    left = iter(places)
    for number, count in enumerate(counts):
        order = [False] * count
        for thing, nth in sorted(cancelled, reverse=True):
            if thing == number:
                order.insert(nth, True)
        dates = sorted(next(days) for _ in order)
        moves = [_Move(number, next(left), day, is_off) for day, is_off in zip(dates, order, strict=True)]
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

    questions = [ask("end", number, moves[-1]) for number, moves in enumerate(made)]
    for thing, nth in gaps[:on]:
        move, following = made[thing][nth - 1 : nth + 1]
        passed = [one.day for one in records if one.thing == thing and move.day < one.day < following.day]
        day = draw.randrange(max([move.day, *passed]) + 1, following.day)
        questions.append(ask("on", thing, move, date=written_date(given.language, day)))
    for thing, nth in gaps[on:]:
        move, following = made[thing][nth - 1 : nth + 1]
        questions.append(ask("before", thing, move, (following.place,), value=following.place[0]))
    for first, *_ in [draw.choice(made)] if given.blanks == 1 else draw.sample(made, given.asked_blanks):
        questions.append(ask("before", first.thing, None, (first.place,), value=first.place[0]))
    for number in draw.sample(range(len(made)), often):
        times = str(len(made[number]))
        text = said(draw.choice(schema["count"]), thing=things[number])
        questions.append(Question(text, ((times,),), (), None, "number"))
    draw.shuffle(questions)
    return World(texts, tuple(questions))


MOVES = world_task("moves", _moves)
