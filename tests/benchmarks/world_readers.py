"""Shows what readers with one weakness each get in worlds, beside what arithmetic says of them.

    PYTHONPATH=tests/oracle python tests/benchmarks/world_readers.py [--worlds 6]

Each reader knows all templates and is right but for its weakness; the scorer judges what it says. `--worlds`: of each
schema, English and Chinese. A cell of the table has the percentage that arithmetic gives, and the one found.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Callable, Iterable, Sequence
from math import comb
from statistics import fmean

from seen_worlds import DATE, LANGUAGES, Answer, Seen, judged, said, worlds
from worlds import answer as looked_up
from worlds import pattern

from niah_gen.tasks.worlds.schemas import PARTS, schemas, written_date
from niah_gen.tasks.worlds.world import record_depths

_LENGTH, _WINDOW = 8192, 4000
_ASIDES = {
    "en": "It is tempting to say {rival}, but that is about something else. The answer is {given}.",
    "zh": "乍看像是{rival}，但那说的是另一回事。所以答案是{given}。",
}


def understood(seen: Seen, records: Sequence[str], question: str) -> Answer:
    """What some records say; empty if they do not hold what the question names."""
    try:
        return frozenset(looked_up(seen.part, schemas(seen.part, seen.language)[seen.schema], records, question))
    except (ValueError, AssertionError):
        return frozenset()


def perfect(seen: Seen, nth: int) -> str:
    """What all records say."""
    return said(seen, understood(seen, seen.records, seen.questions[nth]))


def visible(count: int) -> list[int]:
    """The numbers of those of `count` records that stand in the last tokens of a prompt."""
    depths = record_depths(count)
    return [place for place, depth in enumerate(depths) if _LENGTH * (1 - depth / 100) <= _WINDOW]


def windowed(seen: Seen, nth: int) -> str:
    """Reads the last tokens alone."""
    return said(seen, understood(seen, [seen.records[at] for at in visible(len(seen.records))], seen.questions[nth]))


def confusing(seen: Seen, nth: int) -> str:
    """Takes a thing for another one with a near-equal name, every other time."""
    name, question = seen.names[nth], seen.questions[nth]
    others = sorted({*seen.names} - {name})
    if seen.part in ("records", "moves") and random.Random(f"{seen.item.id}/{nth}").random() < 0.5:
        place = question.lower().index(name.lower())
        question = question[:place] + random.Random(nth).choice(others) + question[place + len(name) :]
        question = question[0].upper() + question[1:]
    return said(seen, understood(seen, seen.records, question))


def dateless(seen: Seen, nth: int) -> str:
    """Takes the order of the text for that of time, and every date of a question for the end of the year."""
    if seen.part != "moves":
        return perfect(seen, nth)
    days = enumerate(seen.records)
    records = [DATE.sub(written_date(seen.language, day), record) for day, record in days]
    return said(seen, understood(seen, records, DATE.sub(written_date(seen.language, 364), seen.questions[nth])))


def three_steps(seen: Seen, nth: int) -> str:
    """Stops after three steps of a path."""
    if seen.part != "threads":
        return perfect(seen, nth)
    schema = schemas(seen.part, seen.language)[seen.schema]
    ask, path = next(
        (text, found["path"]) for text in schema["ask"] if (found := pattern(text).fullmatch(seen.questions[nth]))
    )
    paths = [path]
    while paths[-1] not in seen.values:
        matches = (pattern(step).fullmatch(paths[-1]) for one in schema["relation"] for step in one["steps"])
        paths.append(next(found["it"] for found in matches if found))
    question = ask.format(path=paths[-4] if len(paths) > 4 else path)
    return said(seen, understood(seen, seen.records, question[0].upper() + question[1:]))


def in_asides(seen: Seen, nth: int, *, commits_to_rival: bool = False) -> str:
    """Weighs a rival and commits to the truth, or the other way round."""
    asked = seen.item.asks[nth]
    rivals = [group[0] for group in asked.decoys] or [str(int(asked.answers[0]) + 1)]
    rival, truth = random.Random(nth).choice(rivals), perfect(seen, nth)
    rival, given = (truth, rival) if commits_to_rival else (rival, truth)
    return _ASIDES[seen.language].format(rival=rival, given=given)


def seen_all(of: int, needed: int) -> float:
    """The chance that the window holds all of some needed records, whose places are drawn by lot."""
    held = len(visible(of))
    return comb(held, needed) / comb(of, needed)


def by_arithmetic() -> dict[str, dict[str, float]]:
    """The percentages that a reader must get by part, where they are not 100. Of a window, lists and tallies are left.

    A thing moves 2 to 5 times; of the questions on moves, 4 are about the end, 3 about a date, 2 about the place
    before, 1 about one before the first, which has no answer, and 2 about numbers.
    """
    moves = range(2, 6)
    each = fmean(1 / count for count in moves)
    inside = sum((count - 1) / count for count in moves) / sum(count - 1 for count in moves)
    counted = fmean(seen_all(20, count) for count in moves)
    return {
        "window of 4,000 tokens at 8k": {
            "records": 100 * (11 * seen_all(11, 1) + 1) / 12,
            "associations": 100 * (11 * seen_all(11, 1) + 1) / 12,
            "threads": 100 * (11 * fmean(seen_all(23, steps) for steps in (3, 4)) + 1) / 12,
            "moves": 100 * (7 * seen_all(20, 1) + 2 * seen_all(20, 2) + 1 + 2 * counted) / 12,
        },
        "confuses near-equal names": {"records": 50.0, "moves": 100 * (11 / 2 + 1) / 12},
        "ignores dates": {"moves": 100 * (4 * each + 3 * inside + 2 * inside + each + 2) / 12},
        "stops after 3 steps": {"threads": 100 * fmean([1, 3 / 4 / 12])},
        "commits to a rival": dict.fromkeys(PARTS, 0.0),
    }


READERS: dict[str, Callable[[Seen, int], str]] = {
    "perfect": perfect,
    "window of 4,000 tokens at 8k": windowed,
    "confuses near-equal names": confusing,
    "ignores dates": dateless,
    "stops after 3 steps": three_steps,
    "answers after an aside": in_asides,
    "commits to a rival": lambda seen, nth: in_asides(seen, nth, commits_to_rival=True),
}


def found(drawn: Iterable[Seen]) -> dict[str, float]:
    """The percentage that each reader gets in some worlds."""
    shares: dict[str, list[bool]] = {name: [] for name in READERS}
    for seen in drawn:
        for name, read in READERS.items():
            shares[name] += judged([(asked, read(seen, nth)) for nth, asked in enumerate(seen.item.asks)])
    return {name: 100 * fmean(one) for name, one in shares.items()}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="Read worlds with one weakness each.")
    parser.add_argument("--worlds", type=int, default=6, help="worlds of each schema")
    count = parser.parse_args().worlds
    by_part = {part: found(seen for language in LANGUAGES for seen in worlds(part, language, count)) for part in PARTS}
    expected = by_arithmetic()
    print(f"| reader | {' | '.join(PARTS)} |\n|---|{'---:|' * len(PARTS)}")
    for name in READERS:
        known = expected.get(name, {})
        said_of = [
            "" if "window" in name and part not in known else f"{known.get(part, 100.0):.1f} / " for part in PARTS
        ]
        cells = [f"{before}{by_part[part][name]:.1f}" for part, before in zip(PARTS, said_of, strict=True)]
        print(f"| {name} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
