"""Proves rows of key-values from their prompts alone: reads the lines that state values, and answers the question."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from contexts import context_of

from niah_gen.errors import shown
from niah_gen.tasks.records import Item
from niah_score.contract import Row

_STATED = {
    "en": re.compile(r"One of the special magic (?:numbers|words|uuids) for (\S+) is: ([^\s.]+)\."),
    "zh": re.compile(r"与“([^”]+)”对应的魔法(?:数字|词| UUID )是：([^。]+)。"),
}
_ASKED = {"en": re.compile(r" for (.+) mentioned in the provided text\?"), "zh": re.compile(r"与(“.+”)对应的魔法")}
_KEYS = {"en": re.compile(r",? and |, "), "zh": re.compile(r"”和“|”、“")}


def wrong_statements(row: Row, item: Item) -> Iterator[str]:
    """Checks that a row's prompt states its truth.

    Every value occurs once, the values of the keys that the question names are the row's facts, those of the other
    hidden keys are its decoys, and an absent key has no value.
    """
    stated: dict[str, list[str]] = {}
    for key, value in _STATED[row["language"]].findall(context_of(row)):
        stated.setdefault(key, []).append(value)
    repeated = [value for value, times in Counter(v for own in stated.values() for v in own).items() if times > 1]
    yield from (f"{shown(value)} is the value of two lines, expected once" for value in repeated[:3])
    yield from (f"{shown(key)} is both a key and a value" for key in list(stated.keys() & _all(stated))[:3])
    asked = _asked(row)
    if asked is None:
        yield f"question: no key is named in {shown(row['question'])}"
        return
    facts = [group[0] for group in row["keywords"]]
    values = [value for key in asked for value in stated.get(key, ())]
    if row["control"] == "absent":
        if values:
            yield f"{shown(asked[0])} has the value {shown(values[0])}, but should be absent"
        return
    if sorted(values) != sorted(facts):
        yield f"the prompt states {shown(sorted(values))} for {shown(asked)}, but keywords are {shown(sorted(facts))}"
    if row["control"] is None and not all(fact in row["answers"][0] for fact in facts):
        yield f"answers: {shown(row['answers'][0])} lacks one of {shown(facts)}"
    most = max(1, len(facts) // len(asked))
    more = [key for key, own in stated.items() if len(own) > most]
    yield from (f"{shown(key)} has {len(stated[key])} values, expected at most {most}" for key in more[:3])
    others = _all({key: own for key, own in stated.items() if key not in asked})
    for group in row["decoys"]:
        if group[0] not in others:
            yield f"decoys: no other key has the value {shown(group[0])}"


def _all(stated: dict[str, list[str]]) -> set[str]:
    return {value for own in stated.values() for value in own}


def _asked(row: Row) -> list[str] | None:
    """The keys that the question names."""
    match = _ASKED[row["language"]].search(row["question"] or "")
    return None if match is None else _KEYS[row["language"]].split(match[1].strip("“”"))
