"""Proves the truth of NeedleBench v2's rows from their prompts: relatives are read again and followed, one by one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from niah_gen.tasks.needlebench_draws import kinship
from niah_gen.tasks.records import Item
from niah_score.contract import Row, needle_kind

# What is asked: who is so many generations above or below a person, or how far apart two are; else who is the eldest.
_ABOVE, _BELOW, _APART = "ancestor", "descendant", "distance"


def check_keywords(row: Row, item: Item) -> Iterator[str]:
    """Keywords that the needle of their number does not state, and questions that the prompt does not ask."""
    for number, (needle, group) in enumerate(zip(row["needles"], row["keywords"], strict=False), 1):
        if group[0] not in needle:
            yield f"keyword {group[0]!r} does not stand in needle {number}"
    if len(row["keywords"]) != len(row["needles"]):
        yield f"{len(row['keywords'])} keyword groups for {len(row['needles'])} needles, expected one for each"
    yield from _not_asked(row)


def check_ancestry(row: Row, item: Item) -> Iterator[str]:
    """An answer that the facts in the prompt do not lead to."""
    parents: dict[str, tuple[str, int]] = {}
    for number, needle in enumerate(row["needles"], 1):
        found = _read(needle, row["language"])
        if found is None:
            yield f"needle {number} states no relative: {needle!r}"
            return
        elder, younger, generations = found
        if younger in parents:
            yield f"needle {number} states a second elder of {younger!r}"
            return
        parents[younger] = (elder, generations)
    yield from _not_asked(row)
    youngest = set(parents) - {elder for elder, _ in parents.values()}
    if len(youngest) != 1:
        yield f"the facts make {len(youngest)} lines of relatives, expected one"
        return
    (person,) = youngest
    eldest, total, steps = person, 0, 0
    while eldest in parents and steps <= len(parents):
        eldest, generations = parents[eldest]
        total, steps = total + generations, steps + 1
    if steps != len(parents):
        yield f"the line of {person!r} has {steps} links, expected {len(parents)}"
        return
    kind, _, count = needle_kind(row["needle_id"] or "").partition("-")
    if str(steps) != count:
        yield f"the prompt has {steps} facts, expected {count}"
    asked = {_BELOW: (eldest, str(total)), _APART: (eldest, person), _ABOVE: (person, str(total))}.get(kind, (person,))
    missing = [name for name in asked if name not in (row["question"] or "")]
    if missing:
        yield f"the question is {row['question']!r}, which does not name {', '.join(missing)}"
    answer = person if kind == _BELOW else str(total) if kind == _APART else eldest
    if list(row["answers"]) != [answer] or row["keywords"] != [[answer]]:
        yield f"answers are {row['answers']!r}, but the facts lead to {answer!r}"


def _not_asked(row: Row) -> Iterator[str]:
    prompt = row["prompt"]
    text = prompt if isinstance(prompt, str) else prompt[-1]["content"]
    if row["question"] is None or row["question"] not in text:
        yield f"the prompt does not ask {row['question']!r}"


def _read(needle: str, language: str) -> tuple[str, str, int] | None:
    """The elder, the younger and the generations between them that a fact states; None for another text."""
    for pattern in _patterns(language):
        found = pattern.fullmatch(needle.strip())
        if found:
            near = found["relationship"] in kinship()[language]["one_generation"]
            return found["A"], found["B"], 1 if near else 2
    return None


@lru_cache(maxsize=2)
def _patterns(language: str) -> tuple[re.Pattern[str], ...]:
    """The sentences as patterns, the longest first: shorter ones match parts of them as names."""
    known = kinship()[language]
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
