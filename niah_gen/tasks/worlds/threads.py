"""Asks who stands at the end of a path of two relations: `threads`.

Each relation is a permutation of the names, so the ends of a path from all names are all different. One statement is
left out, of the relation that the path uses once: from exactly one start the path cannot be walked. With the option
`empty` two are, and the path is asked from 0 to 2 of those starts.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from niah_gen.tasks.worlds.schemas import said
from niah_gen.tasks.worlds.world import Draw, Question, World, asked_of, fitting, rivals_of, world_task

_NAMES = {1: 6, 2: 12, 3: 12}
_STEPS = {1: (2,), 2: (3, 4), 3: (5,)}


def _threads(given: Draw) -> World:
    """6 names and 2 steps at level 1; 12 names, 3 or 4 steps at level 2, 5 at level 3."""
    schema, draw = given.schema, given.random
    sizes = [2 * count - given.blanks for count in (_NAMES[given.level], *range(6, 13))]
    what = f"`threads` states two relations between 6 to 12 names, all links but {given.blanks}"
    stated_links = fitting(given, sizes, what)
    names = given.names.draw(schema["kind"], (stated_links + given.blanks) // 2)
    path = _path(draw, draw.choice(_STEPS[given.level]))
    once = min((0, 1), key=path.count)
    while True:
        after = [_derangement(draw, len(names)) for _ in range(2)]
        ends = [_walk(after, path, start) for start in range(len(names))]
        if not any(_is_told(after, start, end) for start, end in enumerate(ends)):
            break
    missing = [draw.randrange(len(names))]
    if given.blanks > 1:
        missing.append(draw.choice([name for name in range(len(names)) if name not in missing]))
    links = ((kind, name) for kind in (0, 1) for name in range(len(names)))
    stated = [(kind, name) for kind, name in links if kind != once or name not in missing]
    draw.shuffle(stated)
    records = tuple(
        said(draw.choice(schema["relation"][kind]["templates"]), a=names[name][0], b=names[after[kind][name]][0])
        for kind, name in stated
    )
    questions = []
    for start, end in enumerate(ends):
        before = _walk(after, path[: path.index(once)], start)
        right = () if before in missing else (names[end],)
        said_path = names[start][0]
        for kind in path:
            said_path = draw.choice(schema["relation"][kind]["steps"]).format(it=said_path)
        text = said(draw.choice(schema["ask"]), path=said_path)
        questions.append(Question(text, right, rivals_of(names, (*right, names[start]))))
    return World(records, asked_of(given, questions))


def _path(draw: random.Random, steps: int) -> list[int]:
    """The relations of a path in order: one of them once, the other one all other times."""
    once = draw.randrange(2)
    path = [1 - once] * steps
    path[draw.randrange(steps)] = once
    return path


def _derangement(draw: random.Random, count: int) -> list[int]:
    """A permutation that leaves nothing where it is."""
    while True:
        after = draw.sample(range(count), count)
        if all(number != here for here, number in enumerate(after)):
            return after


def _is_told(after: Sequence[Sequence[int]], start: int, end: int) -> bool:
    """Whether one statement names both ends of a path, so that it alone could pass for the answer."""
    return start == end or any(end == one[start] or start == one[end] for one in after)


def _walk(after: Sequence[Sequence[int]], path: Sequence[int], start: int) -> int:
    for kind in path:
        start = after[kind][start]
    return start


THREADS = world_task("threads", _threads)
