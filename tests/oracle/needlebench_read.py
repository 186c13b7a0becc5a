"""Proves the answers of NeedleBench v2's rows from their needles: reads the relatives again and follows their links."""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator, Mapping
from functools import lru_cache

from niah_gen.tasks.published.needlebench import library
from niah_gen.tasks.records import Item
from niah_score.contract import Row, needle_kind

# Question kinds: who is n generations above or below a person, or how many are between two. Else: who is the eldest.
_ABOVE, _BELOW, _APART = "ancestor", "descendant", "distance"


def check_keywords(row: Row, item: Item) -> Iterator[str]:
    """Yields keywords that are not in the needle of the same number, and a question that the prompt does not ask."""
    for number, (needle, group) in enumerate(zip(row["needles"], row["keywords"], strict=False), 1):
        if group[0] not in needle:
            yield f"keyword {group[0]!r} is not in needle {number}"
    if len(row["keywords"]) != len(row["needles"]):
        yield f"{len(row['keywords'])} keyword groups for {len(row['needles'])} needles, expected one for each"
    yield from _not_asked(row)


def check_ancestry(row: Row, item: Item) -> Iterator[str]:
    """Yields what is wrong with the facts in the prompt, and an answer that they do not lead to."""
    parents = yield from _parents(row)
    if parents is None:
        return
    yield from _not_asked(row)
    youngest = set(parents) - {elder for elder, _ in parents.values()}
    if len(youngest) != 1:
        yield f"the facts form {len(youngest)} lines of relatives, expected one"
        return
    (person,) = youngest
    eldest, total, steps = _followed(person, parents)
    if steps != len(parents):
        yield f"the line of {person!r} has {steps} links, expected {len(parents)}"
        return
    kind, _, count = needle_kind(row["needle_id"] or "").partition("-")
    if str(steps) != count:
        yield f"the prompt has {steps} facts, expected {count}"
    named = {_BELOW: (eldest, str(total)), _APART: (eldest, person), _ABOVE: (person, str(total))}.get(kind, (person,))
    missing = [name for name in named if name not in (row["question"] or "")]
    if missing:
        yield f"the question is {row['question']!r}, which does not name {', '.join(missing)}"
    answer = person if kind == _BELOW else str(total) if kind == _APART else eldest
    if list(row["answers"]) != [answer] or row["keywords"] != [[answer]]:
        yield f"answers are {row['answers']!r}, but the facts lead to {answer!r}"


def _parents(row: Row) -> Generator[str, None, dict[str, tuple[str, int]] | None]:
    """Each person's elder and the generations between them; yields what is wrong, and then returns None."""
    parents: dict[str, tuple[str, int]] = {}
    for number, needle in enumerate(row["needles"], 1):
        fact = _read(needle, row["language"])
        if fact is None:
            yield f"needle {number} states no relative: {needle!r}"
            return None
        elder, younger, generations = fact
        if younger in parents:
            yield f"needle {number} states a second elder of {younger!r}"
            return None
        parents[younger] = (elder, generations)
    return parents


def _followed(person: str, parents: Mapping[str, tuple[str, int]]) -> tuple[str, int, int]:
    """The eldest above a person, the generations between them, and the links; a circle ends after one link too many."""
    eldest, total, steps = person, 0, 0
    while eldest in parents and steps <= len(parents):
        eldest, generations = parents[eldest]
        total, steps = total + generations, steps + 1
    return eldest, total, steps


def _not_asked(row: Row) -> Iterator[str]:
    prompt = row["prompt"]
    text = prompt if isinstance(prompt, str) else prompt[-1]["content"]
    if row["question"] is None or row["question"] not in text:
        yield f"the prompt does not ask {row['question']!r}"


def _read(needle: str, language: str) -> tuple[str, str, int] | None:
    """The elder, the younger and the generations between them that a fact states; None if it is no fact."""
    for pattern in _patterns(language):
        match = pattern.fullmatch(needle.strip())
        if match:
            near = match["relationship"] in library("kinship")[language]["one_generation"]
            return match["A"], match["B"], 1 if near else 2
    return None


@lru_cache(maxsize=2)
def _patterns(language: str) -> tuple[re.Pattern[str], ...]:
    """The sentences as patterns, the longest first, since shorter ones would match parts of them as names."""
    known = library("kinship")[language]
    terms = "|".join(map(re.escape, (*known["one_generation"], *known["two_generations"])))
    patterns = []
    for sentence in sorted(known["sentences"], key=len, reverse=True):
        seen: set[str] = set()
        parts = []
        for part in re.split(r"(\{\w+\})", sentence):
            name = part[1:-1]
            if not part.startswith("{"):
                parts.append(re.escape(part))
            elif name in seen:
                parts.append(f"(?P={name})")
            else:
                seen.add(name)
                parts.append(f"(?P<{name}>{terms})" if name == "relationship" else f"(?P<{name}>.+?)")
        patterns.append(re.compile("".join(parts)))
    return tuple(patterns)
